import { AdapterError, isAllmError, StreamError, type AllmError } from '../errors/errors.ts'
import type { HttpCall } from './http-call.ts'
import { transportFailure } from './transport-failure.ts'

/** How far a stream had come when it failed. */
export interface Progress {
  /** Events of ours that were handed out. Before the first, the call as a whole has failed. */
  readonly sent: number
  /** Events of the provider. */
  readonly seen: number
}

/** What a decoder's exception means: the provider's own error as it is, anything else is an event that can not be read. */
export function unreadable(problem: unknown, call: HttpCall, { sent }: Progress): AllmError {
  if (isAllmError(problem)) return problem
  const { provider, requestId } = call
  const text = problem instanceof Error ? problem.message : String(problem)
  const message = `${provider} sent an event that can not be read: ${text}`
  if (sent === 0) {
    return new AdapterError('malformed_response', message, { provider, requestId, cause: problem })
  }
  const eventIndex = sent
  return new StreamError('malformed_event', message, {
    provider,
    requestId,
    eventIndex,
    cause: problem,
  })
}

/** What it means that a body is over and the provider's end marker was not in it: it was cut, or it was no answer at all. */
export function truncated(call: HttpCall, { sent }: Progress, foreign: boolean): AllmError {
  const { provider, requestId } = call
  if (foreign && sent === 0) {
    const message = `${provider} answered with a body that is neither a stream of events nor an answer`
    return new AdapterError('malformed_response', message, { provider, requestId })
  }
  const message = `the answer of ${provider} ended without its end marker`
  return new StreamError('truncated', message, { provider, requestId, eventIndex: sent })
}

/** What a failed read means: before the first event a failed call, after it a broken stream. */
export function brokenRead(
  error: unknown,
  call: HttpCall,
  signal: AbortSignal,
  { sent }: Progress,
): AllmError {
  const failure = transportFailure(error, call, signal)
  if (sent === 0 || isAllmError(error) || signal.aborted || failure.kind !== 'adapter') {
    return failure
  }
  const { provider, requestId } = call
  const reason = failure.reason === 'timeout' ? 'timeout' : 'truncated'
  const details = { provider, requestId, eventIndex: sent, cause: error }
  return new StreamError(reason, failure.message, details)
}
