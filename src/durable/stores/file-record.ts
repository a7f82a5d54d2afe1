import {
  flag,
  isPlainObject,
  jsonObject,
  listOf,
  must,
  nonNegativeInteger,
  oneOf,
  shape,
  someText,
  text,
  type Check,
} from '../../core/schema/checks.ts'
import { parseJson } from '../../core/types/guards.ts'
import { sessionStatuses } from '../../core/types/session.ts'
import { lastNumber, parseName } from './file-disk.ts'
import { emptyRecord, type RunRecord } from './run-record.ts'
import type { KnownKey } from './run-store.ts'

/** What the newest entry of a session says: the first line of a file, or two of them. */
export interface FileRecord extends RunRecord {
  readonly id: string
  inbox: GivenCommand[]
  /** The commands that were applied and have slots. */
  slots: GivenCommand[]
  /**
   * Since when the calls wait that the session waits for, by their tickets. Absent if the session was
   * saved by version 0.2, which did not write it.
   */
  waiting?: ReadonlyMap<string, number> | undefined
  /** When the first of these calls expires. */
  expiresAt?: number | undefined
  /** When the last event was stored. */
  lastEventAt: number
  /** The parts of the log, in order. */
  log: Segment[]
  /** The entries with the first sessions of the runs in the log. */
  snapshots: SnapshotEntry[]
  /** The session was only made to take its lease, and that was given back. Nothing can follow this entry. */
  gone: boolean
}

/** A command that was given: its text, or the file that has it if it is long. */
export interface GivenCommand {
  readonly at: number
  readonly text?: string
  readonly file?: string
  /** The slot that it has. */
  readonly slot?: string
}

/** The bytes of a file that are a part of the log. Bytes after `to` do not count. */
export interface Segment {
  readonly file: string
  readonly from: number
  readonly to: number
  /** The numbers of the last event and of the last command at its end. */
  readonly event: number
  readonly command: number
  /** When its last line was stored. */
  readonly at: number
}

interface SnapshotEntry {
  readonly at: number
  readonly entry: string
  readonly lastEventId: number
}

/** A record as JSON, without members that have their usual value. */
export type Fields = Readonly<Record<string, unknown>>

/** The record of a session that has no entry. */
export function newRecord(id: string, now: number): FileRecord {
  const lists = { slots: [], log: [], snapshots: [] }
  return { ...emptyRecord(now), id, lastEventAt: 0, ...lists, gone: false }
}

/** Every file that an entry needs besides itself. */
export function filesOf({ log, snapshots, inbox, slots }: FileRecord): readonly string[] {
  return [
    ...log.map(({ file }) => file),
    ...snapshots.map(({ entry }) => entry),
    ...[...inbox, ...slots].flatMap(({ file }) => file ?? []),
  ]
}

/** The command that has a slot: it waits, or it was applied. */
export function slotHolder(
  { inbox, slots }: FileRecord,
  slot: string | undefined,
): GivenCommand | undefined {
  return slot === undefined ? undefined : [...inbox, ...slots].find((given) => given.slot === slot)
}

/** The line of an entry with a whole record. */
export function fullLine(record: FileRecord): string {
  return JSON.stringify(fieldsOf(record))
}

/** The line of an entry that only has what differs from the record in another one, the base. */
export function changeLine(record: FileRecord, base: string, before: Fields): string {
  const after = fieldsOf(record)
  const changed: Record<string, unknown> = { id: record.id, base }
  for (const name of new Set([...Object.keys(after), ...Object.keys(before)])) {
    if (JSON.stringify(after[name]) === JSON.stringify(before[name])) continue
    changed[name] = after[name] ?? null
  }
  return JSON.stringify(changed)
}

function fieldsOf(record: FileRecord): Fields {
  const { id, version, status, updatedAt, metadata, inbox, keys, owner, dueAt, log } = record
  return {
    id,
    version,
    status,
    updatedAt,
    metadata,
    folded: record.folded || undefined,
    lastEventId: record.lastEventId || undefined,
    lastEventAt: record.lastEventAt || undefined,
    lastCommandId: record.lastCommandId || undefined,
    inbox: inbox.length > 0 ? inbox : undefined,
    slots: record.slots.length > 0 ? record.slots : undefined,
    waiting: record.waiting && [...record.waiting],
    expiresAt: record.expiresAt,
    keys: keys.size > 0 ? [...keys].map(savedKey) : undefined,
    token: record.token || undefined,
    owner,
    dueAt,
    dueFrom: record.dueFrom,
    stop: record.stop || undefined,
    log: log.length > 0 ? log : undefined,
    snapshots: record.snapshots.length > 0 ? record.snapshots : undefined,
    gone: record.gone || undefined,
  } satisfies Record<keyof FileRecord, unknown>
}

