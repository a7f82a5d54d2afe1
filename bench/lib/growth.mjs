/**
 * How the cost of this library grows. `node lib/growth.mjs <table> [quick]` prints the series of one table as JSON: the time for one unit
 * (a message, a step, an event) at each size. A line that stays level is linear growth.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { anthropic } from '../node_modules/.allm/anthropic.js'
import { gemini } from '../node_modules/.allm/gemini.js'
import { chat, createEngine, generate, Session, tool, user } from '../node_modules/.allm/index.js'
import { openai } from '../node_modules/.allm/openai.js'
import { createRuns } from '../node_modules/.allm/runs.js'
import {
  fileStore,
  memoryStore,
  postgresStore,
  redisStore,
  sqliteStore,
} from '../node_modules/.allm/stores.js'
import { fake } from '../node_modules/.allm/testing.js'
import { round, summary } from './statistics.mjs'
import { textFrames } from './wire.mjs'

const [name, mode] = process.argv.slice(2)
const quick = mode === 'quick'
const rounds = quick ? 3 : 7
const batchMs = quick ? 15 : 60

/**
 * The µs for one unit, for each series and size. `make` prepares the work of one size, which is then repeated in short batches, all series
 * and sizes in turn, so that a disturbance affects them equally.
 */
async function grow(series, sizes, make, clock = cpu) {
  const entries = []
  for (const one of series) {
    for (const size of sizes) {
      const run = await make(one, size)
      if (run === undefined) continue
      const began = performance.now()
      let times = 0
      while (performance.now() - began < batchMs * 2 || times < 2) {
        await run()
        times++
      }
      const count = Math.max(1, Math.round((times * batchMs) / (performance.now() - began)))
      entries.push({ one, size, run, count, samples: [] })
    }
  }
  for (let turn = 0; turn < rounds; turn++) {
    for (const { size, run, count, samples } of entries) {
      const start = clock()
      for (let at = 0; at < count; at++) await run()
      samples.push((clock() - start) / count / size)
    }
  }
  const result = {}
  for (const { one, size, samples } of entries) (result[one] ??= {})[size] = summary(samples)
  return result
}

function cpu() {
  const { user: own, system } = process.cpuUsage()
  return own + system
}

const wall = () => performance.now() * 1000

