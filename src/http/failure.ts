import { AdapterError, isAllmError, StreamError, type AllmError } from '../errors/errors.ts'
import type { HttpCall } from './call.ts'

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

/**
 * How long an answer asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
 *
 * A date is taken against the answer's own `date`, so that no two clocks have to agree; a date in the past is 0.
 * `undefined` when the answer does not say, or says it badly.
 */
export function retryAfterMs(headers: Headers, now?: number): number | undefined {
  const ms = number(headers.get('retry-after-ms'))
  if (ms !== undefined) return Math.round(ms)
  const value = headers.get('retry-after')
  if (value === null || value.trim() === '') return undefined
  const seconds = number(value)
  if (seconds !== undefined) return Math.round(seconds * 1000)
  // What has no letters is no date of HTTP, though a lenient parser may find one in it.
  const date = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - (now ?? sentAt(headers)))
}

function number(value: string | null): number | undefined {
  if (value === null || !/^\s*\d+(?:\.\d+)?\s*$/.test(value)) return undefined
  return Number(value)
}

function sentAt(headers: Headers): number {
  const date = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(date) ? Date.now() : date
}
