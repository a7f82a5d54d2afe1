// Prints how many hidden classes the messages have that a run keeps of 500 messages of its caller. Run with --allow-natives-syntax.
import { runInThisContext } from 'node:vm'
import { createEngine, Session } from '../../dist/index.js'
import { fake } from '../../dist/testing.js'

// Without the flag this cannot be parsed.
const haveSameShape = runInThisContext('(a, b) => %HaveSameMap(a, b)')

const messages = Array.from({ length: 500 }, (_, at) => {
  return { role: at % 2 === 0 ? 'user' : 'assistant', content: `message ${at}` }
})
const engine = createEngine({ adapter: fake({ script: [['text', 'Hello']] }) })
const { session } = await Session.start(engine, messages)

const kinds = []
for (const message of session.thread.messages) {
  if (!kinds.some((kind) => haveSameShape(kind, message))) kinds.push(message)
}
console.log(kinds.length)
