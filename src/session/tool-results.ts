import { SessionError } from '../errors/errors.ts'
import { toolResult } from '../make/messages.ts'
import { assertLegal } from './transition.ts'
import { defined } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { Message, Part } from '../types/message.ts'
import type { Session } from '../types/session.ts'

/** What a tool gave: text or parts as they are, any other JSON value encoded. */
export type ToolResultContent = JsonValue | readonly Part[]

/** A result of a call that the caller had to answer; the call is named by its id, under either name. */
export type ToolResultInput =
  | { readonly toolCallId: string; readonly content: ToolResultContent }
  | { readonly id: string; readonly content: ToolResultContent }

/** Answers one pending call. When none is left, the session is idle (or, with a question open, awaits the user); then `resume`. */
export function submitToolResult(
  session: Session,
  toolCallId: string,
  content: ToolResultContent,
): Session {
  return submitToolResults(session, [{ toolCallId, content }])
}

/** Answers several pending calls. One that is not pending, or is answered twice, is refused, and nothing is changed. */
export function submitToolResults(session: Session, results: readonly ToolResultInput[]): Session {
  if (results.length === 0) return session
  assertLegal(session, 'submit')
  const pending = new Set(session.pendingToolCalls.map(({ id }) => id))
  const answers = results.map((result) => {
    const id = 'toolCallId' in result ? result.toolCallId : result.id
    if (!pending.delete(id)) throw unknownCall(session, id)
    return toolResult(id, result.content)
  })
  const pendingToolCalls = session.pendingToolCalls.filter(({ id }) => pending.has(id))
  const messages = inCallOrder(session.thread.messages, answers)
  return defined<Session>({
    ...session,
    status: nextStatus(session, pendingToolCalls.length),
    thread: { ...session.thread, messages },
    pendingToolCalls,
  })
}

function nextStatus(session: Session, pending: number): Session['status'] {
  if (pending > 0) return 'awaiting_tools'
  return session.pendingQuestion === undefined ? 'idle' : 'awaiting_user'
}

function unknownCall(session: Session, toolCallId: string): SessionError {
  const ids = session.pendingToolCalls.map(({ id }) => id)
  return new SessionError(
    'unknown_tool_call_id',
    `${toolCallId} is not a pending tool call (or was given twice); pending: ${ids.join(', ')}`,
    { metadata: { toolCallId, pending: ids } },
  )
}

/** Puts answers among those that are there, in the order of the calls of the last assistant message. */
function inCallOrder(
  messages: readonly Message[],
  answers: readonly Message[],
): readonly Message[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const byCall = new Map(
    [...messages.slice(at + 1), ...answers].map((message) => [message.toolCallId, message]),
  )
  const ordered = (messages[at]?.toolCalls ?? []).flatMap(({ id }) => byCall.get(id) ?? [])
  return [...messages.slice(0, at + 1), ...ordered]
}
