// A support agent as a service: a slow tool, an approval by staff, a result of the back office hours later, and a ticket at the end.
import type { RunView } from 'allm-ts/runs'
import { memoryStore } from 'allm-ts/stores'
import { choose } from './choose.ts'
import { supportService } from './support-agent/service.ts'

const { handle, runs } = supportService({
  ...choose([
    [['tool_call', { id: 'c1', name: 'track_parcel', arguments: { order: 7 } }]],
    [
      ['tool_call', { id: 'c2', name: 'refund', arguments: { order: 7, euros: 40 } }],
      ['tool_call', { id: 'c3', name: 'inspect_parcel', arguments: { order: 7 } }],
    ],
    [['text', 'The lamp is broken, and 30 euros are on their way.']],
    [['text', '{"subject":"A broken lamp","orders":[7],"refundedEuros":30,"resolved":true}']],
  ]),
  store: memoryStore(), // or fileStore, sqliteStore, postgresStore, redisStore
  shops: {
    lamps: {
      carriers: ['Post', 'Fleet'],
      track: async (_order, carrier) => (carrier === 'Fleet' ? 'in the depot' : undefined),
      refund: async (order, euros) => console.log('paid', euros, 'euros for order', order),
    },
  },
  whoIs: ({ headers }) => ({ tenant: 'lamps', name: 'ada', isStaff: headers.has('x-staff') }),
})

/** What a browser does with `connectRun` of `allm-ts/client`. */
async function call(path: string, body?: object, headers = {}): Promise<unknown> {
  const post = { method: 'POST', body: JSON.stringify(body) }
  const json = { 'content-type': 'application/json', ...headers }
  const url = `http://localhost/support/lamps.ada${path}`
  return (await handle(new Request(url, { headers: json, ...(body && post) }))).json()
}

await call('/messages', { text: 'Where is my lamp? If it is broken, I want my money back.' })
await runs.wait('lamps.ada')
const { status, tools, pendingApprovals } = (await call('')) as RunView
console.log(status, tools.map(({ name }) => name).join(', '), pendingApprovals[0]?.arguments)

// Hours later, perhaps in another process: the back office is done, and a colleague approves less.
await call('/tools/c3', { result: 'the lamp is broken' }, { 'x-staff': 'yes' })
const approval = { approve: true, arguments: { order: 7, euros: 30 } }
await call('/approvals/c2', approval, { 'x-staff': 'yes' })
console.log((await runs.wait('lamps.ada')).result.outputText)
console.log(JSON.stringify(await call('/ticket', undefined, { 'x-staff': 'yes' })))
// => awaiting_approval track_parcel, refund, inspect_parcel { order: 7, euros: 40 }
// => paid 30 euros for order 7
// => The lamp is broken, and 30 euros are on their way.
// => {"subject":"A broken lamp","orders":[7],"refundedEuros":30,"resolved":true}
