import { systemClock, type Clock } from '../../core/base/clock.ts'
import { randomId } from '../../core/base/ids.ts'
import { assertOptions, assertValid, someText, within } from '../../core/schema/checks.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined, parseJson } from '../../core/types/guards.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { stringifySession } from '../../engine/session/saved.ts'
import {
  fileOf,
  ignored,
  named,
  nodeFiles,
  readable,
  typed,
  unreadable,
  type Disk,
  type Entry,
  type StoreFiles,
} from './file-disk.ts'
import {
  change,
  inspect,
  readCommand,
  readOldFile,
  readSessionOf,
  recordOfOldFile,
  removeSession,
  storedIds,
  tidy,
  type Current,
  type Draft,
  type Place,
} from './file-folder.ts'
import { cutLog, lastEventBefore, readEntries, type NewLine } from './file-log.ts'
import { newRecord, slotHolder, type FileRecord, type GivenCommand } from './file-record.ts'
import {
  assertPendingOptions,
  firstExpiry,
  matchesExpiry,
  pendingPageOf,
  rowsOfSession,
  waitingCalls,
  waitingSince,
} from './pending-rows.ts'
import {
  askToStop,
  assertOwned,
  assertSavable,
  giveBack,
  holds,
  isDue,
  isEmpty,
  isLive,
  receive,
  rowOf,
  setDue,
  stateOf,
  takeLease,
} from './run-record.ts'
import {
  assertAcquireOptions,
  assertPushOptions,
  refuseGap,
  refuseReuse,
  type AcquiredLease,
  type AcquireOptions,
  type AppendOptions,
  type InboxEntry,
  type LogEntry,
  type PendingOptions,
  type PendingPage,
  type PendingRow,
  type PruneOptions,
  type PushOptions,
  type ReadEventsOptions,
  type RunState,
  type RunStore,
  type SlotTaken,
  type Snapshot,
} from './run-store.ts'
import {
  assertListOptions,
  assertSaveOptions,
  assertSessionId,
  matchesRow,
  selectIds,
  type Lease,
  type ListOptions,
  type SaveOptions,
  type SessionRow,
  type StoredSession,
} from './session-store.ts'

/** The file system and the clock of a file store; by default those of Node and of the system. */
export interface FileStoreOptions {
  readonly files?: StoreFiles | undefined
  readonly clock?: Clock | undefined
}

/**
 * A store in a directory, for the processes of one machine. It needs Node, or the option `files`, and a file system with
 * hard links.
 *
 * Each session has a folder, and each write creates a file there whose name is the next number:
 *
 *     sessions/ada/7.5f0c….json           the last save of the session `ada`; older ones are removed
 *     sessions/ada/9.5f0c….json           the newest write, of a lease, a command or events: what it has changed
 *     sessions/ada/8.5f0c….77de….log      events. The newest write says how many bytes of it count
 *     sessions/ada/10.5f0c….91ab….new     a write in progress
 *     sessions/.tmp/bob.77de…/            a folder in progress, or one that is being deleted
 *
 * There is no lock. A number is taken by creating its name, which only one writer can do, so a process that was killed or
 * paused in a write blocks nobody and costs no update; the next write to the session removes what it left, and after an hour other
 * operations do. The new files and their directory are synced before a write resolves.
 * `docs/decisions/035-file-store.md` in the repository explains why this is safe.
 *
 * `due`, `claim`, `list`, `pending` and `prune` look at every session of the directory. `pending` also reads
 * the sessions that wait, and those that version 0.2 saved. It leaves out what cannot be read, as `list` does.
 */
