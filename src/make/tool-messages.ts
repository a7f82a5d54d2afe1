import type { InterruptedReason } from '../types/events.ts'
import type { Message } from '../types/message.ts'

/** The content of a tool message while the user has not answered. */
export const awaitingUser = '<awaiting user response>'

/** The message that answers a call. */
export function toolMessage(toolCallId: string, content: string): Message {
  return { role: 'tool', content, toolCallId }
}

/** The placeholder for the user's answer to a tool's question. */
export function askedMessage(toolCallId: string): Message {
  return { role: 'tool', content: awaitingUser, toolCallId, metadata: { askUser: true } }
}

/** A tool's question as an assistant message, which the user's answer follows. */
export function questionMessage(question: string, toolCallId: string): Message {
  return { role: 'assistant', content: question, metadata: { askUser: true, toolCallId } }
}

/**
 * The message that answers a call that has no result, so that the thread can be sent again.
 *
 * It has `metadata.interrupted` and the reason; the model reads one sentence.
 */
export function interruptedMessage(toolCallId: string, reason: InterruptedReason): Message {
  const content = JSON.stringify({ error: sentences[reason] })
  return { role: 'tool', content, toolCallId, metadata: { interrupted: true, reason } }
}

const sentences: Readonly<Record<InterruptedReason, string>> = {
  length: 'the call was cut off by the length limit and was not run',
  content_filter: 'the call was cut off by a content filter and was not run',
  cancelled: 'the run was stopped before this call had a result',
  error: 'the run failed before this call had a result',
  interrupted: 'the run was interrupted before this call had a result',
}
