import { readdir, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import type { Engine } from '../../core/contracts/engine.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { isObject } from '../../core/types/guards.ts'
import type { Runs } from '../../durable/runs/contract.ts'
import { createRuns } from '../../durable/runs/runs.ts'
import { newestSessionFile } from '../../durable/stores/file-folder.ts'
import { fileStore } from '../../durable/stores/file-store.ts'
import { memoryStore } from '../../durable/stores/memory-store.ts'
import { postgresStore, type PostgresPool } from '../../durable/stores/postgres-store.ts'
import {
  redisStore,
  type IoRedisClient,
  type NodeRedisClient,
} from '../../durable/stores/redis-store.ts'
import type { RunStore } from '../../durable/stores/run-store.ts'
import { sqliteStore, type SqliteDatabase } from '../../durable/stores/sqlite-store.ts'
import { createEngine } from '../../engine/model-call/engine.ts'
import { cassetteRuns } from '../inspector/cassette-sessions.ts'
import type { RecordedCalls } from '../inspector/model-requests.ts'
import { CliError, usageError, type CommandCall } from './command.ts'
import { readCassette, readJsonFile, readSession } from './files.ts'

/** What is looked at. */
export interface Inspected {
  readonly runs: Runs
  /** A directory, a file, or a database without its password. */
  readonly name: string
  /** Where tests are written, if there is a directory. */
  readonly testFolder?: string
  /** Nobody runs these sessions: they are a recording, or the copy of a file without an engine. */
  readonly unattended?: boolean
  /** The id of the only session of a file. */
  readonly single?: string | undefined
  /** The calls of the cassette that the sessions play. */
  readonly recorded?: RecordedCalls
  /** Ends the connection. */
  readonly close: () => Promise<void>
}

/** Opens what the command line names. What cannot be read is a mistake in the command line, and says what to do. */
export async function openInspected(
  call: CommandCall,
  engine: Engine | undefined,
): Promise<Inspected> {
  const [path = './sessions'] = call.positionals
  const option = call.text('store')
  if (option !== undefined && call.positionals.length > 0) {
    throw usageError(`--store and ${withoutPassword(path)} are two places: give one of them`)
  }
  const address = option ?? (isAddress(path) ? path : undefined)
  try {
    return address === undefined
      ? await openPath(path, call, engine)
      : await openStore(address, call, engine)
  } catch (error) {
    if (!(error instanceof CliError) && !isAllmError(error)) throw error
    throw usageError(error.message)
  }
}

/** Runs on a store. Without an engine commands are left to the workers of the store. */
function runsOn(store: RunStore, engine: Engine | undefined): Runs {
  return engine === undefined
    ? createRuns({ engine: createEngine(), store, execute: false })
    : createRuns({ engine, store })
}

async function openPath(
  path: string,
  call: CommandCall,
  engine: Engine | undefined,
): Promise<Inspected> {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) {
    const hint =
      call.positionals.length > 0
        ? ''
        : '; npx allm-ts tour --session tour.json makes a session to look at'
    throw usageError(
      `there is no ${path}: name a directory of sessions, a session file or a cassette, or a database with --store${hint}`,
    )
  }
  const isOneSession = found.isDirectory() && newestSessionFile(await readdir(path)) !== undefined
  if (found.isDirectory() && !isOneSession) {
    const runs = runsOn(fileStore(path), engine)
    return { runs, name: path, testFolder: path, close: nothing }
  }
  const value = isOneSession
    ? undefined
    : await readJsonFile(path, call.io, 'a session or a cassette')
  if (isObject(value) && Array.isArray(value['calls'])) {
    const name = basename(path).replace(/(?:\.cassette)?\.json$/, '') || 'recording'
    const { runs, recorded } = await cassetteRuns(await readCassette(path, call.io), name)
    const [first, second] = await runs.list({ limit: 2 })
    const single = second === undefined ? first?.id : undefined
    return { runs, name: path, unattended: true, single, recorded, close: nothing }
  }
  const session = await readSession(path)
  if (session === undefined) throw usageError(`${path} is gone`)
  const store = memoryStore()
  await store.save(session, { first: true })
  const runs = runsOn(store, engine)
  const unattended = engine === undefined
  return { runs, name: path, unattended, single: session.id, close: nothing }
}

async function nothing(): Promise<void> {
  // Files need no end.
}

/** A store of a database, and the end of its connection. */
interface OpenedStore {
  readonly store: RunStore
  readonly close: () => Promise<void>
}

async function openStore(
  address: string,
  call: CommandCall,
  engine: Engine | undefined,
): Promise<Inspected> {
  const name = withoutPassword(address)
  let opened: OpenedStore | undefined
  try {
    opened = await connect(address, call)
    await opened.store.list({ limit: 1 })
  } catch (error) {
    await opened?.close()
    if (error instanceof CliError) throw error
    const cause = isAllmError(error) && error.cause instanceof Error ? error.cause : error
    const words = cause instanceof Error ? cause.message : String(cause)
    throw usageError(`cannot read sessions from ${name}: ${hidden(words, address)}`)
  }
  return { runs: runsOn(opened.store, engine), name, close: opened.close }
}

/** Whether an argument is the address of a database. */
function isAddress(text: string): boolean {
  return /^(?:postgres(?:ql)?|rediss?):\/\/|^sqlite:/.test(text)
}

