import {
  createCollector,
  failureOf,
  toResponse,
  type Collector,
  type FoldedResponse,
} from '../../core/answer/fold-answer.ts'
import { AdapterError, type ValidationError } from '../../core/errors/errors.ts'
import { describe, refusal } from '../../core/schema/checks.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { isObject } from '../../core/types/guards.ts'
import type { Thread } from '../../core/types/message.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import type { ChatResult, StepResult } from '../../core/types/results.ts'
import { foldEvent, toChatResult, toStepResult } from './fold.ts'
import { startOf } from './run-stream.ts'

/** Events of a run: its stream, a list that was saved, or the batches of an adapter. */
export type EventSource = AsyncIterable<StreamEvent | Batch> | Iterable<StreamEvent>

/** Folds a stream into its response. A stream that ends in `error` gives the partial response, with `error` set. */
export async function collect(events: EventSource): Promise<FoldedResponse> {
  return toResponse(await drain(events))
}

/** Folds a step's stream into its result. `thread` is the one that the step started from; a `RunStream` knows its own. */
export async function collectStep(events: EventSource, thread?: Thread): Promise<StepResult> {
  return toStepResult(await drain(events, thread))
}

/** Folds a chat's stream into its result. `thread` is the one that the chat started from; a `RunStream` knows its own. */
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
  const source = readable(events)
  const state = (thread === undefined ? startOf(events) : undefined) ?? createCollector(thread)
  for await (const item of source) {
    if (isBatch(item)) for (const event of item) foldEvent(state, event)
    else if (isObject(item)) foldEvent(state, item)
    else throw notEvents(item)
  }
  return state
}

/** The events themselves. A value that is not a stream or a list is refused. */
export function readable<Source extends EventSource>(events: Source): Source {
  const given: unknown = events
  const isRead =
    typeof given === 'object' &&
    given !== null &&
    (Symbol.asyncIterator in given || Symbol.iterator in given)
  if (!isRead) throw notEvents(given)
  return events
}

function notEvents(given: unknown): ValidationError {
  const problem = `must be what streamGenerate, streamStep or streamChat returns, or a list of its events, not ${describe(given)}`
  return refusal('invalid_request', 'events', problem)
}

function isBatch(item: StreamEvent | Batch): item is Batch {
  return Array.isArray(item)
}

/**
 * The text of a stream, delta by delta: that of every answer, one after the other, also of one that was repaired after it.
 * For a structured answer use `partialOutput`. An `error` event is thrown, with the partial response. Leaving early ends the
 * stream.
 */
export async function* textDeltas(
  events: AsyncIterable<StreamEvent>,
): AsyncGenerator<string, void> {
  const state = createCollector()
  for await (const event of readable(events)) {
    foldEvent(state, event)
    if (event.type === 'text_delta') yield event.delta
    else if (event.type === 'error') throw failureOf(event.error, toResponse(state))
  }
}

/**
 * Returns the text of a response that ended with `stop` and has some text. Otherwise throws: the response's own error, or
 * one that says how the response ended.
 *
 * The error's `partial` is the response.
 */
export function unwrap(response: ModelResponse): string {
  const given: unknown = response
  if (!isObject(given) || !('outputText' in given)) {
    const problem = `must be the response that generate or collect resolves to, not ${describe(given)}`
    throw refusal('invalid_request', 'response', problem)
  }
  const { error, finishReason, outputText, provider, requestId } = response
  if (error !== undefined) throw failureOf(error, response)
  if (finishReason === 'stop' && outputText !== '') return outputText
  const details = {
    provider,
    requestId,
    partial: response,
    metadata: { finishReason, rawFinishReason: response.rawFinishReason ?? finishReason },
  }
  if (finishReason === 'content_filter') {
    throw new AdapterError('content_filter', 'the answer was cut by a content filter', details)
  }
  throw new AdapterError(
    'unknown',
    finishReason === 'stop'
      ? 'the answer has no text'
      : `the answer did not end by itself: finishReason is ${finishReason}`,
    details,
  )
}
