export { fileStore, type FileStoreOptions } from './durable/stores/file-store.ts'
export type { StoreFile, StoreFiles } from './durable/stores/file-disk.ts'
export { memoryStore, type MemoryStoreOptions } from './durable/stores/memory-store.ts'
export {
  postgresStore,
  type PostgresConnection,
  type PostgresMessage,
  type PostgresParam,
  type PostgresPool,
  type PostgresStore,
  type PostgresStoreOptions,
} from './durable/stores/postgres-store.ts'
export type {
  AcquiredLease,
  AcquireOptions,
  AppendOptions,
  CommandEntry,
  EventEntry,
  InboxEntry,
  LogEntry,
  PendingOptions,
  PendingPage,
  PendingRow,
  PruneOptions,
  PushOptions,
  ReadEventsOptions,
  ReleaseOptions,
  RunState,
  RunStore,
  SlotTaken,
  Snapshot,
} from './durable/stores/run-store.ts'
export type {
  Lease,
  ListOptions,
  SaveOptions,
  SessionRow,
  SessionStore,
  StoredSession,
} from './durable/stores/session-store.ts'
export {
  sqliteStore,
  type SqliteDatabase,
  type SqliteParam,
  type SqliteStatement,
  type SqliteStore,
  type SqliteStoreOptions,
} from './durable/stores/sqlite-store.ts'
export {
  redisStore,
  type IoRedisClient,
  type IoRedisSubscriber,
  type NodeRedisClient,
  type NodeRedisSubscriber,
  type RedisStoreOptions,
} from './durable/stores/redis-store.ts'
