// One life of an agent: starts the session or resumes it, and saves it after every event. `kill-files.mjs` starts and kills it.
// usage: node scripts/kill-files-worker.mjs PLAN      (JSON: { directory, id, ledger, saved, delayMs, kill?, at?, operation?, skipStarts? })
// `kill` says when the process kills itself: `before` the save of the event with the number `at`, `during` it, before one of its
// file operations, or `after` it.
import { appendFileSync, writeSync } from 'node:fs'
import * as nodeFiles from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEngine, Session, tool, user } from '../dist/index.js'
import { fileStore } from '../dist/stores.js'
import { fake } from '../dist/testing.js'

const plan = JSON.parse(process.argv[2] ?? '{}')
const { directory, id, ledger, saved, delayMs, kill, at, operation, skipStarts } = plan

const die = () => process.kill(process.pid, 'SIGKILL')
const effect = (call) => appendFileSync(ledger, `${call.id}\n`)
const named = (name, idempotent, handler) =>
  tool({ name, description: name, schema: { type: 'object' }, idempotent, handler })

const tools = [
  // The effect is at once, before a wait, and after a wait.
  named('charge', false, (_args, { toolCall }) => {
    effect(toolCall)
    return 'charged'
  }),
  named('mail', false, async (_args, { toolCall }) => {
    effect(toolCall)
    await sleep(2)
    return 'mailed'
  }),
  named('ship', false, async (_args, { toolCall }) => {
    await sleep(1)
    effect(toolCall)
    return 'shipped'
  }),
  named('note', true, async (_args, { toolCall }) => {
    effect(toolCall)
    await sleep(1)
    return 'noted'
  }),
]

const call = (callId, name) => ['tool_call', { id: callId, name, arguments: { callId } }]
const scripts = [
  [['text', 'First, '], ['text', 'the money.'], call('charge-1', 'charge'), call('note-1', 'note')],
  [
    ['reasoning', 'Now the rest.'],
    call('mail-2', 'mail'),
    call('ship-2', 'ship'),
    call('note-2', 'note'),
    call('charge-2', 'charge'),
  ],
  [['text', 'One more.'], call('ship-3', 'ship')],
  [
    ['text', 'That '],
    ['text', 'was '],
    ['text', 'all.'],
    ['finish', 'stop'],
  ],
]

/** An engine whose next answer is the first one that is not in the thread. */
function engineFor(session) {
  const answered = session.thread.messages.filter(
    ({ role, metadata }) => role === 'assistant' && metadata?.partial !== true,
  ).length
  return createEngine({ adapter: fake({ scripts: scripts.slice(answered) }), tools })
}

let event = 0
let operations = 0
const step =
  (work) =>
  async (...args) => {
    if (kill === 'during' && event === at && ++operations === operation) die()
    return work(...args)
  }
const files = Object.fromEntries(
  ['mkdir', 'readdir', 'readFile', 'link', 'rename', 'rm', 'rmdir', 'stat'].map((name) => [
    name,
    step(nodeFiles[name]),
  ]),
)
files.open = step(async (path, flags) => {
  const file = await nodeFiles.open(path, flags)
  return {
    read: (...args) => file.read(...args),
    write: step((...args) => file.write(...args)),
    sync: step(() => file.sync()),
    close: () => file.close(),
    writeFile: step(async (data) => {
      await file.writeFile(data.slice(0, data.length / 2))
      await sleep(delayMs)
      await file.writeFile(data.slice(data.length / 2))
    }),
  }
})

const store = fileStore(directory, { files })
const loaded = await store.load(id)
const session = loaded?.session ?? Session.create({ id, messages: [user('go')] })
let version = loaded?.version ?? 0

async function save(next) {
  if (kill === 'before' && event === at) die()
  operations = 0
  version = await store.save(next, { ifVersion: version })
  appendFileSync(saved, `${version}\n`)
  if (kill === 'after' && event === at) die()
}

if (session.status !== 'completed') {
  const engine = engineFor(session)
  const stream =
    loaded === undefined
      ? Session.streamStart(engine, session)
      : Session.streamResume(engine, session)
  writeSync(1, 'ready\n')
  await save(stream.session)
  for await (const { type } of stream) {
    event++
    if (skipStarts === true && type === 'tool_execution_started') continue
    await save(stream.session)
  }
}
