// Sends an image with a question.
import { createEngine, generate, imageFromBase64, imagePart, textPart, user } from 'allm-ts'
import { choose } from './choose.ts'

const dot = imageFromBase64(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
)
const engine = createEngine(choose([[['text', 'A single coloured pixel.']]]))

const question = user([textPart('What is in this picture?'), imagePart(dot)])
const { outputText } = await generate(engine, [question])

console.log(outputText)
// => A single coloured pixel.
