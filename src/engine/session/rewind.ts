import { ValidationError } from '../../core/errors/errors.ts'
import { answeredCall, isNotYet, lateResultOf } from '../../core/messages/tool-messages.ts'
import { appendMessages, type Message, type Thread } from '../../core/types/message.ts'
import type { Session } from '../../core/types/session.ts'
import { goneCall, keptCall, mapCalls } from '../calls/kept.ts'
import { checked } from './legal.ts'
import { cleared } from './reduce.ts'
import { atRest } from './say.ts'
import { openCalls } from './settling.ts'

/**
 * The session as it was before a message: it and everything after it are removed. Add another message, or resume to ask the model again.
 *
 * A call that the kept thread says has no result yet keeps what came of it: it stays pending, stays approved, or its result follows at
 * the end of the thread. Other calls wait no longer. An index between a call and its results throws. An index at the end removes
 * nothing, and everything that is pending stays so; a completed session can then be resumed.
 */
export function rewound(session: Session, messageIndex: number): Session {
  checked(session, 'rewind')
  const { run } = session
  const { messages } = session.thread
  if (!Number.isInteger(messageIndex) || messageIndex < 0 || messageIndex > messages.length) {
    throw badIndex(`must be a whole number from 0 to ${messages.length}`)
  }
  if (messageIndex === messages.length) {
    return session.status === 'completed' ? { ...session, status: 'idle' } : session
  }
  const kept = { ...session.thread, messages: messages.slice(0, messageIndex) }
  if (openCalls(kept).length > 0) {
    const answer = kept.messages.findLastIndex(({ role }) => role === 'assistant')
    throw badIndex(`separates the calls of message ${answer} from their results; use ${answer}`)
  }
  const removed = messages.slice(messageIndex)
  const { told, untold } = lateIn(kept, [...removed, ...(run?.late ?? [])])
  const ids = new Set(kept.messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)))
  const calls = mapCalls(session.calls, (saved, id) => {
    if (untold.has(id)) return atRest(saved)
    return ids.has(id) ? keptCall({ ...saved, told: 'result' }) : goneCall(saved)
  })
  const next = cleared(session, calls)
  return { ...next, status: 'idle', thread: appendMessages(kept, ...told) }
}

/**
 * What comes later of the calls that a thread says have no result yet: the messages with their results, and the calls that have none in
 * those messages either. An id that a later call has again says nothing about the earlier one.
 */
function lateIn(
  { messages }: Thread,
  later: readonly Message[],
): { readonly told: readonly Message[]; readonly untold: ReadonlySet<string> } {
  const untold = new Set<string>()
  for (const message of messages) {
    const id = answeredCall(message)
    if (id === undefined) continue
    if (isNotYet(message)) untold.add(id)
    else untold.delete(id)
  }
  const known = new Set(untold)
  const told = later.filter((message) => {
    for (const { id } of message.toolCalls ?? []) known.delete(id)
    const id = lateResultOf(message)
    return id !== undefined && known.delete(id) && untold.delete(id)
  })
  for (const id of untold) if (!known.has(id)) untold.delete(id)
  return { told, untold }
}

function badIndex(problem: string): ValidationError {
  return new ValidationError('invalid_options', [{ path: 'messageIndex', problem }])
}