function connect(address: string, call: CommandCall): Promise<OpenedStore> {
  if (/^postgres(?:ql)?:\/\//.test(address)) return postgres(address, call)
  if (/^rediss?:\/\//.test(address)) return redis(address, call)
  if (address.startsWith('sqlite:')) return sqlite(address.slice('sqlite:'.length), call)
  throw usageError(
    `--store must be postgres://…, redis://… or sqlite:<file>, not ${withoutPassword(address)}`,
  )
}

/** An address as it may be shown. */
function withoutPassword(address: string): string {
  return address.replace(/\/\/[^/@]*@/, '//')
}

/** Words of a driver, without the password of the address. */
function hidden(words: string, address: string): string {
  const password = URL.canParse(address) ? new URL(address).password : ''
  if (password === '') return words
  const plain = /%(?![0-9A-Fa-f]{2})/.test(password) ? password : decodeURIComponent(password)
  return words.replaceAll(plain, '•••').replaceAll(password, '•••')
}

function prefixOf(call: CommandCall): { readonly prefix?: string } {
  const prefix = call.text('prefix')
  return prefix === undefined ? {} : { prefix }
}

/** The parts of drivers that are used. */
interface PgDriver {
  readonly Pool: new (options: { connectionString: string; max: number }) => PostgresPool & {
    end(): Promise<void>
    on(event: 'error', listener: () => void): unknown
  }
}
type IoRedisDriver = new (
  url: string,
  options: { lazyConnect: true },
) => IoRedisClient & {
  connect(): Promise<unknown>
  disconnect(): void
  on(event: 'error', listener: (error: unknown) => void): unknown
}
interface RedisDriver {
  readonly createClient: (options: {
    url: string
    socket: { reconnectStrategy: (retries: number) => number | false }
  }) => NodeRedisClient & {
    connect(): Promise<unknown>
    destroy(): void
    on(event: 'error', listener: () => void): unknown
  }
}
interface NodeSqlite {
  readonly DatabaseSync: new (file: string) => SqliteDatabase & { close(): void }
}
type BetterSqlite = new (file: string) => SqliteDatabase & { close(): void }

async function postgres(address: string, call: CommandCall): Promise<OpenedStore> {
  const { Pool } = driver(['pg'], 'pg').module as PgDriver
  const pool = new Pool({ connectionString: address, max: 4 })
  // A connection that breaks while nobody uses it must not end the program.
  pool.on('error', () => undefined)
  const schema = call.text('schema')
  const store = postgresStore(pool, {
    ...prefixOf(call),
    ...(schema === undefined ? {} : { schema }),
  })
  return { store, close: () => pool.end() }
}

async function redis(address: string, call: CommandCall): Promise<OpenedStore> {
  const { name, module } = driver(['ioredis', 'redis'], 'ioredis')
  if (name === 'ioredis') {
    const Redis = (
      isObject(module) && 'default' in module ? module['default'] : module
    ) as IoRedisDriver
    const client = new Redis(address, { lazyConnect: true })
    // Connections that break later are made again. The first one must succeed: a driver would try for ever, and say nothing.
    let problem: unknown
    client.on('error', (error) => (problem ??= error))
    try {
      await client.connect()
    } catch (error) {
      client.disconnect()
      throw problem ?? error
    }
    return { store: redisStore(client, prefixOf(call)), close: async () => client.disconnect() }
  }
  let isConnected = false
  const reconnectStrategy = (retries: number): number | false =>
    isConnected && Math.min(retries * 50, 2000)
  const client = (module as RedisDriver).createClient({
    url: address,
    socket: { reconnectStrategy },
  })
  client.on('error', () => undefined)
  await client.connect()
  isConnected = true
  return { store: redisStore(client, prefixOf(call)), close: async () => client.destroy() }
}

async function sqlite(file: string, call: CommandCall): Promise<OpenedStore> {
  if ((await stat(file).catch(() => undefined))?.isFile() !== true) {
    throw usageError(`there is no database ${file}`)
  }
  const { name, module } = driver(['node:sqlite', 'better-sqlite3'], 'better-sqlite3')
  const database =
    name === 'node:sqlite'
      ? new (module as NodeSqlite).DatabaseSync(file)
      : new (module as BetterSqlite)(file)
  // The store would make its tables in any database.
  const { prefix = 'allm_' } = prefixOf(call)
  const tables = database.prepare('select name from sqlite_master where name = ?')
  if (tables.all(`${prefix}sessions`).length === 0) {
    database.close()
    throw usageError(`${file} has no table ${prefix}sessions: name the prefix with --prefix`)
  }
  return { store: sqliteStore(database, prefixOf(call)), close: async () => database.close() }
}

/** The first of several packages that is installed where the program was started, or beside the program. */
function driver(
  names: readonly string[],
  wanted: string,
): { readonly name: string; readonly module: unknown } {
  for (const from of [join(process.cwd(), 'x.js'), import.meta.url]) {
    const load = createRequire(from)
    for (const name of names) {
      try {
        return { name, module: load(name) as unknown }
      } catch (error) {
        const code = isObject(error) ? error['code'] : undefined
        if (code !== 'MODULE_NOT_FOUND' && code !== 'ERR_UNKNOWN_BUILTIN_MODULE') throw error
      }
    }
  }
  throw usageError(`there is no driver for this store: run npm install ${wanted}`)
}
