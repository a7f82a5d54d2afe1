import type { Clock } from '../../core/base/clock.ts'
import { EngineError, isAllmError, SessionError } from '../../core/errors/errors.ts'

/** The part of Node's file system that a store needs. */
export interface StoreFiles {
  mkdir(
    path: string,
    options: { readonly recursive: true; readonly mode?: number },
  ): Promise<unknown>
  readdir(path: string): Promise<readonly string[]>
  readFile(path: string, encoding: 'utf8'): Promise<string>
  open(path: string, flags: string, mode?: number): Promise<StoreFile>
  link(from: string, to: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { readonly force: true; readonly recursive: boolean }): Promise<void>
  rmdir(path: string): Promise<void>
  stat(path: string): Promise<{ readonly mtimeMs: number }>
}

/** An open file of `StoreFiles`. */
export interface StoreFile {
  read(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>
  write(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesWritten: number }>
  writeFile(data: string): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

/** What the operations of one store share. */
export interface Disk {
  readonly directory: string
  readonly files: StoreFiles
  readonly clock: Clock
  /** Random. Logs have it in their names, so each is written by one store only. */
  readonly writer: string
  /** The writes of this store that are under way, by session. They wait for one another. */
  readonly turns: Map<string, Promise<unknown>>
  /** Called with the id of a session after each write. */
  readonly onChange: (id: string) => void
}

/** Node's file system, looked up at run time. */
export function nodeFiles(): StoreFiles {
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

/** The permissions of folders and files that a store makes: conversations are for the owner only. What exists keeps its own. */
export const folderMode = 0o700
export const fileMode = 0o600

// Names in the folder of a session

/** One write of a session: its number, and the name of the session's life between its creation and its deletion. */
export interface Entry {
  readonly number: number
  /** Random. It keeps a paused process from touching the files of a session that was deleted and made again. */
  readonly life: string
}

/** A name in the folder of a session. `json` is an entry, `new` an entry in progress; the others belong to the entry that names them. */
interface FileName extends Entry {
  readonly kind: 'json' | 'new' | 'log' | 'command'
}

/** The largest number that a name can have. */
export const lastNumber = 999_999_999_999_999

/** The name of an entry. */
export function fileOf({ number, life }: Entry): string {
  return `${number}.${life}.json`
}

/** What a name in the folder of a session says; `undefined` if it is not one of this store. */
export function parseName(file: string): FileName | undefined {
  const pattern = /^([1-9]\d{0,14})\.([0-9a-f]+)\.(?:(json)|[0-9a-f]+\.(new|log|command))$/
  const [, number, life, json, other] = pattern.exec(file) ?? []
  if (number === undefined || life === undefined) return undefined
  // One of the alternatives of the pattern.
  return { number: Number(number), life, kind: (json ?? other) as FileName['kind'] }
}

/** The entry with the highest number. */
export function newestOf(names: readonly string[]): Entry | undefined {
  let newest: Entry | undefined
  for (const name of names) {
    const entry = parseName(name)
    if (entry?.kind === 'json' && entry.number > (newest?.number ?? 0)) newest = entry
  }
  return newest && { number: newest.number, life: newest.life }
}

// Reading and writing

/** The first line of a file, read without the rest of a large one. */
export async function readLine({ files }: Disk, path: string): Promise<string> {
  const file = await files.open(path, 'r')
  try {
    let buffer = new Uint8Array(2048)
    let length = 0
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length)
      const end = buffer.subarray(0, length + bytesRead).indexOf(10, length)
      length += bytesRead
      if (end >= 0 || bytesRead === 0) {
        return new TextDecoder().decode(buffer.subarray(0, end < 0 ? length : end))
      }
      if (length === buffer.length) {
        const larger = new Uint8Array(buffer.length * 4)
        larger.set(buffer)
        buffer = larger
      }
    }
  } finally {
    await file.close()
  }
}

/** An open file, and where it is. */
export interface OpenFile {
  readonly file: StoreFile
  readonly path: string
}

/** Bytes of a log. Throws `SessionError` `unreadable` if it is too short. */
export async function readBytes(
  { file, path }: OpenFile,
  position: number,
  length: number,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  for (let done = 0; done < length;) {
    const { bytesRead } = await file.read(bytes, done, length - done, position + done)
    if (bytesRead === 0) throw damagedLog(path, 'was cut short')
    done += bytesRead
  }
  return bytes
}

/** Writes bytes into an open file, and syncs it. Returns `true`. */
export async function writeBytes(
  file: StoreFile,
  bytes: Uint8Array,
  position: number,
): Promise<true> {
  for (let done = 0; done < bytes.length;) {
    const length = bytes.length - done
    done += (await file.write(bytes, done, length, position + done)).bytesWritten
  }
  await file.sync()
  return true
}

/** Writes and syncs a new file. Returns `false` if its folder was removed by another process. */
export async function wrote({ files }: Disk, path: string, content: string): Promise<boolean> {
  const file = await found(files.open(path, 'wx', fileMode))
  if (file === undefined) return false
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  return true
}

/** Syncs a folder, so that the names in it survive a power loss. Systems that cannot do it refuse. */
export async function syncFolder({ files }: Disk, path: string): Promise<void> {
  try {
    const folder = await files.open(path, 'r')
    try {
      await folder.sync()
    } finally {
      await folder.close()
    }
  } catch (error) {
    if (
      !['EISDIR', 'EPERM', 'EINVAL', 'ENOTSUP', 'EBADF', 'ENOENT'].includes(codeOf(error) ?? '')
    ) {
      throw error
    }
  }
}

/** Removes a file, if it still exists. */
export async function removeFile({ files }: Disk, path: string): Promise<void> {
  await files.rm(path, { force: true, recursive: false })
}

// Errors

/** What an operation gives, or `undefined` if a file or folder does not exist. */
export async function found<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Whether an operation took a name. It did not if the name exists, or if another process removed the source or the folder.
 * Errors that are not clear are decided by `isOccupied`.
 */
export async function taken(
  work: Promise<unknown>,
  isOccupied: () => Promise<boolean> = async () => false,
): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (['ENOENT', 'EEXIST', 'ENOTEMPTY'].includes(codeOf(error) ?? '') || (await isOccupied()))
      return false
    throw error
  }
}

