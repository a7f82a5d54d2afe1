// A run that is stopped between two events, saved as text, and finished by another engine.
import { createEngine, isSendable, Session, tool, user } from 'allm-ts'
import { choose } from './choose.ts'

let runs = 0
const measure = tool({
  name: 'measure',
  description: 'Measure the temperature. Takes a while and costs money.',
  schema: { type: 'object', properties: {} },
  handler: () => {
    runs++
    return { celsius: 21 }
  },
})

const before = createEngine({
  ...choose([[['tool_call', { id: 'c1', name: 'measure', arguments: {} }]]]),
  tools: [measure],
})
const stream = Session.streamStart(before, [user('How warm is it?')])
for await (const event of stream) {
  if (event.type === 'tool_execution_completed') break // the process dies here
}
const saved = Session.stringify(stream.session)
console.log(stream.session.status, isSendable(stream.session.thread))

const after = createEngine({ ...choose([[['text', 'It is 21 degrees.']]]), tools: [measure] })
const { result } = await Session.resume(after, Session.parse(saved))
console.log(result.outputText, `(measured ${runs} time)`)
// => idle true
// => It is 21 degrees. (measured 1 time)
