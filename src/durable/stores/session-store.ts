import { SessionError, ValidationError } from '../../core/errors/errors.ts'
import {
  assertValid,
  brief,
  flag,
  jsonObject,
  listOf,
  must,
  nonNegativeInteger,
  oneOf,
  optionsOf,
  positiveInteger,
  someText,
  text,
  type Check,
} from '../../core/schema/checks.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { sessionStatuses, type Session, type SessionStatus } from '../../core/types/session.ts'
import { parseSession } from '../../engine/session/saved.ts'

/**
 * Stores sessions between runs. `sessionStoreCases` of `allm-ts/conformance` tests an implementation.
 *
 * - `load` returns the session that was saved last, deep-equal, or `undefined`. A session that cannot be
 *   read, or another one in its place, is `SessionError` `unreadable`.
 * - `save` returns the new version. With `ifVersion`, a save over another version is refused with `SessionError` `stale`
 *   and changes nothing, so two workers cannot fork a history unnoticed. Without it, whatever is stored is replaced, also
 *   an unreadable session.
 * - `delete` removes a session with everything that belongs to it. Deleting a session that does not exist is not an error. A session
 *   that is saved again starts at version 1.
 * - `list` returns one row for each session, ordered by the code points of their ids. `after` is the id of the last row of the page before.
 * - Ids have 1 to 512 characters, without NUL and without half a surrogate pair, so that every store can hold them.
 * - An interrupted save leaves the old session or the new one, never a mixture.
 * - A failure of the storage itself is `SessionError` `unavailable`, with the storage's error as `cause`.
 */
export interface SessionStore {
  load(id: string): Promise<StoredSession | undefined>
  save(session: Session, options?: SaveOptions): Promise<number>
  delete(id: string): Promise<void>
  list(options?: ListOptions): Promise<readonly SessionRow[]>
}

/** A loaded session, and what the store knows about it. */
export interface StoredSession {
  readonly session: Session
  /** The number of saves of this session. It is unrelated to `session.version`, the version of the saved format. */
  readonly version: number
  /** When it was saved, in milliseconds since 1970 by the clock of the store. */
  readonly updatedAt: number
  /** The number of the last event of the log that is folded into this session. 0 in a store without a log. */
  readonly lastEventId: number
}

/** The right to write a session, from `acquire` of a `RunStore`. */
export interface Lease {
  /** Rises with each lease of a session. */
  readonly token: number
  /** When it ends unless it is renewed, by the clock of the store. */
  readonly expiresAt: number
}

/** The options of `save`. Those after `ifVersion` are for a `RunStore`, which does all of it in one atomic step. */
export interface SaveOptions {
  /** The version that was loaded; 0 for a session that was never saved. Without it, any stored session is replaced. */
  readonly ifVersion?: number | undefined
  /** The lease under which the session is saved. Without one, a session that somebody owns refuses with `SessionError` `busy`. */
  readonly lease?: Lease | undefined
  /** Events that are appended to the log. They and all earlier ones are folded into the session. */
  readonly events?: readonly StreamEvent[] | undefined
  /** How many commands of the inbox this save has applied. They are removed, and logged before the events. */
  readonly taken?: number | undefined
  /**
   * Why the commands that are taken were not applied: they were not legal any more. It holds for all
   * of them, so a write takes either commands that were applied or commands that were refused. The
   * slots of refused commands are free again.
   */
  readonly refused?: ErrorData | undefined
  /** The session is the first one of a run. It is kept with the log, so that later ones can be rebuilt from it. */
  readonly first?: boolean | undefined
}

/** Which sessions `list` returns. */
export interface ListOptions {
  readonly status?: SessionStatus | undefined
  /** The beginning of the ids. */
  readonly prefix?: string | undefined
  /** Only sessions whose metadata has these values. */
  readonly metadata?: JsonObject | undefined
  /** The largest number of rows. Without it, all are returned. */
  readonly limit?: number | undefined
  /** Only ids that come after this one. */
  readonly after?: string | undefined
}

