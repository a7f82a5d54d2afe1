import { AdapterError, isAllmError, StreamError, type AllmError } from '../errors/errors.ts'
import type { HttpCall } from './http-call.ts'

/** The codes of undici for its own time-outs, which no option of ours reaches. */
const platformTimeouts: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
])

const timeoutCodes: ReadonlySet<string> = new Set([
  ...platformTimeouts,
  'UND_ERR_CONNECT_TIMEOUT',
  'ETIMEDOUT',
  'TimeoutError',
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
  const timedOut = code !== undefined && timeoutCodes.has(code)
  const advice =
    code !== undefined && platformTimeouts.has(code)
      ? '; the limit is that of this runtime, and only a fetch of your own can raise it'
      : ''
  const message = `${provider} could not be reached: ${text}${advice}`
  return new AdapterError(timedOut ? 'timeout' : 'network_error', message, {
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
  const text = inner.message === '' ? error.message : inner.message
  if ('code' in inner && typeof inner.code === 'string') {
    return { code: inner.code, text: text === '' ? inner.code : text }
  }
  return { code: inner.name === 'TimeoutError' ? inner.name : undefined, text }
}
