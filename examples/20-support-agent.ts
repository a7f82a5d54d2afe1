// A support agent in one conversation: a question to the customer, an approval, a result that comes late, and a ticket at the end.
import { createEngine, Session } from 'allm-ts'
import { choose } from './choose.ts'
import { summarize, supportTools } from './support-agent.ts'

const engine = createEngine({
  ...choose([
    [
      ['tool_call', { id: 'c1', name: 'choose_seat', arguments: { order: 8 } }],
      ['tool_call', { id: 'c2', name: 'refund', arguments: { order: 7, euros: 40 } }],
      ['tool_call', { id: 'c3', name: 'inspect_parcel', arguments: { order: 7 } }],
    ],
    [['text', 'Seat 14C is booked. I asked for the refund; the lamp is being inspected.']],
    [['text', 'The lamp is broken, and 30 euros are on their way.']],
    [['text', '{"subject":"Seat and refund","orders":[7,8],"refundedEuros":30,"resolved":true}']],
  ]),
  tools: supportTools,
  instructions: 'You work for the support of a shop. Be brief.',
})

let { session } = await Session.start(engine, 'A seat for order 8, and my money back for order 7.')
console.log(session.status, session.pendingQuestion, session.pendingQuestionOptions?.['choices'])

// The customer answers, and does not wait for the others. Each time the session could be saved, and loaded elsewhere.
session = (await Session.reply(engine, session, '14C')).session
const { session: waiting, result } = await Session.reply(engine, session, 'Is that all?')
console.log(waiting.status, result.outputText)

// Hours later: a colleague approves less, and the back office is done.
const approved = Session.approve(waiting, 'c2', { arguments: { order: 7, euros: 30 } })
const settled = Session.submitToolResult(approved, 'c3', 'the lamp is broken')
const last = await Session.resume(engine, settled)
console.log(last.session.status, last.result.outputText)

// A structured answer, validated and typed.
const { subject, orders, refundedEuros, resolved } = await summarize(engine, last.session)
console.log(resolved ? 'resolved:' : 'open:', subject, orders, refundedEuros.toFixed(2))
// => awaiting_user Which seat? [ '12A', '14C' ]
// => awaiting_approval Seat 14C is booked. I asked for the refund; the lamp is being inspected.
// => completed The lamp is broken, and 30 euros are on their way.
// => resolved: Seat and refund [ 7, 8 ] 30.00
