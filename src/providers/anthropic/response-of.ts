import { AdapterError } from '../../errors/errors.ts'
import type { DecodedCall } from './decoder-state.ts'
import { messageDecoder } from './message-decoder.ts'
import { eventsOfMessage } from './whole-message.ts'
import { collectEventsSync } from '../../run/collect.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { ModelResponse } from '../../types/response.ts'

/** The response that a whole answer stands for: the fold of the events that would have streamed it. */
export function responseOf(value: unknown, status: number, answer: DecodedCall): ModelResponse {
  const events = eventsOfMessage(value)
  if (events === undefined) {
    const { provider, requestId } = answer
    const message = `${provider} answered ${status} with something that is no message`
    throw new AdapterError('malformed_response', message, { provider, requestId, status })
  }
  const decoder = messageDecoder(answer)
  const out: ModelEvent[] = []
  for (const event of events) decoder.take(event, out)
  return collectEventsSync(out)
}
