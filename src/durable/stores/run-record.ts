import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { SessionCommand, SessionStatus } from '../../core/types/session.ts'
import {
  busy,
  commandDigest,
  leaseLost,
  refuseReuse,
  type AcquiredLease,
  type AcquireOptions,
  type KnownKey,
  type PushOptions,
  type RunState,
} from './run-store.ts'
import { refuseStale, type Lease, type SaveOptions, type SessionRow } from './session-store.ts'

/**
 * What is known about a session besides its text and its log. The functions below are the rules of leases, commands and wake-ups: each
 * changes a record in one synchronous step, and the caller stores the record.
 */
export interface RunRecord {
  /** The number of saves; 0 before the first one. */
  version: number
  status: SessionStatus
  metadata?: JsonObject | undefined
  updatedAt: number
  /** The number of the last event that is folded into the session. */
  folded: number
  lastEventId: number
  lastCommandId: number
  inbox: unknown[]
  /** The keys of commands. */
  readonly keys: Map<string, KnownKey>
  token: number
  /** Set while there is a lease, live or expired. */
  owner?: string | undefined
  /** The end of the lease, or else the time at which the session is due. Absent at rest. */
  dueAt?: number | undefined
  /** When `dueAt` was set. Version 0.2 did not write it. */
  dueFrom?: number | undefined
  stop: boolean
}

/** The record of a session of which nothing is known. */
export function emptyRecord(now: number): RunRecord & { inbox: never[] } {
  return {
    version: 0,
    status: 'idle',
    metadata: {},
    updatedAt: now,
    folded: 0,
    lastEventId: 0,
    lastCommandId: 0,
    inbox: [],
    keys: new Map(),
    token: 0,
    stop: false,
  }
}

/** Whether somebody owns the session now. */
export function isLive(record: RunRecord, now: number): boolean {
  return record.owner !== undefined && record.dueAt !== undefined && !isDue(record, now)
}

/** Whether something is to be done, and nobody does it. */
export function isDue(record: RunRecord, now: number): boolean {
  return record.dueAt !== undefined && (record.dueAt <= now || isOfTheFuture(record, now))
}

/**
 * Whether the clock was set back since `dueAt` was set. Nobody knows by how much, so a lease is over then: its owner, if there is one, has renewed
 * it by the new time or will lose it. Without this, a lease that was left behind would block the session until the clock is where it was.
 */
export function isOfTheFuture({ dueFrom }: Pick<RunRecord, 'dueFrom'>, now: number): boolean {
  return dueFrom !== undefined && dueFrom - now > clockSlackMs
}

/** How much the clocks of two processes may differ, and how far a clock may be set back, without an effect on leases. */
export const clockSlackMs = 1000

/** Sets the end of the lease, or the time at which the session is due. */
export function setDue(record: RunRecord, dueAt: number | undefined, now: number): void {
  record.dueAt = dueAt
  record.dueFrom = dueAt === undefined ? undefined : now
}

/** Whether a record was only made to take its lease. */
export function isEmpty({ version, keys, lastEventId, dueAt }: RunRecord): boolean {
  return version === 0 && keys.size === 0 && lastEventId === 0 && dueAt === undefined
}

/** Throws unless the lease is the newest of the session. */
export function assertOwned<Known extends RunRecord>(
  id: string,
  record: Known | undefined,
  lease: Lease,
): asserts record is Known {
  if (record === undefined || record.token !== lease.token) throw leaseLost(id, lease)
}

/** Throws unless a save may replace what is stored. */
export function assertSavable(
  id: string,
  record: RunRecord | undefined,
  { lease, ifVersion }: SaveOptions,
  now: number,
): void {
  if (lease !== undefined) assertOwned(id, record, lease)
  else if (record !== undefined && isLive(record, now)) {
    throw busy(id, 'it cannot be saved without its lease')
  }
  refuseStale(id, record?.version ?? 0, ifVersion)
}

