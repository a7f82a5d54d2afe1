export { fileStore, type FileStoreOptions, type StoreFiles } from './stores/file-store.ts'
export { memoryStore, type MemoryStoreOptions } from './stores/memory-store.ts'
export {
  postgresStore,
  type PostgresConnection,
  type PostgresMessage,
  type PostgresParam,
  type PostgresPool,
  type PostgresStore,
  type PostgresStoreOptions,
} from './stores/postgres-store.ts'
export type {
  AcquiredLease,
  AcquireOptions,
  AppendOptions,
  CommandEntry,
  EventEntry,
  InboxEntry,
  LogEntry,
  PruneOptions,
  PushOptions,
  ReadEventsOptions,
  ReleaseOptions,
  RunState,
  RunStore,
  Snapshot,
} from './stores/run-store.ts'
export type {
  Lease,
  ListOptions,
  SaveOptions,
  SessionRow,
  SessionStore,
  StoredSession,
} from './stores/session-store.ts'
export {
  sqliteStore,
  type SqliteDatabase,
  type SqliteParam,
  type SqliteStatement,
  type SqliteStore,
  type SqliteStoreOptions,
} from './stores/sqlite-store.ts'
