import { randomId } from '../../core/base/ids.ts'
import { SessionError } from '../../core/errors/errors.ts'
import { defined, parseJson } from '../../core/types/guards.ts'
import type { Session } from '../../core/types/session.ts'
import {
  codeOf,
  fileOf,
  folderMode,
  found,
  ignored,
  lastNumber,
  named,
  newestOf,
  parseName,
  readable,
  readLine,
  removeFile,
  syncFolder,
  taken,
  unreadable,
  wrote,
  type Disk,
  type Entry,
} from './file-disk.ts'
import { appendLine, type Destination, type NewLine } from './file-log.ts'
import {
  changedFields,
  changeLine,
  filesOf,
  fullLine,
  isVersion,
  newRecord,
  parseFields,
  recordOf,
  type Fields,
  type FileRecord,
  type GivenCommand,
} from './file-record.ts'
import { storedSession } from './session-store.ts'

/** Where a session is stored, and what is there. */
export interface Place {
  readonly name: string
  readonly folder: string
  /** The newest entry, if the session has a folder. */
  readonly newest: Newest | undefined
  /** The file of version 0.1.0, if there is one. A folder counts more. */
  readonly old: OldFile | undefined
}

/** The newest entry of a session, and what it says. */
export interface Newest {
  readonly entry: Entry
  /** The entry that has the whole record and the session: itself, or an earlier one. */
  readonly base: string
  /** The record in the base. */
  readonly fields: Fields
  /** `undefined` if it cannot be read. */
  readonly record: FileRecord | undefined
}

/** A file of version 0.1.0: one for each session, with its version before it. */
interface OldFile {
  readonly path: string
  readonly text: string
}

/** What an operation sees when it decides what to write. */
export interface Current {
  /** A copy that the operation may change. `undefined` if there is no session, or one that cannot be read. */
  readonly record: FileRecord | undefined
  readonly isUnreadable: boolean
  /** The file with the record. */
  readonly path: string
  /** The folder with the files that the record names. */
  readonly folder: string
  /** The entry that will be written. */
  readonly next: Entry
}

/** What an operation writes, and what its caller gets. Without a record nothing is written. */
export interface Draft<T> {
  readonly result: T
  readonly record?: FileRecord
  /** The new session. */
  readonly session?: string
  /** The session is the first one of a run: its entry is kept. */
  readonly first?: boolean
  readonly line?: NewLine
}

/** How often a read or a write begins again because another process was faster. Each time one of them succeeded. */
const mostAttempts = 1000

/**
 * Changes a session: shows what is stored to `decide`, and writes the next entry with what it returns. If another process was faster,
 * it is decided again; also if `decide` returns `undefined`, because a file that it needed was replaced.
 */
export function change<T>(
  disk: Disk,
  id: string,
  decide: (current: Current) => Promise<Draft<T> | undefined>,
): Promise<T> {
  return inTurn(disk, id, async () => {
    for (let attempt = 0; attempt < mostAttempts; attempt++) {
      const place = await look(disk, id)
      const current = await currentOf(disk, id, place)
      const draft = await decide(current)
      if (draft === undefined) continue
      if (draft.record === undefined) return draft.result
      if (current.next.number > lastNumber) {
        throw new SessionError('unavailable', `session ${named(id)} has no next number; delete it`)
      }
      const write = place.newest === undefined ? create : addEntry
      if (await write(disk, place, current.next, { ...draft, record: draft.record })) {
        disk.onChange(id)
        return draft.result
      }
    }
    throw contended(id)
  })
}

/** Waits for the writes of this store to the same session. Its log has one writer at a time, and fewer writes begin again. */
async function inTurn<T>({ turns }: Disk, id: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(id)
  const turn = (before ?? Promise.resolve()).then(work, work)
  turns.set(id, turn)
  try {
    return await turn
  } finally {
    if (turns.get(id) === turn) turns.delete(id)
  }
}

async function currentOf(disk: Disk, id: string, place: Place): Promise<Current> {
  const { folder, newest, old } = place
  if (newest !== undefined) {
    const { entry, record } = newest
    const next = { number: entry.number + 1, life: entry.life }
    const path = `${folder}/${fileOf(entry)}`
    return { record, isUnreadable: record === undefined, path, folder, next }
  }
  const life = randomId('life').slice(0, 12)
  const record = old && (await readable(recordOfOldFile(disk, id, old)))
  const isUnreadable = old !== undefined && record === undefined
  const number = (old && splitOldText(old.text)?.version) ?? 0
  const path = old?.path ?? folder
  return { record, isUnreadable, path, folder, next: { number: number + 1, life } }
}

