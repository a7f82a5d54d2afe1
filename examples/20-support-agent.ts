// A support agent for several shops: a customer asks, only staff of that shop may approve the refund, and the back office answers hours later.
import type { RunView } from 'allm-ts/runs'
import { memoryStore } from 'allm-ts/stores'
import { choose } from './choose.ts'
import { supportService, type Person } from './support-agent/service.ts'
import type { Shop } from './support-agent/tools.ts'

const ada: Person = { tenant: 'lamps', name: 'ada', isStaff: false }
const bob: Person = { tenant: 'lamps', name: 'bob', isStaff: true }
const eve: Person = { tenant: 'books', name: 'eve', isStaff: true }

const shop: Shop = {
  carriers: ['Post', 'Fleet'],
  track: async (_order, carrier) => (carrier === 'Fleet' ? 'in the depot' : undefined),
  refund: async (order, euros) => console.log(`the shop pays ${euros} euros for order ${order}`),
}

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
  shops: { lamps: shop, books: shop },
  // A real service looks at its sign-in.
  whoIs: ({ headers }) => [ada, bob, eve].find(({ name }) => name === headers.get('x-user')),
})

/** What a browser does with `connectRun` of `allm-ts/client`: somebody calls a route of the conversation of ada. */
async function call({ name }: Person, path: string, body?: object): Promise<unknown> {
  const post = { method: 'POST', body: JSON.stringify(body) }
  const headers = { 'content-type': 'application/json', 'x-user': name }
  const url = `http://localhost/support/lamps.ada${path}`
  return (await handle(new Request(url, { headers, ...(body && post) }))).json()
}

const text = 'Where is my lamp? If it is broken, I want my money back.'
console.log('ada:', text)
await call(ada, '/messages', { text })
await runs.wait('lamps.ada')
const { status, tools, pendingApprovals } = (await call(ada, '')) as RunView
const [waiting] = pendingApprovals
console.log(status, tools.map(({ name }) => name).join(', '), waiting?.arguments)

// A customer cannot approve her own refund, and staff of another shop sees nothing.
const approval = { approve: true, arguments: { order: 7, euros: 30 }, ticket: waiting?.ticket }
console.log('ada approves:', JSON.stringify(await call(ada, '/approvals/c2', approval)))
console.log('eve of another shop looks:', JSON.stringify(await call(eve, '')))

// Hours later, perhaps in another process: the back office is done, and a colleague approves less.
await call(bob, '/tools/c3', { result: 'the lamp is broken' })
console.log('bob of the shop approves', approval.arguments)
await call(bob, '/approvals/c2', approval)
console.log('agent:', (await runs.wait('lamps.ada')).result.outputText)
console.log('ticket:', JSON.stringify(await call(bob, '/ticket')))
// => ada: Where is my lamp? If it is broken, I want my money back.
// => awaiting_approval track_parcel, refund, inspect_parcel { order: 7, euros: 40 }
// => ada approves: {"reason":"forbidden","message":"this is not yours to see or to decide"}
// => eve of another shop looks: {"reason":"forbidden","message":"this is not yours to see or to decide"}
// => bob of the shop approves { order: 7, euros: 30 }
// => the shop pays 30 euros for order 7
// => agent: The lamp is broken, and 30 euros are on their way.
// => ticket: {"subject":"A broken lamp","orders":[7],"refundedEuros":30,"resolved":true}
