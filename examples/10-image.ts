// Generates an image from a prompt.
import { createEngine, generateImage, imageFromBase64 } from 'allm-ts'
import { chooseImages } from './choose.ts'

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

const engine = createEngine(
  chooseImages([['ok', [imageFromBase64(pixel)], { usage: { totalTokens: 272 } }]]),
)

const { images, usage } = await generateImage(engine, 'A red dot on white, minimal.')

for (const image of images) {
  const bytes = image.type === 'base64' ? atob(image.base64).length : 0
  console.log(image.mimeType, `${bytes} bytes`, `${usage.totalTokens} tokens`)
}
// => image/png 70 bytes 272 tokens
