// Measures what sessions and runs cost on Postgres and Redis, also with a million sessions, and writes docs/scale/results.json. Then
// scripts/scale-model.mjs writes the tables and plots of docs/scale.md. Timings are figures, not tests. Needs a build, and the two servers.
// usage: node scripts/scale.mjs [--sessions 1000000] [--logged 100000] [--runs 400] [--only table,postgres,redis]
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import Redis from 'ioredis'
import pg from 'pg'
import { assistant, createEngine, Session, tool, user } from '../dist/index.js'
import { createRuns } from '../dist/runs.js'
import { postgresStore, redisStore } from '../dist/stores.js'
import { fake } from '../dist/testing.js'

const postgresUrl = process.env['ALLM_TEST_POSTGRES'] ?? 'postgres://root@127.0.0.1:5432/test'
const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '1000000' },
    logged: { type: 'string', default: '100000' },
    runs: { type: 'string', default: '400' },
    only: { type: 'string', default: 'table,postgres,redis' },
  },
})
const output = resolve(import.meta.dirname, '../docs/scale/results.json')
const only = values.only.split(',')
const prefix = `scale_${process.pid}_`
/** The events that a session with a log has. */
const eventsEach = 40
const lease = { owner: 'scale', ttlMs: 60_000 }

const look = tool({
  name: 'look',
  description: 'Looks.',
  schema: { type: 'object' },
  handler: () => 'seen',
})

const results = readResults()
results.date = new Date().toISOString().slice(0, 10)
results.machine = `${cpus().length} shared cores, Node ${process.versions.node}`
if (only.includes('table')) results.table = await onPostgres(tableCosts)
if (only.includes('postgres')) results.postgres = await onPostgres(runCosts)
if (only.includes('redis')) results.redis = await onRedis()
writeFileSync(output, `${JSON.stringify(results, null, 2)}\n`)
console.log(JSON.stringify(results, null, 2))

function readResults() {
  try {
    return JSON.parse(readFileSync(output, 'utf8'))
  } catch {
    return {}
  }
}

async function onPostgres(measure) {
  const pool = new pg.Pool({ connectionString: postgresUrl, max: 4, idleTimeoutMillis: 0 })
  const store = postgresStore(pool, { prefix })
  try {
    await store.migrate()
    const { rows } = await pool.query('show server_version')
    results.servers = { ...results.servers, postgres: rows[0].server_version.split(' ')[0] }
    return await measure(pool, store)
  } finally {
    const tables = await pool.query('select tablename from pg_tables where tablename like $1', [
      `${prefix}%`,
    ])
    for (const { tablename } of tables.rows) await pool.query(`drop table "${tablename}" cascade`)
    await pool.query(`drop sequence if exists "${prefix}numbers"`)
    await pool.end()
  }
}

/** The cost of the operations on tables of growing size. */
async function tableCosts(pool, store) {
  const most = Number(values.sessions)
  const sizes = [0, most / 100, most / 10, most]
  const points = []
  let filled = 0
  for (const size of sizes) {
    await fill(pool, filled, size)
    filled = size
    points.push({ sessions: size, ...(await operationCosts(pool, store)) })
    console.log(JSON.stringify(points.at(-1)))
  }
  const bytes = async (name) => {
    const { rows } = await pool.query(
      `select pg_total_relation_size('"${prefix}${name}"') as size, (select count(*) from "${prefix}${name}") as count`,
    )
    return Math.round(Number(rows[0].size) / Number(rows[0].count))
  }
  return {
    points,
    bytes: {
      sessionRow: await bytes('sessions'),
      text: await bytes('texts'),
      event: await bytes('events'),
      sessionText: typicalSession().length,
    },
  }
}

/** A session of two turns with a tool, as it is stored. */
function typicalSession() {
  const messages = [
    user('What is the weather in Ghent tomorrow, and do I need a coat for the evening?'),
    assistant(words(60)),
    user('Then book the table outside.'),
    assistant(words(60)),
  ]
  return Session.stringify({ ...Session.create({ id: 'typical', messages }), status: 'completed' })
}

/** Text that does not compress better than what people write. */
function words(count) {
  let state = 7
  return Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state.toString(36)
  }).join(' ')
}

