// One life of a worker: advances whatever is due until it is killed, or until nothing is left. `kill-runs.mjs` starts and kills it.
// usage: node scripts/kill-runs-worker.mjs PLAN     (JSON: { store, leaseMs, ledger, delayMs, mutant?, kill?: { operation, when, at } })
// `kill` makes the process kill itself before or after the operation on the store, or the effect, with the number `at`.
import { appendFileSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEngine, tool } from '../dist/index.js'
import { createRuns } from '../dist/runs.js'
import { fake } from '../dist/testing.js'
import { openStore } from './kill-stores.mjs'

const plan = JSON.parse(process.argv[2] ?? '{}')
const { ledger, delayMs, leaseMs, mutant, kill } = plan
const { store: real, close } = await openStore(plan.store)

const counts = new Map()
/** A moment at which the process may kill itself. */
function moment(operation, when) {
  if (kill?.operation !== operation || kill.when !== when) return
  const count = (counts.get(operation) ?? 0) + 1
  counts.set(operation, count)
  if (count === kill.at) process.kill(process.pid, 'SIGKILL')
}

/** The store, with slow writes and moments to die. */
function wrapped(name) {
  return async (...args) => {
    moment(name, 'before')
    await sleep(delayMs)
    const result = await real[name](...args)
    moment(name, 'after')
    return result
  }
}
const names = ['acquire', 'claim', 'append', 'save', 'release', 'renew', 'push']
const store = { ...real, ...Object.fromEntries(names.map((name) => [name, wrapped(name)])) }
if (mutant === 'no-write-ahead') {
  // A save resolves before it is made. The versions are those that the store would give.
  let writes = Promise.resolve()
  const later = (write) => {
    writes = writes.then(write).catch(() => undefined)
  }
  const right = { ...store }
  store.save = async (session, { ifVersion = 0, ...options } = {}) => {
    later(() => right.save(session, options))
    return ifVersion + 1
  }
  store.append = async (id, events, { after = 0, ...options }) => {
    later(() => right.append(id, events, options))
    return after + events.length
  }
}
if (mutant === 'no-lease') {
  // Everybody gets a lease, and everybody's writes count.
  const mine = async (id) => {
    const taken = await real.acquire(id, { owner: 'everybody', ttlMs: 1 })
    return taken ?? { token: tokens.get(id) ?? 0, expiresAt: 0 }
  }
  const tokens = new Map()
  const fresh = async (id) => {
    const lease = await mine(id)
    tokens.set(id, lease.token)
    return lease
  }
  store.claim = async () => {
    const rows = (await real.list()).filter(({ running }) => running)
    const row = rows[Math.floor(Math.random() * rows.length)]
    return row && { id: row.id, lease: await fresh(row.id) }
  }
  store.acquire = fresh
  store.renew = async () => true
  store.append = async (id, events) => real.append(id, events, { lease: await fresh(id) })
  store.save = async (session, { lease: _lease, ifVersion: _version, ...options } = {}) => {
    await sleep(delayMs)
    return real.save(session, { ...options, lease: await fresh(session.id) })
  }
  store.release = async (id) => real.release(id, await fresh(id))
}

/** What a tool does to the world: a line in the ledger, which survives. */
function effect(session, call) {
  moment('effect', 'before')
  appendFileSync(ledger, `${session} ${call}\n`)
  moment('effect', 'after')
}
const named = (name, idempotent, handler) =>
  tool({ name, description: name, schema: { type: 'object' }, idempotent, handler })
const tools = [
  // The effect is at once, before a wait, and after a wait.
  named('charge', false, (_args, { sessionId, toolCall }) => {
    effect(sessionId, toolCall.id)
    return 'charged'
  }),
  named('mail', false, async (_args, { sessionId, toolCall }) => {
    effect(sessionId, toolCall.id)
    await sleep(3)
    return 'mailed'
  }),
  named('ship', false, async (_args, { sessionId, toolCall }) => {
    await sleep(3)
    effect(sessionId, toolCall.id)
    return 'shipped'
  }),
  named('note', true, async (_args, { sessionId, toolCall }) => {
    effect(sessionId, toolCall.id)
    await sleep(1)
    return 'noted'
  }),
]

const call = (id, name) => ['tool_call', { id, name, arguments: { id } }]
/** The answers to each message of the user. */
const answers = {
  one: [
    [
      ['text', 'First, '],
      ['text', 'the money.'],
      call('charge-1', 'charge'),
      call('note-1', 'note'),
    ],
    [call('mail-2', 'mail'), call('ship-2', 'ship'), call('note-2', 'note')],
    [
      ['text', 'That '],
      ['text', 'was all.'],
    ],
  ],
  two: [
    [['reasoning', 'Once more.'], call('charge-3', 'charge'), call('ship-3', 'ship')],
    [['text', 'Done.']],
  ],
}
const adapter = fake({
  script: ({ messages }) => {
    const at = messages.findLastIndex(({ role }) => role === 'user')
    const answered = messages.slice(at).filter(({ role }) => role === 'assistant').length
    return answers[messages[at].content][answered]
  },
})

const runs = createRuns({
  engine: createEngine({ adapter, tools }),
  store,
  leaseMs,
  saveEveryMs: 5,
  execute: false,
})
const worker = runs.work({ concurrency: 3, everyMs: 30 })
process.on('SIGTERM', () => void end())
async function end() {
  await worker.close({ drainMs: 1000 })
  await runs.close()
  await close()
}
writeSync(1, 'ready\n')
