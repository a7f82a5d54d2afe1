import { SessionError } from '../../core/errors/errors.ts'
import { defined } from '../../core/types/guards.ts'
import {
  appendMessages,
  type Message,
  type Thread,
  type ToolCall,
} from '../../core/types/message.ts'
import type { RunProgress, Session } from '../../core/types/session.ts'
import { questionsOf, waitingStatus, waits, withLists } from '../calls/pending.ts'
import { innerPlace, savedCall } from '../calls/places.ts'
import { withCall } from '../calls/settle.ts'
import { goesOn } from '../model-call/restore.ts'
import { restingRun, toldLate } from './reduce.ts'

// What the operations that settle a call have in common.

/** The session whose lists and status say what its calls wait for now. One whose run was cut, stopped or failed can still be resumed. */
export function relisted(session: Session): Session {
  const next = withLists(session)
  return waits(session) ? { ...next, status: waitingStatus(next) ?? 'idle' } : next
}

/** What a call has no more when it does not wait any more. */
export const noWait = { reason: undefined, since: undefined, expiresAt: undefined, halt: undefined }

/**
 * The session in which something was settled inside the agent that has a call; `undefined` if no agent has it. When that agent waits for
 * nothing more, the next run enters it again.
 */
export function inAgent(
  session: Session,
  toolCallId: string,
  settle: (inner: Session, id: string) => Session,
): Session | undefined {
  const place = innerPlace(session, toolCallId)
  if (place === undefined) return undefined
  const inner = settle(place.session, place.id)
  return relisted(withCall(session, place.callId, { inner }))
}

/** The session whose run has other values. */
export function withRun(
  session: Session,
  changes: { readonly [Key in keyof RunProgress]?: RunProgress[Key] | undefined },
): Session {
  const run = { ...(session.run ?? restingRun('auto')), ...changes }
  return { ...session, run: defined<RunProgress>(run) }
}

/** Adds messages to the thread, or keeps them until every call at its end has its answer. */
export function withLate(session: Session, messages: readonly Message[]): Session {
  if (messages.length === 0) return session
  const { run, thread } = session
  const phase = run?.phase
  // The placeholder of an open question is replaced by its answer, so nothing may follow it yet.
  const isAsked = questionsOf(session).some(({ toolCallId }) => {
    const own = innerPlace(session, toolCallId)?.callId ?? toolCallId
    return savedCall(session, own)?.told !== 'placeholder'
  })
  const isOpen = isAsked || goesOn(session) || phase === 'model' || phase === 'tools'
  const waiting = run?.late ?? []
  if (isOpen || waiting.length > 0) return withRun(session, { late: [...waiting, ...messages] })
  const calls = toldLate(session.calls, messages)
  return defined<Session>({ ...session, calls, thread: appendMessages(thread, ...messages) })
}

/** The thread with answers to calls of its last answer, in the order of the calls. A placeholder is replaced. */
export function withAnswers(thread: Thread, answers: readonly Message[]): Thread {
  const { messages } = thread
  const at = messages.findLastIndex(({ role }) => role !== 'tool')
  const byCall = new Map(
    [...messages.slice(at + 1), ...answers].map((message) => [message.toolCallId, message]),
  )
  const ordered = (messages[at]?.toolCalls ?? []).flatMap(({ id }) => byCall.get(id) ?? [])
  return { ...thread, messages: [...messages.slice(0, at + 1), ...ordered] }
}

/** The calls at the end of a thread, with or without their results. */
export function lastCalls({ messages }: Thread): readonly ToolCall[] {
  return messages.findLast(({ role }) => role !== 'tool')?.toolCalls ?? []
}

/** The calls at the end of a thread that have no message. */
export function openCalls(thread: Thread): readonly ToolCall[] {
  const { messages } = thread
  const at = messages.findLastIndex(({ role }) => role !== 'tool')
  const known = new Set(messages.slice(at + 1).map(({ toolCallId }) => toolCallId))
  return lastCalls(thread).filter(({ id }) => !known.has(id))
}

/** The error of a call that does not wait for what a command gives. */
export function unknownCall(
  what: string,
  toolCallId: string,
  pending: readonly ToolCall[],
): SessionError {
  const ids = pending.map(({ id }) => id)
  return new SessionError(
    'unknown_tool_call_id',
    `${toolCallId} is not a call that can be settled, or was settled twice; those that ${what}: ${ids.join(', ')}`,
    { metadata: { toolCallId, pending: ids } },
  )
}