export function fileStore(directory: string, options: FileStoreOptions = {}): RunStore {
  // An empty one would be the root of the file system.
  assertValid('invalid_options', within('directory', someText(directory)))
  assertOptions('invalid_options', options, ['files', 'clock'])
  const listeners = new Map<string, Set<() => void>>()
  const disk: Disk = {
    directory,
    files: options.files ?? nodeFiles(),
    clock: options.clock ?? systemClock,
    writer: randomId('writer'),
    turns: new Map(),
    onChange: (id) => {
      for (const listener of listeners.get(id) ?? []) queueMicrotask(listener)
    },
  }
  return {
    notifies: false,
    load: async (id) => run(id, 'loaded', () => load(disk, id)),
    save: async (session, options = {}) => {
      assertSaveOptions(options)
      const text = stringifySession(session)
      return run(session.id, 'saved', () => save(disk, session, text, options))
    },
    delete: async (id) => run(id, 'deleted', () => removeSession(disk, id)),
    list: async (options = {}) => {
      assertListOptions(options)
      return typed('the sessions cannot be listed', () => list(disk, options))
    },

    append: async (id, events, options) =>
      run(id, 'appended to', () => append(disk, id, events, options)),

    acquire: async (id, options) => {
      assertAcquireOptions(options)
      return run(id, 'acquired', () => acquire(disk, id, options, () => true))
    },
    renew: async (id, lease, ttlMs) => run(id, 'renewed', () => renew(disk, id, lease, ttlMs)),
    release: async (id, lease, { wakeInMs } = {}) =>
      run(id, 'released', () => release(disk, id, lease, wakeInMs)),
    claim: async (options) => {
      assertAcquireOptions(options)
      return typed('no session can be claimed', () => claim(disk, options))
    },

    push: async (id, command, options = {}) => {
      assertPushOptions(options)
      return run(id, 'given a command', () => push(disk, id, command, options))
    },
    knowsKey: async (id, key, command) =>
      run(id, 'read', async () => {
        const known = (await readRecord(disk, id))?.keys.get(key)
        if (known !== undefined && command !== undefined) refuseReuse(id, key, known, command)
        return known !== undefined
      }),
    readInbox: async (id) => run(id, 'read', () => readInbox(disk, id)),
    due: async ({ limit }) =>
      typed('the sessions cannot be listed', async () => (await dueIds(disk)).slice(0, limit)),

    readEvents: async (id, options) => run(id, 'read', () => readEvents(disk, id, options)),
    readSnapshot: async (id, at) => run(id, 'read', () => readSnapshot(disk, id, at)),
    look: async (id) => run(id, 'read', () => lookAt(disk, id)),

    requestStop: async (id) => run(id, 'stopped', () => requestStop(disk, id)),
    stopRequested: async (id) =>
      run(id, 'read', async () => (await readRecord(disk, id))?.stop === true),
    watch: (id, listener) => {
      const own = listeners.get(id) ?? new Set()
      listeners.set(id, own.add(listener))
      return () => {
        own.delete(listener)
        if (own.size === 0 && listeners.get(id) === own) listeners.delete(id)
      }
    },
    pending: async (options = {}) => {
      assertPendingOptions(options)
      return typed('what waits cannot be listed', () => pending(disk, options))
    },
    prune: async (options) => typed('the sessions cannot be pruned', () => prune(disk, options)),
  }
}

/** Runs an operation on one session. */
function run<T>(id: string, what: string, work: () => Promise<T>): Promise<T> {
  assertSessionId(id)
  return typed(`session ${named(id)} cannot be ${what}`, work)
}

async function load(disk: Disk, id: string): Promise<StoredSession | undefined> {
  const { stored } = await inspect(disk, id, async (place) => {
    const { folder, newest, old } = place
    if (newest === undefined) {
      if (old === undefined) return { stored: undefined }
      const { updatedAt } = await recordOfOldFile(disk, id, old)
      return { stored: { ...readOldFile(id, old), updatedAt, lastEventId: 0 } }
    }
    const record = readableRecord(id, place)
    if (record === undefined) return undefined
    await ignored(tidy(disk, id, place))
    if (record.version === 0) return { stored: undefined }
    const session = await readSessionOf(disk, id, folder, newest.base)
    const { version, updatedAt, folded: lastEventId } = record
    return session && { stored: { session, version, updatedAt, lastEventId } }
  })
  return stored
}

