import { digestOf } from '../../core/base/digest.ts'
import { SessionError, ValidationError } from '../../core/errors/errors.ts'
import {
  assertValid,
  brief,
  flag,
  must,
  optionsOf,
  positiveInteger,
  someText,
  text,
  type Check,
} from '../../core/schema/checks.ts'
import type { PendingCall, PendingKind } from '../../core/types/call.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Session, SessionCommand, SessionStatus } from '../../core/types/session.ts'
import type { Lease, SessionStore } from './session-store.ts'

/**
 * A session store on which runs outlive their process: it also has leases, an inbox of commands, a log of events, and signals.
 * `runStoreCases` of `allm-ts/conformance` tests an implementation.
 *
 * **Time** is that of the store (of the database, if it has one), never that of the process that asks. All processes agree on it.
 *
 * **Leases.** A session has one owner at a time. Each lease has a token that is larger than every earlier one of that id, also
 * after the session was deleted. Every write of an owner carries its lease, and a write whose token is not the newest changes
 * nothing and fails with `SessionError` `lease_lost`. A lease that has expired and that nobody took can still be used.
 *
 * **The inbox** has the commands that were given and are not applied yet, in order. `save` with `taken` removes the first ones in
 * the write that stores their effect, and moves them to the log.
 *
 * **Slots** let the first of several commands win, whichever processes give them. A command that is
 * pushed with a slot has it from the write that stores it. It keeps the slot when it is applied and
 * when the log is pruned, as long as the session exists. A save that logs the command as refused frees
 * the slot in the same write. The slots of a session are independent of each other, and of those of
 * other sessions.
 *
 * **The log** has the events of the session, numbered 1, 2, 3 … without gaps, and the commands that were taken, numbered by themselves.
 *
 * **What waits** for somebody is in an index over all sessions, whatever their status: a row for each call
 * of `Session.pending`. Every `save` replaces the rows of its session in its own atomic write, and
 * `delete` removes them. Nothing else changes them.
 *
 * **What is due.** A session is running (`running`) while it has a queued command, a wake-up or a lease. It is due when there is
 * something to do and nobody does it: a command, a wake-up whose time has come, or a lease that expired because its owner died.
 */
export interface RunStore extends SessionStore {
  /**
   * Appends events to the log, and returns the number of the last one. The stored session stays as it is: a reader folds the events
   * after its `lastEventId` into it. With `after`, a log that does not end with that number refuses with `SessionError` `stale`, so that a write
   * whose answer was lost can be repeated.
   */
  append(id: string, events: readonly StreamEvent[], options: AppendOptions): Promise<number>

  /** Takes the lease, or returns `undefined` while somebody else has a live one. The session need not exist yet. */
  acquire(id: string, options: AcquireOptions): Promise<AcquiredLease | undefined>
  /** Extends a lease to `ttlMs` from now. `false` if it is lost. */
  renew(id: string, lease: Lease, ttlMs: number): Promise<boolean>
  /**
   * Gives the lease back, and clears a stop request. With `wakeInMs` the session is due again after that time; a stop request that nobody
   * has seen is then kept. Such a request and commands in the inbox make it due at once, whatever came in at this very moment. Returns whether it is due now. A lease that is lost changes nothing, and gives `false`.
   */
  release(id: string, lease: Lease, options?: ReleaseOptions): Promise<boolean>
  /** Takes the lease of the session that is due for the longest time, or returns `undefined`. Two callers never get the same. */
  claim(options: AcquireOptions): Promise<{ id: string; lease: AcquiredLease } | undefined>

  /**
   * Adds a command to the inbox; an unknown id gets one. Returns `true` if the command was stored.
   * Compare with `true`: a `SlotTaken` is an object. Otherwise nothing is changed, for the first reason
   * of these:
   *
   * 1. The same command came before with the same `key`: returns `false`, so that a client that repeats
   *    the command that won is not told that it lost. Another command with that key is refused with
   *    `SessionError` `key_reused` (see `commandDigest`).
   * 2. With `ifIdle` a running session refuses with `SessionError` `busy`.
   * 3. Another command has the `slot`: returns that command. Of several pushes at the same moment
   *    exactly one is stored.
   */
  push(id: string, command: SessionCommand, options?: PushOptions): Promise<boolean | SlotTaken>
  /** Whether a command with this key came before. If it was not the one that is given, it is refused as by `push`. */
  knowsKey(id: string, key: string, command?: SessionCommand): Promise<boolean>
  /** The commands that wait, in order. */
  readInbox(id: string): Promise<readonly InboxEntry[]>
  /** The ids of the sessions that are due, those that are due the longest first. */
  due(options: { limit: number }): Promise<readonly string[]>

  /**
   * Entries of the log, in order: the events with numbers above `after`. With `commands` also the commands with numbers above
   * `afterCommand`, each after the events that were there when it was applied; without `afterCommand`, those that were applied when the log had
   * `after` events or more.
   */
  readEvents(id: string, options: ReadEventsOptions): Promise<readonly LogEntry[]>
  /** The newest session that was saved with `first` and has no event later than `at` folded in. The log goes on from there. */
  readSnapshot(id: string, at: number): Promise<Snapshot | undefined>
  /** What the store knows about a session without reading it, or `undefined` if it knows nothing. Cheap. */
  look(id: string): Promise<RunState | undefined>

