import { SessionError } from '../errors/errors.ts'
import type { Session, SessionStatus } from '../types/session.ts'

/** What one can do with a session. */
export type Operation = 'start' | 'reply' | 'resume' | 'step' | 'submit' | 'append'

/** The table of legal moves: what each status takes. */
export const legalOperations: Readonly<Record<SessionStatus, readonly Operation[]>> = {
  idle: ['start', 'reply', 'resume', 'step', 'append'],
  awaiting_user: ['reply'],
  awaiting_tools: ['submit'],
  completed: ['start', 'reply', 'step', 'append'],
  error: ['reply', 'resume', 'step', 'append'],
}

const calls: Readonly<Record<Operation, string>> = {
  start: 'Session.start',
  reply: 'Session.reply',
  resume: 'Session.resume',
  step: 'Session.step',
  submit: 'Session.submitToolResult',
  append: 'Session.append',
}

/** Refuses an operation that the session's status does not take. The message says what is legal now. */
export function assertLegal(session: Session, operation: Operation): void {
  const legal = legalOperations[session.status]
  if (legal.includes(operation)) return
  const reason = session.status === 'error' ? 'session_in_error_state' : 'illegal_status'
  throw new SessionError(
    reason,
    `${calls[operation]} is not legal while the session is ${session.status}; legal now: ${legal.map((name) => calls[name]).join(', ')}`,
    { metadata: { status: session.status, operation, legal } },
  )
}
