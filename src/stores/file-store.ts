import { systemClock, type Clock } from '../core/clock.ts'
import { randomId } from '../core/ids.ts'
import { EngineError, isAllmError, SessionError } from '../errors/errors.ts'
import { assertOptions, assertValid, isPlainObject, someText, within } from '../schema/checks.ts'
import { parseSession, stringifySession } from '../session/saved.ts'
import { sessionStatuses } from '../types/session.ts'
import type { Session } from '../types/session.ts'
import {
  assertListOptions,
  assertSaveOptions,
  assertSessionId,
  matchesRow,
  refuseStale,
  selectIds,
  type ListOptions,
  type SaveOptions,
  type SessionRow,
  type SessionStore,
  type StoredSession,
} from './session-store.ts'

/** The part of Node's file system that a store needs. */
export interface StoreFiles {
  mkdir(path: string, options: { readonly recursive: true }): Promise<unknown>
  readdir(path: string): Promise<readonly string[]>
  readFile(path: string, encoding: 'utf8'): Promise<string>
  open(path: string, flags: string): Promise<StoreFile>
  link(from: string, to: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  rm(path: string, options: { readonly force: true; readonly recursive: boolean }): Promise<void>
  rmdir(path: string): Promise<void>
  stat(path: string): Promise<{ readonly mtimeMs: number }>
}

interface StoreFile {
  read(
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>
  writeFile(data: string): Promise<void>
  sync(): Promise<void>
  close(): Promise<void>
}

/** The file system and the clock of a file store; by default those of Node and of the system. */
export interface FileStoreOptions {
  readonly files?: StoreFiles | undefined
  readonly clock?: Clock | undefined
}

/**
 * A store in a directory, for the processes of one machine. It needs Node, or the option `files`, and a file system with
 * hard links.
 *
 * Each session has a folder, and each save creates a file there whose name is the next number:
 *
 *     sessions/ada/7.5f0c….json           the seventh write of the session `ada`; older ones are removed
 *     sessions/ada/8.5f0c….91ab….new      a write in progress
 *     sessions/.tmp/bob.77de…/            a folder in progress, or one that is being deleted
 *
 * There is no lock. A number is taken by creating its name, which only one writer can do, so a process that was killed or
 * paused in a save blocks nobody and costs no update; the next save of the session removes what it left, and after an hour other
 * operations do. The new file and its directory are synced before the save resolves.
 * `docs/decisions/035-file-store.md` in the repository explains why this is safe.
 */
export function fileStore(directory: string, options: FileStoreOptions = {}): SessionStore {
  // An empty one would be the root of the file system.
  assertValid('invalid_options', within('directory', someText(directory)))
  assertOptions('invalid_options', options, ['files', 'clock'])
  const disk: Disk = {
    directory,
    files: options.files ?? nodeFiles(),
    clock: options.clock ?? systemClock,
  }
  return {
    load: async (id) => {
      assertSessionId(id)
      return typed(`session ${named(id)} cannot be loaded`, () => load(disk, id))
    },
    save: async (session, options = {}) => {
      assertSaveOptions(options)
      const text = stringifySession(session)
      assertSessionId(session.id)
      return typed(`session ${named(session.id)} cannot be saved`, () =>
        save(disk, session, text, options),
      )
    },
    delete: async (id) => {
      assertSessionId(id)
      await typed(`session ${named(id)} cannot be deleted`, () => remove(disk, id))
    },
    list: async (options = {}) => {
      assertListOptions(options)
      return typed('the sessions cannot be listed', () => list(disk, options))
    },
  }
}

interface Disk {
  readonly directory: string
  readonly files: StoreFiles
  readonly clock: Clock
}

/** One write of a session: its number, and the name of the session's life between its creation and its deletion. */
interface Entry {
  readonly number: number
  /** Random. It keeps a paused process from touching the files of a session that was deleted and made again. */
  readonly life: string
}

/** Where a session is stored, and what is there. */
interface Place {
  readonly name: string
  readonly folder: string
  /** The newest entry, if the session has a folder. */
  readonly newest: Entry | undefined
  /** The file of version 0.1.0, if there is one. A folder counts more. */
  readonly old: OldFile | undefined
}

/** A file of version 0.1.0: one for each session, with its version before it. */
interface OldFile {
  readonly path: string
  readonly text: string
}

/** The first line of an entry. */
type Head = SessionRow

/** How often a read or a save begins again because another process was faster. Each time one of them succeeded. */
const mostAttempts = 1000

async function load(disk: Disk, id: string): Promise<StoredSession | undefined> {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const { folder, newest, old } = await look(disk, id)
    if (newest === undefined) return old && readOldFile(disk, id, old)
    const text = await found(disk.files.readFile(`${folder}/${fileOf(newest)}`, 'utf8'))
    if (text === undefined) continue
    await ignored(tidy(disk, folder, newest))
    return readEntry(id, text)
  }
  throw contended(id)
}

/** Removes what killed processes left. Before an older entry is removed, the newest one is made durable. */
async function tidy(disk: Disk, folder: string, newest: Entry): Promise<void> {
  const names = await disk.files.readdir(folder)
  if (names.some((name) => name !== fileOf(newest) && numberOf(name) <= newest.number)) {
    await syncFolder(disk, folder)
    await removeOlder(disk, folder, newest)
  }
  for (const name of names) {
    const path = `${folder}/${name}`
    if (!isProgress(name) || numberOf(name) <= newest.number) continue
    if (await isAbandoned(disk, path)) await disk.files.rm(path, { force: true, recursive: false })
  }
}

async function save(
  disk: Disk,
  session: Session,
  text: string,
  { ifVersion }: SaveOptions,
): Promise<number> {
  const { id, status } = session
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const place = await look(disk, id)
    const before = await versionOf(disk, id, place)
    if (before === 'gone') continue
    const { number, version } = before
    if (version !== undefined) refuseStale(id, version, ifVersion)
    else if (ifVersion !== undefined) {
      throw unreadable(id, 'its version is unknown; save without ifVersion to replace it')
    }
    if (number >= lastNumber) {
      throw new SessionError('unavailable', `session ${named(id)} has no next number; delete it`)
    }
    const head = { id, version: (version ?? number) + 1, status, updatedAt: disk.clock.now() }
    const content = `${JSON.stringify(head satisfies Head)}\n${text}\n`
    const write = place.newest === undefined ? create : addEntry
    if (await write(disk, place, number + 1, content)) return head.version
  }
  throw contended(id)
}

