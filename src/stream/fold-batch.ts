import type { Collector } from '../collect/collector-state.ts'
import { foldEvent } from '../collect/fold-event.ts'
import type { StreamError } from '../errors/errors.ts'
import { isList, isWhole, malformedBatch, malformedEvent } from './malformed.ts'
import type { ModelCall } from './model-call.ts'
import type { Batch, StreamEvent } from '../types/events.ts'

/**
 * Folds a batch of an adapter and gives what the consumer gets of it: nothing follows the event that ends a message.
 *
 * Something that is no event ends the message with an error; what came before it is kept.
 */
export function foldBatch(state: Collector, call: ModelCall, batch: Batch): Batch {
  if (!isList(batch)) return broken(state, call, [], malformedBatch(call, state.count))
  for (let index = 0; index < batch.length; index++) {
    const event = batch[index]
    if (event === undefined) continue
    if (!folds(state, event)) {
      return broken(state, call, batch.slice(0, index), malformedEvent(call, state.count))
    }
    call.onEvent?.(event)
    if (event.type === 'message_completed' || event.type === 'error') {
      return index === batch.length - 1 ? batch : batch.slice(0, index + 1)
    }
  }
  return batch
}

/** A failure as the last event of a run. */
export function failureEvent(error: Pick<StreamError, 'toJSON'>): StreamEvent {
  return { type: 'error', error: error.toJSON() }
}

/** Folds an event, and says whether it is one: an adapter may be written without types. */
function folds(state: Collector, event: StreamEvent): boolean {
  const { count } = state
  try {
    const whole = isWhole(event)
    if (whole) foldEvent(state, event)
    return whole
  } catch {
    state.count = count
    return false
  }
}

function broken(state: Collector, call: ModelCall, before: Batch, error: StreamError): Batch {
  const event = failureEvent(error)
  foldEvent(state, event)
  call.onEvent?.(event)
  return [...before, event]
}
