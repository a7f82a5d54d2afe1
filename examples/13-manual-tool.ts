// The loop runs one tool and leaves another to you: here, another system makes the transfer. This version uses a thread.
import { appendMessages, chat, createEngine, tool, toolResult, user } from 'allm-ts'
import { choose } from './choose.ts'

const balance = tool({
  name: 'balance',
  description: 'The balance of the account, in euros.',
  schema: { type: 'object', properties: {} },
  handler: () => 120,
})
const transfer = tool({
  name: 'transfer',
  description: 'Transfer euros to somebody.',
  schema: {
    type: 'object',
    properties: { euros: { type: 'number' }, to: { type: 'string' } },
    required: ['euros', 'to'],
  },
  manual: true,
})

const engine = createEngine({
  ...choose([
    [
      ['tool_call', { id: 'c1', name: 'balance', arguments: {} }],
      ['tool_call', { id: 'c2', name: 'transfer', arguments: { euros: 50, to: 'Ada' } }],
    ],
    [['text', 'Sent 50 euros to Ada; 70 are left.']],
  ]),
  tools: [balance, transfer],
})

const asked = await chat(engine, [user('Look at my balance and send Ada 50 euros.')])
console.log(asked.haltedReason, asked.thread.messages.at(-1)?.content)

const results = asked.manualToolCalls.map(({ id }) => toolResult(id, { sent: true }))
const done = await chat(engine, appendMessages(asked.thread, ...results))
console.log(done.outputText)
// => manual_tool_calls 120
// => Sent 50 euros to Ada; 70 are left.