/** A session in a list. */
export interface SessionRow {
  readonly id: string
  readonly status: SessionStatus
  /** The number of saves; 0 while only a command waits for it. */
  readonly version: number
  readonly updatedAt: number
  /** Whether a command, a wake-up or an owner is there. Absent in a store without leases. */
  readonly running?: boolean
  readonly metadata?: JsonObject
}

const object: Check = must('an object', isObject)

const saveOptions = optionsOf({
  ifVersion: nonNegativeInteger,
  lease: object,
  events: listOf(object),
  taken: nonNegativeInteger,
  refused: object,
  first: flag,
} satisfies Record<keyof SaveOptions, Check>)

const listOptions = optionsOf({
  status: oneOf(sessionStatuses),
  prefix: text,
  metadata: jsonObject,
  limit: positiveInteger,
  after: someText,
} satisfies Record<keyof ListOptions, Check>)

/** Throws unless the options of a save are legal. */
export function assertSaveOptions(options: SaveOptions): void {
  assertValid('invalid_options', saveOptions(options))
}

/** Throws unless the options of a list are legal. */
export function assertListOptions(options: ListOptions): void {
  assertValid('invalid_options', listOptions(options))
}

/** The longest id. Databases can index it, whatever its characters are. */
const longestId = 512

/** Throws unless a value can be the id of a session. */
export function assertSessionId(id: unknown): void {
  const problem = idProblem(id)
  if (problem !== undefined) throw new ValidationError('invalid_session', [{ path: 'id', problem }])
}

function idProblem(id: unknown): string | undefined {
  if (typeof id !== 'string' || id === '') return 'must be a non-empty string'
  if (id.length > longestId) {
    return `has ${id.length} characters, and a store takes at most ${longestId}; use a hash of it`
  }
  if (id.includes('\0')) return 'must not contain the character NUL'
  return /\p{Surrogate}/u.test(id) ? 'must not contain half a surrogate pair' : undefined
}

/** The session that is stored under an id. Throws `SessionError` `unreadable` unless the text is that session. */
export function storedSession(id: string, text: string): Session {
  const session = parseSession(text)
  if (session.id === id) return session
  throw new SessionError(
    'unreadable',
    `session ${brief(id)} cannot be read: session ${brief(session.id)} is stored in its place`,
    { metadata: { id, found: session.id } },
  )
}

/** Throws `SessionError` `stale` when the stored version is not the expected one. */
export function refuseStale(id: string, current: number, expected: number | undefined): void {
  if (expected === undefined || expected === current) return
  throw new SessionError(
    'stale',
    `session ${id} is at version ${current}, not ${expected}: it was saved by someone else in the meantime. Load it again and apply your change to it`,
    { metadata: { id, version: current, ifVersion: expected } },
  )
}

/** The ids that a list asks for, in its order. */
export function selectIds(ids: Iterable<string>, options: ListOptions): readonly string[] {
  const { prefix = '', after } = options
  return [...ids]
    .filter((id) => id.startsWith(prefix) && (after === undefined || isBefore(after, id)))
    .toSorted((left, right) => (isBefore(left, right) ? -1 : 1))
}

/** Whether an id comes before another one, by code points. Databases order UTF-8 in the same way. */
export function isBefore(left: string, right: string): boolean {
  const length = Math.min(left.length, right.length)
  for (let at = 0; at < length; at++) {
    const [here, there] = [left.codePointAt(at) ?? 0, right.codePointAt(at) ?? 0]
    if (here !== there) return here < there
  }
  return left.length < right.length
}

/** Whether a row has the status and the metadata that a list asks for. */
export function matchesRow(row: SessionRow, { status, metadata }: ListOptions): boolean {
  return (status === undefined || row.status === status) && matchesMetadata(row.metadata, metadata)
}

/** Whether metadata has the values that are asked for. */
export function matchesMetadata(
  own: JsonObject | undefined,
  wanted: JsonObject | undefined = {},
): boolean {
  return Object.entries(wanted).every(
    ([name, value]) => own !== undefined && Object.hasOwn(own, name) && sameJson(own[name], value),
  )
}
