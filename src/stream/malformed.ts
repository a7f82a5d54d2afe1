import { errorFromJSON } from '../errors/error-json.ts'
import { StreamError } from '../errors/errors.ts'
import type { ModelCall } from './model-call.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { StreamEvent } from '../types/events.ts'

/** The error of an adapter that gave something else than an event of the union. */
export function malformedEvent(
  { provider, requestId }: ModelCall,
  eventIndex: number,
): StreamError {
  const message = `the adapter ${provider} gave something that is no event`
  return new StreamError('malformed_event', message, { provider, requestId, eventIndex })
}

/** The error of an adapter that gave something else than a list of events. */
export function malformedBatch(
  { provider, requestId }: ModelCall,
  eventIndex: number,
): StreamError {
  const message = `the adapter ${provider} gave something that is no list of events; a single one is given as [event]`
  return new StreamError('malformed_event', message, { provider, requestId, eventIndex })
}

/** Whether a batch is one. Its type says so, but an adapter may be written without types. */
export function isList(batch: unknown): boolean {
  return Array.isArray(batch)
}

/** Whether an event that ends a message has what a fold needs of it. */
export function isWhole(event: StreamEvent): boolean {
  if (event.type === 'error') return isReadable(event.error)
  return event.type !== 'message_completed' || isObject(event.message)
}

function isReadable(error: ErrorData): boolean {
  try {
    errorFromJSON(error)
    return true
  } catch {
    return false
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
