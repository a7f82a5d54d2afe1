import { assistantMessage } from '../make/assistant-message.ts'
import type { ModelEvent } from '../types/events.ts'
import { assertNever, defined } from '../types/guards.ts'
import type { Message, Part, ToolCall } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'

type Completed = Extract<ModelEvent, { type: 'message_completed' }>
type ReasoningCompleted = Extract<ModelEvent, { type: 'reasoning_completed' }>

/**
 * What a stream would have said to make a response, save `message_started`: the blocks of its message, its calls, its end.
 *
 * A response that holds an `error` ends in that.
 */
export function responseEvents(response: Partial<ModelResponse>): readonly ModelEvent[] {
  const parts = responseParts(response)
  const calls = response.toolCalls ?? response.message?.toolCalls ?? []
  return [
    ...parts.flatMap(partEvents),
    ...calls.map((call): ModelEvent => ({ type: 'tool_call_completed', call })),
    response.error === undefined
      ? completed(response, parts, calls)
      : { type: 'error', error: response.error },
  ]
}

function responseParts({ message, outputText }: Partial<ModelResponse>): readonly Part[] {
  const content = message?.content ?? outputText ?? ''
  if (typeof content !== 'string') return content
  return content === '' ? [] : [{ type: 'text', text: content }]
}

function partEvents(part: Part): readonly ModelEvent[] {
  switch (part.type) {
    case 'text':
      return [
        { type: 'text_delta', delta: part.text },
        { type: 'text_completed', text: part.text },
      ]
    case 'reasoning': {
      const { text, opaque } = part
      return [
        { type: 'reasoning_delta', delta: text },
        defined<ReasoningCompleted>({ type: 'reasoning_completed', text, opaque }),
      ]
    }
    case 'image':
      return [{ type: 'image_completed', image: part.image }]
    default:
      return assertNever(part)
  }
}

function completed(
  response: Partial<ModelResponse>,
  parts: readonly Part[],
  calls: readonly ToolCall[],
): Completed {
  const { finishReason, rawFinishReason, usage, metadata, message } = response
  return defined<Completed>({
    type: 'message_completed',
    message: defined<Message>({ ...assistantMessage(parts, calls), ...marks(message) }),
    finishReason: finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    rawFinishReason,
    usage,
    metadata,
  })
}

/** What a message holds beside its content and its calls. */
function marks(message: Message | undefined): Partial<Message> {
  const { name, metadata } = message ?? {}
  return defined<Partial<Message>>({ name, metadata })
}
