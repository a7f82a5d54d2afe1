import { AdapterError, ImageAdapterError, isAllmError, type AllmError } from '../errors/errors.ts'

/**
 * The error that an image call rejects with: an `AdapterError` becomes an `ImageAdapterError` with the same facts, and so
 * does what is not of this library, as `unknown`. All others, such as a cancellation, stay what they are.
 */
export function imageFailure(
  error: unknown,
  call: { readonly provider: string; readonly requestId?: string | undefined },
): AllmError {
  const { provider, requestId } = call
  if (error instanceof AdapterError) {
    const { reason, message, cause, metadata, status, retryAfterMs, retryable } = error
    const facts = { provider, requestId, cause, metadata, status, retryAfterMs, retryable }
    return new ImageAdapterError(
      reason === 'no_scripted_response' ? 'unknown' : reason,
      message,
      facts,
    )
  }
  if (isAllmError(error)) return error
  const text = error instanceof Error ? error.message : String(error)
  const facts = { provider, requestId, cause: error }
  return new ImageAdapterError('unknown', `${provider} failed: ${text}`, facts)
}
