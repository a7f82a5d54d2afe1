// Several tools at once: they run in parallel, and the events show the order in which they finished.
import { createEngine, streamChat, tool, user } from 'allm-ts'
import { choose } from './choose.ts'

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
let running = 0

const lookUp = (name: string, answer: string) =>
  tool({
    name,
    description: `The ${name} of a city.`,
    schema: city,
    handler: async () => {
      running++
      await new Promise(setImmediate)
      return `${answer}, while ${running} were running`
    },
  })

const engine = createEngine({
  ...choose([
    [
      ['tool_call', { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }],
      ['tool_call', { id: 'c2', name: 'population', arguments: { city: 'Ghent' } }],
    ],
    [['text', 'Ghent is sunny and has 270 000 people.']],
  ]),
  tools: [lookUp('weather', 'sunny'), lookUp('population', '270 000')],
})

for await (const event of streamChat(engine, [user('Weather and population of Ghent?')])) {
  if (event.type === 'tool_execution_completed') console.log(event.name, event.result)
  if (event.type === 'chat_completed') console.log(event.result.outputText)
}
// => weather { ok: 'sunny, while 2 were running' }
// => population { ok: '270 000, while 2 were running' }
// => Ghent is sunny and has 270 000 people.
