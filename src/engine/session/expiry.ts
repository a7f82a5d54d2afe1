import { noAnswer } from '../../core/messages/outcomes.ts'
import { expiredReason } from '../../core/messages/tool-messages.ts'
import { assertValid, within } from '../../core/schema/checks.ts'
import { maxInnerDepth, validateSession } from '../../core/schema/validate-session.ts'
import type { PendingCall } from '../../core/types/call.ts'
import { isObject } from '../../core/types/guards.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { pendingCalls } from '../calls/pending.ts'
import { expiry } from '../calls/settle.ts'
import { time, withTime } from './commands.ts'
import { withApproval } from './decide.ts'
import { answered } from './reply.ts'

/**
 * The session in which is settled what nobody has settled until `now`, by the clock of the engine: calls are denied, and questions are
 * answered by `noAnswer`, each by `expiry`. `Session.reply`, `resume` and `step` do this first; so do runs, when the time has come.
 */
export function expired(session: Session, now: number): Session {
  assertValid('invalid_options', within('now', time(now)))
  if (!hasLimits(session)) return session
  assertValid('invalid_session', validateSession(session))
  // At most as many as one answer can have calls. The next run settles the others.
  const due = pendingCalls(session).filter((pending) => isExpired(pending, now))
  return due.slice(0, 512).reduce((next, one) => settledByExpiry(next, one, now), session)
}

/** What applying `expiryOf` gives, for something that is known to wait: what else waits is not looked for each time. */
function settledByExpiry(
  session: Session,
  { kind, ticket, call }: PendingCall,
  at: number,
): Session {
  const settlement = { ticket, by: expiry, at }
  if (kind === 'question') {
    return withTime(answered(session, call.id, noAnswer, settlement), session, at)
  }
  return withApproval(session, call.id, { deny: expiredReason }, settlement)
}

/** Whether nobody has settled in time what a call waits for. */
export function isExpired({ expiresAt }: PendingCall, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}

/** The command that settles what nobody has settled in time. */
export function expiryOf({ kind, ticket, call }: PendingCall, at: number): SessionCommand {
  const by = expiry
  if (kind === 'question') return { type: 'send', content: noAnswer, answers: ticket, by, at }
  return { type: 'deny', toolCallId: call.id, reason: expiredReason, ticket, by, at }
}

/** Whether a command settles what nobody has settled in time. */
export function isExpiry(command: SessionCommand): boolean {
  return command.type !== 'resume' && command.by === expiry
}

/** Whether a call of a session, which was not checked yet, waits for a limited time. One that is too deep to be legal is to be checked. */
function hasLimits(session: unknown, depth: number = 0): boolean {
  if (depth > maxInnerDepth) return true
  const { calls } = isObject(session) ? session : {}
  return Object.values(isObject(calls) ? calls : {}).some(
    (call) => isObject(call) && ('expiresAt' in call || hasLimits(call['inner'], depth + 1)),
  )
}
