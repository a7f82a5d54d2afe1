// The stores of the kill matrix: by name, each with a fresh place, and opened again by every process.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as stores from '../dist/stores.js'

export const storeNames = ['file', 'sqlite', 'postgres', 'redis']

const postgresUrl = process.env['ALLM_TEST_POSTGRES'] ?? 'postgres://root@127.0.0.1:5432/test'
const redisUrl = process.env['ALLM_TEST_REDIS'] ?? 'redis://127.0.0.1:6379'

/** A new place for a store, or the reason why there is none. */
export async function newPlace(name) {
  const id = `kill_${process.pid}_${Math.floor(Math.random() * 1e9)}`
  if (name === 'file') return { name, folder: mkdtempSync(join(tmpdir(), 'allm-kills-')) }
  if (name === 'sqlite') {
    const missing = await noSqlite()
    return missing ?? { name, folder: mkdtempSync(join(tmpdir(), 'allm-kills-')) }
  }
  const url = new URL(name === 'postgres' ? postgresUrl : redisUrl)
  if (!(await answers(url))) return { missing: `no ${name} at ${url.host}` }
  return { name, id }
}

/** Opens the store of a place. */
export async function openStore(place) {
  if (place.name === 'file') {
    return { store: stores.fileStore(join(place.folder, 'sessions')), close: async () => undefined }
  }
  if (place.name === 'sqlite') {
    const { default: Database } = await import('better-sqlite3')
    const db = new Database(join(place.folder, 'sessions.db'))
    db.pragma('journal_mode = WAL')
    db.pragma('busy_timeout = 5000')
    return { store: stores.sqliteStore(db), close: async () => db.close() }
  }
  if (place.name === 'postgres') {
    const { default: pg } = await import('pg')
    const pool = new pg.Pool({ connectionString: postgresUrl, max: 4 })
    const store = stores.postgresStore(pool, { prefix: `${place.id}_` })
    await store.migrate()
    return { store, close: () => pool.end(), pool }
  }
  const { default: Redis } = await import('ioredis')
  const client = new Redis(redisUrl)
  const { redisStore } = await import('../dist/stores.js')
  const store = redisStore(client, { prefix: place.id })
  return { store, close: async () => client.disconnect(), client }
}

/** Removes a place with everything in it. */
export async function removePlace(place) {
  if (place.folder !== undefined) {
    if (existsSync(place.folder)) rmSync(place.folder, { recursive: true })
    return
  }
  const opened = await openStore(place)
  if (place.name === 'postgres') {
    const { rows } = await opened.pool.query(
      'select tablename from pg_tables where tablename like $1',
      [`${place.id}%`],
    )
    for (const { tablename } of rows) await opened.pool.query(`drop table "${tablename}" cascade`)
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

function answers({ hostname, port }) {
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
