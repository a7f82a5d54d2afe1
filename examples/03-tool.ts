// A tool with a typed schema: the loop calls the model, runs the tool, and calls the model again.
import { chat, createEngine, tool, user } from 'allm-ts'
import { z } from 'zod'
import { choose } from './choose.ts'

const weather = tool({
  name: 'weather',
  description: 'The weather of a city, now.',
  schema: z.object({ city: z.string() }),
  handler: async ({ city }) => ({ city, celsius: 21, sky: 'clear' }),
})

const engine = createEngine({
  ...choose([
    [['tool_call', { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }]],
    [['text', 'It is 21 degrees and clear in Ghent.']],
  ]),
  tools: [weather],
})

const result = await chat(engine, [user('What is the weather in Ghent?')])

console.log(result.outputText)
console.log(`${result.haltedReason} after ${result.steps.length} steps`)
// => It is 21 degrees and clear in Ghent.
// => completed after 2 steps
