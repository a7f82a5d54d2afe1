import { createCollector } from './collector-state.ts'
import { failureOf } from './failure.ts'
import { foldEvent } from './fold-event.ts'
import { toResponse } from './to-response.ts'
import type { StreamEvent } from '../types/events.ts'

/** The text of a stream, delta by delta. An `error` event is thrown, with the partial response; leaving early ends the stream. */
export async function* textDeltas(
  events: AsyncIterable<StreamEvent>,
): AsyncGenerator<string, void> {
  const state = createCollector()
  for await (const event of events) {
    foldEvent(state, event)
    if (event.type === 'text_delta') yield event.delta
    else if (event.type === 'error') throw failureOf(event.error, toResponse(state))
  }
}