/** Adds sessions at rest up to a number; one in ten has a log. A part of them belongs to each status. */
async function fill(pool, from, to) {
  if (to <= from) return
  const share = Math.round(Number(values.sessions) / Number(values.logged))
  const table = (name) => `"${prefix}${name}"`
  for (let at = from; at < to; at += 50_000) {
    const end = Math.min(to, at + 50_000) - 1
    await pool.query(
      `with made as (
        insert into ${table('sessions')} (id, version, status, updated_at, folded, last_event, last_command, prune_at)
        select 'rest' || lpad(n::text, 8, '0'), 5, case when n % 1000 = 0 then 'idle' else 'completed' end, 1700000000000 + n,
          case when n % ${share} = 0 then ${eventsEach} else 0 end, case when n % ${share} = 0 then ${eventsEach} else 0 end, 2,
          case when n % ${share} = 0 then 1900000000000 + n end
        from generate_series(${at}, ${end}) n returning key, last_event
      ), bodies as (
        insert into ${table('texts')} (session, body, metadata) select key, $1::text, '{"tenant":"acme"}' from made
      )
      insert into ${table('events')} (session, number, at, body)
      select key, n, 1700000000000 + n, '{"type":"text_delta","delta":"' || md5(n::text) || '"}'
      from made, generate_series(1, ${eventsEach}) n where last_event > 0`,
      [typicalSession()],
    )
  }
  // Sessions that are due: what claim looks among.
  await pool.query(
    `update ${table('sessions')} set due_at = 1700000000000 + key where id like 'rest%' and key % 10000 = 5`,
  )
  for (const name of ['sessions', 'texts', 'events'])
    await pool.query(`vacuum analyze ${table(name)}`)
}

/** The median time of each operation in milliseconds, and the blocks that it touches. */
async function operationCosts(pool, store) {
  const probes = 300
  const session = JSON.parse(typicalSession())
  // On an empty table there are also some that are idle and some that are due, so that every operation finds as much.
  const own = (at) => ({
    ...session,
    id: `probe${at}`,
    status: at % 10 === 0 ? 'idle' : 'completed',
  })
  for (let at = 0; at < probes; at++) await store.save(own(at))
  for (let at = 0; at < 20; at++) await store.push(`due${at}`, { type: 'resume' })
  const events = [{ type: 'text_delta', delta: 'a few words' }]
  const operations = {
    load: (target, at) => target.load(`probe${at}`),
    save: (target, at) => target.save(own(at)),
    list: (target, at) => target.list({ after: `probe${at}`, limit: 20 }),
    'list by status': (target) => target.list({ status: 'idle', limit: 20 }),
    due: (target) => target.due({ limit: 20 }),
    claim: async (target) => {
      await store.push('claimed', { type: 'resume' })
      return { ms: await timed(() => target.claim({ ...lease, ttlMs: 1 })) }
    },
    push: (target, at) => target.push(`probe${at}`, { type: 'resume' }),
    append: async (target, at) => {
      const taken = await store.acquire(`probe${at}`, lease)
      const ms = await timed(() => target.append(`probe${at}`, events, { lease: taken }))
      await store.release(`probe${at}`, taken)
      return { ms }
    },
    'read events': (target, at) => target.readEvents(`probe${at}`, { after: 0, limit: 100 }),
  }
  const ms = {}
  const blocks = {}
  for (const [name, operate] of Object.entries(operations)) {
    const times = []
    for (let at = 0; at < probes; at++) {
      let part
      const whole = await timed(async () => {
        part = await operate(store, at)
      })
      times.push(part?.ms ?? whole)
    }
    ms[name] = median(times)
    blocks[name] = await blocksOf(pool, (target) => operate(target, 7))
  }
  await pool.query(
    `delete from "${prefix}sessions" where id like 'probe%' or id like 'due%' or id = 'claimed'`,
  )
  return { ms, blocks }
}

async function timed(work) {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** The blocks that the statements of an operation touch. Nothing of what they write is kept. */
async function blocksOf(pool, operate) {
  let count = 0
  const explaining = {
    query: async (text, params) => {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const { rows } = await client.query(
          `explain (analyze, buffers, format json) ${text}`,
          params,
        )
        const plan = rows[0]['QUERY PLAN'][0].Plan
        count += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
      } finally {
        await client.query('rollback')
        client.release()
      }
      return pool.query(text, params)
    },
  }
  await operate(postgresStore(explaining, { prefix, notify: false }))
  return count
}

function median(numbers) {
  const sorted = numbers.toSorted((left, right) => left - right)
  return Number((sorted[sorted.length >> 1] ?? 0).toFixed(2))
}

/** A model that calls a tool and then writes for some seconds, twenty pieces each second. */
function engineOf(seconds) {
  const pieces = Math.max(20, seconds * 20)
  return createEngine({
    tools: [look],
    adapter: fake({
      script: ({ messages }) =>
        messages.at(-1).role === 'tool'
          ? Array.from({ length: pieces }, (_one, at) => [
              ['text', `word ${at} `],
              ...(seconds > 0 ? [['delay', 50]] : []),
            ]).flat()
          : [['tool_call', { id: 'c', name: 'look', arguments: {} }]],
    }),
  })
}