/** The number and the version of what is stored; without a version if it cannot be read. `gone` if it was replaced meanwhile. */
async function versionOf(
  disk: Disk,
  id: string,
  { folder, newest, old }: Place,
): Promise<{ readonly number: number; readonly version: number | undefined } | 'gone'> {
  if (newest !== undefined) {
    const line = await found(readLine(disk, `${folder}/${fileOf(newest)}`))
    if (line === undefined) return 'gone'
    return { number: newest.number, version: headOf(id, line)?.version }
  }
  if (old === undefined) return { number: 0, version: 0 }
  const version = splitOldText(old.text)?.version
  return { number: version ?? 0, version }
}

/**
 * Adds the entry with the next number. Returns whether this writer got the number.
 *
 * The file in progress is written first, and then it is checked that the number is still the next one. A process that removes an
 * old entry removes the files in progress up to the newest number before, so a number whose entry was removed cannot be
 * taken a second time: the link fails, because its source is gone.
 */
async function addEntry(
  disk: Disk,
  { name, folder, newest, old }: Place,
  number: number,
  content: string,
): Promise<boolean> {
  if (newest === undefined) return false
  const { files } = disk
  const entry = { number, life: newest.life }
  const progress = `${folder}/${number}.${entry.life}.${randomId('file')}.new`
  try {
    if (!(await wrote(disk, progress, content))) return false
    const latest = await newestEntry(disk, folder)
    if (latest?.number !== newest.number || latest.life !== newest.life) return false
    if (!(await taken(files.link(progress, `${folder}/${fileOf(entry)}`)))) return false
    await syncFolder(disk, folder)
  } finally {
    await ignored(files.rm(progress, { force: true, recursive: false }))
  }
  await ignored(removeOlder(disk, folder, entry))
  if (old !== undefined) await ignored(removeOldFiles(disk, old.path))
  await ignored(clearProgress(disk, `${name}.`))
  return true
}

