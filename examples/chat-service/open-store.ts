import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  fileStore,
  postgresStore,
  sqliteStore,
  type RunStore,
  type SqliteDatabase,
} from 'allm-ts/stores'

/**
 * Where conversations are kept: in Postgres if `DATABASE_URL` is set, else in SQLite if Node has it (22.13 and newer), else in files.
 * Your service needs one of them.
 */
export async function openStore(): Promise<RunStore> {
  const { DATABASE_URL, CHAT_DATA = join(tmpdir(), 'allm-chat-service') } = process.env
  mkdirSync(CHAT_DATA, { recursive: true })
  if (DATABASE_URL) {
    const { Pool } = await import('pg')
    const store = postgresStore(new Pool({ connectionString: DATABASE_URL }))
    await store.migrate()
    return store
  }
  const sqlite = process.getBuiltinModule?.('node:sqlite') as NodeSqlite | undefined
  if (sqlite) return sqliteStore(new sqlite.DatabaseSync(join(CHAT_DATA, 'chat.db')))
  return fileStore(join(CHAT_DATA, 'files'))
}

/** The types of Node 20 do not have it. */
interface NodeSqlite {
  readonly DatabaseSync: new (file: string) => SqliteDatabase
}