/** The memory that is in use after what is garbage was removed. */
function heapUsed() {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

/** Plays runs on a store, and returns what the process and the server spent on them. */
async function play(store, { count, seconds, name, spent, reader }) {
  const web = createRuns({ engine: engineOf(seconds), store: reader, execute: false })
  for (let at = 0; at < count; at++) await web.send(`${name}${at}`, 'go')
  const runs = createRuns({ engine: engineOf(seconds), store, execute: false })
  const before = { cpu: process.cpuUsage(), server: await spent(), heap: heapUsed() }
  const began = performance.now()
  const worker = runs.work({ concurrency: seconds > 0 ? count : 8, everyMs: 100 })
  const waits = Array.from({ length: count }, (_one, at) => web.wait(`${name}${at}`))
  let heap = before.heap
  if (seconds > 0) {
    // In the middle of the writing, all of them are under way.
    await new Promise((resolve) => setTimeout(resolve, seconds * 500))
    heap = heapUsed()
  }
  await Promise.all(waits)
  const elapsed = performance.now() - began
  const cpu = process.cpuUsage(before.cpu)
  const server = await spent()
  await worker.close()
  await web.close()
  const each = (total) => Number((total / count).toFixed(2))
  return {
    runs: count,
    seconds,
    'runs/s': Number((count / (elapsed / 1000)).toFixed(1)),
    workerMs: each((cpu.user + cpu.system) / 1000),
    serverMs: each(server.cpuMs - before.server.cpuMs),
    statements: each(server.statements - before.server.statements),
    written: each(server.written - before.server.written),
    ...(seconds > 0 ? { heap: Math.round((heap - before.heap) / count) } : {}),
  }
}

/** What one run costs Postgres: statements, bytes of its journal, time of its processors. */
async function runCosts(pool, _store) {
  let statements = 0
  const pids = new Set()
  pool.on('connect', (client) => pids.add(client.processID))
  for (const client of await Promise.all(Array.from({ length: 4 }, () => pool.connect()))) {
    pids.add(client.processID)
    client.release()
  }
  const counting = {
    query: (text, params) => {
      statements++
      return pool.query(text, params)
    },
    connect: () => pool.connect(),
    options: pool.options,
  }
  const store = postgresStore(counting, { prefix })
  // The process that waits for the runs: its statements do not count.
  const readers = new pg.Pool({ connectionString: postgresUrl, max: 4 })
  const reader = postgresStore(readers, { prefix })
  const spent = async () => {
    const { rows } = await pool.query(`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal`)
    return { statements, written: Number(rows[0].wal), cpuMs: cpuOf([...pids]) }
  }
  const costs = await playBoth(store, spent, reader)
  await readers.end()
  return costs
}

/** Runs whose model answers at once, and runs whose model writes for ten seconds. */
async function playBoth(store, spent, reader) {
  await play(store, { count: 50, seconds: 0, name: 'warm', spent, reader })
  const count = Number(values.runs)
  const few = Math.round(count / 4)
  return {
    short: await play(store, { count, seconds: 0, name: 'short', spent, reader }),
    long: await play(store, { count: few, seconds: 10, name: 'long', spent, reader }),
  }
}

/** The time that processes spent on a processor, in milliseconds. */
function cpuOf(pids) {
  const ticks = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  let sum = 0
  for (const pid of pids) {
    const path = `/proc/${pid}/stat`
    // A connection that was closed.
    if (!existsSync(path)) continue
    const stat = readFileSync(path, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    sum += Number(fields[11]) + Number(fields[12])
  }
  return (sum * 1000) / ticks
}

/** What one run costs Redis, on a server of its own that writes its journal. */
async function onRedis() {
  const port = 20_000 + (process.pid % 20_000)
  const folder = mkdtempSync(join(tmpdir(), 'allm-scale-'))
  const args = ['--port', `${port}`, '--dir', folder, '--appendonly', 'yes', '--save', '']
  const server = spawn('redis-server', [...args, '--bind', '127.0.0.1'], { stdio: 'ignore' })
  const client = new Redis(port, '127.0.0.1')
  const readers = new Redis(port, '127.0.0.1')
  let statements = 0
  const send = client.sendCommand.bind(client)
  client.sendCommand = (...command) => {
    statements++
    return send(...command)
  }
  try {
    const info = async (section, field) =>
      (await client.info(section)).match(new RegExp(`^${field}:(.*)$`, 'm'))?.[1]?.trim()
    results.servers = { ...results.servers, redis: await info('server', 'redis_version') }
    const store = redisStore(client, { prefix: 'scale' })
    const spent = async () => ({
      statements,
      written: Number(await info('persistence', 'aof_current_size')),
      cpuMs:
        1000 *
        (Number(await info('cpu', 'used_cpu_user')) + Number(await info('cpu', 'used_cpu_sys'))),
    })
    const costs = await playBoth(store, spent, redisStore(readers, { prefix: 'scale' }))
    const before = Number(await info('memory', 'used_memory'))
    const session = JSON.parse(typicalSession())
    const many = 10_000
    for (let at = 0; at < many; at += 100) {
      const batch = Array.from({ length: 100 }, (_one, more) => `rest${at + more}`)
      await Promise.all(batch.map((id) => store.save({ ...session, id })))
    }
    const atRest = Math.round((Number(await info('memory', 'used_memory')) - before) / many)
    return { ...costs, bytes: { session: atRest } }
  } finally {
    client.disconnect()
    readers.disconnect()
    server.kill('SIGKILL')
    rmSync(folder, { recursive: true })
  }
}
