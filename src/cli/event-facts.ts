import type { StreamEvent } from '../types/events.ts'
import { assertNever } from '../types/guards.ts'
import type { Usage } from '../types/response.ts'

/** What an event says, in a few words of one line. */
export function eventFacts(event: StreamEvent): string {
  switch (event.type) {
    case 'message_started':
      return [event.provider, event.model, event.id].filter((fact) => fact !== undefined).join(' ')
    case 'text_delta':
    case 'reasoning_delta':
      return json(event.delta)
    case 'text_completed':
    case 'reasoning_completed':
      return json(event.text)
    case 'tool_call_started':
      return `${event.name} ${event.id}`
    case 'tool_call_delta':
      return `${event.id} ${json(event.argumentsDelta)}`
    case 'tool_call_completed':
      return `${event.call.name} ${event.call.id} ${json(event.call.arguments)}`
    case 'image_completed':
      return event.image.type
    case 'raw_chunk':
      return json(event.chunk)
    case 'message_completed':
      return [event.finishReason, usageFacts(event.usage ?? {})]
        .filter((fact) => fact !== '')
        .join(' · ')
    case 'error':
      return `${event.error.reason}: ${event.error.message}`
    case 'tool_execution_started':
      return `${event.name} ${json(event.arguments)}`
    case 'tool_execution_completed':
      return `${event.name} ${event.durationMs} ms ${json(event.result)}`
    case 'tool_result_encoded':
      return `${event.id} ${json(event.content)}`
    case 'ask_user_requested':
      return json(event.question)
    case 'tool_halt':
      return `${event.reason} ${json(event.result)}`
    case 'step_completed':
      return `${event.newMessages.length} messages added`
    case 'chat_completed':
      return event.result.haltedReason
    default:
      return assertNever(event)
  }
}

/** The tokens that were reported, or nothing. */
export function usageFacts({ inputTokens, outputTokens }: Usage): string {
  const facts = [
    inputTokens === undefined ? '' : `${inputTokens} in`,
    outputTokens === undefined ? '' : `${outputTokens} out`,
  ].filter((fact) => fact !== '')
  return facts.length === 0 ? '' : `${facts.join(', ')} tokens`
}

/** A value as JSON, cut to fit a line. */
export function json(value: unknown, limit: number = 72): string {
  const text = JSON.stringify(value) ?? 'null'
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text
}