/** Reads a session's files. `read` returns `undefined` if one is missing: another process has replaced it, or it is lost. */
export async function inspect<T>(
  disk: Disk,
  id: string,
  read: (place: Place) => Promise<T | undefined>,
): Promise<T> {
  let before: string | undefined
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const place = await look(disk, id)
    const result = await read(place)
    if (result !== undefined) return result
    const entry = place.newest && fileOf(place.newest.entry)
    if (entry === before) throw unreadable(id, place.folder, lacksFile)
    before = entry
  }
  throw contended(id)
}

const lacksFile =
  'lacks a file that its newest entry names: restore the folder from a backup; or load the session, delete it and save it again, which keeps what can be loaded'

/** What is stored for an id. The old file is read first, because a save makes the folder before it removes that file. */
async function look(disk: Disk, id: string): Promise<Place> {
  const name = await folderName(id)
  const folder = `${disk.directory}/${name}`
  const path = oldFilePath(disk, id)
  let before: string | undefined
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const text = path && (await found(disk.files.readFile(path, 'utf8')))
    const old = path === undefined || text === undefined ? undefined : { path, text }
    const entry = await newestEntry(disk, folder)
    if (entry === undefined) return { name, folder, newest: undefined, old }
    const newest = await readNewest(disk, id, folder, entry)
    if (newest?.record?.gone === true) await clearGone(disk, folder, entry)
    else if (newest !== undefined) return { name, folder, newest, old }
    else if (before === fileOf(entry)) {
      // It was there twice, and what it is based on was not.
      const lost = { entry, base: fileOf(entry), fields: {}, record: undefined }
      return { name, folder, newest: lost, old }
    } else before = fileOf(entry)
  }
  throw contended(id)
}

/** What an entry says, or `undefined` if a file is missing. */
async function readNewest(
  disk: Disk,
  id: string,
  folder: string,
  entry: Entry,
): Promise<Newest | undefined> {
  const file = fileOf(entry)
  const line = await found(readLine(disk, `${folder}/${file}`))
  if (line === undefined) return undefined
  const own = parseFields(line)
  const lost = { entry, base: file, fields: {}, record: undefined }
  if (own?.['id'] !== id) return lost
  // Its base may have been removed already.
  if (own['gone'] === true) return { ...lost, record: { ...newRecord(id, 0), gone: true } }
  const base = baseOf(own)
  if (base === undefined) return { entry, base: file, fields: own, record: recordOf(own) }
  const baseLine = await found(readLine(disk, `${folder}/${base}`))
  if (baseLine === undefined) return undefined
  const fields = parseFields(baseLine)
  if (fields?.['id'] !== id) return lost
  return { entry, base, fields, record: recordOf(changedFields(fields, own)) }
}

/** The entry that another one changes. */
function baseOf({ base }: Fields): string | undefined {
  return typeof base === 'string' && parseName(base)?.kind === 'json' ? base : undefined
}

/** The entry with the highest number, or `undefined` if there is no folder, or an empty one. */
async function newestEntry(disk: Disk, folder: string): Promise<Entry | undefined> {
  // A folder always has an entry. A listing that was read in portions may miss it while it is replaced.
  for (let attempt = 0; attempt < 10; attempt++) {
    const names = await found(disk.files.readdir(folder))
    if (names === undefined || names.length === 0) return undefined
    const newest = newestOf(names)
    if (newest !== undefined) return newest
    const isAfterwards = names.every((name) => parseName(name) !== undefined)
    if (attempt < 9 || !isAfterwards) continue
    // A process that was paused wrote into a folder that another one was about to remove.
    for (const name of names) await removeFile(disk, `${folder}/${name}`)
    await ignored(disk.files.rmdir(folder))
    return undefined
  }
  throw new SessionError('unreadable', `${folder} is not a folder of fileStore; remove it by hand`)
}

// Writing

