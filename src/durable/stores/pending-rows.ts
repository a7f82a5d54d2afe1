import {
  assertValid,
  jsonObject,
  must,
  oneOf,
  optionsOf,
  positiveInteger,
  text,
  type Check,
} from '../../core/schema/checks.ts'
import { pendingKinds, type PendingCall } from '../../core/types/call.ts'
import { defined, parseJson } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Session } from '../../core/types/session.ts'
import { pendingCalls } from '../../engine/calls/pending.ts'
import type { PendingOptions, PendingPage, PendingRow } from './run-store.ts'
import { isBefore, matchesMetadata } from './session-store.ts'

/** The place of a row in the order of the index. */
export interface PendingPlace {
  readonly since: number
  readonly sessionId: string
  readonly ticket: string
}

/** The calls that a session waits for, with every ticket once. */
export function waitingCalls(session: Session): readonly PendingCall[] {
  return [...new Map(pendingCalls(session).map((call) => [call.ticket, call])).values()]
}

/** Since when calls wait, by their tickets. One that waited in the save before keeps its time. */
export function waitingSince(
  calls: readonly PendingCall[],
  before: ReadonlyMap<string, number> | undefined,
  now: number,
): Map<string, number> {
  return new Map(calls.map(({ ticket }) => [ticket, before?.get(ticket) ?? now]))
}

/** When the first of some calls expires. */
export function firstExpiry(calls: readonly PendingCall[]): number | undefined {
  const times = calls.flatMap(({ expiresAt }) => expiresAt ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Whether calls that expire at this time, or never, are among those that `expiresBy` asks for. */
export function matchesExpiry(
  expiresAt: number | undefined,
  { expiresBy }: PendingOptions,
): boolean {
  return expiresBy === undefined || (expiresAt !== undefined && expiresAt <= expiresBy)
}

/** The rows of a session that is read for them. What is in no map waits since its save. */
export function rowsOfSession(
  session: Session,
  since: ReadonlyMap<string, number> | undefined,
  savedAt: number,
): readonly PendingRow[] {
  const { id, metadata } = session
  return waitingCalls(session).map((call) =>
    toPendingRow({ ...call, sessionId: id, since: since?.get(call.ticket) ?? savedAt, metadata }),
  )
}

/** A row without members that have no value. */
function toPendingRow(row: PendingRow): PendingRow {
  const { sessionId, ticket, kind, call, question, reason, since, expiresAt, metadata } = row
  const waiting = { kind, call, question, reason, since, expiresAt }
  return defined<PendingRow>({ sessionId, ticket, ...waiting, metadata })
}

/** What a database keeps of a call that waits, beside its ticket and its kind. */
export function waitingBody({ call, question, reason, expiresAt }: PendingCall): string {
  return JSON.stringify({ call, question, reason, expiresAt })
}

/** What `waitingBody` has written, and a database has read. */
export type WaitingBody = Pick<PendingCall, 'call' | 'question' | 'reason' | 'expiresAt'>

/** A row that a database keeps. Its kind was written by `save`. */
export function storedPendingRow(
  { sessionId, ticket, since }: PendingPlace,
  kind: string,
  body: WaitingBody,
  metadata: JsonObject,
): PendingRow {
  const place = { sessionId, ticket, since }
  return toPendingRow({ ...body, ...place, kind: kind as PendingRow['kind'], metadata })
}

/** How many rows are read at a time. */
const pageSize = 500

/**
 * A page that a database gives: `read` returns the rows behind a place, in order and not more than `limit`.
 * `isFiltered` says that it may return rows that the options leave out.
 */
export async function readPendingPage(
  read: (after: PendingPlace | undefined, limit: number) => Promise<readonly PendingRow[]>,
  options: PendingOptions,
  isFiltered: boolean,
): Promise<PendingPage> {
  const { limit = Infinity } = options
  const rows: PendingRow[] = []
  let after = placeOf(options)
  for (;;) {
    // One row more tells whether another page follows.
    const size = isFiltered ? pageSize : Math.min(pageSize, limit + 1 - rows.length)
    const found = await read(after, size)
    for (const row of found) if (matchesPending(row, options)) rows.push(row)
    if (found.length < size || rows.length > limit) return pageOf(rows, limit)
    after = found.at(-1)
  }
}

/** A page of rows that are all at hand, in any order. */
export function pendingPageOf(all: readonly PendingRow[], options: PendingOptions): PendingPage {
  const after = placeOf(options)
  const rows = all
    .filter((row) => matchesPending(row, options))
    .filter((row) => after === undefined || isPlacedBefore(after, row))
    .toSorted((left, right) => (isPlacedBefore(left, right) ? -1 : 1))
  return pageOf(rows, options.limit ?? Infinity)
}

function pageOf(found: readonly PendingRow[], limit: number): PendingPage {
  if (found.length <= limit) return { rows: found }
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return defined<PendingPage>({ rows, next: last && cursorOf(last) })
}

function matchesPending(row: PendingRow, options: PendingOptions): boolean {
  const { kind, prefix = '', metadata } = options
  if (kind !== undefined && row.kind !== kind) return false
  if (!matchesExpiry(row.expiresAt, options)) return false
  return row.sessionId.startsWith(prefix) && matchesMetadata(row.metadata, metadata)
}

function isPlacedBefore(left: PendingPlace, right: PendingPlace): boolean {
  if (left.since !== right.since) return left.since < right.since
  if (left.sessionId !== right.sessionId) return isBefore(left.sessionId, right.sessionId)
  return isBefore(left.ticket, right.ticket)
}

function cursorOf({ since, sessionId, ticket }: PendingPlace): string {
  return JSON.stringify([since, sessionId, ticket])
}

/** The place of the last row of the page before. */
function placeOf({ after }: PendingOptions): PendingPlace | undefined {
  const place = after === undefined ? undefined : parseJson(after)
  if (!Array.isArray(place)) return undefined
  const [since, sessionId, ticket] = place as readonly unknown[]
  const isPlace =
    Number.isSafeInteger(since) && typeof sessionId === 'string' && typeof ticket === 'string'
  return isPlace ? { since: Number(since), sessionId, ticket } : undefined
}

const pendingOptions = optionsOf({
  kind: oneOf(pendingKinds),
  prefix: text,
  metadata: jsonObject,
  expiresBy: must('a number of milliseconds', Number.isFinite),
  limit: positiveInteger,
  after: must(
    '`next` of the page before, as it is',
    (after) => typeof after === 'string' && placeOf({ after }) !== undefined,
  ),
} satisfies Record<keyof PendingOptions, Check>)

/** Throws unless the options of `pending` are legal. */
export function assertPendingOptions(options: PendingOptions): void {
  assertValid('invalid_options', pendingOptions(options))
}
