import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type BetterSqlite3 from 'better-sqlite3'
import { sqliteStore, type SqliteDatabase, type SqliteStore } from '../../../src/stores.ts'

/** A database that a test opened. */
export interface OpenDatabase extends SqliteDatabase {
  close(): unknown
}

/** A driver that tests run with. */
export interface TestedDriver {
  /** Its name, and why it cannot be used. */
  readonly title: string
  readonly missing: boolean
  readonly open: (file: string) => OpenDatabase
}

/** Every driver that the tests run with. `bun:sqlite` is in `test/runtimes`. */
export const drivers: readonly TestedDriver[] = [
  driver('better-sqlite3', betterSqlite3),
  driver('better-sqlite3 with big integers', () => {
    const open = betterSqlite3()
    return (file) => open(file).defaultSafeIntegers(true)
  }),
  driver('node:sqlite', nodeSqlite),
]

function betterSqlite3(): (file: string) => BetterSqlite3.Database {
  const require = createRequire(import.meta.url)
  const Database = require('better-sqlite3') as typeof BetterSqlite3
  // The native part is loaded by the first database.
  new Database(':memory:').close()
  return (file) => new Database(file, { timeout: 0 })
}

function nodeSqlite(): (file: string) => OpenDatabase {
  // Only Node 22 and newer have it, so it is not in the types.
  const host = process as { getBuiltinModule?: (name: string) => unknown }
  const found = host.getBuiltinModule?.('node:sqlite') as
    | { DatabaseSync: new (file: string) => OpenDatabase }
    | undefined
  if (found === undefined) throw new Error(`Node ${process.versions.node} does not have it`)
  return (file) => new found.DatabaseSync(file)
}

function driver(name: string, load: () => (file: string) => OpenDatabase): TestedDriver {
  try {
    return { title: name, missing: false, open: load() }
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    const open = (): never => {
      throw error
    }
    return { title: `${name} (skipped: ${why})`, missing: true, open }
  }
}

/** A database file of its own. */
export interface Place {
  readonly file: string
  /** A connection of its own. */
  open(): OpenDatabase
  /** A store on a connection of its own. `change` may put something between. */
  connect(change?: (database: SqliteDatabase) => SqliteDatabase): SqliteStore
  /** Closes the connections and removes the file. */
  remove(): void
}

/** Creates an empty database file. */
export function createPlace(open: TestedDriver['open'], mode: 'wal' | 'delete' = 'wal'): Place {
  const folder = mkdtempSync(join(tmpdir(), 'allm-sqlite-'))
  const file = join(folder, 'store.db')
  const opened: OpenDatabase[] = []
  const openOne = (): OpenDatabase => {
    const database = open(file)
    opened.push(database)
    return database
  }
  // The setting is kept in the file.
  openOne().prepare(`pragma journal_mode = ${mode}`).all()
  return {
    file,
    open: openOne,
    connect: (change = (database) => database) => sqliteStore(change(openOne())),
    remove: () => {
      for (const database of opened) database.close()
      rmSync(folder, { recursive: true })
    },
  }
}
