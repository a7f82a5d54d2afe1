import type { Collector } from './collector-state.ts'
import { foldEvent } from './fold-event.ts'
import type { StreamEvent } from '../types/events.ts'

/** The state after one more event. Pure: the given state is not changed, so any earlier state can be kept. */
export function applyEvent(state: Collector, event: StreamEvent): Collector {
  const next = { ...state }
  foldEvent(next, event)
  return next
}
