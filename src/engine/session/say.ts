import {
  deniedMessage,
  interruptedMessage,
  isMark,
  notRunMessage,
  notYetMessage,
  reportedMessage,
  toLateMessage,
} from '../../core/messages/tool-messages.ts'
import { assertValid } from '../../core/schema/checks.ts'
import { validateSession } from '../../core/schema/validate-session.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import {
  appendMessages,
  callOf,
  type Message,
  toMessages,
  type ToolCall,
} from '../../core/types/message.ts'
import type { SavedCall, Session } from '../../core/types/session.ts'
import { hasLeft, isDecided, wasStarted } from '../calls/decided.ts'
import { keptCall, withoutInner } from '../calls/kept.ts'
import { savedCall } from '../calls/places.ts'
import { checked } from './legal.ts'
import { cleared, toldLate } from './reduce.ts'
import { lastCalls, withAnswers } from './settling.ts'

/**
 * The session with messages after its thread. Calls that have no result are left behind as `leftBehind` says: the model reads something
 * about each, and what waits or was decided goes on.
 */
export function said(session: Session, added: readonly Message[]): Session {
  const { run, thread, calls = {} } = session
  const isUnderWay = run !== undefined && run.phase !== 'between'
  const open = isUnderWay ? lastCalls(thread) : []
  const told = new Map(thread.messages.slice(-open.length - 1).map((one) => [one.toolCallId, one]))
  const left = new Map(Object.entries(calls))
  const answers: Message[] = []
  for (const call of open) {
    const { message, saved } = leftBehind(call, savedCall(session, call.id), told.get(call.id))
    if (message !== undefined) answers.push(message)
    const kept = saved && keptCall(saved)
    if (kept === undefined) left.delete(call.id)
    else left.set(call.id, kept)
  }
  // An agent that was stopped in the middle is over: its tools must not act before the model has read the new words.
  const stopped: Message[] = []
  for (const [id, saved] of left) {
    if (saved.told === 'result') {
      const noted = keptCall(atRest(saved))
      if (noted === undefined) left.delete(id)
      else left.set(id, noted)
    }
    if (saved.told !== 'placeholder') continue
    const call = isStopped(saved) ? callOf(thread, id) : undefined
    if (call === undefined) left.set(id, atRest(saved))
    else {
      left.set(id, interruptedCall(saved))
      stopped.push(toLateMessage(call, interruptedMessage(id, 'interrupted')))
    }
  }
  const late = run?.late ?? []
  const next = cleared(session, toldLate(Object.fromEntries(left), [...late, ...stopped]))
  const answered = withAnswers(thread, answers)
  return {
    ...next,
    status: 'idle',
    thread: appendMessages(answered, ...late, ...stopped, ...added),
  }
}

/** What the model reads of a call when the user says something else, and what is kept of the call. */
interface LeftBehind {
  readonly message?: Message
  readonly saved?: SavedCall
}

/**
 * A call that is left behind: what was denied is told now. What was approved, answered or has returned is told later, and what waits goes on
 * waiting. What was started, and agents that were under way, are reported as interrupted; what was not started does not run.
 */
function leftBehind(
  { id }: ToolCall,
  saved: SavedCall | undefined,
  told: Message | undefined,
): LeftBehind {
  const later = (): LeftBehind => ({
    message: notYetMessage(id),
    saved: { ...atRest(saved ?? {}), told: 'placeholder' },
  })
  const { state = 'proposed' } = saved ?? {}
  if (saved === undefined || state === 'proposed') {
    const isTold = told !== undefined && !isMark(told)
    return defined<LeftBehind>({ message: isTold ? undefined : notRunMessage(id), saved })
  }
  if (saved.told === 'result') return { saved: atRest(saved) }
  if (hasLeft(saved)) return later()
  switch (state) {
    case 'denied': {
      const message = deniedMessage(id, saved.approval?.reason ?? '')
      return { message, saved: { ...saved, told: 'result' } }
    }
    case 'approved':
    case 'awaiting_approval':
    case 'asking':
    case 'awaiting_result':
      return later()
    case 'running': {
      if (saved.inner === undefined ? isDecided(saved) : !isStopped(saved)) return later()
      const message = reportedMessage(interruptedMessage(id, 'interrupted'))
      return { message, saved: interruptedCall(saved) }
    }
    case 'done':
    case 'failed':
    case 'interrupted':
      return { saved: { ...saved, told: 'result' } }
    default:
      return assertNever(state)
  }
}

/** A call that halts nothing any more. The agent inside of it rests. */
export function atRest({ halt: _halt, ...saved }: SavedCall): SavedCall {
  return saved.inner === undefined ? saved : { ...saved, rests: true }
}

/** Whether the agent inside a call was stopped in the middle of its run. */
function isStopped(saved: SavedCall): boolean {
  return wasStarted(saved) && saved.inner?.status === 'idle'
}

/** A call that was started and will have no result. */
function interruptedCall(saved: SavedCall): SavedCall {
  return { ...withoutInner(saved), state: 'interrupted', told: 'result' }
}

/**
 * The session with messages added; a text is a user message. A completed session can then be resumed. Calls that wait must be settled
 * first; those that were settled and have not run yet become late. Without messages the session is returned as it is.
 */
export function appended(session: Session, ...messages: readonly (Message | string)[]): Session {
  checked(session, 'append')
  if (messages.length === 0) return session
  const next = said(
    session,
    messages.flatMap((added) => (typeof added === 'string' ? toMessages(added) : added)),
  )
  assertValid('invalid_session', validateSession(next))
  return next
}
