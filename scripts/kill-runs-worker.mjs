// One life of a worker: advances whatever is due until it is killed or asked to end. `kill-runs.mjs` starts and kills it.
// usage: node scripts/kill-runs-worker.mjs NAME < PLAN
//   NAME is a set-up, whose modules are loaded; the process begins when it gets its plan. PLAN is a line of JSON: { place, leaseMs, concurrency, modelMs, toolMs, delayMs, ledger, journal, mutant?, kill?: { operation, when, at }, worker? }
// `kill` makes the process kill itself before or after the operation on the store, or the effect, with the number `at`. `worker` has more options of BullMQ.
// The ledger has the effects of tools, the journal what the process did with the store.
import { appendFileSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEngine, tool } from '../dist/index.js'
import { bullmqProcessor } from '../dist/queues.js'
import { createRuns } from '../dist/runs.js'
import { fake } from '../dist/testing.js'
import { loadModules, openQueue, openStore } from './kill-stores.mjs'

await loadModules(process.argv[2] ?? '')
const plan = JSON.parse(await nextLine(process.stdin))
const { place, leaseMs, concurrency, modelMs, toolMs, delayMs, mutant, kill } = plan
const { store: real, close } = await openStore(place)
const queue = await openQueue(place)

/** Notes something for the judge. A line is written whole. */
function note(file, ...words) {
  appendFileSync(file, `${words.join(' ')} ${process.pid} ${Date.now()}\n`)
}

const counts = new Map()
/** A moment at which the process may kill itself. */
function moment(operation, when) {
  if (kill?.operation !== operation || kill.when !== when) return
  const count = (counts.get(operation) ?? 0) + 1
  counts.set(operation, count)
  if (count !== kill.at) return
  note(plan.journal, 'die', '-', 0)
  process.kill(process.pid, 'SIGKILL')
}

/** The token of the lease that this process has for a session. */
const tokens = new Map()
/** What an operation says about itself, by its arguments and its result. */
const journal = {
  acquire: ([id], lease) => lease && owns(id, lease),
  claim: (_args, claimed) => claimed && owns(claimed.id, claimed.lease),
  append: ([id, , { lease }], last) => note(plan.journal, 'append', id, lease.token, last),
  save: ([{ id }, { lease }], version) => note(plan.journal, 'save', id, lease.token, version),
  release: ([id, lease]) => note(plan.journal, 'release', id, lease.token),
}
function owns(id, { token }) {
  tokens.set(id, token)
  note(plan.journal, 'own', id, token)
}

/** An operation of the store that is slow, is noted, and has moments to die. */
function wrapped(name) {
  return async (...args) => {
    moment(name, 'before')
    await sleep(delayMs)
    const result = await real[name](...args)
    journal[name]?.(args, result)
    moment(name, 'after')
    return result
  }
}
const names = ['acquire', 'claim', 'append', 'save', 'release', 'renew', 'push']
const store = { ...real, ...Object.fromEntries(names.map((name) => [name, wrapped(name)])) }
if (mutant === 'no-write-ahead') {
  // A save resolves before it is made. Everything else waits for it, so nothing is wrong unless the process dies. The versions are those that the store would give.
  let writes = Promise.resolve()
  const later = (write) => {
    writes = writes.then(write).catch(() => undefined)
  }
  const right = { ...store }
  for (const name of ['release', 'readInbox', 'load', 'look', 'readEvents']) {
    store[name] = async (...args) => {
      await writes
      return right[name](...args)
    }
  }
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

/** A tool: its handler is given a function that does something to the world, which is a line in the ledger, which survives. */
function named(name, idempotent, handler, needsApproval = false) {
  return tool({
    name,
    description: name,
    schema: { type: 'object' },
    idempotent,
    needsApproval,
    handler: (_args, { sessionId, toolCall }) => {
      const token = tokens.get(sessionId) ?? 0
      note(plan.journal, 'begin', sessionId, token)
      return handler(() => {
        moment('effect', 'before')
        note(plan.ledger, toolCall.id, sessionId, token)
        moment('effect', 'after')
      })
    },
  })
}
const tools = [
  // The effect is at once, before a wait, and after a wait.
  named('charge', false, (effect) => {
    effect()
    return 'charged'
  }),
  named('mail', false, async (effect) => {
    effect()
    await sleep(toolMs)
    return 'mailed'
  }),
  named('ship', false, async (effect) => {
    await sleep(toolMs)
    effect()
    return 'shipped'
  }),
  named('note', true, async (effect) => {
    effect()
    await sleep(toolMs / 3)
    return 'noted'
  }),
  // Two clerks decide about it at once: one approves, the other denies.
  named(
    'refund',
    false,
    (effect) => {
      effect()
      return 'paid back'
    },
    true,
  ),
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
    [
      ['reasoning', 'Once more.'],
      call('charge-3', 'charge'),
      call('ship-3', 'ship'),
      call('refund-3', 'refund'),
    ],
    [['text', 'Done.']],
  ],
}
const adapter = fake({
  script: ({ messages }) => {
    const at = messages.findLastIndex(({ role }) => role === 'user')
    const answered = messages.slice(at).filter(({ role }) => role === 'assistant').length
    const answer = answers[messages[at].content][answered]
    return modelMs === 0 ? answer : [['delay', modelMs], ...answer]
  },
})

const runs = createRuns({
  engine: createEngine({ adapter, tools }),
  store,
  leaseMs,
  saveEveryMs: 5,
  execute: false,
  owner: String(process.pid),
})
const work =
  queue === undefined
    ? runs.work({ concurrency, everyMs: Math.min(100, leaseMs / 20) })
    : queue.work(bullmqProcessor(runs, { leaseMs }), { leaseMs, concurrency, ...plan.worker })
process.on('SIGTERM', () => void end())
async function end() {
  // What hangs on a server that is gone ends with the process.
  setTimeout(() => process.exit(0), 5000).unref()
  await Promise.all([work.close(), runs.close({ drainMs: 1000 })])
  await queue?.close()
  await close()
  process.exit(0)
}
// A worker of BullMQ whose database is away when it starts does not try again.
if (queue !== undefined) await work.waitUntilReady().catch(() => process.exit(0))
writeSync(1, 'ready\n')

/** The next line of the input. The process ends if there is none. */
async function nextLine(input) {
  const lines = createInterface({ input })
  for await (const line of lines) {
    lines.close()
    input.destroy()
    return line
  }
  return process.exit(0)
}
