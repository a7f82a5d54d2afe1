export { fileStore, type FileStoreOptions, type StoreFiles } from './stores/file-store.ts'
export { memoryStore, type MemoryStoreOptions } from './stores/memory-store.ts'
export type {
  ListOptions,
  SaveOptions,
  SessionRow,
  SessionStore,
  StoredSession,
} from './stores/session-store.ts'
