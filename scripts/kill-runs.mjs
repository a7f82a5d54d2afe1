// Kills workers with SIGKILL, again and again, on every store, and looks at what is left. Needs a build.
// usage: npm run kill-matrix -- [--kills 1000] [--store file,sqlite,postgres,redis] [--seed N] [--report FILE] [--mutant NAME]
//
// Two workers advance sessions with `runs.work`: tools that are idempotent and tools that are not, two messages of the user for
// each session, the second one queued behind the first. Every write takes some milliseconds longer than it has to. A worker
// is killed at a random moment, kills itself before or after an operation on the store or an effect, or is paused for longer than its lease;
// then another one starts.
//
// Counted as failures: a session that does not end; an effect of a tool that is not idempotent twice; a result without an effect;
// an idempotent tool without one; a command that is applied twice, not at all or out of order; a number of the log that is
// missing or there twice; a session that cannot be read. `--mutant no-write-ahead` and `--mutant no-lease` break the workers and must fail: they
// show that the matrix sees it.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { newPlace, openStore, removePlace, storeNames } from './kill-stores.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '1000' },
    store: { type: 'string', default: storeNames.join(',') },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    report: { type: 'string' },
    mutant: { type: 'string' },
  },
})
const leaseMs = 600
const workerPath = join(import.meta.dirname, 'kill-runs-worker.mjs')
const stores = values.store.split(',')
const wanted = Math.ceil(Number(values.kills) / stores.length)
const random = seeded(Number(values.seed))
const below = (count) => Math.floor(random() * count)
const operations = ['claim', 'append', 'save', 'release', 'effect']

console.log(`seed ${values.seed}, lease ${leaseMs} ms`)
const rows = []
for (const name of stores) {
  const place = await newPlace(name)
  if (place.missing !== undefined) {
    console.log(`${name}: skipped, ${place.missing}`)
    rows.push({ store: name, skipped: place.missing })
    continue
  }
  try {
    rows.push(await killOn(place))
  } finally {
    await removePlace(place)
  }
}

const tried = rows.filter(({ skipped }) => skipped === undefined)
console.table(tried.map(({ failures, ...row }) => ({ ...row, failures: failures.length })))
const failures = tried.flatMap((row) => row.failures)
for (const failure of failures.slice(0, 20)) console.log(failure)
const kills = tried.reduce((sum, row) => sum + row.kills, 0)
console.log(`${kills} kills, ${failures.length} failures`)
if (values.report !== undefined) {
  const passed = tried.reduce((sum, row) => sum + row.sessions, 0) - failures.length
  const skipped = rows.length - tried.length
  writeFileSync(values.report, JSON.stringify({ passed, failed: failures.length, skipped }))
}
process.exitCode = failures.length === 0 ? 0 : 1

/** Kills workers on one store until there were enough kills and all sessions have ended. */
async function killOn(place) {
  const folder = mkdtempSync(join(tmpdir(), 'allm-ledger-'))
  const ledger = join(folder, 'effects')
  const { store, close } = await openStore(place)
  const began = performance.now()
  const count = { random: 0, self: 0, paused: 0 }
  const ids = []
  const kills = () => count.random + count.self
  const give = async () => {
    const id = `s${ids.length + 1}`
    ids.push(id)
    await store.push(id, { type: 'send', content: 'one' }, { key: 'one' })
    // The same command again, as a client sends it whose answer was lost.
    await store.push(id, { type: 'send', content: 'one' }, { key: 'one' })
    await store.push(id, { type: 'send', content: 'two' }, { key: 'two' })
  }
  const isDone = { all: false }
  const lives = [0, 1].map(async () => {
    while (!isDone.all) {
      const mode = kills() >= wanted ? 'calm' : ['random', 'self', 'self', 'pause'][below(4)]
      const outcome = await live(place, ledger, mode, isDone)
      if (outcome === 'killed') count[mode === 'self' ? 'self' : 'random']++
      if (mode === 'pause') count.paused++
    }
  })
  try {
    for (let at = 0; at < 6; at++) await give()
    for (;;) {
      const open = (await store.list()).filter(({ running }) => running).length
      if (kills() < wanted && open < 6) await give()
      else if (kills() >= wanted && open === 0) break
      else await sleep(30)
      // Sessions of a mutant may never end.
      if (performance.now() - began > (values.mutant === undefined ? 1_800_000 : 60_000)) break
    }
  } finally {
    isDone.all = true
    await Promise.all(lives)
  }
  const effects = linesOf(ledger)
  const found = []
  for (const id of ids) found.push(...(await problems(store, place.name, id, effects)))
  await close()
  rmSync(folder, { recursive: true })
  const seconds = Math.round((performance.now() - began) / 1000)
  return {
    store: place.name,
    kills: kills(),
    byThemselves: count.self,
    paused: count.paused,
    sessions: ids.length,
    effects: effects.length,
    seconds,
    failures: found,
  }
}

/** One life of a worker. Resolves with `killed`, or with `ended` if it was asked to end. */
function live(place, ledger, mode, isDone) {
  const kill =
    mode === 'self'
      ? {
          operation: operations[below(operations.length)],
          when: ['before', 'after'][below(2)],
          at: 1 + below(6),
        }
      : undefined
  const plan = { store: place, leaseMs, ledger, delayMs: 3 + below(8), mutant: values.mutant, kill }
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [workerPath, JSON.stringify(plan)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let errors = ''
    const timers = []
    const later = (ms, work) => timers.push(setTimeout(() => work(), ms))
    const watch = setInterval(() => isDone.all && child.kill('SIGTERM'), 100)
    child.stderr.on('data', (data) => (errors += String(data)))
    child.stdout.once('data', () => {
      if (mode === 'random') later(below(600), () => child.kill('SIGKILL'))
      // A worker that finds nothing to do does not reach its moment.
      if (mode === 'self') later(3000, () => child.kill('SIGTERM'))
      if (mode === 'calm') later(3000, () => child.kill('SIGTERM'))
      if (mode === 'pause') {
        later(below(200), () => {
          child.kill('SIGSTOP')
          later(leaseMs * 2, () => {
            child.kill('SIGCONT')
            later(500, () => child.kill('SIGTERM'))
          })
        })
      }
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearInterval(watch)
      for (const timer of timers) clearTimeout(timer)
      if (signal === 'SIGKILL') resolve('killed')
      else if (code === 0 || signal === 'SIGTERM') resolve('ended')
      else reject(new Error(`a worker failed: ${errors}`))
    })
  })
}

/** What is wrong with a session that should have ended. */
async function problems(store, name, id, ledger) {
  const found = []
  const fail = (text) => found.push(`${name} ${id}: ${text}`)
  const stored = await store.load(id).catch((error) => fail(String(error)))
  if (stored === undefined) {
    fail('it is gone')
    return found
  }
  const { session } = stored
  if (session.status !== 'completed') fail(`it is ${session.status}`)
  const { messages } = session.thread
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  if (said.join() !== 'one,two') fail(`the user said ${said.join()}`)
  const effects = ledger
    .filter((line) => line.startsWith(`${id} `))
    .map((line) => line.split(' ')[1])
  for (const call of new Set(effects)) {
    const times = effects.filter((effect) => effect === call).length
    if (times > 1 && !call.startsWith('note')) fail(`${call} happened ${times} times`)
  }
  for (const { toolCallId, metadata } of messages) {
    if (toolCallId === undefined || metadata?.interrupted === true) continue
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
  const applied = commands.map(({ command }) => command.content)
  if (applied.join() !== 'one,two') fail(`applied ${applied.join()}`)
  return found
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