/** Makes the folder of a session with its first entry. Returns whether this writer made it. */
async function create(disk: Disk, place: Place, number: number, content: string): Promise<boolean> {
  const { directory, files } = disk
  const { name, folder, old } = place
  const progress = progressPath(disk, name)
  try {
    const isNew = (await files.mkdir(directory, { recursive: true })) !== undefined
    if (!(await madeProgress(disk, progress))) return false
    const entry = { number, life: randomId('life').slice(0, 12) }
    if (!(await wrote(disk, `${progress}/${fileOf(entry)}`, content))) return false
    await syncFolder(disk, progress)
    if (old !== undefined && (await found(files.readFile(old.path, 'utf8'))) !== old.text) {
      return false
    }
    if (!(await taken(files.rename(progress, folder), () => isOccupied(disk, folder)))) return false
    await syncFolder(disk, directory)
    if (isNew) await syncFolder(disk, `${directory}/..`)
    if (old !== undefined) await ignored(removeOldFiles(disk, old.path))
    await ignored(clearProgress(disk, `${name}.`))
    await ignored(removeAbandoned(disk))
    return true
  } finally {
    await ignored(clearProgress(disk, progress.slice(progress.lastIndexOf('/') + 1)))
  }
}

/** Whether a folder has a session. A rename onto a folder that is not empty fails in different ways on different systems. */
async function isOccupied(disk: Disk, folder: string): Promise<boolean> {
  return (await newestEntry(disk, folder)) !== undefined
}

async function remove(disk: Disk, id: string): Promise<void> {
  const { directory, files } = disk
  const name = await folderName(id)
  const folder = `${directory}/${name}`
  // A save that builds on the old file checks it when its folder in progress is there, so that folder is removed here.
  const oldPath = oldFilePath(disk, id)
  if (oldPath !== undefined && (await found(files.stat(oldPath))) !== undefined) {
    await removeOldFiles(disk, oldPath)
  }
  await clearProgress(disk, `${name}.`)
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    if ((await newestEntry(disk, folder)) === undefined) break
    if (!(await madeProgress(disk, `${directory}/${progressFolder}`))) continue
    if (await taken(files.rename(folder, progressPath(disk, name)))) break
  }
  await syncFolder(disk, directory)
  await clearProgress(disk, `${name}.`)
  await ignored(removeAbandoned(disk))
}

async function list(disk: Disk, options: ListOptions): Promise<readonly SessionRow[]> {
  const { limit = Number.POSITIVE_INFINITY } = options
  const ids = new Set<string>()
  for (const file of (await found(disk.files.readdir(disk.directory))) ?? []) {
    const id = await idOf(disk, file)
    if (id !== undefined) ids.add(id)
  }
  const rows: SessionRow[] = []
  for (const id of selectIds(ids, options)) {
    if (rows.length >= limit) break
    const head = await readable(rowOf(disk, id))
    if (head === undefined) continue
    const row = { ...head, metadata: (await readable(load(disk, id)))?.session.metadata ?? {} }
    if (matchesRow(row, options)) rows.push(row)
  }
  return rows
}

/** A session's row, or `undefined` if it was deleted meanwhile. */
async function rowOf(disk: Disk, id: string): Promise<SessionRow | undefined> {
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const { folder, newest, old } = await look(disk, id)
    if (newest !== undefined) {
      const line = await found(readLine(disk, `${folder}/${fileOf(newest)}`))
      if (line !== undefined) return headOf(id, line)
    } else if (old === undefined) {
      return undefined
    } else {
      const { session, version, updatedAt } = await readOldFile(disk, id, old)
      return { id, status: session.status, version, updatedAt }
    }
  }
  throw contended(id)
}

/** The id of the session that a file or folder of the directory belongs to. */
async function idOf(disk: Disk, file: string): Promise<string | undefined> {
  if (/^[a-z0-9_%-]+(?:\.json)?$/.test(file)) return decoded(file.replace(/\.json$/, ''))
  if (!/^[a-z0-9_%-]+~[0-9a-f]{64}$/.test(file)) return undefined
  const folder = `${disk.directory}/${file}`
  const newest = await readable(newestEntry(disk, folder))
  const line = newest && (await readable(found(readLine(disk, `${folder}/${fileOf(newest)}`))))
  return line === undefined ? undefined : parseHead(line)?.id
}

