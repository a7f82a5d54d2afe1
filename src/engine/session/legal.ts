import { SessionError } from '../../core/errors/errors.ts'
import { assertValid } from '../../core/schema/checks.ts'
import { validateSession } from '../../core/schema/validate-session.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { PendingApproval } from '../../core/types/results.ts'
import type { SavedCall, Session, SessionStatus } from '../../core/types/session.ts'
import { pendingKinds, assertCurrent } from '../calls/pending.ts'
import { openCalls } from './settling.ts'

/**
 * The operations that are legal now, by the names of their functions. Streaming twins are legal with them. What has expired counts as open
 * until it is settled (`Session.expire`).
 */
export function legalOperations(session: Session): readonly Operation[] {
  const { status, thread } = session
  const isEmpty = thread.messages.length === 0
  assertCurrent(session)
  const kinds = pendingKinds(session)
  return [
    ...byStatus[status].filter((name) => {
      return name === 'start' ? !isUnsettled(session) : !isEmpty || !asks.has(name)
    }),
    ...(kinds.has('approval') ? (['approve', 'deny'] as const) : []),
    ...(kinds.has('result') ? (['submitToolResult'] as const) : []),
  ]
}

/** The operations on a session, by the names of their functions. */
export type Operation =
  | 'start'
  | 'reply'
  | 'resume'
  | 'step'
  | 'approve'
  | 'deny'
  | 'submitToolResult'
  | 'append'
  | 'rewind'

/** Returns a session in which `operation` is legal now, and throws otherwise. */
export function checked(session: Session, operation: Operation): Session {
  assertValid('invalid_session', validateSession(session))
  assertLegal(session, operation)
  return session
}

/** The operations that are legal in each status, besides those that settle something pending. */
const byStatus: Readonly<Record<SessionStatus, readonly Operation[]>> = {
  idle: ['start', 'reply', 'resume', 'step', 'append', 'rewind'],
  awaiting_user: ['reply', 'rewind'],
  awaiting_approval: ['reply', 'rewind'],
  awaiting_tools: ['reply', 'rewind'],
  completed: ['start', 'reply', 'step', 'append', 'rewind'],
  halted: ['reply', 'resume', 'step', 'append', 'rewind'],
  error: ['reply', 'resume', 'step', 'append', 'rewind'],
}

/** The operations that ask the model about the thread as it is. An empty one asks nothing. */
const asks: ReadonlySet<Operation> = new Set<Operation>(['resume', 'step'])

/** Whether a run that starts anew would lose something: part of an answer, a result, a question, a decision. Late calls go on. */
function isUnsettled({ run, thread, calls = {} }: Session): boolean {
  if (openCalls(thread).length > 0) return true
  if (Object.values(calls).some(isUnsettledCall)) return true
  return run?.phase === 'model' || run?.phase === 'tools' || run?.late !== undefined
}

function isUnsettledCall({ state, told, halt }: SavedCall): boolean {
  return halt !== undefined || (state !== undefined && (told ?? 'no') === 'no')
}

/** Throws if the session does not allow an operation. The message says what is legal now. */
export function assertLegal(session: Session, operation: Operation): void {
  const legal = legalOperations(session)
  if (legal.includes(operation)) return
  const { status } = session
  const reason = status === 'error' ? 'session_in_error_state' : 'illegal_status'
  const known = asks.has(operation) ? 'its thread has no message' : 'its last run is not settled'
  const state = byStatus[status].includes(operation) ? known : `the session is ${status}`
  throw new SessionError(
    reason,
    `Session.${operation} is not legal while ${state}; legal now: ${legal.map((name) => `Session.${name}`).join(', ')}`,
    { metadata: { status, operation, legal } },
  )
}

/** The calls of manual tools that wait for their results. */
export function pendingToolCalls(session: Session): readonly ToolCall[] {
  return session.pendingToolCalls
}

/** The calls that wait for somebody's decision. */
export function pendingApprovals(session: Session): readonly PendingApproval[] {
  return session.pendingApprovals
}
