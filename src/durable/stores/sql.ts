import { SessionError, ValidationError } from '../../core/errors/errors.ts'
import { redact } from '../../core/errors/redact.ts'
import { brief, describe } from '../../core/schema/checks.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Session, SessionCommand, SessionStatus } from '../../core/types/session.ts'
import { storedPendingRow, type WaitingBody } from './pending-rows.ts'
import {
  commandDigest,
  refuseReuse,
  type InboxEntry,
  type LogEntry,
  type PendingRow,
  type RunState,
  type SlotTaken,
} from './run-store.ts'
import { matchesRow, storedSession, type ListOptions, type SessionRow } from './session-store.ts'

/**
 * What the stores on SQL databases share. Both have the same tables:
 *
 *     sessions    one short row for each session: its version and status, the counters of its log and inbox, its lease
 *     texts       the session itself and its metadata, apart, so that a renewal or an appended event does not write them again
 *     events      the log of events
 *     commands    the inbox and the log of commands: those with a number above `last_command` wait.
 *                 A command that was pruned from the log and has a slot stays, without a position
 *     snapshots   the first sessions of the runs in the log
 *     pending     what waits for somebody. A row counts while its version is that of its session
 *
 * The other tables refer to a session by `key`, a number that is never used twice. So nothing of a session that was deleted can
 * come back with its id.
 *
 * `due_at` is the end of the lease while there is an owner, else the time at which the session is due, else null: at rest.
 * All times are milliseconds since 1970 by the clock of the database. `prune_at` is a time before which nothing can be pruned.
 */

/** Throws unless a name can be used in SQL as it is. */
export function assertSqlName(path: string, name: unknown): void {
  if (typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(name)) return
  const problem = `must be 1 to 40 letters, digits and underscores that do not begin with a digit, not ${describe(name)}`
  throw new ValidationError('invalid_options', [{ path, problem }])
}

/** The error of an operation whose statement failed. The driver's error is its cause. */
export function unavailable(what: string, cause: unknown, advice?: string): SessionError {
  const why = advice ?? redact(cause instanceof Error ? cause.message : String(cause))
  const code = codeOf(cause)
  const metadata = code === undefined ? {} : { code }
  return new SessionError('unavailable', `${what}: ${why}`, { cause, metadata })
}

/** The code that a driver gave an error. */
export function codeOf(error: unknown): string | undefined {
  return isObject(error) && typeof error['code'] === 'string' ? error['code'] : undefined
}

/** A session in a message. */
export function named(id: string): string {
  return `session ${brief(id)}`
}

/** A text that every database can store. Only for names: what must come back unchanged is stored as JSON. */
export function storable(text: string): string {
  return text.replaceAll(/\0|\p{Surrogate}/gu, '\uFFFD')
}

/** The key or the slot of a command as a text that every database can store. */
export function keyText(key: string | undefined): string | null {
  return key === undefined ? null : JSON.stringify(key)
}

/** Throws `SessionError` `key_reused` if a key came before with another command than this one. Its row has the command. */
export function refuseOther(id: string, key: string, body: string, command: SessionCommand): void {
  const before = parsed(body, id) as SessionCommand
  refuseReuse(id, key, { digest: commandDigest(before) }, command)
}

/** The ids that a list asks for, as a range in the order of code points. */
export interface IdRange {
  readonly from?: string
  readonly below?: string
  readonly after?: string
}

/** The range of ids of a list, or `undefined` if no id can be in it. */
export function idRange({ prefix = '', after }: ListOptions): IdRange | undefined {
  // No id has these characters, and databases do not take them.
  if (/\0|\p{Surrogate}/u.test(prefix)) return undefined
  return defined<IdRange>({
    from: prefix === '' ? undefined : prefix,
    below: firstBeyond(prefix),
    after: after?.replace(/(?:\0|\p{Surrogate}).*$/su, ''),
  })
}

/** The smallest text that is larger than every text with this beginning, if there is one. */
function firstBeyond(prefix: string): string | undefined {
  const points = Array.from(prefix)
  while (points.length > 0) {
    const last = points.pop()?.codePointAt(0) ?? 0
    // The code points of surrogates are not characters.
    const next = last === 0xd7ff ? 0xe000 : last + 1
    if (next <= 0x10ffff) return points.join('') + String.fromCodePoint(next)
  }
  return undefined
}

/** How many rows a list with a filter on metadata reads at a time. */
const pageSize = 500

/** The rows of a list. The database does all but the filter on metadata, for which one page after another is read. */
export async function listFiltered(
  page: (options: ListOptions) => Promise<readonly SessionRow[]>,
  options: ListOptions,
): Promise<readonly SessionRow[]> {
  if (options.metadata === undefined) return page(options)
  const { limit = Infinity } = options
  const found: SessionRow[] = []
  let { after } = options
  for (;;) {
    const rows = await page({ ...options, after, limit: pageSize })
    found.push(...rows.filter((row) => matchesRow(row, options)))
    if (rows.length < pageSize || found.length >= limit) return found.slice(0, limit)
    after = rows.at(-1)?.id
  }
}