async function save(
  disk: Disk,
  session: Session,
  text: string,
  options: SaveOptions,
): Promise<number> {
  const { id, status } = session
  const { lease, ifVersion, taken = 0, first = false } = options
  // Copies, since the caller may change its objects while this waits.
  const metadata = structuredClone(session.metadata)
  const calls = waitingCalls(session)
  const events = (options.events ?? []).map((event) => JSON.stringify(event))
  const refused = options.refused && JSON.stringify(options.refused)
  return change(disk, id, async (current) => {
    const now = disk.clock.now()
    if (current.isUnreadable && (lease !== undefined || ifVersion !== undefined)) {
      throw unreadable(id, current.path, replaceIt)
    }
    assertSavable(id, current.record, options, now)
    const replaced = { ...newRecord(id, now), version: current.next.number - 1 }
    const record = current.record ?? replaced
    const commands: string[] = []
    for (const queued of record.inbox.splice(0, taken)) {
      const command = await readCommand(disk, current.folder, queued)
      if (command === undefined) return undefined
      commands.push(command)
      // One that is refused loses its slot.
      if (queued.slot !== undefined && refused === undefined) record.slots.push(queued)
    }
    const line = addToLog(record, { at: now, commands, refused, events })
    const version = record.version + 1
    const folded = record.lastEventId
    const waiting = waitingSince(calls, record.waiting, now)
    const waits = { waiting, expiresAt: firstExpiry(calls) }
    Object.assign(record, { version, status, metadata, updatedAt: now, folded, ...waits })
    return defined<Draft<number>>({ result: version, record, session: text, first, line })
  })
}

async function append(
  disk: Disk,
  id: string,
  events: readonly StreamEvent[],
  { lease, after }: AppendOptions,
): Promise<number> {
  const texts = events.map((event) => JSON.stringify(event))
  return change(disk, id, async (current) => {
    const { record } = assertReadable(id, current)
    assertOwned(id, record, lease)
    refuseGap(id, record.lastEventId, after)
    const line = addToLog(record, { at: disk.clock.now(), events: texts })
    return line === undefined
      ? { result: record.lastEventId }
      : { result: record.lastEventId, record, line }
  })
}

/** Counts commands and events in the record, and returns the line for them, if there are any. */
function addToLog(
  record: FileRecord,
  added: Pick<NewLine, 'at' | 'events'> & Partial<NewLine>,
): NewLine | undefined {
  const { at, events, commands = [], refused } = added
  if (commands.length + events.length === 0) return undefined
  const { lastEventId: event, lastCommandId: command } = record
  record.lastEventId += events.length
  record.lastCommandId += commands.length
  if (events.length > 0) record.lastEventAt = at
  return { event, command, at, commands, refused, events }
}

async function list(disk: Disk, options: ListOptions): Promise<readonly SessionRow[]> {
  const { limit = Number.POSITIVE_INFINITY } = options
  const rows: SessionRow[] = []
  for (const id of selectIds(await storedIds(disk), options)) {
    if (rows.length >= limit) break
    const row = await readable(rowAt(disk, id))
    if (row !== undefined && matchesRow(row, options)) rows.push(row)
  }
  return rows
}

async function pending(disk: Disk, options: PendingOptions): Promise<PendingPage> {
  const { prefix } = options
  const rows: PendingRow[] = []
  for (const id of selectIds(await storedIds(disk), prefix === undefined ? {} : { prefix })) {
    rows.push(...((await readable(waitingAt(disk, id, options))) ?? []))
  }
  return pendingPageOf(rows, options)
}

/** What a session waits for. A session of which no call has expired is not read if `expiresBy` is given. */
async function waitingAt(
  disk: Disk,
  id: string,
  options: PendingOptions,
): Promise<readonly PendingRow[]> {
  return inspect(disk, id, async (place) => {
    const { folder, newest, old } = place
    if (newest === undefined) {
      if (old === undefined) return []
      const { updatedAt } = await recordOfOldFile(disk, id, old)
      return rowsOfSession(readOldFile(id, old).session, undefined, updatedAt)
    }
    const record = readableRecord(id, place)
    if (record === undefined || record.version === 0 || record.waiting?.size === 0) return []
    if (!matchesExpiry(record.expiresAt, options)) return []
    const session = await readSessionOf(disk, id, folder, newest.base)
    return session && rowsOfSession(session, record.waiting, record.updatedAt)
  })
}

/** A session's row, or `undefined` if it was deleted meanwhile. */
async function rowAt(disk: Disk, id: string): Promise<SessionRow | undefined> {
  const record = await readRecord(disk, id)
  if (record === undefined) return undefined
  // An entry of an earlier version has the metadata only in the session.
  record.metadata ??= (await load(disk, id))?.session.metadata
  return rowOf(id, record)
}

// Leases

