// One call, one answer.
import { createEngine, generate, system, user } from 'allm-ts'
import { choose } from './choose.ts'

const engine = createEngine(
  choose([
    [
      ['text', 'A lighthouse is a tower that warns ships.'],
      ['usage', { inputTokens: 21, outputTokens: 9 }],
    ],
  ]),
)

const response = await generate(engine, [
  system('You answer in one short sentence.'),
  user('What is a lighthouse?'),
])

console.log(response.outputText)
console.log(`${response.finishReason}, ${response.usage.outputTokens} tokens`)
// => A lighthouse is a tower that warns ships.
// => stop, 9 tokens
