import { SessionError } from '../../core/errors/errors.ts'
import {
  assertValid,
  must,
  optionsOf,
  refuse,
  someText,
  type Check,
} from '../../core/schema/checks.ts'
import { maxAuthorLength, type PendingCall, type PendingKind } from '../../core/types/call.ts'
import { defined } from '../../core/types/guards.ts'
import type { SavedCall, SavedCalls, Session } from '../../core/types/session.ts'
import { pendingCallOf, pendingCalls } from './pending.ts'
import { savedAt, savedCall } from './places.ts'

/** What a command that settles something may say about it. */
export interface SettleOptions {
  /**
   * The ticket of what was shown (`Session.pending`). If that is not open any more, or was something else, the command is refused.
   * Without it the command settles what is open now.
   */
  readonly ticket?: string | undefined
  /** Who decides: a text of at most 256 characters, which the record of the call keeps. */
  readonly by?: string | undefined
}

/** The check of an author. */
const author: Check = must(
  `a text of 1 to ${maxAuthorLength} characters`,
  (value) => typeof value === 'string' && value !== '' && value.length <= maxAuthorLength,
)

/** The author of what nobody has settled in time. */
export const expiry = 'expiry'

/** The check of an author who is let in: no person has the name of `expiry`. */
export const person: Check = (value) =>
  value === expiry
    ? refuse(`another name than ${expiry}, the author of what nobody has settled in time`, value)
    : author(value)

/** The checks of these options. */
export const settleChecks: Readonly<Record<keyof SettleOptions, Check>> = {
  ticket: someText,
  by: author,
}

const settleOptions = optionsOf(settleChecks)

/** Throws if the options are not legal. */
export function assertSettleOptions(options: SettleOptions): void {
  assertValid('invalid_options', settleOptions(options))
}

/** How a wait was settled, as the record of its call keeps it. */
export interface Settlement {
  readonly ticket: string
  readonly by?: string
  readonly at?: number
}

/** The options of a command that settles something, and when it was given, if that is known. */
export interface GivenSettlement extends SettleOptions {
  readonly at?: number | undefined
}

/** A settlement of what waits. */
export function settlementOf(
  { ticket }: Pick<PendingCall, 'ticket'>,
  { by, at }: GivenSettlement,
): Settlement {
  return defined<Settlement>({ ticket, by, at })
}

/**
 * What a call waits for, if a command with these options may settle it; `undefined` if it waits for nothing of that kind. A ticket that
 * is not open throws.
 */
export function openWait(
  session: Session,
  kind: PendingKind,
  toolCallId: string,
  { ticket }: SettleOptions,
): PendingCall | undefined {
  const open = pendingCallOf(session, kind, toolCallId)
  if (ticket === undefined || open?.ticket === ticket) return open
  throw settledCall(session, ticket) === toolCallId
    ? settledBefore(session, kind, toolCallId)
    : staleTicket(kind, toolCallId)
}

/** The question with a ticket. One that is not open throws. */
export function openQuestion(session: Session, ticket: string): PendingCall {
  const open = pendingCalls(session).find((one) => one.kind === 'question' && one.ticket === ticket)
  if (open !== undefined) return open
  const id = settledCall(session, ticket)
  throw id === undefined ? staleTicket('question') : settledBefore(session, 'question', id)
}

/** The call that has settled a wait with this ticket, in the session or in an agent that is or was inside of a call. */
export function settledCall({ calls }: Session, ticket: string): string | undefined {
  return settledIn(calls, ticket)
}

function settledIn(calls: SavedCalls | undefined, ticket: string): string | undefined {
  for (const [callId, { settled, inner, inside }] of Object.entries(calls ?? {})) {
    if (settled?.includes(ticket) === true) return callId
    const id = settledIn(inner === undefined ? inside : inner.calls, ticket)
    if (id !== undefined) return `${callId}/${id}`
  }
  return undefined
}

/** Whether somebody has settled what a call of this kind waited for. */
export function wasSettled(session: Session, kind: PendingKind, toolCallId: string): boolean {
  const { question, approval } = savedAt(session, toolCallId) ?? {}
  if (kind === 'question') return question?.answer !== undefined
  return kind === 'approval' && approval !== undefined
}

/** Somebody has settled it: of two, one wins. */
export function settledBefore(
  session: Session,
  kind: PendingKind,
  toolCallId: string,
): SessionError {
  const { approval, question } = savedAt(session, toolCallId) ?? {}
  const isApproval = kind === 'approval'
  const { by, at } = (isApproval ? approval : question) ?? {}
  // Of a call that is gone only the tickets are known.
  const decision = isApproval ? approval?.decision : 'answered'
  return new SessionError(
    isApproval ? 'already_decided' : 'already_answered',
    `${toolCallId} was ${decision ?? 'decided about'} already, which cannot be changed`,
    { metadata: defined({ toolCallId, decision, by, at }) },
  )
}

function staleTicket(kind: PendingKind, toolCallId?: string): SessionError {
  const of = toolCallId === undefined ? '' : ` of ${toolCallId}`
  return new SessionError(
    'stale_ticket',
    `the ticket is not that of an open ${kind}${of}: what it was shown for has changed or is gone; show what waits now (Session.pending)`,
    { metadata: defined({ kind, toolCallId }) },
  )
}

/** What changes of a call. A member that is `undefined` is not kept any more. */
type CallChange = { readonly [Key in keyof SavedCall]?: SavedCall[Key] | undefined }

/** The session in which one of its own calls was settled, and moved by that. */
export function withSettled(
  session: Session,
  toolCallId: string,
  { ticket }: Settlement,
  change: CallChange,
): Session {
  const { settled = [] } = savedCall(session, toolCallId) ?? {}
  return withCall(session, toolCallId, { ...change, settled: [...settled, ticket] })
}

/** The session in which something is kept of one of its own calls. */
export function withCall(session: Session, toolCallId: string, change: CallChange): Session {
  const next = defined<SavedCall>({ ...savedCall(session, toolCallId), ...change })
  return { ...session, calls: { ...session.calls, [toolCallId]: next } }
}
