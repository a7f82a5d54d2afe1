// Measures runs on many processes, for the guide: with the store as the queue, and with BullMQ. Timings are figures, not tests. Needs a build.
// usage: node scripts/measure-fleet.mjs [--store postgres,redis,bullmq-redis,bullmq-postgres] [--sessions 200]
import { spawn } from 'node:child_process'
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createEngine, tool } from '../dist/index.js'
import { bullmqProcessor } from '../dist/queues.js'
import { createRuns } from '../dist/runs.js'
import { fake } from '../dist/testing.js'
import { fleetNames, newPlace, openQueue, openStore, removePlace } from './kill-stores.mjs'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: fleetNames.join(',') },
    sessions: { type: 'string', default: '200' },
    child: { type: 'string' },
  },
})

if (values.child === undefined) {
  const rows = []
  for (const name of values.store.split(',')) {
    const place = await newPlace(name)
    if (place.missing !== undefined) {
      console.log(`${name}: skipped, ${place.missing}`)
      continue
    }
    try {
      rows.push({ store: name, ...(await measure(place)) })
    } finally {
      await removePlace(place)
    }
  }
  console.table(rows)
} else await work(JSON.parse(values.child))

async function measure(place) {
  const { store, close } = await openStore(place)
  const queue = await openQueue(place)
  const bell = queue === undefined ? {} : { queue: queue.bell }
  const runs = createRuns({ engine: engineOf(), store, ...bell, execute: false })
  const alone = await startChildren(place, 1, 1)
  const waiting = await waits(runs, store, queue)
  await endChildren(alone)
  // With the default of `everyMs`, which the other figures do not depend on.
  const idle = await startChildren(place, 1, 4, 500)
  const picked = await picking(runs)
  await endChildren(idle)
  const children = await startChildren(place, 4, 4)
  const figures = {
    ...(await speed(runs)),
    ...(await stopping(runs)),
    ...(await following(runs)),
    ...picked,
    ...waiting,
  }
  await endChildren(children)
  await runs.close()
  await queue?.close()
  await close()
  return figures
}

/** Runs a second: a tool and two answers each, four processes with four at once. */
async function speed(runs) {
  const count = Number(values.sessions)
  const began = performance.now()
  const ids = Array.from({ length: count }, (_one, at) => `speed ${at}`)
  await Promise.all(ids.map((id) => runs.send(id, 'go')))
  for (const id of ids) await runs.wait(id)
  return { 'runs/s': Math.round((count * 1000) / (performance.now() - began)) }
}

/** The time from `stop` in this process until the session is at rest, while a tool of another process is busy for a minute. */
async function stopping(runs) {
  const times = []
  for (let round = 0; round < 20; round++) {
    const id = `stop ${round}`
    await runs.send(id, 'busy')
    for await (const { event } of runs.follow(id)) {
      if (event.type === 'tool_execution_started') break
    }
    await sleep(100)
    const began = performance.now()
    await runs.stop(id)
    await runs.wait(id)
    times.push(performance.now() - began)
  }
  return spread('stop', times)
}

/** How late this process sees a piece of text that another one has stored. */
async function following(runs) {
  const late = []
  await runs.send('follow', 'slowly')
  for await (const { event, at } of runs.follow('follow')) {
    if (event.type === 'text_delta') late.push(Date.now() - at)
  }
  return spread('follow', late)
}

/** The time from `send` in this process to the first event of the run, in a worker that has nothing else to do. */
async function picking(runs) {
  const times = []
  for (let round = 0; round < 40; round++) {
    // At another point of the worker's pause each time.
    await sleep(200 + ((round * 190) % 500))
    const began = performance.now()
    await runs.send(`pick ${round}`, 'go')
    const entries = runs.follow(`pick ${round}`)
    await entries.next()
    times.push(performance.now() - began)
    await entries.return()
    await runs.wait(`pick ${round}`)
  }
  return spread('pick-up', times)
}

/** Ten sessions that wait for 20 minutes hold no worker: the only one, which does one at a time, runs another session meanwhile. */
async function waits(runs, store, queue) {
  for (let at = 0; at < 10; at++) await runs.send(`wait ${at}`, 'limited')
  const isParked = async (at) => {
    const { owner, dueAt, queued } = (await store.look(`wait ${at}`)) ?? {}
    return owner === undefined && queued === 0 && dueAt > Date.now() + 60_000
  }
  for (let at = 0; at < 10; at++) while (!(await isParked(at))) await sleep(20)
  const began = performance.now()
  await runs.send('meanwhile', 'go')
  await runs.wait('meanwhile')
  const meanwhile = Math.round(performance.now() - began)
  const { dueAt } = await store.look('wait 0')
  await sleep(200)
  const counts = await queue?.counts()
  return {
    'wakes in s': Math.round((dueAt - Date.now()) / 1000),
    'another run meanwhile ms': meanwhile,
    'delayed jobs': counts?.delayed,
    'active jobs': counts?.active,
  }
}

function spread(name, times) {
  const sorted = times.map(Math.round).toSorted((left, right) => left - right)
  return { [`${name} p50 ms`]: sorted[sorted.length >> 1], [`${name} max ms`]: sorted.at(-1) }
}

async function startChildren(place, count, concurrency, everyMs = 50) {
  const plan = JSON.stringify({ place, concurrency, everyMs })
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, [import.meta.filename ?? process.argv[1], '--child', plan], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )
  await Promise.all(
    children.map((child) => new Promise((resolve) => child.stdout.once('data', resolve))),
  )
  return children
}

async function endChildren(children) {
  const ended = children.map((child) => new Promise((resolve) => child.once('exit', resolve)))
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(ended)
}

/** A worker process. */
async function work({ place, concurrency, everyMs }) {
  const { store, close } = await openStore(place)
  const queue = await openQueue(place)
  const runs = createRuns({ engine: engineOf(), store, execute: false, saveEveryMs: 0 })
  const leaseMs = 10_000
  const worker =
    queue === undefined
      ? runs.work({ concurrency, everyMs })
      : queue.work(bullmqProcessor(runs, { leaseMs }), { leaseMs, concurrency })
  const end = async () => {
    setTimeout(() => process.exit(0), 5000).unref()
    await Promise.all([worker.close(), runs.close()])
    await Promise.all([queue?.close(), close()])
    process.exit(0)
  }
  process.on('SIGTERM', () => void end())
  if (queue !== undefined) await worker.waitUntilReady()
  writeSync(1, 'ready\n')
}

/** What the model does follows from the words of the user. */
function engineOf() {
  const look = (name, handler) =>
    tool({ name, description: name, schema: { type: 'object' }, handler })
  const tools = [
    look('look', () => 'seen'),
    look('busy', (_args, { signal }) => sleep(60_000, 'done', { signal })),
  ]
  const call = (name) => [['tool_call', { id: 'c', name, arguments: {} }]]
  const words = (delayMs) =>
    Array.from({ length: 40 }, (_one, at) => [
      ['text', `word ${at} `],
      ['delay', delayMs],
    ]).flat()
  const answers = {
    go: (isTold) => (isTold ? [['text', 'Seen.']] : call('look')),
    busy: () => call('busy'),
    slowly: () => words(30),
    limited: () => [['error', 'rate_limited', { retryAfterMs: 1_200_000 }]],
  }
  const adapter = fake({
    script: ({ messages }) => answers[messages[0].content](messages.at(-1).role === 'tool'),
  })
  return createEngine({ adapter, tools, retry: { jitterMs: 0 } })
}
