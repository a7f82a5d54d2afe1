// Measures runs on every store, for the guide. Timings are figures, not tests. Needs a build.
// usage: node scripts/measure-runs.mjs [--store file,sqlite,postgres,redis] [--sessions 200]
import { spawn } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { assistant, createEngine, Session, tool, user } from '../dist/index.js'
import { createRuns } from '../dist/runs.js'
import { fake } from '../dist/testing.js'
import { newPlace, openStore, removePlace, storeNames } from './kill-stores.mjs'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: storeNames.join(',') },
    sessions: { type: 'string', default: '200' },
    child: { type: 'string' },
  },
})
const bytes = (value) => new TextEncoder().encode(JSON.stringify(value)).length
const look = tool({
  name: 'look',
  description: 'Looks.',
  schema: { type: 'object' },
  handler: () => 'seen',
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
} else await beKilled(JSON.parse(values.child))

async function measure(place) {
  const { store, close } = await openStore(place)
  const figures = {}
  for (const history of [0, 100_000, 1_000_000]) {
    Object.assign(figures, await cost(store, history))
  }
  Object.assign(
    figures,
    await speed(store),
    await calls(store),
    await following(place, store),
    await takeOver(place, store),
  )
  figures['KB a session'] = await sizeOf(place)
  await close()
  return figures
}

/** What one run writes on top of a history: a tool and 2,000 pieces of text over the time that the machine needs. */
async function cost(inner, history) {
  const written = { saves: 0, sessions: 0, events: 0 }
  const store = {
    ...inner,
    save: (session, options) => {
      written.saves++
      written.sessions += bytes(session)
      written.events += (options.events ?? []).reduce((sum, event) => sum + bytes(event), 0)
      return inner.save(session, options)
    },
    append: (id, events, options) => {
      written.events += events.reduce((sum, event) => sum + bytes(event), 0)
      return inner.append(id, events, options)
    },
  }
  const id = `history${history}`
  const messages = []
  for (let size = 0; size < history; size += 2000) {
    messages.push(user('a'.repeat(1000)), assistant('b'.repeat(1000)))
  }
  if (history > 0) await inner.save({ ...Session.create({ id, messages }), status: 'completed' })
  const runs = createRuns({ engine: engineOf(), store })
  await runs.send(id, 'go')
  await runs.wait(id)
  await runs.close()
  const log = await allEvents(inner, id)
  const logged = log.reduce((sum, { event }) => sum + bytes(event), 0)
  const kb = (size) => Math.round(size / 1000)
  return {
    [`${kb(history)} KB: saves`]: written.saves,
    [`${kb(history)} KB: events x`]: Number((written.events / logged).toFixed(2)),
    [`${kb(history)} KB: sessions KB`]: kb(written.sessions),
  }
}

function engineOf(delayMs = 0) {
  return createEngine({
    tools: [look],
    adapter: fake({
      script: ({ messages }) =>
        messages.at(-1).role === 'tool'
          ? Array.from({ length: 40 }, (_one, at) => [
              ['text', `word ${at} `],
              ['delay', delayMs],
            ]).flat()
          : [['tool_call', { id: 'c', name: 'look', arguments: {} }]],
    }),
  })
}

async function allEvents(store, id) {
  const all = []
  for (;;) {
    const page = await store.readEvents(id, { after: all.at(-1)?.id ?? 0, limit: 1000 })
    all.push(...page)
    if (page.length < 1000) return all
  }
}

/** Runs a second in this process: a tool, two answers, eight at once. */
async function speed(store) {
  const count = Number(values.sessions)
  const web = createRuns({ engine: engineOf(), store, execute: false })
  for (let at = 0; at < count; at++) await web.send(`speed${at}`, 'go')
  const runs = createRuns({ engine: engineOf(), store, execute: false })
  const began = performance.now()
  const worker = runs.work({ concurrency: 8, everyMs: 20 })
  for (let at = 0; at < count; at++) await web.wait(`speed${at}`)
  const seconds = (performance.now() - began) / 1000
  await worker.close()
  return { 'runs/s': Math.round(count / seconds) }
}

/** What a run asks of the store in a second, while a text of six seconds comes. */
async function calls(inner) {
  const counts = new Map()
  const counted = Object.entries(inner).map(([name, call]) => {
    if (typeof call !== 'function' || name === 'watch') return [name, call]
    const count = (...args) => {
      counts.set(name, (counts.get(name) ?? 0) + 1)
      return call(...args)
    }
    return [name, count]
  })
  const store = Object.fromEntries(counted)
  const runs = createRuns({ engine: engineOf(150), store, execute: false })
  await runs.send('calls', 'go')
  counts.clear()
  const began = performance.now()
  await runs.advance('calls')
  const seconds = (performance.now() - began) / 1000
  await runs.close()
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const rate = (count) => Number((count / seconds).toFixed(1))
  return { 'calls/s': rate(all), 'for stops': rate(counts.get('stopRequested') ?? 0) }
}

/** How late another handle on the store sees a piece of text, beyond what it waits before it is written. */
async function following(place, store) {
  const other = await openStore(place)
  const runs = createRuns({ engine: engineOf(30), store, saveEveryMs: 0 })
  const reader = createRuns({ engine: engineOf(), store: other.store, execute: false })
  await runs.send('follow', 'go')
  const late = []
  for await (const { event, at } of reader.follow('follow')) {
    if (event.type === 'text_delta') late.push(Date.now() - at)
  }
  await runs.close()
  await reader.close()
  await other.close()
  late.sort((left, right) => left - right)
  return { 'follow p50 ms': late[late.length >> 1], 'follow max ms': late.at(-1) }
}

/** The time from a kill to the first event of the next owner, with a lease of 2 s. */
async function takeOver(place, store) {
  const times = []
  for (let round = 0; round < 3; round++) {
    const id = `take${round}`
    await store.push(id, { type: 'send', content: 'go' })
    const child = spawn(
      process.execPath,
      [import.meta.filename ?? process.argv[1], '--child', JSON.stringify({ place, id })],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    await new Promise((resolve) => child.stdout.once('data', resolve))
    child.kill('SIGKILL')
    const killedAt = performance.now()
    const runs = createRuns({ engine: engineOf(), store, leaseMs: 2000, execute: false })
    const { lastEventId } = await runs.get(id)
    const worker = runs.work({ everyMs: 100 })
    for await (const entry of runs.follow(id, { after: lastEventId })) {
      if (entry.id > lastEventId) break
    }
    times.push(Math.round(performance.now() - killedAt))
    await runs.wait(id)
    await worker.close()
  }
  return { 'take-over ms': Math.max(...times) }
}

/** A process that owns a session and says so when text comes. */
async function beKilled({ place, id }) {
  const { store } = await openStore(place)
  const runs = createRuns({ engine: engineOf(200), store, leaseMs: 2000, execute: false })
  runs.advance(id).catch((error) => console.error(error))
  for await (const { event } of runs.follow(id)) {
    if (event.type === 'text_delta') process.stdout.write('text\n')
  }
}

async function sizeOf(place) {
  const sessions = Number(values.sessions)
  if (place.folder !== undefined) return Math.round(folderSize(place.folder) / 1000 / sessions)
  const opened = await openStore(place)
  let size = 0
  if (place.store === 'postgres') {
    const { rows } = await opened.pool.query(
      'select sum(pg_total_relation_size(quote_ident(tablename)::regclass)) as size from pg_tables where tablename like $1',
      [`${place.id}%`],
    )
    size = Number(rows[0].size)
  } else {
    for (const key of await opened.client.keys(`*${place.id}*`)) {
      size += Number(await opened.client.call('MEMORY', 'USAGE', key))
    }
  }
  await opened.close()
  return Math.round(size / 1000 / sessions)
}

function folderSize(path) {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, { parentPath, path: old, name }) => sum + statSync(join(parentPath ?? old, name)).size,
      0,
    )
}
