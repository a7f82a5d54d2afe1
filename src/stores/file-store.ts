import { systemClock, type Clock } from '../core/clock.ts'
import { EngineError, SessionError, ValidationError } from '../errors/errors.ts'
import { parseSession, stringifySession } from '../session/saved.ts'
import { refuseStale, type SessionStore, type StoredSession } from './memory-store.ts'

/** The part of Node's file system that a store needs. */
export interface StoreFiles {
  mkdir(path: string, options: { readonly recursive: true }): Promise<unknown>
  readFile(path: string, encoding: 'utf8'): Promise<string>
  open(path: string, flags: string): Promise<StoreFile>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { readonly force: true }): Promise<void>
  stat(path: string): Promise<{ readonly mtimeMs: number }>
}

interface StoreFile {
  writeFile(data: string): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

/** The file system and the clock of a file store; by default those of Node. */
export interface FileStoreOptions {
  readonly files?: StoreFiles | undefined
  readonly clock?: Clock | undefined
}

/**
 * A store in a folder, with one file for each session. A save writes a new file, syncs it and renames it over the old
 * one, so a crash during a write loses nothing.
 *
 * Saves of one session are serialized by a lock file, also between processes. A lock that a dead process left is removed
 * after ten seconds. It needs Node, or the option `files`.
 */
export function fileStore(directory: string, options: FileStoreOptions = {}): SessionStore {
  const { files = nodeFiles(), clock = systemClock } = options
  const pathOf = (id: string): string => `${directory}/${fileName(id)}.json`
  const read = async (id: string): Promise<StoredSession | undefined> => {
    let text: string
    try {
      text = await files.readFile(pathOf(id), 'utf8')
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined
      throw error
    }
    return parseStored(text)
  }
  return {
    load: read,
    save: async (session, { ifVersion } = {}) => {
      const text = stringifySession(session)
      await files.mkdir(directory, { recursive: true })
      const path = pathOf(session.id)
      return locked({ files, clock }, `${path}.lock`, async () => {
        const current = (await read(session.id))?.version ?? 0
        refuseStale(session.id, current, ifVersion)
        await replace(files, path, `{"version":${current + 1},"session":${text}}`)
        return current + 1
      })
    },
  }
}

function parseStored(text: string): StoredSession {
  const found = /^\{"version":(\d+),"session":([\s\S]*)\}$/.exec(text)
  if (found?.[1] === undefined || found[2] === undefined) {
    throw new SessionError('unreadable', 'the file was not written by fileStore')
  }
  return { session: parseSession(found[2]), version: Number(found[1]) }
}

/** An id as a file name. Characters that are unsafe on some file system, capitals included, are written as their code. */
function fileName(id: string): string {
  if (id === '' || id.length > 100) {
    throw new ValidationError('invalid_session', [
      { path: 'id', problem: 'must have 1 to 100 characters to be a file name' },
    ])
  }
  return id.replaceAll(
    /[^a-z0-9_-]/g,
    (char) => `%${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

async function replace(files: StoreFiles, path: string, text: string): Promise<void> {
  const next = `${path}.${crypto.randomUUID()}.new`
  const file = await files.open(next, 'wx')
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await files.rename(next, path)
}

/** The maximum age of a lock. A save takes milliseconds. */
const lockMs = 10_000

type StoreEnvironment = Required<{
  readonly [K in keyof FileStoreOptions]: NonNullable<FileStoreOptions[K]>
}>

async function locked<T>(
  environment: StoreEnvironment,
  path: string,
  work: () => Promise<T>,
): Promise<T> {
  const { files } = environment
  for (;;) {
    try {
      const lock = await files.open(path, 'wx')
      await lock.close()
      break
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
      await waitForLock(environment, path)
    }
  }
  try {
    return await work()
  } finally {
    await files.rm(path, { force: true })
  }
}

async function waitForLock({ files, clock }: StoreEnvironment, path: string): Promise<void> {
  const age = await files.stat(path).then(
    ({ mtimeMs }) => clock.now() - mtimeMs,
    () => 0,
  )
  if (age > lockMs) await files.rm(path, { force: true })
  else await clock.sleep(5)
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function nodeFiles(): StoreFiles {
  // Only Node and compatible runtimes have this, so it is not in the types of this folder.
  const host = globalThis as {
    process?: { getBuiltinModule?: (name: string) => StoreFiles | undefined }
  }
  const files = host.process?.getBuiltinModule?.('node:fs/promises')
  if (files !== undefined) return files
  throw new EngineError(
    'invalid_engine',
    'fileStore needs Node; on other runtimes pass the option files',
  )
}
