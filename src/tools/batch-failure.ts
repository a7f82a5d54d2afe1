import { isAllmError, StreamError, type AllmError } from '../errors/errors.ts'
import type { ToolRun } from './tool-run.ts'
import type { Batch } from '../types/events.ts'

/** The error of a batch that its signal stopped. A signal that gives an error of ours as its reason is taken at its word. */
export function cancellation({ signal, requestId }: ToolRun): AllmError {
  const reason: unknown = signal?.reason
  if (isAllmError(reason)) return reason
  const message = 'the tool calls were cancelled'
  return new StreamError('cancelled', message, { cause: reason, requestId })
}

/** The last event of a stream that failed, as a batch. */
export function failureBatch(error: AllmError): Batch {
  return [{ type: 'error', error: error.toJSON() }]
}