const thread = (length) =>
  Array.from({ length }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${index}: the keeper counted seven ships and wrote each name down.`,
  }))

const wires = {
  'OpenAI chat': ['openai-chat', (fetch) => openai({ fetch, apiKey: 'test', api: 'chat' })],
  'OpenAI Responses': [
    'openai-responses',
    (fetch) => openai({ fetch, apiKey: 'test', api: 'responses' }),
  ],
  Anthropic: ['anthropic', (fetch) => anthropic({ fetch, apiKey: 'test' })],
  Gemini: ['gemini', (fetch) => gemini({ fetch, apiKey: 'test' })],
}

function wireEngine(series) {
  const [wire, open] = wires[series]
  const body = textFrames(wire, 1).join('')
  const headers = { 'content-type': 'text/event-stream' }
  const model = { anthropic: 'claude-sonnet-4-20250514', gemini: 'gemini-2.5-flash' }[wire]
  const adapter = open(async () => new Response(body, { headers }))
  return createEngine({ adapter, model: model ?? 'gpt-4o-mini' })
}

/** An adapter that calls a tool in so many steps, some calls at once, and then answers. */
function looping(steps, parallel) {
  let step = 0
  return {
    provider: 'bare',
    async *stream() {
      const last = step % (steps + 1) === steps
      step++
      const toolCalls = Array.from({ length: parallel }, (_, index) => ({
        id: `call-${step}-${index}`,
        name: 'add',
        arguments: {},
      }))
      const message = last
        ? { role: 'assistant', content: 'done' }
        : { role: 'assistant', content: '', toolCalls }
      yield [
        { type: 'message_started', requestId: 'r', provider: 'bare' },
        { type: 'message_completed', message, finishReason: last ? 'stop' : 'tool_calls' },
      ]
    },
  }
}

function loop(steps, parallel, history = 0) {
  const schema = { type: 'object' }
  const add = tool({ name: 'add', description: 'Adds.', schema, handler: async () => 3 })
  const adapter = looping(steps, parallel)
  const engine = createEngine({ adapter, tools: [add], maxTurns: steps + 2 })
  const messages = [...thread(history), user('go')]
  return () => chat(engine, messages)
}

const session = (id, size) => ({
  ...Session.create({ id, messages: thread(size) }),
  status: 'completed',
})

/** The stores that this machine has, each with a way to leave. */
const stores = {
  memory: async () => ({ store: memoryStore() }),
  files: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'allm-bench-'))
    return { store: fileStore(folder), leave: () => rmSync(folder, { recursive: true }) }
  },
  SQLite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'allm-bench-'))
    const { default: Database } = await import('better-sqlite3')
    const db = new Database(join(folder, 'sessions.db'))
    db.pragma('journal_mode = WAL')
    const leave = () => {
      db.close()
      rmSync(folder, { recursive: true })
    }
    return { store: sqliteStore(db), leave }
  },
  Postgres: async () => {
    const { default: pg } = await import('pg')
    const connectionString = process.env.ALLM_TEST_POSTGRES ?? 'postgres://root@127.0.0.1:5432/test'
    const pool = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: 1000 })
    pool.on('error', () => undefined)
    const prefix = `bench_${process.pid}_`
    const store = postgresStore(pool, { prefix })
    await store.migrate()
    const leave = async () => {
      const { rows } = await pool.query('select tablename from pg_tables where tablename like $1', [
        `${prefix.replaceAll('_', '\\_')}%`,
      ])
      for (const { tablename } of rows) await pool.query(`drop table "${tablename}" cascade`)
      await pool.query(`drop sequence if exists "${prefix}numbers" cascade`)
      await pool.end()
    }
    return { store, leave }
  },
  Redis: async () => {
    const { default: Redis } = await import('ioredis')
    const url = process.env.ALLM_TEST_REDIS ?? 'redis://127.0.0.1:6379'
    const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
    client.on('error', () => undefined)
    await client.connect()
    const prefix = `bench_${process.pid}`
    const leave = async () => {
      const keys = await client.keys(`*${prefix}*`)
      if (keys.length > 0) await client.del(keys)
      client.disconnect()
    }
    return { store: redisStore(client, { prefix }), leave }
  },
}

/** Every store that can be opened here. */
async function openStores() {
  const opened = new Map()
  for (const [store, open] of Object.entries(stores)) {
    try {
      opened.set(store, await open())
    } catch (error) {
      console.error(`  ${store} is left out: ${String(error.message).split('\n')[0]}`)
    }
  }
  return opened
}

const tables = {
  requests: () =>
    grow(Object.keys(wires), [100, 300, 1000, 3000, 10_000], (series, size) => {
      const engine = wireEngine(series)
      const messages = [...thread(size), user('go')]
      return () => generate(engine, messages)
    }),
  /** The steps of a chat behind a history. `grow` divides by the size, so it is multiplied again. */
  async history() {
    const sizes = [10, 100, 1000, 5000]
    const figures = await grow(['a step'], sizes, (_series, size) => loop(40, 1, size))
    const row = figures['a step']
    for (const size of sizes) row[size] = { median: round((row[size].median * size) / 40) }
    return { 'a step': row }
  },
  steps: () => grow(['a step'], [10, 30, 100, 300, 1000], (_series, size) => loop(size, 1)),
  calls: () => grow(['a call'], [8, 32, 128, 512], (_series, size) => loop(1, size)),
  session: () =>
    grow(
      ['Session.stringify', 'Session.parse', 'JSON.parse'],
      [100, 1000, 10_000],
      (series, size) => {
        const saved = session('a', size)
        const text = Session.stringify(saved)
        if (series === 'Session.stringify') return () => Session.stringify(saved)
        return series === 'JSON.parse' ? () => JSON.parse(text) : () => Session.parse(text)
      },
    ),
  async stores() {
    const opened = await openStores()
    const sizes = [10, 100, 1000, 5000]
    try {
      return await grow(
        [...opened.keys()],
        sizes,
        async (series, size) => {
          const { store } = opened.get(series)
          const saved = session(`size-${size}`, size)
          await store.save(saved)
          return () => store.save(saved)
        },
        wall,
      )
    } finally {
      for (const { leave } of opened.values()) await leave?.()
    }
  },
  async follow() {
    const opened = await openStores()
    try {
      return await grow(
        [...opened.keys()],
        [100, 1000, 5000],
        async (series, size) => {
          const { store } = opened.get(series)
          const id = `events-${size}`
          // Some events at a time, as a model sends them: a store writes them in many small appends.
          const script = Array.from({ length: size }, (_, at) =>
            at % 50 === 49
              ? [
                  ['text', `word ${at} `],
                  ['delay', 1],
                ]
              : [['text', `word ${at} `]],
          ).flat()
          const engine = createEngine({ adapter: fake({ script: () => script }) })
          const runs = createRuns({ engine, store, saveEveryMs: 0 })
          await runs.send(id, 'go')
          await runs.wait(id)
          return async () => {
            for await (const _ of runs.follow(id));
          }
        },
        wall,
      )
    } finally {
      for (const { leave } of opened.values()) await leave?.()
    }
  },
}

console.log(JSON.stringify(await tables[name]()))
process.exit(0)
