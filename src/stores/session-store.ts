import { SessionError, ValidationError } from '../errors/errors.ts'
import {
  assertValid,
  nonNegativeInteger,
  oneOf,
  optionsOf,
  positiveInteger,
  someText,
  text,
  type Check,
} from '../schema/checks.ts'
import { sessionStatuses, type Session, type SessionStatus } from '../types/session.ts'

/**
 * Stores sessions between runs. `sessionStoreCases` of `allm-ts/conformance` tests an implementation.
 *
 * - `load` returns the session that was saved last, deep-equal, or `undefined`. An unreadable session is `SessionError`
 *   `unreadable`.
 * - `save` returns the new version. With `ifVersion`, a save over another version is refused with `SessionError` `stale`
 *   and changes nothing, so two workers cannot fork a history unnoticed. Without it, whatever is stored is replaced, also
 *   an unreadable session.
 * - `delete` removes a session with everything that belongs to it. Deleting a session that does not exist is not an error. A session
 *   that is saved again starts at version 1.
 * - `list` returns one row for each session, ordered by id. `after` is the id of the last row of the page before.
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
}

/** The options of `save`. */
export interface SaveOptions {
  /** The version that was loaded; 0 for a session that was never saved. Without it, any stored session is replaced. */
  readonly ifVersion?: number | undefined
}

/** Which sessions `list` returns. */
export interface ListOptions {
  readonly status?: SessionStatus | undefined
  /** The beginning of the ids. */
  readonly prefix?: string | undefined
  /** The largest number of rows. Without it, all are returned. */
  readonly limit?: number | undefined
  /** Only ids that come after this one. */
  readonly after?: string | undefined
}

/** A session in a list. */
export interface SessionRow {
  readonly id: string
  readonly status: SessionStatus
  readonly version: number
  readonly updatedAt: number
}

const saveOptions = optionsOf({ ifVersion: nonNegativeInteger } satisfies Record<
  keyof SaveOptions,
  Check
>)

const listOptions = optionsOf({
  status: oneOf(sessionStatuses),
  prefix: text,
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

/** Throws unless a value can be the id of a session. */
export function assertSessionId(id: unknown): void {
  const issues = someText(id)
  if (issues.length === 0) return
  throw new ValidationError('invalid_session', [
    { path: 'id', problem: 'must be a non-empty string' },
  ])
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
    .filter((id) => id.startsWith(prefix) && (after === undefined || id > after))
    .toSorted((left, right) => (left < right ? -1 : 1))
}
