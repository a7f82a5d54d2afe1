import { toParts } from './blocks.ts'
import type { CallFold, Collector } from './collector-state.ts'
import { assistantMessage } from '../make/assistant-message.ts'
import { defined } from '../types/guards.ts'
import { messageText, type Message, type ToolCall } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'

/**
 * The response as far as it has come. After the last event it is the whole response; before that it is the partial one, with
 * `finishReason` `error` when the run failed and `other` when it was merely left, and its message is marked `partial`.
 *
 * Between two steps of a loop it is the last step's response.
 */
export function toResponse(state: Collector): ModelResponse {
  const last = state.steps.at(-1)
  if (!state.active && last !== undefined && state.error === undefined) return last.response
  const { end, error } = state
  const message = currentMessage(state)
  return defined<ModelResponse>({
    requestId: state.requestId,
    id: state.id,
    model: state.model,
    provider: state.provider,
    message,
    outputText: messageText(message),
    toolCalls: message.toolCalls ?? [],
    finishReason: error !== undefined ? 'error' : (end?.finishReason ?? 'other'),
    rawFinishReason: end?.rawFinishReason,
    usage: state.usage,
    error,
    metadata: end?.metadata ?? {},
  })
}

/** The assistant's message as far as it has come: the adapter's own once it is there, else what the deltas add up to. */
export function currentMessage(state: Collector): Message {
  const { end } = state
  if (end === undefined) {
    const message = assistantMessage(toParts(state, state.provider), state.calls.map(toCall))
    return { ...message, metadata: { partial: true } }
  }
  const said = end.message.content.length > 0 || end.message.toolCalls !== undefined
  // A simple adapter may leave the message empty and trust the fold.
  return said
    ? end.message
    : assistantMessage(toParts(state, state.provider), state.calls.map(toCall))
}

/** A call that was never completed keeps its text and has no arguments; it is never run. */
function toCall({ id, name, raw, call }: CallFold): ToolCall {
  return call ?? { id, name, arguments: {}, rawArguments: raw }
}
