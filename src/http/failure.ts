import { AdapterError, cancelledCall, isAllmError, type AllmError } from '../errors/errors.ts'
import type { HttpCall } from './call.ts'

/** The codes of undici's own timeouts, which our options do not control. */
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

/** The error of a failed `fetch` or read: a timeout, a cancellation, or a network failure. */
export function transportFailure(
  error: unknown,
  call: Pick<HttpCall, 'provider' | 'requestId'>,
  signal: AbortSignal,
): AllmError {
  const { provider, requestId } = call
  if (signal.aborted) {
    const reason: unknown = signal.reason
    if (isAllmError(reason)) return reason
    return cancelledCall({ provider, requestId, signal })
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

/** undici puts the reason into the cause of a bare "fetch failed". */
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
 * How long a response asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.
 *
 * A date is compared with the response's own `date`, so that clocks do not have to agree. A date in the past is 0.
 * Returns `undefined` when the header is absent or invalid.
 */
export function retryAfterMs(headers: Headers, now?: number): number | undefined {
  const ms = number(headers.get('retry-after-ms'))
  if (ms !== undefined) return Math.round(ms)
  const value = headers.get('retry-after')
  if (value === null || value.trim() === '') return undefined
  const seconds = number(value)
  if (seconds !== undefined) return Math.round(seconds * 1000)
  // An HTTP date has letters. A lenient parser would also accept other texts.
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