  /** Asks the owner to stop. Nothing happens while the session is not running. A session that waits for a wake-up is due at once. */
  requestStop(id: string): Promise<void>
  stopRequested(id: string): Promise<boolean>
  /**
   * Calls the listener soon after the log, the inbox, the lease or a stop request changed; returns the end of it. It is a hint: it
   * may come late, twice, without a reason, or not at all. With `stopsOnly` the listener waits for stop requests; a store that knows that a change
   * was none, such as a write of the log, need not call it.
   */
  watch(
    id: string,
    listener: () => void,
    options?: { readonly stopsOnly?: boolean | undefined },
  ): () => void
  /** Whether `watch` also hears of changes that other processes make. If not, they are found by looking. */
  readonly notifies: boolean

  /**
   * What waits for somebody: the calls of `Session.pending` of all sessions as they were saved last, those
   * that wait longest first, then by session id (code points) and by ticket. A call that waits from the
   * first page to the last one is in one of them; one that is asked for again meanwhile may come twice.
   * The cost of a page depends on what waits, not on how many sessions there are, except in `fileStore`.
   * With `expiresBy` it depends on how many calls have expired: a worker asks about once a second, mostly for nothing.
   */
  pending(options?: PendingOptions): Promise<PendingPage>

  /**
   * Removes what is older than `keepMs`: keys of commands, and whole runs of the log, from their first snapshot to the first one of the
   * next run, if all their events are older. The last run goes too, if its events are folded into the stored session. Returns how many
   * sessions had something to remove.
   */
  prune(options: PruneOptions): Promise<number>
}

/** The options of `append`. */
export interface AppendOptions {
  readonly lease: Lease
  /** The number of the last event of the log, as far as the caller knows. */
  readonly after?: number | undefined
}

/** A lease that was taken. */
export interface AcquiredLease extends Lease {
  /** The session waited for a wake-up, and this much time is left. Nobody needs to do anything before, except for commands and stops. */
  readonly wakeInMs?: number
}

/** The options of `acquire` and `claim`. */
export interface AcquireOptions {
  /** The name of the owner, for people who look. */
  readonly owner: string
  /** How long the lease lasts unless it is renewed. */
  readonly ttlMs: number
}

/** The options of `release`. */
export interface ReleaseOptions {
  readonly wakeInMs?: number | undefined
}

/** The options of `push`. */
export interface PushOptions {
  /** The same command with this key is ignored the second time, and another one is refused. */
  readonly key?: string | undefined
  /** Only while the session is not running. Decided in the same write. */
  readonly ifIdle?: boolean | undefined
  /**
   * Only if no command of the session has this slot, a string of 1 to 200 characters. Slots outlive
   * keys: the command that has the slot gets itself when it is repeated after its key was pruned.
   */
  readonly slot?: string | undefined
}

/** The answer of `push` to a command whose slot another one has. Nothing was stored. */
export interface SlotTaken {
  readonly taken: false
  /** The command that has the slot. */
  readonly command: SessionCommand
  /** When that command was given, by the clock of the store. */
  readonly at: number
}

/** A command that waits. */
export interface InboxEntry {
  /** When it was given, by the clock of the store. */
  readonly at: number
  readonly command: SessionCommand
}

/** The options of `readEvents`. */
export interface ReadEventsOptions {
  /** The number of the last event that is known already. */
  readonly after?: number | undefined
  /** The number of the last command that is known already. */
  readonly afterCommand?: number | undefined
  /** The largest number of entries. */
  readonly limit?: number | undefined
  readonly commands?: boolean | undefined
}

/** An entry of the log. Events and commands are numbered apart. */
export type LogEntry = EventEntry | CommandEntry

/** An event in the log. */
export interface EventEntry {
  /** Its number among the events: `follow(id, { after })` goes on behind it. */
  readonly id: number
  /** When it was stored, in milliseconds since 1970 by the clock of the store. */
  readonly at: number
  readonly event: StreamEvent
}

/** A command in the log: it was applied, or refused because it was no longer legal. */
export interface CommandEntry {
  /**
   * Its number among the commands, which has nothing to do with those of the events. To go on later, keep both:
   * `if ('event' in entry) after = entry.id; else afterCommand = entry.id`.
   */
  readonly id: number
  readonly at: number
  readonly command: SessionCommand
  readonly refused?: ErrorData
}

/** The first snapshot of a run. */
export interface Snapshot {
  readonly session: Session
  /** The number of the last event before it. */
  readonly lastEventId: number
}

/** What a store knows about a session without reading it. */
export interface RunState {
  /** The number of saves; 0 before the first one. */
  readonly version: number
  readonly status: SessionStatus
  readonly running: boolean
  /** The number of the last event of the log. */
  readonly lastEventId: number
  /** The number of the last command that was taken. */
  readonly lastCommandId: number
  /** How many commands wait. */
  readonly queued: number
  /** The owner whose lease is live. */
  readonly owner?: string
  /** When the lease ends, or when the session is due, by the clock of the store. */
  readonly dueAt?: number
}