// Places and names

/** Folders that are being made or deleted, each named after its session. */
const progressFolder = '.tmp'

/** What is stored for an id. The old file is read first, because a save makes the folder before it removes that file. */
async function look(disk: Disk, id: string): Promise<Place> {
  const name = await folderName(id)
  const folder = `${disk.directory}/${name}`
  const path = oldFilePath(disk, id)
  const text = path && (await found(disk.files.readFile(path, 'utf8')))
  const old = path === undefined || text === undefined ? undefined : { path, text }
  return { name, folder, newest: await newestEntry(disk, folder), old }
}

/** The file of version 0.1.0, which took ids of up to 100 characters if the name fitted in 255 bytes. */
function oldFilePath({ directory }: Disk, id: string): string | undefined {
  const file = `${encoded(id)}.json`
  return id.length > 100 || file.length > 255 ? undefined : `${directory}/${file}`
}

function progressPath({ directory }: Disk, name: string): string {
  return `${directory}/${progressFolder}/${name}.${randomId('folder')}`
}

/** The entry with the highest number, or `undefined` if there is no folder, or an empty one. */
async function newestEntry(disk: Disk, folder: string): Promise<Entry | undefined> {
  // A folder always has an entry. A listing that was read in portions may miss it while it is replaced.
  for (let attempt = 0; attempt < 10; attempt++) {
    const names = await found(disk.files.readdir(folder))
    if (names === undefined || names.length === 0) return undefined
    const newest = newestOf(names)
    if (newest !== undefined) return newest
  }
  throw new SessionError('unreadable', `${folder} is not a folder of fileStore; remove it by hand`)
}

function newestOf(names: readonly string[]): Entry | undefined {
  let newest: Entry | undefined
  for (const name of names) {
    const entry = entryOf(name)
    if (entry !== undefined && entry.number > (newest?.number ?? 0)) newest = entry
  }
  return newest
}

/** Of the files in the folder of a session, the one that holds the session. */
export function newestSessionFile(names: readonly string[]): string | undefined {
  const newest = newestOf(names)
  return newest && fileOf(newest)
}

/** The session in the text of a stored file, of this version or of 0.1.0. Other text is returned as it is. */
export function storedSessionText(text: string): string {
  const old = splitOldText(text.trimEnd())
  if (old !== undefined) return old.text
  const end = text.indexOf('\n')
  return parseHead(text.slice(0, Math.max(end, 0))) === undefined ? text : text.slice(end + 1)
}

function fileOf({ number, life }: Entry): string {
  return `${number}.${life}.json`
}

/** Whether a file of a session's folder is in progress. */
function isProgress(file: string): boolean {
  return file.endsWith('.new') && Number.isFinite(numberOf(file))
}

/** The number of an entry or of a file in progress; of any other file, infinity. */
function numberOf(file: string): number {
  const number = /^(\d{1,15})\.[0-9a-f]+\.(?:json|[0-9a-f]+\.new)$/.exec(file)?.[1]
  return number === undefined ? Number.POSITIVE_INFINITY : Number(number)
}

/** The largest number that `entryOf` reads. */
const lastNumber = 999_999_999_999_999

function entryOf(file: string): Entry | undefined {
  const [, number, life] = /^([1-9]\d{0,14})\.([0-9a-f]+)\.json$/.exec(file) ?? []
  return number === undefined || life === undefined ? undefined : { number: Number(number), life }
}

/** The longest name of a folder that is the id itself, so that the names of files in progress fit in 255 bytes. */
const longestName = 180

/** An id as the name of a folder. A long id is named by its hash. */
async function folderName(id: string): Promise<string> {
  const name = encoded(id)
  // Windows has devices of these names.
  if (/^(?:con|prn|aux|nul|com\d|lpt\d)$/.test(name)) return encodedChar(name) + name.slice(1)
  if (name.length <= longestName) return name
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(name))
  const digits = Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0'))
  return `${name.slice(0, 60)}~${digits.join('')}`
}