/** The members of the record in a line; `undefined` if the line is not one of a file store. */
export function parseFields(line: string): Fields | undefined {
  const value = parseJson(line)
  return isPlainObject(value) ? value : undefined
}

/** The record in a base, changed by the members of a later entry. */
export function changedFields(before: Fields, { base: _base, ...changes }: Fields): Fields {
  const fields = { ...before, ...changes }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

/** The record with these members; `undefined` if they are not those of one. */
export function recordOf(fields: Fields): FileRecord | undefined {
  if (legalFields(fields).length > 0) return undefined
  const saved = fields as unknown as SavedFields // Just checked.
  return {
    ...newRecord(saved.id, 0),
    // An entry of an earlier version does not have the metadata.
    metadata: undefined,
    ...saved,
    // Lists of its own: the fields stay as they are, for the comparison with what is written next.
    keys: new Map((saved.keys ?? []).map(([key, at, digest]) => [key, { at, digest }])),
    waiting: saved.waiting && new Map(saved.waiting),
    inbox: [...(saved.inbox ?? [])],
    slots: [...(saved.slots ?? [])],
    log: [...(saved.log ?? [])],
    snapshots: [...(saved.snapshots ?? [])],
  }
}

type SavedFields = Pick<FileRecord, 'id'> &
  Partial<Omit<FileRecord, 'keys' | 'waiting'>> & {
    readonly keys?: readonly SavedKey[]
    readonly waiting?: readonly (readonly [ticket: string, since: number])[]
  }

/** A key, when it came, and the digest of its command, which version 0.2 did not write. */
type SavedKey = readonly [key: string, at: number, digest?: string | undefined]

function savedKey([key, { at, digest }]: readonly [string, KnownKey]): SavedKey {
  return digest === undefined ? [key, at] : [key, at, digest]
}

/** Whether a value is a version that another one can follow: versions are not greater than numbers. */
export function isVersion(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) < lastNumber
}

const time: Check = must('a number', Number.isFinite)
const counter: Check = nonNegativeInteger

/** Names of files are checked, since they are opened: they never lead out of the folder. */
function nameOf(kind: 'json' | 'log' | 'command'): Check {
  return must(`the name of a file`, (value) => {
    return typeof value === 'string' && parseName(value)?.kind === kind
  })
}

const savedKeyCheck: Check = must('a key, its time and a digest', (value) => {
  if (!Array.isArray(value) || value.length < 2 || value.length > 3) return false
  const [key, at, digest = ''] = value as readonly unknown[]
  return typeof key === 'string' && Number.isFinite(at) && typeof digest === 'string'
})

const savedWait: Check = must('a ticket and a time', (value) => {
  if (!Array.isArray(value) || value.length !== 2) return false
  const [ticket, since] = value as readonly unknown[]
  return typeof ticket === 'string' && Number.isFinite(since)
})

const givenCommands: Check = listOf(
  shape({ at: time }, { text, file: nameOf('command'), slot: someText }),
)

const legalFields = shape(
  {
    id: someText,
    version: must('a version', isVersion),
    status: oneOf(sessionStatuses),
    updatedAt: time,
  },
  {
    metadata: jsonObject,
    folded: counter,
    lastEventId: counter,
    lastEventAt: time,
    lastCommandId: counter,
    inbox: givenCommands,
    slots: givenCommands,
    waiting: listOf(savedWait),
    expiresAt: time,
    keys: listOf(savedKeyCheck),
    token: counter,
    owner: text,
    dueAt: time,
    dueFrom: time,
    stop: flag,
    log: listOf(
      shape({
        file: nameOf('log'),
        from: counter,
        to: counter,
        event: counter,
        command: counter,
        at: time,
      } satisfies Record<keyof Segment, Check>),
    ),
    snapshots: listOf(
      shape({ at: time, entry: nameOf('json'), lastEventId: counter } satisfies Record<
        keyof SnapshotEntry,
        Check
      >),
    ),
    gone: flag,
  } satisfies Record<Exclude<keyof FileRecord, 'id' | 'version' | 'status' | 'updatedAt'>, Check>,
)
