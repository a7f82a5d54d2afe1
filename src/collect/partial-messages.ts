import type { Collector } from './collector-state.ts'
import { endedByItself } from './runs-tools.ts'
import { currentMessage } from './to-response.ts'
import { interruptedMessage } from '../make/tool-messages.ts'
import type { InterruptedReason } from '../types/events.ts'
import type { Message } from '../types/message.ts'

/**
 * What the step under way has added to the thread: its answer so far, and a message for each of its calls, in the order
 * of the calls.
 *
 * A call without a result is answered by a marked message, so the thread can be sent as it is; only calls that are
 * named as `open`, for the caller to answer, stay without one.
 */
export function partialMessages(
  state: Collector,
  open: ReadonlySet<string> = noCalls,
): readonly Message[] {
  if (!state.active) return []
  const message = currentMessage(state)
  const calls = message.toolCalls ?? []
  if (calls.length === 0) return message.content.length === 0 ? [] : [message]
  const reason = interruptedReason(state)
  const answers = new Map(state.toolMessages.map((answer) => [answer.toolCallId, answer]))
  const messages = [message]
  for (const { id } of calls) {
    const answer = answers.get(id)
    if (answer !== undefined) messages.push(answer)
    else if (!open.has(id)) messages.push(interruptedMessage(id, reason))
  }
  return messages
}

const noCalls: ReadonlySet<string> = new Set()

function interruptedReason({ end, error }: Collector): InterruptedReason {
  if (end !== undefined && !endedByItself(end.finishReason)) {
    return end.finishReason === 'length' || end.finishReason === 'content_filter'
      ? end.finishReason
      : 'error'
  }
  if (error === undefined) return 'interrupted'
  return isCancellation(error) ? 'cancelled' : 'error'
}

/** Whether an error says that the caller stopped the run. */
export function isCancellation(error: { readonly kind: string; readonly reason: string }): boolean {
  return error.kind === 'stream' && error.reason === 'cancelled'
}