/** Which of the calls that wait `pending` returns. */
export interface PendingOptions {
  readonly kind?: PendingKind | undefined
  /** The beginning of the ids of the sessions. */
  readonly prefix?: string | undefined
  /** Only calls of sessions whose metadata has these values. */
  readonly metadata?: JsonObject | undefined
  /** Only calls that expire at this time or before, in milliseconds since 1970. */
  readonly expiresBy?: number | undefined
  /** The largest number of rows. Without it, all are returned. */
  readonly limit?: number | undefined
  /** `next` of the page before. */
  readonly after?: string | undefined
}

/** A page of what waits. */
export interface PendingPage {
  readonly rows: readonly PendingRow[]
  /** There are more rows: `after` for the next page. It has no meaning of its own. */
  readonly next?: string
}

/** A call that waits for somebody. The id of a call inside an agent is `outer/inner`, as in `Session.pending`. */
export interface PendingRow extends PendingCall {
  readonly sessionId: string
  /** When the save was stored that has it first, in milliseconds since 1970 by the clock of the store. */
  readonly since: number
  /** The metadata of the session. */
  readonly metadata: JsonObject
}

/** The options of `prune`. */
export interface PruneOptions {
  readonly keepMs: number
  /** The largest number of sessions to prune. Another call goes on with others. */
  readonly limit?: number | undefined
}

const acquireOptions = optionsOf({ owner: someText, ttlMs: positiveInteger } satisfies Record<
  keyof AcquireOptions,
  Check
>)

/** Throws unless the options of `acquire` or `claim` are legal. */
export function assertAcquireOptions(options: AcquireOptions): void {
  const missing = (['owner', 'ttlMs'] as const).filter((name) => options?.[name] === undefined)
  if (missing.length > 0) {
    const issues = missing.map((path) => ({ path, problem: 'is missing' }))
    throw new ValidationError('invalid_options', issues)
  }
  assertValid('invalid_options', acquireOptions(options))
}

/** The longest slot. Databases can index it, whatever its characters are. */
const longestSlot = 200

const slotName: Check = must(
  `a string of 1 to ${longestSlot} characters (a hash, if it is longer)`,
  (slot) => typeof slot === 'string' && slot !== '' && slot.length <= longestSlot,
)

const pushOptions = optionsOf({ key: text, ifIdle: flag, slot: slotName } satisfies Record<
  keyof PushOptions,
  Check
>)

/** Throws unless the options of `push` are legal. */
export function assertPushOptions(options: PushOptions): void {
  assertValid('invalid_options', pushOptions(options))
}

/** The error of a write whose lease is not the newest. */
export function leaseLost(id: string, { token }: Lease): SessionError {
  return new SessionError(
    'lease_lost',
    `somebody else owns session ${id} now: the lease with token ${token} expired and was taken over, or the session was deleted. Nothing was changed`,
    { metadata: { id, token } },
  )
}

/** Throws `SessionError` `stale` when the log does not end where the caller expects it. */
export function refuseGap(id: string, last: number, after: number | undefined): void {
  if (after === undefined || after === last) return
  throw new SessionError(
    'stale',
    `the log of session ${id} ends with event ${last}, not ${after}. Nothing was appended`,
    { metadata: { id, lastEventId: last, after } },
  )
}

/** A key that came before. */
export interface KnownKey {
  readonly at: number
  /** That of its command. Version 0.2 stored none: its keys fit every command. */
  readonly digest?: string | undefined
}

/**
 * What tells two commands with one key apart: a digest of what was said. `context` and `metadata` are the service's and may differ from
 * request to request, and so may the time.
 */
export function commandDigest(command: SessionCommand): string {
  const added = { context: undefined, metadata: undefined, at: undefined }
  // What runs have bound a command to was not said by its giver, and is another ticket when the command is given again.
  const isBound = command.type !== 'resume' && command.implied === true
  if (isBound) Object.assign(added, { implied: undefined, ticket: undefined, answers: undefined })
  return digestOf({ ...command, ...added } as unknown as JsonValue) // Members without a value are left out.
}

/** Throws `SessionError` `key_reused` if a key that came before had another command. */
export function refuseReuse(
  id: string,
  key: string,
  { digest }: Pick<KnownKey, 'digest'>,
  command: SessionCommand,
): void {
  if (digest === undefined || digest === commandDigest(command)) return
  throw new SessionError(
    'key_reused',
    `the key ${brief(key)} came before with another command for session ${brief(id)}, so this one (${command.type}) is refused. Give every command a key of its own, and repeat one only as it was`,
    { metadata: { id, key } },
  )
}

/** The error of a write that needs a session at rest. */
export function busy(id: string, what: string): SessionError {
  return new SessionError(
    'busy',
    `session ${id} has a run under way, so ${what}. Wait for it (runs.wait), stop it (runs.stop), or queue with whenBusy`,
    { metadata: { id } },
  )
}