/** Numbers come as numbers, as big integers or as text, depending on the driver and its settings. */
export type SqlNumber = number | bigint | string

/** A row of `sessions` with its metadata, as `list` reads it. */
export interface ListedColumns {
  readonly id: string
  readonly status: SessionStatus
  readonly version: SqlNumber
  readonly updated_at: SqlNumber
  readonly due_at: SqlNumber | null
  readonly metadata: string | null
}

/** A row of `list`. */
export function toSessionRow(row: ListedColumns): SessionRow {
  return {
    id: row.id,
    status: row.status,
    version: Number(row.version),
    updatedAt: Number(row.updated_at),
    running: row.due_at !== null,
    metadata: row.metadata === null ? {} : (parsed(row.metadata, row.id) as JsonObject),
  }
}

/** A row of `sessions`, as `look` reads it. */
export interface StateColumns {
  readonly version: SqlNumber
  readonly status: SessionStatus
  readonly last_event: SqlNumber
  readonly last_command: SqlNumber
  readonly queued: SqlNumber
  /** Null unless the lease is live. */
  readonly owner: string | null
  readonly due_at: SqlNumber | null
}

/** The result of `look`. */
export function toRunState(row: StateColumns): RunState {
  return defined<RunState>({
    version: Number(row.version),
    status: row.status,
    running: row.due_at !== null,
    lastEventId: Number(row.last_event),
    lastCommandId: Number(row.last_command),
    queued: Number(row.queued),
    owner: row.owner ?? undefined,
    dueAt: row.due_at === null ? undefined : Number(row.due_at),
  })
}

/** A row of `pending`, with the metadata of its session. */
export interface WaitingColumns {
  readonly id: string
  readonly ticket: string
  readonly kind: string
  readonly since: SqlNumber
  readonly body: string
  readonly metadata: string
}

/** A call that waits. */
export function toWaitingRow(row: WaitingColumns): PendingRow {
  const { id, ticket, kind, since, body, metadata } = row
  const place = { sessionId: id, ticket, since: Number(since) }
  const waits = parsed(body, id) as WaitingBody
  return storedPendingRow(place, kind, waits, parsed(metadata, id) as JsonObject)
}

/** A stored session, or `undefined` if it cannot be read. */
export function readableSession(id: string, body: string): Session | undefined {
  try {
    return storedSession(id, body)
  } catch (thrown) {
    if (thrown instanceof SessionError) return undefined
    throw thrown
  }
}

/** A row of `commands`: a command that was given, and when. */
export interface InboxColumns {
  readonly at: SqlNumber
  readonly body: string
}

/** An entry of the inbox. */
export function toInboxEntry({ at, body }: InboxColumns, id: string): InboxEntry {
  return { at: Number(at), command: parsed(body, id) as SessionCommand }
}

/** The answer to a command whose slot this one has. */
export function toSlotTaken(row: InboxColumns, id: string): SlotTaken {
  return { taken: false, ...toInboxEntry(row, id) }
}

/** A row of the log. `rank` is 0 for an event and 1 for a command. */
export interface LogColumns {
  readonly rank: SqlNumber
  readonly number: SqlNumber
  readonly at: SqlNumber
  readonly body: string
  readonly refused: string | null
}

/** An entry of the log. */
export function toLogEntry({ rank, number, at, body, refused }: LogColumns, id: string): LogEntry {
  const place = { id: Number(number), at: Number(at) }
  if (Number(rank) === 0) return { ...place, event: parsed(body, id) as StreamEvent }
  const command = parsed(body, id) as SessionCommand
  return refused === null
    ? { ...place, command }
    : { ...place, command, refused: parsed(refused, id) as ErrorData }
}

/** A value that the store has written as JSON, so its type is known. */
function parsed(text: string, id: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const message = `${named(id)} has a stored value that is not JSON`
    throw new SessionError('unreadable', message, { cause })
  }
}

/** The listeners of one process, by the session that they watch. */
export interface Listeners {
  readonly add: (id: string, listener: () => void) => () => void
  /** Tells the listeners of a session, or all of them. */
  readonly tell: (id?: string) => void
  readonly size: number
}

/** Creates an empty set of listeners. They are called one by one, after the current operation; what they throw is reported as usual. */
export function createListeners(): Listeners {
  const byId = new Map<string, Set<() => void>>()
  return {
    add: (id, listener) => {
      const own = byId.get(id) ?? new Set()
      // The same function may watch twice.
      const entry = (): void => listener()
      byId.set(id, own.add(entry))
      return () => {
        own.delete(entry)
        if (own.size === 0 && byId.get(id) === own) byId.delete(id)
      }
    },
    tell: (id) => {
      const told = id === undefined ? [...byId.values()] : [byId.get(id) ?? new Set<() => void>()]
      for (const own of told) for (const listener of own) queueMicrotask(listener)
    },
    get size() {
      return byId.size
    },
  }
}
