import { AdapterError } from '../errors/adapter-error.ts'
import { isAllmError, type AllmError } from '../errors/allm-error.ts'
import { StreamError } from '../errors/stream-error.ts'
import type { HttpCall } from './http-call.ts'

/** The codes of undici for its own time-outs. */
const timeoutCodes = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
])

/** What a failed `fetch` or read means: a time-out, a cancellation, or the network. */
export function transportFailure(
  error: unknown,
  call: Pick<HttpCall, 'provider' | 'requestId'>,
  signal: AbortSignal,
): AllmError {
  const { provider, requestId } = call
  if (signal.aborted) {
    const reason: unknown = signal.reason
    if (isAllmError(reason)) return reason
    return new StreamError('cancelled', `the call to ${provider} was cancelled`, {
      provider,
      requestId,
      cause: reason,
    })
  }
  if (isAllmError(error)) return error
  const { code, text } = describe(error)
  const kind = code !== undefined && timeoutCodes.has(code) ? 'timeout' : 'network_error'
  const message = `${provider} could not be reached: ${text}`
  return new AdapterError(kind, message, {
    provider,
    requestId,
    cause: error,
    ...(code === undefined ? {} : { metadata: { code } }),
  })
}

/** undici hides what happened in the cause of a bare "fetch failed". */
function describe(error: unknown): { readonly code: string | undefined; readonly text: string } {
  if (!(error instanceof Error)) return { code: undefined, text: String(error) }
  const inner = error.cause instanceof Error ? error.cause : error
  const code = 'code' in inner && typeof inner.code === 'string' ? inner.code : undefined
  return { code, text: inner.message === '' ? (code ?? error.message) : inner.message }
}