/** An id in characters that are safe on every file system. Others, capitals included, are written as their code. */
function encoded(id: string): string {
  return id.replaceAll(/[^a-z0-9_-]/g, encodedChar)
}

function encodedChar(char: string): string {
  return `%${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function decoded(name: string): string {
  return name.replaceAll(/%([0-9a-f]{4})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  )
}

/** An id in a message. */
function named(id: string): string {
  return id.length > 100 ? `${id.slice(0, 100)}…` : id
}

// Content

function readEntry(id: string, text: string): StoredSession {
  const end = text.indexOf('\n')
  const head = headOf(id, text.slice(0, Math.max(end, 0)))
  if (head === undefined) throw unreadable(id, 'its file was not written by fileStore for this id')
  const session = parseSession(text.slice(end + 1))
  if (session.id !== id) throw unreadable(id, `its file holds session ${named(session.id)}`)
  return { session, version: head.version, updatedAt: head.updatedAt, lastEventId: 0 }
}

/** The head in a line, if it is that of this session. */
function headOf(id: string, line: string): Head | undefined {
  const head = parseHead(line)
  return head?.id === id ? head : undefined
}

function parseHead(line: string): Head | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  if (!isPlainObject(value)) return undefined
  const { id, version, updatedAt } = value
  const status = sessionStatuses.find((known) => known === value['status'])
  if (typeof id !== 'string' || typeof updatedAt !== 'number' || status === undefined) {
    return undefined
  }
  return isVersion(version) ? { id, version, status, updatedAt } : undefined
}

/** Whether a value is a version that another one can follow: versions are not greater than numbers. */
function isVersion(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < lastNumber
}

/** The first line of a file, read without the rest of a large one. */
async function readLine({ files }: Disk, path: string): Promise<string> {
  const file = await files.open(path, 'r')
  try {
    const buffer = new Uint8Array(1024)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    const end = buffer.subarray(0, bytesRead).indexOf(10)
    if (end >= 0) return new TextDecoder().decode(buffer.subarray(0, end))
  } finally {
    await file.close()
  }
  const [line = ''] = (await files.readFile(path, 'utf8')).split('\n', 1)
  return line
}

async function readOldFile({ files }: Disk, id: string, old: OldFile): Promise<StoredSession> {
  const parts = splitOldText(old.text)
  if (parts === undefined) throw unreadable(id, 'its file was not written by fileStore')
  const session = parseSession(parts.text)
  if (session.id !== id) throw unreadable(id, `its file holds session ${named(session.id)}`)
  const updatedAt = Math.round((await found(files.stat(old.path)))?.mtimeMs ?? 0)
  return { session, version: parts.version, updatedAt, lastEventId: 0 }
}

function splitOldText(
  text: string,
): { readonly version: number; readonly text: string } | undefined {
  const parts = /^\{"version":(\d+),"session":([\s\S]*)\}$/.exec(text)
  const version = Number(parts?.[1])
  return parts?.[2] === undefined || !isVersion(version) ? undefined : { version, text: parts[2] }
}

// Writing and removing

/** Writes and syncs a new file. Returns `false` if its folder was removed by another process. */
async function wrote({ files }: Disk, path: string, content: string): Promise<boolean> {
  const file = await found(files.open(path, 'wx'))
  if (file === undefined) return false
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
  return true
}

/**
 * Makes a folder in progress. Returns `false` if another process removed its parent at that moment. Node reports this as ENOENT,
 * or as ENOTDIR if the parent existed at its first look and not at its second. A parent that is a file is ENOTDIR as well.
 */
async function madeProgress({ directory, files }: Disk, path: string): Promise<boolean> {
  try {
    await files.mkdir(path, { recursive: true })
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') await found(files.readdir(`${directory}/${progressFolder}`))
    else if (codeOf(error) !== 'ENOENT') throw error
    return false
  }
}

/** Syncs a folder, so that the names in it survive a power loss. Systems that cannot do it refuse. */
async function syncFolder({ files }: Disk, path: string): Promise<void> {
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

/**
 * Removes what a new entry replaces: first the files in progress up to its number, then the older entries, oldest first.
 * A failure ends it, because the entries may be removed only when the files in progress are gone.
 */
async function removeOlder({ files }: Disk, folder: string, newest: Entry): Promise<void> {
  const names = await files.readdir(folder)
  for (const name of names) {
    if (!isProgress(name) || numberOf(name) > newest.number) continue
    await files.rm(`${folder}/${name}`, { force: true, recursive: false })
  }
  const older = names
    .flatMap((name) => entryOf(name) ?? [])
    .filter(({ number, life }) => life === newest.life && number < newest.number)
    .toSorted((left, right) => left.number - right.number)
  for (const entry of older) {
    await files.rm(`${folder}/${fileOf(entry)}`, { force: true, recursive: false })
  }
}

/**
 * Removes the folders in progress whose names start like this: those that other processes left, and those of saves that
 * have to begin again.
 */
async function clearProgress({ directory, files }: Disk, start: string): Promise<void> {
  const parent = `${directory}/${progressFolder}`
  const names = await found(files.readdir(parent))
  if (names === undefined) return
  for (const item of names) {
    if (!item.startsWith(start)) continue
    await files.rm(`${parent}/${item}`, { force: true, recursive: true })
  }
  await ignored(files.rmdir(parent))
}

/**
 * What is in progress and was not touched for this long counts as abandoned. If its writer is alive after all, the writer begins
 * again, as it does when another one was faster.
 */
const abandonedMs = 3_600_000

async function isAbandoned({ files, clock }: Disk, path: string): Promise<boolean> {
  const facts = await found(files.stat(path))
  return facts !== undefined && clock.now() - facts.mtimeMs > abandonedMs
}

/** How many folders in progress of other sessions are looked at in one operation. */
const mostLooks = 8

/** Removes folders in progress that were abandoned, of any session. */
async function removeAbandoned(disk: Disk): Promise<void> {
  const { directory, files } = disk
  const parent = `${directory}/${progressFolder}`
  const names = (await found(files.readdir(parent))) ?? []
  const ours = names.filter((name) => /^[a-z0-9_%~-]+\.[0-9a-f]{32}$/.test(name))
  for (const name of ours.slice(0, mostLooks)) {
    const path = `${parent}/${name}`
    if (!(await isAbandoned(disk, path))) continue
    // Renamed first: a writer that wakes up finds its folder whole, or not at all.
    const aside = progressPath(disk, 'abandoned')
    if (await taken(files.rename(path, aside))) {
      await files.rm(aside, { force: true, recursive: true })
    }
  }
  await ignored(files.rmdir(parent))
}

/** Removes the file of version 0.1.0, and the lock and the files in progress that belong to it. */
async function removeOldFiles({ directory, files }: Disk, oldPath: string): Promise<void> {
  for (const file of (await found(files.readdir(directory))) ?? []) {
    const path = `${directory}/${file}`
    if (path === oldPath || path.startsWith(`${oldPath}.`)) {
      await files.rm(path, { force: true, recursive: false })
    }
  }
}

// Errors

/** What an operation gives, or `undefined` if a file or folder does not exist. */
async function found<T>(work: Promise<T>): Promise<T | undefined> {
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
async function taken(
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
async function readable<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    const isForeign = ['ENOTDIR', 'EISDIR'].includes(codeOf(error) ?? '')
    if (isForeign || (isAllmError(error) && error.reason === 'unreadable')) return undefined
    throw error
  }
}

/** Cleaning up must not turn a save that succeeded into a failure, nor hide why one failed. */
async function ignored(work: Promise<unknown>): Promise<void> {
  await work.catch(() => undefined)
}

/** Runs an operation. A failure of the file system becomes `SessionError` `unavailable`. */
async function typed<T>(what: string, work: () => Promise<T>): Promise<T> {
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

function unreadable(id: string, why: string): SessionError {
  return new SessionError('unreadable', `session ${named(id)} cannot be read: ${why}`)
}

function contended(id: string): SessionError {
  const message = `session ${named(id)} was changed by other processes ${mostAttempts} times in a row`
  return new SessionError('unavailable', message)
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
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
