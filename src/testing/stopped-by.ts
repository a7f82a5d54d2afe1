import { isAllmError, StreamError, type AllmError } from '../errors/errors.ts'
import type { CallFacts } from './render-section.ts'

/** The error of a call whose signal was aborted: the signal's reason if it is one of our errors, else `cancelled`. */
export function stoppedBy(
  signal: AbortSignal,
  { provider, requestId }: Pick<CallFacts, 'provider' | 'requestId'>,
  eventIndex: number,
): AllmError {
  const reason: unknown = signal.reason
  if (isAllmError(reason)) return reason
  return new StreamError('cancelled', `the call to ${provider} was cancelled`, {
    provider,
    requestId,
    eventIndex,
    cause: reason,
  })
}
