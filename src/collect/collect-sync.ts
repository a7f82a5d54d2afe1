import { createCollector } from './collector-state.ts'
import { failureOf } from './failure.ts'
import { foldEvent } from './fold-event.ts'
import { toResponse } from './to-response.ts'
import type { StreamEvent } from '../types/events.ts'
import type { ModelResponse } from '../types/response.ts'

/** Folds events that are all there. Events that end in `error` throw it, with the partial response. */
export function collectEventsSync(events: readonly StreamEvent[]): ModelResponse {
  const state = createCollector()
  for (const event of events) foldEvent(state, event)
  const response = toResponse(state)
  if (response.error !== undefined) throw failureOf(response.error, response)
  return response
}
