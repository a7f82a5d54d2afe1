import { randomBytes } from 'node:crypto'
import { PGlite } from '@electric-sql/pglite'
import { Pool, type PoolConfig } from 'pg'
import postgres from 'postgres'
import { postgresStore, type PostgresPool, type PostgresStore } from '../../../src/stores.ts'

/** Where the tests look for a Postgres that they may use. */
export const serverUrl: string =
  process.env['ALLM_TEST_POSTGRES'] ?? 'postgres://root@127.0.0.1:5432/test'

const missing: string | undefined = await probe()

/** Why there is no Postgres to test with, for a title; `undefined` if there is one. */
export const reasonToSkip: string | undefined = missing && ` (skipped: ${missing})`

/** A client that a test opened. */
export interface Client {
  readonly pool: PostgresPool
  close(): Promise<unknown>
}

/** Opens a client. */
export type Open = () => Client

/** A pool of `pg`. */
export function pgPool(options: PoolConfig = {}): Pool {
  return new Pool({ connectionString: serverUrl, max: 4, ...options })
}

const openPg: Open = () => {
  const pool = pgPool()
  return { pool, close: () => pool.end() }
}

/** postgres.js, by the wrapper that the guide shows. */
const openPostgresJs: Open = () => {
  const sql = postgres(serverUrl, { max: 4, onnotice: () => undefined })
  const pool: PostgresPool = {
    query: async (text, params) => ({ rows: await sql.unsafe(text, params) }),
    listen: (channel, listener) => sql.listen(channel, listener).then((on) => () => on.unlisten()),
  }
  return { pool, close: () => sql.end() }
}

let embedded: PGlite | undefined

/** PGlite: one database in the process, which all clients share. It takes seconds to start. */
const openPglite: Open = () => {
  embedded ??= new PGlite()
  return { pool: embedded, close: async () => undefined }
}

/** A client that tests run with. */
export interface TestedClient {
  /** Its name, and why it cannot be used. */
  readonly title: string
  readonly missing: boolean
  readonly open: Open
  /** Whether its time is not that of the process. */
  readonly ownClock: boolean
}

/** Every client that the tests run with. */
export const clients: readonly TestedClient[] = [
  { title: titled('pg'), missing: missing !== undefined, open: openPg, ownClock: true },
  {
    title: titled('postgres.js'),
    missing: missing !== undefined,
    open: openPostgresJs,
    ownClock: true,
  },
  { title: 'PGlite', missing: false, open: openPglite, ownClock: false },
]

function titled(name: string): string {
  return `${name}${reasonToSkip ?? ''}`
}

/** A schema of its own for a test file. */
export interface Place {
  readonly schema: string
  /** A client that is open as long as the place. */
  readonly pool: PostgresPool
  /** A store on a client of its own. `change` may put something between. */
  connect(change?: (pool: PostgresPool) => PostgresPool): PostgresStore
  /** Removes all sessions, and closes the clients of the stores. */
  clear(): Promise<void>
  /** Removes the schema and closes everything. */
  remove(): Promise<void>
}

/** Creates a schema with the tables. */
export async function createPlace(client: Open | 'pg'): Promise<Place> {
  const open = client === 'pg' ? openPg : client
  const schema = `allm_test_${randomBytes(6).toString('hex')}`
  const own = open()
  await postgresStore(own.pool, { schema }).migrate()
  const others: Client[] = []
  const closeOthers = async (): Promise<void> => {
    await Promise.all(others.splice(0).map((client) => client.close()))
  }
  return {
    schema,
    pool: own.pool,
    connect: (change = (pool) => pool) => {
      const client = open()
      others.push(client)
      return postgresStore(change(client.pool), { schema })
    },
    clear: async () => {
      await closeOthers()
      await own.pool.query(`delete from "${schema}"."allm_sessions"`, [])
    },
    remove: async () => {
      await closeOthers()
      await own.pool.query(`drop schema "${schema}" cascade`, [])
      await own.close()
    },
  }
}

async function probe(): Promise<string | undefined> {
  const pool = new Pool({ connectionString: serverUrl, max: 1, connectionTimeoutMillis: 5000 })
  try {
    await pool.query('select 1')
    return undefined
  } catch (error) {
    return `no Postgres at ${new URL(serverUrl).host} (${error instanceof Error ? error.message : String(error)}); set ALLM_TEST_POSTGRES`
  } finally {
    await pool.end()
  }
}
