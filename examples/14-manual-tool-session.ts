// A tool that another system runs, as in 13, with a session, which keeps the pending calls. For approval see 20.
import { createEngine, Session, tool, user } from 'allm-ts'
import { choose } from './choose.ts'

const deploy = tool({
  name: 'deploy',
  description: 'Deploy a version.',
  schema: { type: 'object', properties: { version: { type: 'string' } }, required: ['version'] },
  manual: true,
})

const engine = createEngine({
  ...choose([
    [['tool_call', { id: 'c1', name: 'deploy', arguments: { version: '1.4.0' } }]],
    [['text', 'It was not deployed, because it is Friday.']],
  ]),
  tools: [deploy],
})

const { session } = await Session.start(engine, [user('Deploy 1.4.0.')])
console.log(session.status, Session.pendingToolCalls(session)[0]?.arguments)

const [call] = Session.pendingToolCalls(session)
const refused = Session.submitToolResult(session, call?.id ?? '', 'no deploys on Friday', {
  isError: true,
})
const { result } = await Session.resume(engine, refused)
console.log(result.outputText)
// => awaiting_tools { version: '1.4.0' }
// => It was not deployed, because it is Friday.
