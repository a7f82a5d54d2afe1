// Kills, pauses and loses workers, restarts their databases, and looks at what is left. Needs a build.
// usage: npm run kill-matrix -- [--store NAMES] [--scenario NAMES] [--kills 1000] [--sessions 50] [--workers 4] [--seed N] [--report FILE] [--mutant NAME]
//   NAMES are separated by commas. Stores: file, sqlite, postgres, redis, bullmq-redis, bullmq-postgres.
//
// Workers advance sessions by `runs.work`, or by BullMQ: tools that are idempotent and tools that are not, two messages of the
// user for each session, the second one queued behind the first, and a call that waits for approval, about which two clerks decide at once.
// Every write takes some milliseconds longer than it has to. When nobody is killed any more, the index of what waits is compared with the
// sessions: a third of them is decided about only then.
//
//   points   until --kills kills: a worker is killed at a random moment, kills itself before or after an operation on the store or an effect,
//            or is paused for longer than its lease; then another one starts
//   second   a worker is killed every second, and starts again
//   lost     one worker after the other is killed and does not come back
//   paused   workers are stopped for two and a half leases, and go on
//   restart  the database is killed and started again, three times; it is one of its own
//   limits   BullMQ with its own maxStalledCount, a worker killed every second, and then a sweep. Only figures, no failures
//
// Counted as failures: a session that does not end; an effect of a tool that is not idempotent twice; a result without an effect;
// an idempotent tool without one; a command that is applied twice, not at all or out of order; a number of the log that is
// missing or there twice; two decisions, a decision without its effect, or one that the index of what waits does not know; a write with an old token; a session that cannot be read. `--mutant no-write-ahead` and `--mutant no-lease` break the workers and
// must fail: they show that the matrix sees it. Take-overs that take longer than two leases are counted, but a slow machine is no failure.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createEngine, Session } from '../dist/index.js'
import { sweep } from '../dist/queues.js'
import { createRuns } from '../dist/runs.js'
import { fake } from '../dist/testing.js'
import { privateServer } from './kill-servers.mjs'
import {
  fleetNames,
  newPlace,
  openQueue,
  openStore,
  removePlace,
  storeNames,
  storeOf,
} from './kill-stores.mjs'