async function acquire(
  disk: Disk,
  id: string,
  options: AcquireOptions,
  isWanted: (record: FileRecord, now: number) => boolean,
): Promise<AcquiredLease | undefined> {
  return change<AcquiredLease | undefined>(disk, id, async (current) => {
    const now = disk.clock.now()
    const { record = newRecord(id, now) } = assertReadable(id, current)
    if (isLive(record, now) || !isWanted(record, now)) return { result: undefined }
    const lease = takeLease(record, options, nextToken(record, current.next, now), now)
    return { result: lease, record }
  })
}

/** The last token that this process has given. */
let lastToken = 0

/**
 * A token that is larger than every earlier one of the session, also of one with the same id that was deleted: it begins with the
 * time. The last digits differ from life to life, so that not even two processes in the same millisecond make the same.
 */
function nextToken({ token }: FileRecord, { life }: Entry, now: number): number {
  const time = Math.trunc(now) * 1000 + (Number.parseInt(life.slice(0, 8), 16) % 1000)
  lastToken = Math.max(token + 1, lastToken + 1, time)
  return lastToken
}

async function renew(disk: Disk, id: string, lease: Lease, ttlMs: number): Promise<boolean> {
  return change(disk, id, async ({ record }) => {
    if (!holds(record, lease)) return { result: false }
    const now = disk.clock.now()
    setDue(record, now + ttlMs, now)
    return { result: true, record }
  })
}

async function release(
  disk: Disk,
  id: string,
  lease: Lease,
  wakeInMs: number | undefined,
): Promise<boolean> {
  return change(disk, id, async ({ record }) => {
    if (!holds(record, lease)) return { result: false }
    const result = giveBack(record, wakeInMs, disk.clock.now())
    record.gone = isEmpty(record)
    return { result, record }
  })
}

async function claim(
  disk: Disk,
  options: AcquireOptions,
): Promise<{ id: string; lease: AcquiredLease } | undefined> {
  for (const id of await dueIds(disk)) {
    const lease = await readable(acquire(disk, id, options, isDue))
    if (lease !== undefined) return { id, lease }
  }
  return undefined
}

/** How many sessions are read at the same time. */
const lookedAtOnce = 16

async function dueIds(disk: Disk): Promise<readonly string[]> {
  const now = disk.clock.now()
  const ids = [...(await storedIds(disk))]
  const due: { readonly id: string; readonly dueAt: number }[] = []
  for (let at = 0; at < ids.length; at += lookedAtOnce) {
    await Promise.all(
      ids.slice(at, at + lookedAtOnce).map(async (id) => {
        const record = await readable(readRecord(disk, id))
        if (record?.dueAt !== undefined && isDue(record, now)) due.push({ id, dueAt: record.dueAt })
      }),
    )
  }
  return due.toSorted((left, right) => left.dueAt - right.dueAt).map(({ id }) => id)
}

// Commands and signals

async function push(
  disk: Disk,
  id: string,
  command: SessionCommand,
  { key, ifIdle, slot }: PushOptions,
): Promise<boolean | SlotTaken> {
  const text = JSON.stringify(command)
  return change<boolean | SlotTaken>(disk, id, async (current) => {
    const now = disk.clock.now()
    const { record = newRecord(id, now) } = assertReadable(id, current)
    const holder = slotHolder(record, slot)
    const given = { command, key, ifIdle, isSlotTaken: holder !== undefined }
    const outcome = receive(id, record, given, now)
    if (outcome === 'slot_taken' && holder !== undefined) {
      const taken = await commandOf(disk, id, current.folder, holder)
      return taken && { result: { taken: false, command: taken, at: holder.at } }
    }
    if (outcome !== 'received') return { result: false }
    record.inbox.push(defined<GivenCommand>({ at: now, text, slot }))
    return { result: true, record }
  })
}

async function readInbox(disk: Disk, id: string): Promise<readonly InboxEntry[]> {
  return inspect(disk, id, async (place) => {
    const inbox: InboxEntry[] = []
    for (const queued of readableRecord(id, place)?.inbox ?? []) {
      const command = await commandOf(disk, id, place.folder, queued)
      if (command === undefined) return undefined
      inbox.push({ at: queued.at, command })
    }
    return inbox
  })
}

