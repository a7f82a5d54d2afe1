import { createCollector, foldEvent, toResponse } from '../run/collector.ts'
import { isStreamEvent, type ModelEvent } from '../types/events.ts'
import type { ModelResponse } from '../types/response.ts'

/** The response that events add up to. What is no event is passed over. */
export function foldEvents(events: readonly ModelEvent[]): ModelResponse {
  const state = createCollector()
  for (const event of events) if (isStreamEvent(event)) foldEvent(state, event)
  return toResponse(state)
}

type EventOf<Type extends ModelEvent['type']> = Extract<ModelEvent, { readonly type: Type }>

/** The events of one type, in their order. */
export function eventsOfType<Type extends ModelEvent['type']>(
  events: readonly ModelEvent[],
  type: Type,
): readonly EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type)
}

/** The deltas of a kind, joined. */
export function joinedDeltas(
  events: readonly ModelEvent[],
  type: 'text_delta' | 'reasoning_delta',
): string {
  return eventsOfType(events, type)
    .map(({ delta }) => delta)
    .join('')
}

/** The events of a stream as a row of their names, runs of the same one counted. */
export function showEvents(events: readonly ModelEvent[]): string {
  const runs: { readonly name: string; count: number }[] = []
  for (const event of events) {
    const name = nameOf(event)
    const last = runs.at(-1)
    if (last?.name === name) last.count++
    else runs.push({ name, count: 1 })
  }
  const names = runs.map(({ name, count }) => (count === 1 ? name : `${name} ×${count}`))
  return names.length === 0 ? 'no events' : names.join(', ')
}

function nameOf(event: ModelEvent): string {
  return event.type === 'error' ? `error (${event.error.kind} ${event.error.reason})` : event.type
}
