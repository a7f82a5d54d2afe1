// Kills an agent with SIGKILL, again and again, and looks at what is left. Needs a build.
// usage: npm run kill-files -- [--kills 500] [--seed N] [--report FILE] [--skip-starts]
//
// The agent has tools that are idempotent and tools that are not, keeps its session in a `fileStore`, and saves it after every
// event; each save takes some milliseconds. It is killed at random moments, between an event and its save, in the middle of a
// save, and after one, and another process resumes the session. Each session is killed up to twelve times and then left to end.
//
// Counted as failures: a session that is gone, that cannot be read or is older than its last save; an effect of a tool that is
// not idempotent twice; a thread that differs from that of a run without kills, except for calls that were answered as
// interrupted; files that are left behind. `--skip-starts` leaves out the saves of tool starts, and must fail: it shows that the
// matrix sees doubles.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { fileStore } from '../dist/stores.js'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '500' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    report: { type: 'string' },
    'skip-starts': { type: 'boolean', default: false },
  },
})
const wanted = Number(values.kills)
const worker = join(import.meta.dirname, 'kill-files-worker.mjs')
const folder = mkdtempSync(join(tmpdir(), 'allm-kills-'))
const directory = join(folder, 'sessions')
const store = fileStore(directory)
// A file in progress may belong to a living process; after an hour it is removed.
const later = fileStore(directory, {
  clock: { now: () => Date.now() + 2 * 3_600_000, sleep: async () => undefined },
})
const random = seeded(Number(values.seed))
const below = (count) => Math.floor(random() * count)

const modes = ['random', 'before', 'during', 'after']
const totals = Object.fromEntries(modes.map((mode) => [mode, 0]))
const failures = []
let sessions = 0
let effects = 0
let interrupted = 0

try {
  const reference = await finished('reference')
  await Promise.all(Array.from({ length: 3 }, () => killSessions(reference)))
} finally {
  rmSync(folder, { recursive: true })
}

const kills = modes.reduce((sum, mode) => sum + totals[mode], 0)
console.log(`seed ${values.seed}`)
console.log(`${kills} kills: ${modes.map((mode) => `${totals[mode]} ${mode}`).join(', ')}`)
console.log(
  `${sessions} sessions, ${effects} effects, ${interrupted} calls answered as interrupted`,
)
for (const kind of [
  'lost',
  'unreadable',
  'outdated',
  'double',
  'differs',
  'unfinished',
  'left behind',
]) {
  console.log(`${kind}: ${failures.filter((failure) => failure.kind === kind).length}`)
}
for (const { kind, text } of failures.slice(0, 10)) console.log(`${kind}: ${text}`)
if (values.report !== undefined) {
  const counts = { passed: sessions - failures.length, failed: failures.length, skipped: 0 }
  writeFileSync(values.report, JSON.stringify(counts))
}
process.exitCode = failures.length === 0 && kills >= wanted ? 0 : 1

/** Kills sessions one after the other until there were enough kills. */
async function killSessions(reference) {
  while (modes.reduce((sum, mode) => sum + totals[mode], 0) < wanted) {
    const id = `s${++sessions}`
    for (let life = 0; life < 12; life++) {
      const mode = modes[below(modes.length)]
      const plan =
        mode === 'random'
          ? { delayMs: below(5), killAfterMs: below(120) }
          : { delayMs: 1 + below(3), kill: mode, at: below(16), operation: 1 + below(12) }
      const killed = await live(id, plan)
      if (killed) totals[mode]++
      await check(id)
      if (!killed) break
    }
    await compare(id, await finished(id), reference)
  }
}

/** Runs the session to its end, without a kill. */
async function finished(id) {
  if (await live(id, { delayMs: 0 })) throw new Error('killed by somebody else')
  const { session } = (await store.load(id)) ?? {}
  return session
}

/** Starts a process and waits for its end. Resolves with whether it was killed. */
function live(id, { killAfterMs, ...plan }) {
  const args = {
    ...plan,
    id,
    directory,
    ledger: join(folder, `${id}.effects`),
    saved: join(folder, `${id}.saved`),
    skipStarts: values['skip-starts'],
  }
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [worker, JSON.stringify(args)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let errors = ''
    child.stderr.on('data', (data) => (errors += String(data)))
    child.stdout.on('data', () => {
      if (killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs)
    })
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0 || signal === 'SIGKILL') resolve(signal === 'SIGKILL')
      else reject(new Error(`the worker failed: ${errors}`))
    })
  })
}

/** Looks at a session after a kill. */
async function check(id) {
  const versions = linesOf(`${id}.saved`).map(Number)
  const last = Math.max(0, ...versions)
  try {
    const found = await store.load(id)
    if (found === undefined && last > 0) fail('lost', `${id} at version ${last}`)
    else if ((found?.version ?? 0) < last) {
      fail('outdated', `${id} at version ${found?.version}, which was saved as ${last}`)
    }
  } catch (error) {
    fail('unreadable', `${id}: ${String(error)}`)
  }
}

/** Compares a finished session with one that was never killed. */
async function compare(id, session, reference) {
  if (session?.status !== 'completed') {
    fail('unfinished', `${id} is ${session?.status}`)
    return
  }
  const done = linesOf(`${id}.effects`)
  effects += done.length
  const doubles = done.filter(
    (effect, index) => !effect.startsWith('note') && done.indexOf(effect) < index,
  )
  for (const effect of doubles) fail('double', `${effect} of ${id}: ${done.join(' ')}`)
  const { messages } = session.thread
  reference.thread.messages.forEach((message, index) => {
    const other = messages[index]
    if (other?.metadata?.interrupted === true && message.role === 'tool') {
      interrupted++
      if (!other.toolCallId.startsWith('note')) return
    }
    if (!isDeepStrictEqual(other, message)) {
      fail('differs', `message ${index} of ${id}: ${JSON.stringify(other)}`)
    }
  })
  if (messages.length !== reference.thread.messages.length) fail('differs', `${id} is longer`)
  const answered = messages.flatMap(({ toolCallId, metadata }) =>
    toolCallId === undefined || metadata?.interrupted === true ? [] : [toolCallId],
  )
  for (const callId of answered) {
    if (!done.includes(callId)) fail('differs', `${callId} of ${id} has a result and no effect`)
  }
  await later.load(id)
  const files = readdirSync(join(directory, id))
  if (files.length !== 1) fail('left behind', `${id}: ${files.join(', ')}`)
  const progress = join(directory, '.tmp')
  const left = existsSync(progress) ? readdirSync(progress) : []
  if (left.some((name) => name.startsWith(`${id}.`))) fail('left behind', left.join(', '))
}

function linesOf(name) {
  const path = join(folder, name)
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').filter(Boolean) : []
}

function fail(kind, text) {
  failures.push({ kind, text })
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