/** A command that was given, or `undefined` if its file is missing. */
async function commandOf(
  disk: Disk,
  id: string,
  folder: string,
  given: GivenCommand,
): Promise<SessionCommand | undefined> {
  const command = await readCommand(disk, folder, given)
  if (command === undefined) return undefined
  const parsed = parseJson(command)
  if (parsed === undefined) {
    const why = 'is not a command: restore it from a backup, or delete the session'
    throw unreadable(id, `${folder}/${given.file}`, why)
  }
  return parsed as SessionCommand // Written by `push`.
}

async function requestStop(disk: Disk, id: string): Promise<void> {
  await change(disk, id, async ({ record }) => {
    if (record === undefined || !askToStop(record, disk.clock.now())) return { result: undefined }
    return { result: undefined, record }
  })
}

// The log

async function readEvents(
  disk: Disk,
  id: string,
  options: ReadEventsOptions,
): Promise<readonly LogEntry[]> {
  return inspect(disk, id, async (place) => {
    const record = readableRecord(id, place)
    return record === undefined ? [] : readEntries(disk, place.folder, record, options)
  })
}

async function readSnapshot(disk: Disk, id: string, at: number): Promise<Snapshot | undefined> {
  const { snapshot } = await inspect(disk, id, async (place) => {
    const kept = readableRecord(id, place)?.snapshots ?? []
    const last = kept.findLast(({ lastEventId }) => lastEventId <= at)
    if (last === undefined) return { snapshot: undefined }
    const session = await readSessionOf(disk, id, place.folder, last.entry)
    return session && { snapshot: { session, lastEventId: last.lastEventId } }
  })
  return snapshot
}

async function lookAt(disk: Disk, id: string): Promise<RunState | undefined> {
  const record = await readRecord(disk, id)
  return record && stateOf(record, disk.clock.now())
}

async function prune(disk: Disk, { keepMs, limit = Infinity }: PruneOptions): Promise<number> {
  const before = disk.clock.now() - keepMs
  let count = 0
  for (const id of await storedIds(disk)) {
    if (count >= limit) break
    if ((await readable(pruneSession(disk, id, before))) === true) count++
  }
  return count
}

async function pruneSession(disk: Disk, id: string, before: number): Promise<boolean> {
  return change(disk, id, async ({ record, folder }) => {
    if (record === undefined) return { result: false }
    const { snapshots, keys, folded, lastEventId } = record
    const old = await lastEventBefore(disk, folder, record, before)
    if (old === undefined) return undefined
    // Whole runs are removed, so that what is left goes on from a snapshot; the last run too, if all of it is in the session.
    const isOver = old === lastEventId && folded === lastEventId
    const next = snapshots.findLastIndex((snapshot) => snapshot.lastEventId <= old)
    const event = isOver ? folded : (snapshots[next]?.lastEventId ?? 0)
    const isCut = await cutLog(disk, folder, record, { event, before })
    if (isCut === undefined) return undefined
    record.snapshots = isOver
      ? snapshots.filter(({ at }) => at >= before)
      : snapshots.slice(Math.max(0, next))
    const count = keys.size
    for (const [key, { at }] of keys) if (at < before) keys.delete(key)
    const isLess = isCut || record.snapshots.length < snapshots.length || keys.size < count
    return isLess ? { result: true, record } : { result: false }
  })
}

// Records

/** The record of a session, or `undefined` if there is none. */
async function readRecord(disk: Disk, id: string): Promise<FileRecord | undefined> {
  const { record } = await inspect(disk, id, async (place) => {
    const { newest, old } = place
    if (newest === undefined && old !== undefined) {
      return { record: await recordOfOldFile(disk, id, old) }
    }
    return { record: readableRecord(id, place) }
  })
  return record
}

/** The record in a folder. Throws if there is one that cannot be read. */
function readableRecord(id: string, { folder, newest }: Place): FileRecord | undefined {
  if (newest === undefined) return undefined
  if (newest.record !== undefined) return newest.record
  throw unreadable(id, `${folder}/${fileOf(newest.entry)}`, replaceIt)
}

/** What is wrong with a record, and what to do. */
const replaceIt =
  'was not written by fileStore for this id: restore it from a backup, save without ifVersion to replace it, or delete it'

function assertReadable(id: string, current: Current): Current {
  if (!current.isUnreadable) return current
  throw unreadable(id, current.path, replaceIt)
}