/** Takes the lease of a session that nobody owns. The token must be larger than every earlier one. */
export function takeLease(
  record: RunRecord,
  { owner, ttlMs }: AcquireOptions,
  token: number,
  now: number,
): AcquiredLease {
  const waitMs = record.owner === undefined ? waitOf(record, now) : 0
  const expiresAt = now + ttlMs
  Object.assign(record, { token, owner })
  setDue(record, expiresAt, now)
  const wakeInMs = waitMs > 0 && record.inbox.length === 0 ? waitMs : undefined
  return defined<AcquiredLease>({ token, expiresAt, wakeInMs })
}

/** How long a session has still to sleep: not longer than it wanted to, also if the clock was set back. */
export function waitOf(
  { dueAt = 0, dueFrom = dueAt }: Pick<RunRecord, 'dueAt' | 'dueFrom'>,
  now: number,
): number {
  return dueFrom > now ? dueAt - dueFrom : dueAt - now
}

/** Whether a lease is the newest and was not given back. */
export function holds<Known extends RunRecord>(
  record: Known | undefined,
  { token }: Lease,
): record is Known {
  return record !== undefined && record.token === token && record.owner !== undefined
}

/** Gives the lease back. Returns whether the session is due now. */
export function giveBack(record: RunRecord, wakeInMs: number | undefined, now: number): boolean {
  const wakeAt = wakeInMs === undefined ? undefined : now + wakeInMs
  const stop = record.stop && wakeAt !== undefined
  const dueAt = record.inbox.length > 0 || stop ? now : wakeAt
  Object.assign(record, { owner: undefined, stop })
  setDue(record, dueAt, now)
  return isDue(record, now)
}

/** A command that is given. */
export interface Given extends Pick<PushOptions, 'key' | 'ifIdle'> {
  readonly command: SessionCommand
  /** Whether another command has its slot. */
  readonly isSlotTaken: boolean
}

/**
 * Makes room for a command that its caller puts into the inbox. Changes nothing, and returns why, if
 * it came before with its key, or if another command has its slot.
 */
export function receive(
  id: string,
  record: RunRecord,
  { command, key, ifIdle, isSlotTaken }: Given,
  now: number,
): 'received' | 'repeated' | 'slot_taken' {
  const known = key === undefined ? undefined : record.keys.get(key)
  if (key !== undefined && known !== undefined) {
    refuseReuse(id, key, known, command)
    return 'repeated'
  }
  if (ifIdle === true && record.dueAt !== undefined) throw busy(id, 'it takes no command')
  if (isSlotTaken) return 'slot_taken'
  if (key !== undefined) record.keys.set(key, { at: now, digest: commandDigest(command) })
  if (!isLive(record, now)) setDue(record, Math.min(record.dueAt ?? now, now), now)
  return 'received'
}

/** Notes a stop request. Returns `false`, and changes nothing, at rest. */
export function askToStop(record: RunRecord, now: number): boolean {
  if (record.dueAt === undefined) return false
  record.stop = true
  if (record.owner === undefined) setDue(record, Math.min(record.dueAt, now), now)
  return true
}

/** The record in a list. */
export function rowOf(id: string, record: RunRecord): SessionRow {
  const { status, version, updatedAt, dueAt, metadata } = record
  const running = dueAt !== undefined
  return defined<SessionRow>({ id, status, version, updatedAt, running, metadata })
}

/** The record for a quick look. */
export function stateOf(record: RunRecord, now: number): RunState {
  const { version, status, lastEventId, lastCommandId, inbox, owner, dueAt } = record
  return defined<RunState>({
    version,
    status,
    running: dueAt !== undefined,
    lastEventId,
    lastCommandId,
    queued: inbox.length,
    owner: isLive(record, now) ? owner : undefined,
    dueAt: isOfTheFuture(record, now) ? now : dueAt,
  })
}
