import { SessionError } from '../../core/errors/errors.ts'
import type { PendingCall, PendingKind } from '../../core/types/call.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { askedUnderWay, pendingCalls, questionsOf } from '../../engine/calls/pending.ts'
import { openQuestion, openWait, settledBefore, wasSettled } from '../../engine/calls/settle.ts'
import type { InboxEntry, SlotTaken } from '../stores/run-store.ts'

// What a command is about when it is given. It may be applied much later, and must not settle anything else then.

/** A command that says what it is about, and the slot that the first such command gets. */
export interface BoundCommand {
  readonly command: SessionCommand
  readonly slot?: string
}

/**
 * The command bound to what waits in the session as it was read: a message to the first open question, unless a queued message
 * answers it, and a decision to what its call waits for now. A command that names its ticket stays as it is.
 */
export function boundCommand(
  session: Session,
  command: SessionCommand,
  inbox: readonly InboxEntry[],
): BoundCommand {
  if (command.type === 'resume') return { command }
  if (command.type === 'send') return boundMessage(session, command, inbox)
  if (command.ticket !== undefined) return { command, slot: command.ticket }
  const kind = kindOf(command)
  const wait = askedCalls(session).find(
    (asked) => asked.kind === kind && asked.call.id === command.toolCallId,
  )
  if (wait === undefined) return { command }
  return { command: { ...command, ticket: wait.ticket, implied: true }, slot: wait.ticket }
}

function boundMessage(
  session: Session,
  command: Extract<SessionCommand, { type: 'send' }>,
  inbox: readonly InboxEntry[],
): BoundCommand {
  const { answers, toolCallId, ...rest } = command
  if (answers !== undefined) return answers === null ? { command } : { command, slot: answers }
  const questions = askedCalls(session).filter(({ kind }) => kind === 'question')
  if (toolCallId !== undefined) {
    const ticket = questions.find(({ call }) => call.id === toolCallId)?.ticket
    return ticket === undefined
      ? { command }
      : { command: { ...rest, answers: ticket }, slot: ticket }
  }
  // What a stopped or failed run had asked is answered only by a message that says so.
  const { status } = session
  const isOver = status === 'halted' || status === 'error'
  const isCut = isOver && questionsOf(session).length === 0
  const isTaken = inbox.some(({ command: queued }) => queued.type === 'send')
  const ticket = isTaken || isCut ? undefined : questions[0]?.ticket
  if (ticket === undefined) return { command: { ...rest, answers: null, implied: true } }
  return { command: { ...rest, answers: ticket, implied: true }, slot: ticket }
}

/** What a session waits for, and what its run under way has asked for until now. */
function askedCalls(session: Session): readonly PendingCall[] {
  return [...pendingCalls(session), ...askedUnderWay(session)]
}

/** What a command settles. */
function kindOf({ type }: Exclude<SessionCommand, { type: 'resume' }>): PendingKind {
  switch (type) {
    case 'send':
      return 'question'
    case 'approve':
    case 'deny':
      return 'approval'
    case 'submitToolResult':
      return 'result'
    default:
      return assertNever(type)
  }
}

/** Throws if a command that is given while a run is under way is about something that nobody was asked. */
export function assertAsked(session: Session, command: SessionCommand): void {
  if (command.type === 'resume') return
  const ticket = command.type === 'send' ? command.answers : command.ticket
  if (askedCalls(session).some((asked) => asked.ticket === ticket)) return
  if (command.type === 'send') {
    if (typeof ticket === 'string') openQuestion(session, ticket)
    return
  }
  const { toolCallId } = command
  const kind = kindOf(command)
  openWait(session, kind, toolCallId, { ticket: ticket ?? undefined })
  if (wasSettled(session, kind, toolCallId)) throw settledBefore(session, kind, toolCallId)
  throw new SessionError(
    'unknown_tool_call_id',
    `call ${toolCallId} of session ${session.id} waits for nothing of this kind; while a run is under way, a command can settle what it has asked for`,
    { metadata: { toolCallId } },
  )
}

/** The error of a command that came second: of two, one wins. */
export function lostTo(command: SessionCommand, { command: first, at }: SlotTaken): SessionError {
  const by = first.type === 'resume' ? undefined : first.by
  const toolCallId = 'toolCallId' in command ? command.toolCallId : undefined
  const isDecision = command.type === 'approve' || command.type === 'deny'
  const decision = !isDecision ? 'answered' : first.type === 'deny' ? 'denied' : 'approved'
  return new SessionError(
    isDecision ? 'already_decided' : 'already_answered',
    `${toolCallId ?? 'the question'} was ${decision} already, which cannot be changed`,
    { metadata: defined({ toolCallId, decision, by, at }) },
  )
}
