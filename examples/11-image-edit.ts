// Edits an image with a prompt.
import { createEngine, editImage, imageFromBase64 } from 'allm-ts'
import { chooseImages } from './choose.ts'

const red = imageFromBase64(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
)
const engine = createEngine(chooseImages([['ok', [{ ...red, revisedPrompt: 'A blue dot.' }]]]))

const { images } = await editImage(engine, red, 'Make the dot blue.')

console.log(images.length, images[0]?.revisedPrompt)
// => 1 A blue dot.
