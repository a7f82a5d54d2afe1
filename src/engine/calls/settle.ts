import { SessionError } from '../../core/errors/errors.ts'
import { assertValid, must, optionsOf, someText, type Check } from '../../core/schema/checks.ts'
import {
  maxAuthorLength,
  type CallNote,
  type PendingCall,
  type PendingKind,
} from '../../core/types/call.ts'
import { defined } from '../../core/types/guards.ts'
import type { Session } from '../../core/types/session.ts'
import { pendingCalls } from './pending.ts'
import { decisionOn, noteOf, ownPlace } from './places.ts'

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
export const author: Check = must(
  `a text of 1 to ${maxAuthorLength} characters`,
  (value) => typeof value === 'string' && value !== '' && value.length <= maxAuthorLength,
)

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
  const open = pendingCalls(session).find(
    (pending) => pending.kind === kind && pending.call.id === toolCallId,
  )
  if (ticket === undefined || open?.ticket === ticket) return open
  throw noteAt(session, toolCallId)?.settled.includes(ticket) === true
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

/** The call that has settled a wait with this ticket, in the session or in an agent of it. */
function settledCall({ calls = {}, run }: Session, ticket: string): string | undefined {
  const own = Object.entries(calls).find(([, { settled }]) => settled.includes(ticket))
  if (own !== undefined) return own[0]
  for (const [callId, inner] of Object.entries(run?.inner ?? {})) {
    const id = settledCall(inner, ticket)
    if (id !== undefined) return `${callId}/${id}`
  }
  return undefined
}

/** Whether somebody has settled what a call of this kind waited for. */
export function wasSettled(session: Session, kind: PendingKind, toolCallId: string): boolean {
  const note = noteAt(session, toolCallId)
  if (kind === 'question') return note?.question !== undefined
  if (kind === 'approval') return (note?.approval ?? decisionOn(session, toolCallId)) !== undefined
  return false
}

/** What is kept of a call, also of one inside an agent. */
function noteAt(session: Session, toolCallId: string): CallNote | undefined {
  const own = ownPlace(session, toolCallId)
  return noteOf(own.session, own.id)
}

/** Somebody has settled it: of two, one wins. */
export function settledBefore(
  session: Session,
  kind: PendingKind,
  toolCallId: string,
): SessionError {
  const note = noteAt(session, toolCallId)
  const decision = decisionOn(session, toolCallId)
  const isApproval = kind === 'approval'
  const settled = isApproval ? note?.approval : note?.question
  const denied = decision === undefined ? note?.approval?.decision : decision.deny && 'denied'
  const how = isApproval ? (denied ?? 'approved') : 'answered'
  return new SessionError(
    isApproval ? 'already_decided' : 'already_answered',
    `${toolCallId} was ${how} already, which cannot be changed`,
    {
      metadata: defined({ toolCallId, decision: how, by: settled?.by, at: settled?.at }),
    },
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

/** The session that keeps a settlement of one of its own calls. */
export function withSettled(
  session: Session,
  toolCallId: string,
  { ticket }: Settlement,
  more: Pick<CallNote, 'approval' | 'question'> = {},
): Session {
  const { settled = [], ...note } = noteOf(session, toolCallId) ?? {}
  const next: CallNote = { ...note, ...more, settled: [...settled, ticket] }
  return { ...session, calls: { ...session.calls, [toolCallId]: next } }
}

/** What is kept of calls when some of them are gone: how often those waited, so that their tickets do not come again. */
export function notesAfter(
  calls: Session['calls'],
  isKept: (id: string) => boolean,
): Session['calls'] {
  if (calls === undefined) return undefined
  return Object.fromEntries(
    Object.entries(calls).map(([id, note]) => [id, isKept(id) ? note : { settled: note.settled }]),
  )
}
