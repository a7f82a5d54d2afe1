import { createCollector, type Collector } from './collector-state.ts'
import { foldEvent } from './fold-event.ts'
import { toResponse } from './to-response.ts'
import { toChatResult, toStepResult } from './to-results.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import type { Thread } from '../types/message.ts'
import type { ModelResponse } from '../types/response.ts'
import type { ChatResult, StepResult } from '../types/results.ts'

/** Events from anywhere: a run's stream, or a list that was saved. */
export type EventSource = AsyncIterable<StreamEvent> | Iterable<StreamEvent>

/** Folds a stream into its response. A stream that ends in `error` gives what came before it, with `error` set. */
export async function collect(events: EventSource): Promise<ModelResponse> {
  return toResponse(await drain(events))
}

/** Folds a step's stream into its result. `thread` is the one that the step started from. */
export async function collectStep(events: EventSource, thread?: Thread): Promise<StepResult> {
  return toStepResult(await drain(events, thread))
}

/** Folds a chat's stream into its result. `thread` is the one that the chat started from. */
export async function collectChat(events: EventSource, thread?: Thread): Promise<ChatResult> {
  return toChatResult(await drain(events, thread))
}

/** Folds the batches of an adapter. */
export async function collectBatches(batches: AsyncIterable<Batch>): Promise<ModelResponse> {
  const state = createCollector()
  for await (const batch of batches) for (const event of batch) foldEvent(state, event)
  return toResponse(state)
}

async function drain(events: EventSource, thread?: Thread): Promise<Collector> {
  const state = createCollector(thread)
  for await (const event of events) foldEvent(state, event)
  return state
}