interface Writing extends Draft<unknown> {
  readonly record: FileRecord
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
  place: Place,
  entry: Entry,
  writing: Writing,
): Promise<boolean> {
  const { name, folder, newest, old } = place
  if (newest === undefined) return false
  const { files } = disk
  const progress = `${entry.number}.${entry.life}.${randomId('file')}.new`
  const made: string[] = [progress]
  let base = newest.base
  try {
    if (!(await writeParts(disk, { folder, entry, made }, writing))) return false
    const isWhole = writing.session !== undefined
    if (isWhole) base = fileOf(entry)
    const content = isWhole
      ? wholeEntry(writing.record, writing.session)
      : `${changeLine(writing.record, base, newest.fields)}\n`
    if (!(await wrote(disk, `${folder}/${progress}`, content))) return false
    const latest = await newestEntry(disk, folder)
    if (latest?.number !== newest.entry.number || latest.life !== entry.life) return false
    // From here on the other files may belong to an entry, whatever the link reports.
    const parts = made.splice(1)
    if (!(await taken(files.link(`${folder}/${progress}`, `${folder}/${fileOf(entry)}`)))) {
      made.push(...parts)
      return false
    }
    await syncFolder(disk, folder)
  } finally {
    for (const file of made) await ignored(removeFile(disk, `${folder}/${file}`))
  }
  if (writing.record.gone) {
    await ignored(clearGone(disk, folder, entry))
    return true
  }
  await ignored(removeOlder(disk, folder, { entry, base, record: writing.record }))
  if (old !== undefined) await ignored(removeOldFiles(disk, old.path))
  await ignored(clearProgress(disk, `${name}.`))
  return true
}

/** Makes the folder of a session with its first entry. Returns whether this writer made it. */
async function create(disk: Disk, place: Place, entry: Entry, writing: Writing): Promise<boolean> {
  const { directory, files } = disk
  const { name, folder, old } = place
  const progress = progressPath(disk, name)
  const session = writing.session ?? (old && splitOldText(old.text)?.text)
  try {
    const isNew =
      (await files.mkdir(directory, { recursive: true, mode: folderMode })) !== undefined
    if (!(await madeProgress(disk, progress))) return false
    if (!(await writeParts(disk, { folder: progress, entry, made: [] }, writing))) return false
    const content = wholeEntry(writing.record, session)
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

function wholeEntry(record: FileRecord, session: string | undefined): string {
  return `${fullLine(record)}\n${session === undefined ? '' : `${session}\n`}`
}

/** Longer commands have files of their own, so that they are not written again with each entry. */
const longCommand = 4096

/** Writes the files that an entry will name. Returns `false` if another process was faster. */
async function writeParts(
  disk: Disk,
  destination: Destination,
  { record, line, first }: Writing,
): Promise<boolean> {
  const { folder, entry, made } = destination
  if (line !== undefined && !(await appendLine(disk, destination, record, line))) return false
  for (const [index, { text = '', ...given }] of record.inbox.entries()) {
    if (text.length <= longCommand) continue
    const file = `${entry.number}.${entry.life}.${randomId('file')}.command`
    made.push(file)
    if (!(await wrote(disk, `${folder}/${file}`, text))) return false
    record.inbox[index] = { ...given, file }
  }
  if (first === true) {
    const { updatedAt: at, folded: lastEventId } = record
    record.snapshots.push({ at, entry: fileOf(entry), lastEventId })
  }
  return true
}

/** A command as JSON, or `undefined` if its file is missing. */
export async function readCommand(
  { files }: Disk,
  folder: string,
  { text, file }: GivenCommand,
): Promise<string | undefined> {
  return text ?? found(files.readFile(`${folder}/${file}`, 'utf8'))
}

/** Whether a folder has a session. A rename onto a folder that is not empty fails in different ways on different systems. */
async function isOccupied(disk: Disk, folder: string): Promise<boolean> {
  return (await newestEntry(disk, folder)) !== undefined
}

// Reading sessions

/** The session in an entry with a whole record, or `undefined` if the file is missing. */
export async function readSessionOf(
  disk: Disk,
  id: string,
  folder: string,
  entry: string,
): Promise<Session | undefined> {
  const text = await found(disk.files.readFile(`${folder}/${entry}`, 'utf8'))
  if (text === undefined) return undefined
  const saved = text.slice(text.indexOf('\n') + 1)
  if (parseJson(saved) === undefined) {
    const why =
      'does not hold a session: restore it from a backup, save without ifVersion to replace it, or delete it'
    throw unreadable(id, `${folder}/${entry}`, why)
  }
  return storedSession(id, saved)
}

/** The record in a file of version 0.1.0. */
export async function recordOfOldFile(disk: Disk, id: string, old: OldFile): Promise<FileRecord> {
  const { version, session } = readOldFile(id, old)
  const updatedAt = Math.round((await found(disk.files.stat(old.path)))?.mtimeMs ?? 0)
  const { status, metadata } = session
  return { ...newRecord(id, updatedAt), version, status, metadata }
}

/** The session in a file of version 0.1.0, and its version. */
export function readOldFile(id: string, old: OldFile): { version: number; session: Session } {
  const parts = splitOldText(old.text)
  if (parts === undefined) {
    const why = 'was not written by fileStore: save without ifVersion to replace it, or delete it'
    throw unreadable(id, old.path, why)
  }
  return { version: parts.version, session: storedSession(id, parts.text) }
}

function splitOldText(
  text: string,
): { readonly version: number; readonly text: string } | undefined {
  const parts = /^\{"version":(\d+),"session":([\s\S]*)\}$/.exec(text)
  const version = Number(parts?.[1])
  return parts?.[2] === undefined || !isVersion(version) ? undefined : { version, text: parts[2] }
}

/** Of the files in the folder of a session, the newest entry. */
export function newestSessionFile(names: readonly string[]): string | undefined {
  const newest = newestOf(names)
  return newest && fileOf(newest)
}

/** The file with the session, if a stored file only has what changed since. */
export function baseSessionFile(text: string): string | undefined {
  const [line = ''] = text.split('\n', 1)
  return baseOf(parseFields(line) ?? {})
}

/** The session in the text of a stored file, of this version or of 0.1.0. Other text is returned as it is. */
export function storedSessionText(text: string): string {
  const old = splitOldText(text.trimEnd())
  if (old !== undefined) return old.text
  const end = text.indexOf('\n')
  const fields = parseFields(text.slice(0, Math.max(end, 0)))
  return fields === undefined || recordOf(fields) === undefined ? text : text.slice(end + 1)
}

// Ids and names

/** The ids of the sessions in the directory, in no order. */
export async function storedIds(disk: Disk): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for (const file of (await found(disk.files.readdir(disk.directory))) ?? []) {
    const id = await idOf(disk, file)
    if (id !== undefined) ids.add(id)
  }
  return ids
}

/** The id of the session that a file or folder of the directory belongs to. */
async function idOf(disk: Disk, file: string): Promise<string | undefined> {
  if (/^[a-z0-9_%-]+(?:\.json)?$/.test(file)) return decoded(file.replace(/\.json$/, ''))
  if (!/^[a-z0-9_%-]+~[0-9a-f]{64}$/.test(file)) return undefined
  const folder = `${disk.directory}/${file}`
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const newest = await readable(newestEntry(disk, folder))
    if (newest === undefined) return undefined
    const line = await readable(found(readLine(disk, `${folder}/${fileOf(newest)}`)))
    const id = line === undefined ? undefined : parseFields(line)?.['id']
    if (line !== undefined) return typeof id === 'string' ? id : undefined
  }
  return undefined
}

