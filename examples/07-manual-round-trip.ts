// The loop by hand: no tool is run for you. Take the calls, run them, add the results, ask again.
import { appendMessages, chat, createEngine, runToolCalls, tool, user } from 'allm-ts'
import { choose } from './choose.ts'

const add = tool({
  name: 'add',
  description: 'Add two numbers.',
  schema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  handler: ({ a, b }) => a + b,
})

const engine = createEngine({
  ...choose([
    [['tool_call', { id: 'c1', name: 'add', arguments: { a: 19, b: 23 } }]],
    [['text', '19 + 23 = 42']],
  ]),
  tools: [add],
  mode: 'manual',
})

const asked = await chat(engine, [user('What is 19 + 23?')])
console.log(asked.haltedReason, asked.manualToolCalls[0]?.arguments)

const { messages } = await runToolCalls(asked.manualToolCalls, [add])
const answered = await chat(engine, appendMessages(asked.thread, ...messages))
console.log(answered.outputText)
// => manual_tool_calls { a: 19, b: 23 }
// => 19 + 23 = 42
