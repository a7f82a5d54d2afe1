// The set-ups of the kill matrix: a store, and BullMQ on top of some. Each has a fresh place, which every process opens again.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bullmqOptions, bullmqQueue } from '../dist/queues.js'
import * as stores from '../dist/stores.js'

export const storeNames = ['file', 'sqlite', 'postgres', 'redis']
/** Those on which many machines work. */
export const fleetNames = ['postgres', 'redis', 'bullmq-redis', 'bullmq-postgres']

const urls = {
  postgres: process.env['ALLM_TEST_POSTGRES'] ?? 'postgres://root@127.0.0.1:5432/test',
  redis: process.env['ALLM_TEST_REDIS'] ?? 'redis://127.0.0.1:6379',
}

/** The store of a set-up. */
export function storeOf(name) {
  return name.replace('bullmq-', '')
}

/** Loads what a set-up needs, so that a process can begin at once. */
export async function loadModules(name) {
  const store = storeOf(name)
  if (store === 'sqlite') await import('better-sqlite3')
  if (store === 'postgres') await import('pg')
  if (store === 'redis') await import('ioredis')
  if (name !== store) await import('bullmq')
}

/** A new place, or the reason why there is none. `url` is that of another server than the usual one. */
export async function newPlace(name, url) {
  const id = `kill_${process.pid}_${Math.floor(Math.random() * 1e9)}`
  const store = storeOf(name)
  const folder = () => mkdtempSync(join(tmpdir(), 'allm-kills-'))
  if (store === 'file') return { name, store, folder: folder() }
  if (store === 'sqlite') return (await noSqlite()) ?? { name, store, folder: folder() }
  const place = { name, store, id, url: url ?? urls[store] }
  const { host, hostname, port } = new URL(place.url)
  if (!(await answers(hostname, port))) return { missing: `no ${store} at ${host}` }
  const opened = await openStore(place)
  if (store === 'postgres') {
    await opened.store.migrate()
    if (name !== store) {
      const { runMigrations } = await import('bullmq')
      const client = await opened.pool.connect()
      await runMigrations(client, id)
      client.release()
    }
  }
  await opened.close()
  return place
}

/** Opens the store of a place. */
export async function openStore(place) {
  if (place.store === 'file') {
    return { store: stores.fileStore(join(place.folder, 'sessions')), close: async () => undefined }
  }
  if (place.store === 'sqlite') {
    const { default: Database } = await import('better-sqlite3')
    const db = new Database(join(place.folder, 'sessions.db'))
    db.pragma('journal_mode = WAL')
    db.pragma('busy_timeout = 5000')
    return { store: stores.sqliteStore(db), close: async () => db.close() }
  }
  if (place.store === 'postgres') {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: place.url, max: 4 })
    pool.on('error', () => undefined)
    const store = stores.postgresStore(pool, { prefix: `${place.id}_` })
    return { store, close: () => pool.end(), pool }
  }
  const { default: Redis } = await import('ioredis')
  const client = new Redis(place.url, { retryStrategy: () => 50 })
  client.on('error', () => undefined)
  const store = stores.redisStore(client, { prefix: place.id })
  return { store, close: async () => client.disconnect(), client }
}

/** Opens BullMQ at a place; `undefined` if the store is the queue. */
export async function openQueue(place) {
  if (place.name === place.store) return undefined
  const { Queue, Worker, createPostgresBackend } = await import('bullmq')
  const { hostname: host, port } = new URL(place.url)
  const isRedis = place.store === 'redis'
  const connection = isRedis
    ? { host, port: Number(port), maxRetriesPerRequest: null, retryStrategy: () => 50 }
    : { connectionString: place.url, schema: place.id, max: 4 }
  const backend = isRedis ? undefined : createPostgresBackend
  const options = isRedis ? { connection, prefix: place.id } : { connection }
  const queue = new Queue('runs', options, backend)
  queue.on('error', () => undefined)
  return {
    bell: bullmqQueue(queue),
    counts: () => queue.getJobCounts('waiting', 'active', 'delayed', 'failed'),
    delayed: () => queue.getDelayed(),
    work: (processor, { leaseMs, concurrency, ...rest }) => {
      const own = { ...options, ...bullmqOptions({ leaseMs }), concurrency, ...rest }
      const worker = new Worker('runs', processor, own, backend)
      worker.on('error', () => undefined)
      return worker
    },
    close: () => queue.close(),
  }
}

/** Removes a place with everything in it. */
export async function removePlace(place) {
  if (place.folder !== undefined) {
    if (existsSync(place.folder)) rmSync(place.folder, { recursive: true })
    return
  }
  const opened = await openStore(place)
  if (place.store === 'postgres') {
    const { rows } = await opened.pool.query(
      'select tablename from pg_tables where tablename like $1',
      [`${place.id}\\_%`],
    )
    for (const { tablename } of rows) await opened.pool.query(`drop table "${tablename}" cascade`)
    await opened.pool.query(`drop sequence if exists "${place.id}_numbers" cascade`)
    await opened.pool.query(`drop schema if exists "${place.id}" cascade`)
  } else {
    const keys = await opened.client.keys(`*${place.id}*`)
    if (keys.length > 0) await opened.client.del(keys)
  }
  await opened.close()
}

async function noSqlite() {
  try {
    const { default: Database } = await import('better-sqlite3')
    new Database(':memory:').close()
    return undefined
  } catch {
    return {
      missing: 'better-sqlite3 is not built: npm rebuild better-sqlite3 --ignore-scripts=false',
    }
  }
}

function answers(hostname, port) {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    const end = (found) => {
      socket.destroy()
      resolve(found)
    }
    socket.once('connect', () => end(true))
    socket.once('error', () => end(false))
  })
}