/** The file of version 0.1.0, which took ids of up to 100 characters if the name fitted in 255 bytes. */
function oldFilePath({ directory }: Disk, id: string): string | undefined {
  const file = `${encoded(id)}.json`
  return id.length > 100 || file.length > 255 ? undefined : `${directory}/${file}`
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

// Removing

/** Removes a session with everything that belongs to it, also if it cannot be read. */
export async function removeSession(disk: Disk, id: string): Promise<void> {
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
  disk.onChange(id)
}

interface Known {
  readonly entry: Entry
  readonly base: string
  readonly record: FileRecord
}

/**
 * Removes what killed processes left of a session. Before anything is removed that a new entry has replaced, that entry is made
 * durable.
 */
export async function tidy(disk: Disk, id: string, { folder, newest }: Place): Promise<void> {
  if (newest?.record === undefined) return
  const known = { ...newest, record: newest.record }
  const names = await disk.files.readdir(folder)
  if (replacedBy(known, names).length > 0) {
    await syncFolder(disk, folder)
    await removeOlder(disk, folder, known)
  }
  for (const name of names) {
    const file = parseName(name)
    if (file === undefined || file.number <= known.entry.number) continue
    if (!(await isAbandoned(disk, `${folder}/${name}`))) continue
    if (file.kind === 'new') await removeFile(disk, `${folder}/${name}`)
    // Its writer may only be paused, and an entry may still come to need it. When the number is taken, it cannot.
    else
      await change(disk, id, async ({ record }) =>
        defined<Draft<void>>({ record, result: undefined }),
      )
  }
}

/**
 * Removes what a new entry replaces: first the files in progress up to its number, then the older entries, oldest first.
 * A failure ends it, because the entries may be removed only when the files in progress are gone.
 */
async function removeOlder(disk: Disk, folder: string, known: Known): Promise<void> {
  const names = await disk.files.readdir(folder)
  // Otherwise a newer entry has replaced it, or the session was deleted.
  if (!names.includes(fileOf(known.entry))) return
  for (const name of replacedBy(known, names)) await removeFile(disk, `${folder}/${name}`)
}

/**
 * The files that an entry has replaced, in the order of their removal.
 *
 * A folder has one life. Files of another one were left by a process that slept while the session was deleted and made again.
 */
function replacedBy({ entry, base, record }: Known, names: readonly string[]): readonly string[] {
  const kept = new Set([fileOf(entry), base, ...filesOf(record)])
  const files = names.flatMap((name) => {
    const file = kept.has(name) ? undefined : parseName(name)
    return file === undefined ? [] : [{ name, ...file }]
  })
  const isOlder = ({ number }: Entry): boolean => number <= entry.number
  return [
    ...files.filter((file) => file.kind === 'new' && isOlder(file)),
    ...files
      .filter((file) => file.kind === 'json' && file.life === entry.life && isOlder(file))
      .toSorted((left, right) => left.number - right.number),
    ...files.filter(
      ({ kind, ...file }) =>
        (kind === 'log' || kind === 'command') && (isOlder(file) || file.life !== entry.life),
    ),
  ].map(({ name }) => name)
}

/**
 * Removes a session whose last entry says that it is gone. No writer adds to such an entry, so its files can go one by one: those
 * in progress first, the entry last.
 */
async function clearGone(disk: Disk, folder: string, entry: Entry): Promise<void> {
  // Another process may have done so just now.
  const names = (await found(disk.files.readdir(folder))) ?? []
  if (!names.includes(fileOf(entry))) return
  const ours = names.filter((name) => parseName(name) !== undefined && name !== fileOf(entry))
  for (const isNew of [true, false]) {
    for (const name of ours.filter((own) => own.endsWith('.new') === isNew)) {
      await removeFile(disk, `${folder}/${name}`)
    }
  }
  await removeFile(disk, `${folder}/${fileOf(entry)}`)
  await ignored(disk.files.rmdir(folder))
}

/** Folders that are being made or deleted, each named after its session. */
const progressFolder = '.tmp'

function progressPath({ directory }: Disk, name: string): string {
  return `${directory}/${progressFolder}/${name}.${randomId('folder')}`
}

/**
 * Makes a folder in progress. Returns `false` if another process removed its parent at that moment. Node reports this as ENOENT,
 * or as ENOTDIR if the parent existed at its first look and not at its second. A parent that is a file is ENOTDIR as well.
 */
async function madeProgress({ directory, files }: Disk, path: string): Promise<boolean> {
  try {
    await files.mkdir(path, { recursive: true, mode: folderMode })
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') await found(files.readdir(`${directory}/${progressFolder}`))
    else if (codeOf(error) !== 'ENOENT') throw error
    return false
  }
}

/**
 * Removes the folders in progress whose names start like this: those that other processes left, and those of saves that
 * have to begin again.
 */
async function clearProgress(disk: Disk, start: string): Promise<void> {
  const { directory, files } = disk
  const parent = `${directory}/${progressFolder}`
  const names = await found(files.readdir(parent))
  if (names === undefined) return
  for (const item of names) {
    if (item.startsWith(start)) await removeProgress(disk, item, item.split('.')[0] ?? '')
  }
  await ignored(files.rmdir(parent))
}

/** Removes a folder in progress. It is renamed first: its writer, if it is alive, finds it whole or not at all. */
async function removeProgress(disk: Disk, item: string, name: string): Promise<void> {
  const { directory, files } = disk
  const aside = progressPath(disk, name)
  if (await taken(files.rename(`${directory}/${progressFolder}/${item}`, aside))) {
    await files.rm(aside, { force: true, recursive: true })
  }
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
    if (await isAbandoned(disk, `${parent}/${name}`)) await removeProgress(disk, name, 'abandoned')
  }
  await ignored(files.rmdir(parent))
}

/** Removes the file of version 0.1.0, and the lock and the files in progress that belong to it. */
async function removeOldFiles(disk: Disk, oldPath: string): Promise<void> {
  const { directory, files } = disk
  for (const file of (await found(files.readdir(directory))) ?? []) {
    const path = `${directory}/${file}`
    if (path === oldPath || path.startsWith(`${oldPath}.`)) await removeFile(disk, path)
  }
}

function contended(id: string): SessionError {
  const message = `session ${named(id)} was changed by other processes ${mostAttempts} times in a row`
  return new SessionError('unavailable', message)
}