/** Each with the times of its workers, how many sessions are under way at once, and what happens to them meanwhile. */
const scenarios = {
  points: { leaseMs: 600, concurrency: 3, open: 8, modelMs: 0, toolMs: 3 },
  second: {
    leaseMs: 2000,
    concurrency: 3,
    open: 7,
    modelMs: 50,
    toolMs: 300,
    trouble: killEvery(1000),
  },
  lost: { leaseMs: 2000, concurrency: 8, open: 7, modelMs: 50, toolMs: 1000, trouble: loseAll },
  paused: {
    leaseMs: 1000,
    concurrency: 3,
    open: 7,
    modelMs: 50,
    toolMs: 300,
    trouble: pauseEvery(900),
  },
  restart: {
    leaseMs: 2000,
    concurrency: 3,
    open: 7,
    modelMs: 50,
    toolMs: 300,
    trouble: restartDatabase,
  },
  limits: {
    leaseMs: 2000,
    concurrency: 3,
    open: Number.POSITIVE_INFINITY,
    modelMs: 50,
    toolMs: 300,
    trouble: killEvery(1000),
    worker: { maxStalledCount: 1 },
  },
}
const names = [...new Set([...storeNames, ...fleetNames])]
const { values } = parseArgs({
  options: {
    store: { type: 'string', default: names.join(',') },
    scenario: { type: 'string', default: Object.keys(scenarios).join(',') },
    kills: { type: 'string', default: '1000' },
    sessions: { type: 'string', default: '50' },
    workers: { type: 'string', default: '4' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    report: { type: 'string' },
    mutant: { type: 'string' },
  },
})
const workerPath = join(import.meta.dirname, 'kill-runs-worker.mjs')
const stores = values.store.split(',')
const wantedKills = Math.ceil(Number(values.kills) / stores.length)
const random = seeded(Number(values.seed))
const below = (count) => Math.floor(random() * count)
const pick = (list) => list[below(list.length)]

console.log(`seed ${values.seed}, ${values.workers} workers`)
const rows = []
for (const scenario of values.scenario.split(',')) {
  for (const name of stores) {
    if (!fits(scenario, name)) continue
    const row = await play(name, scenario)
    rows.push(row)
    const { skipped, completed, sessions, seconds } = row
    const outcome =
      skipped === undefined
        ? `${completed} of ${sessions} sessions in ${seconds} s, ${row.failures.length} failures`
        : `skipped, ${skipped}`
    console.log(`${name} ${scenario}: ${outcome}`)
  }
}

const tried = rows.filter(({ skipped }) => skipped === undefined)
console.table(
  tried.map(({ failures, evidence: _text, ...row }) => ({ ...row, failures: failures.length })),
)
const failures = tried.flatMap((row) => row.failures)
for (const failure of failures.slice(0, 20)) console.log(failure)
for (const text of tried.flatMap((row) => row.evidence).slice(0, 5)) console.log(text)
const kills = tried.reduce((sum, row) => sum + row.kills, 0)
console.log(`${kills} kills, ${failures.length} failures`)
if (values.report !== undefined) {
  const passed = tried.reduce((sum, row) => sum + row.sessions, 0) - failures.length
  const skipped = rows.length - tried.length
  writeFileSync(values.report, JSON.stringify({ passed, failed: failures.length, skipped }))
}
process.exitCode = failures.length === 0 ? 0 : 1

/** Files and SQLite are for one machine, and only BullMQ has limits of its own. */
function fits(scenario, name) {
  if (scenario === 'limits') return name.startsWith('bullmq')
  return scenario === 'points' || fleetNames.includes(name)
}

/** Plays a scenario on a set-up, and judges it. */
async function play(name, scenario) {
  const server = scenario === 'restart' ? await privateServer(storeOf(name)) : undefined
  if (server?.missing !== undefined) return { store: name, skipped: server.missing }
  const place = await newPlace(name, server?.url)
  if (place.missing !== undefined) return { store: name, skipped: place.missing }
  try {
    return await playAt(place, scenario, server)
  } finally {
    if (server === undefined) await removePlace(place)
    await server?.end()
  }
}

async function playAt(place, scenario, server) {
  const settings = scenarios[scenario]
  const { leaseMs, open, trouble } = settings
  const folder = mkdtempSync(join(tmpdir(), 'allm-ledger-'))
  const files = { ledger: join(folder, 'effects'), journal: join(folder, 'journal') }
  const { store, close } = await openStore(place)
  const queue = await openQueue(place)
  const engine = createEngine({ adapter: fake({ script: [] }) })
  const bell = queue === undefined ? {} : { queue: queue.bell }
  const web = createRuns({ engine, store, ...bell, execute: false, whenBusy: 'queue' })
  const clerks = { web, other: createRuns({ engine, store, ...bell, execute: false }) }
  const began = performance.now()
  const state = {
    count: { random: 0, self: 0, paused: 0, restarted: 0 },
    deaths: [],
    crashes: [],
    // What the index of what waits did not have.
    misses: [],
    // Nothing is done to the workers any more; then they end.
    isCalm: false,
    isOver: false,
    slots: Array.from({ length: Number(values.workers) }, () => ({ isLost: false })),
    nextChild: spares(place.name),
    server,
    leaseMs,
  }
  const ids = []
  const running = new Set()
  const kills = () => state.count.random + state.count.self
  const wantsMore = () =>
    scenario === 'points' ? kills() < wantedKills : ids.length < Number(values.sessions)
  const give = async () => {
    const id = `s${ids.length + 1}`
    ids.push(id)
    running.add(id)
    // The first one is sent twice, as a client does whose answer was lost.
    for (const text of ['one', 'one', 'two']) {
      await insist(() => web.send(id, text, { idempotencyKey: text }))
    }
  }
  const lives = state.slots.map((slot) => {
    const plan = { ...settings, ...files, place, mutant: values.mutant, trouble: undefined }
    return liveOn(slot, state, () =>
      lifeOf(plan, scenario === 'points' ? nextMode(kills()) : 'plain'),
    )
  })
  const troubles = trouble?.(state, () => journalOf(files.journal)) ?? Promise.resolve()
  let quietSince = performance.now()
  // Sessions of a mutant may never end, nor those that BullMQ has given up.
  const patience = values.mutant === undefined && scenario !== 'limits' ? 180_000 : 20_000
  while (wantsMore() || running.size > 0) {
    if (wantsMore() && running.size < open) await give()
    else await sleep(30)
    for (const id of running) {
      if (!(await isAtRest(store, id))) continue
      const isDecided = await isAtRest(store, id, 3)
      if (isDecided || isHeld(id)) running.delete(id)
      else state.misses.push(...(await decide(clerks, id)))
      quietSince = performance.now()
    }
    if (performance.now() - quietSince > patience) break
  }
  state.isCalm = true
  const givenUp = scenario === 'limits' ? await sweepUp(web, queue, running) : undefined
  // A ring that was kept makes another job for a session at rest. If the worker that looks at it was killed, the session runs until another one
  // has looked: that is no failure. From here on nobody is killed, and all sessions have to be at rest.
  const isPatient = () => scenario !== 'limits' && performance.now() - quietSince < patience
  const isCalm = () => scenario !== 'points' || state.slots.every(({ mode }) => mode === 'calm')
  while (isPatient() && !isCalm()) await sleep(30)
  for (const id of ids) while (isPatient() && !(await isAtRest(store, id))) await sleep(30)
  state.misses.push(...(await indexProblems(web, store, ids)))
  for (const id of ids) {
    if (!(await isAtRest(store, id, 3))) state.misses.push(...(await decide(clerks, id)))
  }
  quietSince = performance.now()
  for (const id of ids) while (isPatient() && !(await isAtRest(store, id, 3))) await sleep(30)
  state.isOver = true
  await Promise.all([...lives, troubles])
  state.nextChild.end()
  const row = await judge({ store, place, scenario, ids, files, state })
  await close()
  await queue?.close()
  rmSync(folder, { recursive: true })
  const seconds = Math.round((performance.now() - began) / 1000)
  return { ...row, ...givenUp, seconds }
}

/** Whether a session has both of its messages, and the decision if that counts, and nothing more to do. */
async function isAtRest(store, id, commands = 2) {
  const seen = await insist(() => store.look(id))
  return seen?.running === false && seen.lastCommandId >= commands
}

/** Whether a session is decided about only when nobody is killed any more. */
function isHeld(id) {
  return Number(id.slice(1)) % 3 === 0
}

/** Two clerks decide at once about what the index says that waits. What it does not know is a problem, and is decided about all the same. */
async function decide({ web, other }, id) {
  const { rows } = await insist(() => web.pending({ prefix: id }))
  const row = rows.find(({ sessionId }) => sessionId === id)
  const given = row === undefined ? {} : { ticket: row.ticket }
  const decisions = [
    () => web.approve(id, 'refund-3', { ...given, by: 'ada' }),
    () => other.deny(id, 'refund-3', 'no', { ...given, by: 'bob' }),
  ]
  const tried = decisions.map((decision) => insist(() => expected(decision)))
  await Promise.all(below(2) === 0 ? tried : tried.toReversed())
  return row === undefined ? [{ id, text: 'the index did not have its approval' }] : []
}

/** A decision that may come second. */
async function expected(decision) {
  try {
    await decision()
  } catch (error) {
    const lost = ['already_decided', 'stale_ticket', 'illegal_status', 'unknown_tool_call_id']
    if (!lost.includes(error.reason)) throw error
  }
}

/** Where the index of what waits is not what the sessions wait for. */
async function indexProblems(web, store, ids) {
  const rows = new Set()
  for (const { sessionId, ticket } of (await insist(() => web.pending())).rows) {
    rows.add(`${sessionId} ${ticket}`)
  }
  const found = []
  for (const id of ids) {
    const stored = await insist(() => store.load(id)).catch(() => undefined)
    for (const { ticket } of stored === undefined ? [] : Session.pending(stored.session)) {
      if (!rows.delete(`${id} ${ticket}`)) found.push({ id, text: `the index lacks ${ticket}` })
    }
  }
  for (const row of rows) found.push({ id: row.split(' ')[0], text: `the index has ${row} still` })
  return found
}

/** What is left when BullMQ has given up, and whether a sweep finds it. */
async function sweepUp(web, queue, running) {
  const left = running.size
  const { failed } = await queue.counts()
  const swept = sweep(web, { enqueue: (id) => queue.bell.ring(id), everyMs: 500 })
  for (const id of running) {
    const rested = web.wait(id).then(() => running.delete(id))
    await Promise.race([rested, sleep(20_000)])
  }
  await swept.close()
  return { givenUp: left, failedJobs: failed, leftAfterSweep: running.size }
}

/** The mode of the next life of a worker, when workers die by themselves. */
function nextMode(kills) {
  return kills >= wantedKills ? 'calm' : pick(['random', 'self', 'self', 'pause'])
}

/** The plan of a life. */
function lifeOf(plan, mode) {
  const isQueue = plan.place.name !== plan.place.store
  const operations = [isQueue ? 'acquire' : 'claim', 'append', 'save', 'release', 'effect']
  const kill = { operation: pick(operations), when: pick(['before', 'after']), at: 1 + below(6) }
  return { mode, ...plan, delayMs: 3 + below(8), kill: mode === 'self' ? kill : undefined }
}

/** Keeps a worker alive at a slot: when it dies another one starts, unless the machine is lost. */
async function liveOn(slot, state, nextPlan) {
  while (!state.isOver && !slot.isLost) {
    const plan = nextPlan()
    const outcome = await live(slot, state, plan)
    if (outcome === 'killed') {
      state.count[plan.mode === 'self' ? 'self' : 'random']++
      if (plan.mode !== 'self') state.deaths.push({ pid: slot.pid, at: slot.killedAt })
    }
    if (plan.mode === 'pause') state.count.paused++
    if (plan.mode === 'plain' && !state.isOver) await sleep(100)
  }
}

/** One life of a worker. Resolves with `killed`, or with `ended` if it was asked to end. */
function live(slot, state, plan) {
  const { mode, leaseMs } = plan
  return new Promise((resolve, reject) => {
    const child = state.nextChild()
    // A spare that could not start is reported when it closes.
    child.stdin.on('error', () => undefined)
    child.stdin.end(`${JSON.stringify(plan)}\n`)
    Object.assign(slot, { pid: child.pid, mode, isReady: false, isPaused: false })
    slot.send = (signal) => {
      if (signal === 'SIGKILL') Object.assign(slot, { killedAt: Date.now(), isReady: false })
      child.kill(signal)
    }
    let errors = ''
    let endings = 0
    const timers = []
    const later = (ms, work) => timers.push(setTimeout(() => work(), ms))
    const watch = setInterval(() => {
      if (!state.isOver) return
      slot.send(endings++ > 100 ? 'SIGKILL' : 'SIGTERM')
      slot.send('SIGCONT')
    }, 100)
    child.stderr.on('data', (data) => (errors += String(data)))
    child.stdout.once('data', () => {
      slot.isReady = true
      if (mode === 'random') later(below(600), () => slot.send('SIGKILL'))
      // A worker that finds nothing to do does not reach its moment.
      if (mode === 'self') later(3000, () => slot.send('SIGTERM'))
      if (mode === 'calm') later(3000, () => slot.send('SIGTERM'))
      if (mode === 'pause') {
        later(below(200), () => {
          slot.send('SIGSTOP')
          later(leaseMs * 2, () => {
            slot.send('SIGCONT')
            later(500, () => slot.send('SIGTERM'))
          })
        })
      }
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      slot.isReady = false
      clearInterval(watch)
      for (const timer of timers) clearTimeout(timer)
      if (signal === 'SIGKILL') resolve(endings > 100 ? 'ended' : 'killed')
      else if (code === 0 || signal === 'SIGTERM') resolve('ended')
      else {
        state.crashes.push(`a worker failed: ${errors}`)
        resolve('ended')
      }
    })
  })
}

/** Processes that have loaded their modules and wait for a plan: a worker that was killed is replaced at once, also on a slow machine. */
function spares(name) {
  const spare = () => spawn(process.execPath, [workerPath, name], { stdio: 'pipe' })
  const waiting = [spare(), spare()]
  const next = () => {
    waiting.push(spare())
    return waiting.shift()
  }
  next.end = () => {
    for (const child of waiting) child.stdin.end()
  }
  return next
}

/** Kills a random worker again and again. Two stay alive, also where it takes longer to start one. */
function killEvery(ms) {
  return async (state) => {
    while (!state.isCalm) {
      await sleep(ms)
      const ready = state.slots.filter(({ isReady }) => isReady)
      const isEnough = ready.length > Math.min(2, state.slots.length - 1)
      if (isEnough && !state.isCalm) pick(ready).send('SIGKILL')
    }
  }
}

/** Stops a random worker again and again, for two and a half leases. Two go on. */
function pauseEvery(ms) {
  return async (state) => {
    const pauses = []
    while (!state.isCalm) {
      await sleep(ms)
      const ready = state.slots.filter(({ isReady, isPaused }) => isReady && !isPaused)
      if (ready.length > 2 && !state.isCalm) pauses.push(pause(pick(ready), state))
    }
    await Promise.all(pauses)
  }
}

async function pause(slot, state) {
  slot.isPaused = true
  state.count.paused++
  state.deaths.push({ pid: slot.pid, at: Date.now() })
  slot.send('SIGSTOP')
  await sleep(state.leaseMs * 2.5)
  slot.send('SIGCONT')
  slot.isPaused = false
}

/** Kills the worker that owns most, three leases after the other, until one is left. They do not come back. */
async function loseAll(state, journal) {
  while (state.slots.filter(({ isLost }) => !isLost).length > 1) {
    await sleep(state.leaseMs * 3)
    if (state.isCalm) return
    const owners = ownersOf(journal())
    const owned = ({ pid }) => [...owners.values()].filter((owner) => owner.pid === pid).length
    const ready = state.slots.filter(({ isReady }) => isReady)
    const [slot] = ready.toSorted((left, right) => owned(right) - owned(left))
    if (slot === undefined || owned(slot) === 0) continue
    slot.isLost = true
    slot.send('SIGKILL')
  }
}

/** Kills the database, and starts it after a second. */
async function restartDatabase(state) {
  while (!state.isCalm && state.slots.some(({ isReady }) => !isReady)) await sleep(50)
  for (let round = 0; round < 3; round++) {
    await sleep(2500)
    if (state.isCalm) return
    await state.server.kill()
    await sleep(1000)
    await state.server.start()
    state.count.restarted++
  }
}

/** What the workers noted, in the order in which they wrote it. */
function journalOf(path) {
  return linesOf(path).map((line) => {
    const [what, id, token, ...rest] = line.split(' ')
    return {
      what,
      id,
      token: Number(token),
      number: Number(rest[0]),
      pid: Number(rest.at(-2)),
      at: Number(rest.at(-1)),
    }
  })
}

/** Who owns which session at the end of a journal. */
function ownersOf(journal) {
  const owners = new Map()
  for (const { what, id, token, pid } of journal) {
    if (what === 'own') owners.set(id, { pid, token })
    if (what === 'release' && owners.get(id)?.token === token) owners.delete(id)
  }
  return owners
}

/** The figures of a scenario, and everything that is wrong. */
async function judge({ store, place, scenario, ids, files, state }) {
  const { count, deaths, leaseMs } = state
  const journal = journalOf(files.journal)
  const effects = journalOf(files.ledger).map(({ what: call, id, token, at }) => ({
    call,
    id,
    token,
    at,
  }))
  const found = []
  for (const id of ids) found.push(...(await insist(() => problems(store, id, effects))))
  found.push(...oldTokens(journal), ...state.crashes.map((text) => ({ id: '-', text })))
  found.push(...(scenario === 'limits' ? [] : state.misses))
  const dead = [...deaths, ...journal.filter(({ what }) => what === 'die')]
  const evidence = []
  for (const id of scenario === 'limits' ? [] : new Set(found.map((one) => one.id))) {
    if (id !== '-') evidence.push(await insist(() => evidenceOf(store, id, journal, dead)))
  }
  const times = takeOvers(journal, dead).toSorted((left, right) => left - right)
  const completed =
    ids.length - new Set(found.filter(({ isOpen }) => isOpen).map(({ id }) => id)).size
  const kinds = effects.map(({ id, call }) => `${id} ${call}`)
  const again = (isNote) =>
    kinds.length === 0
      ? 0
      : effects.filter(({ call }) => call.startsWith('note') === isNote).length -
        new Set(kinds.filter((kind) => kind.includes(' note') === isNote)).size
  return {
    store: place.name,
    scenario,
    sessions: ids.length,
    completed,
    kills: count.random + count.self,
    paused: count.paused,
    restarted: count.restarted,
    effects: effects.length,
    'not idempotent twice': again(false),
    'idempotent again': again(true),
    'old token': found.filter(({ isOld }) => isOld).length,
    // A process that is paused between its last look at the lease and the handler begins it late, and one that is paused in the handler ends it
    // late: after the session was taken over, but once.
    'late starts': superseded(
      journal,
      journal.filter(({ what }) => what === 'begin'),
    ).length,
    'late effects': superseded(journal, effects).length,
    'take-overs': times.length,
    p50: times[times.length >> 1],
    max: times.at(-1),
    'over 2 leases': times.filter((ms) => ms > leaseMs * 2).length,
    failures:
      scenario === 'limits'
        ? []
        : found.map(({ id, text }) => `${place.name} ${scenario} ${id}: ${text}`),
    evidence,
  }
}

/** Everything that is known about a session with a problem: what is stored, the end of its log, and what its workers did with it. */
async function evidenceOf(store, id, journal, deaths) {
  const state = await store.look(id)
  const { session } = (await store.load(id).catch(() => undefined)) ?? {}
  const { status, haltedReason, error, run, thread } = session ?? {}
  const said = thread?.messages.map(({ role, content, toolCallId, toolCalls, metadata }) => ({
    role,
    content,
    toolCallId,
    calls: toolCalls?.map((call) => call.id),
    metadata,
  }))
  const after = Math.max(0, (state?.lastEventId ?? 0) - 12)
  const events = await store.readEvents(id, { after, commands: true })
  const own = journal.filter((entry) => entry.id === id)
  const pids = new Set(own.map(({ pid }) => pid))
  const died = deaths.filter(({ pid }) => pids.has(pid)).map(({ pid, at }) => ({ died: pid, at }))
  const did = [...own, ...died].toSorted((one, other) => one.at - other.at)
  return [
    `--- ${id} at ${Date.now()}`,
    `look ${JSON.stringify(state)}`,
    `inbox ${JSON.stringify(await store.readInbox(id))}`,
    `session ${JSON.stringify({ status, haltedReason, error, run })}`,
    ...(said ?? []).map((message) => `  ${JSON.stringify(message)}`),
    `log after ${after}`,
    ...events.map((entry) => `  ${JSON.stringify(entry)}`),
    'workers',
    ...did.map((entry) => `  ${JSON.stringify(entry)}`),
  ].join('\n')
}

/** Writes with an old token: those after a write with a newer one, in the order in which the store numbers them. */
function oldTokens(journal) {
  const found = []
  const newest = new Map()
  const writes = journal.filter(({ what }) => what === 'save' || what === 'append')
  for (const { what, id, token, number } of writes.toSorted(
    (one, other) => one.number - other.number,
  )) {
    const key = `${what} ${id}`
    const last = newest.get(key) ?? 0
    if (token < last)
      found.push({ id, isOld: true, text: `${what} ${number} had token ${token}, after ${last}` })
    newest.set(key, Math.max(last, token))
  }
  return found
}

/** The entries of processes whose session had been taken over by then. */
function superseded(journal, entries) {
  const owns = journal.filter(({ what }) => what === 'own')
  return entries.filter((entry) =>
    owns.some(({ id, token, at }) => id === entry.id && token > entry.token && at < entry.at),
  )
}

/** The times from the death of an owner to the next owner of each of its sessions. */
function takeOvers(journal, deaths) {
  const times = []
  for (const death of deaths) {
    const before = journal.filter(({ at }) => at <= death.at)
    for (const [id, { pid, token }] of ownersOf(before)) {
      if (pid !== death.pid) continue
      const next = journal.find(
        (entry) => entry.what === 'own' && entry.id === id && entry.token > token,
      )
      if (next !== undefined) times.push(next.at - death.at)
    }
  }
  return times
}

/** What is wrong with a session that should have ended. */
async function problems(store, id, ledger) {
  const found = []
  const fail = (text, more) => found.push({ id, text, ...more })
  const state = await store.look(id)
  if (state === undefined) {
    fail('it is gone', { isOpen: true })
    return found
  }
  if (state.running) fail('it is still running', { isOpen: true })
  const stored = await store.load(id).catch((error) => fail(String(error)))
  if (stored?.session === undefined) return found
  const { session } = stored
  if (session.status !== 'completed') fail(`it is ${session.status}`, { isOpen: true })
  const { messages } = session.thread
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  if (said.join() !== 'one,two') fail(`the user said ${said.join()}`)
  const effects = ledger.filter((effect) => effect.id === id).map(({ call }) => call)
  for (const call of new Set(effects)) {
    const times = effects.filter((effect) => effect === call).length
    if (times > 1 && !call.startsWith('note')) fail(`${call} happened ${times} times`)
  }
  for (const { toolCallId, metadata } of messages) {
    if (toolCallId === undefined || metadata?.interrupted === true) continue
    if (metadata?.denied === true) {
      if (effects.includes(toolCallId)) fail(`${toolCallId} was denied and has an effect`)
      continue
    }
    if (!effects.includes(toolCallId)) fail(`${toolCallId} has a result and no effect`)
  }
  for (const call of ['note-1', 'note-2'])
    if (!effects.includes(call)) fail(`${call} never happened`)
  const events = []
  const commands = []
  for (;;) {
    const page = await store.readEvents(id, {
      after: events.at(-1) ?? 0,
      afterCommand: commands.at(-1)?.id,
      commands: true,
      limit: 200,
    })
    for (const entry of page)
      ('event' in entry ? events : commands).push('event' in entry ? entry.id : entry)
    if (page.length < 200) break
  }
  if (!events.every((number, at) => number === at + 1)) fail(`numbers ${events.join(' ')}`)
  const applied = commands.map(({ command }) => command.content ?? command.type)
  const [one, two, decision, ...more] = applied
  const isDecided = decision === 'approve' || decision === 'deny'
  if (one !== 'one' || two !== 'two' || !isDecided || more.length > 0) {
    fail(`applied ${applied.join()}`)
  }
  const refund = messages.find(({ toolCallId }) => toolCallId === 'refund-3')
  if (decision === 'deny' && refund?.metadata?.denied !== true) fail('refund-3 was not denied')
  return found
}

/** Tries again while the database is away. */
async function insist(work) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === 300) throw error
      await sleep(100)
    }
  }
}

function linesOf(path) {
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').filter(Boolean) : []
}

/** Numbers from 0 to 1 that follow from a seed. */
function seeded(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