/** What an operation gives, or `undefined` for something that is not a session: lists leave it out, `load` reports it. */
export async function readable<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    const isForeign = ['ENOTDIR', 'EISDIR'].includes(codeOf(error) ?? '')
    if (isForeign || (isAllmError(error) && error.reason === 'unreadable')) return undefined
    throw error
  }
}

/** Cleaning up must not turn a write that succeeded into a failure, nor hide why one failed. */
export async function ignored(work: Promise<unknown>): Promise<void> {
  await work.catch(() => undefined)
}

/** Runs an operation. A failure of the file system becomes `SessionError` `unavailable`. */
export async function typed<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (isAllmError(cause)) throw cause
    const code = codeOf(cause)
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new SessionError('unavailable', `${what}: ${why}`, {
      cause,
      metadata: code === undefined ? {} : { code },
    })
  }
}

/** The error of a session whose files are damaged. `why` says what to do. */
export function unreadable(id: string, path: string, why: string): SessionError {
  const message = `session ${named(id)} cannot be read: ${path} ${why}`
  return new SessionError('unreadable', message, { metadata: { path } })
}

/** The error of a log that was changed by something else than a store: by a power loss, or by a person. */
export function damagedLog(path: string, why: string): SessionError {
  const message = `${path} ${why}: restore it from a backup; or load the session, delete it and save it again, which keeps what was saved and drops its events`
  return new SessionError('unreadable', message, { metadata: { path } })
}

/** An id in a message. */
export function named(id: string): string {
  return id.length > 100 ? `${id.slice(0, 100)}…` : id
}

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
}
