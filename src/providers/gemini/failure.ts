import { AdapterError, type AdapterErrorReason } from '../../errors/errors.ts'
import type { HttpCall, HttpFailure } from '../../http/call.ts'
import { retryAfterMs } from '../../http/failure.ts'
import { defined, isObject } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { CallFacts } from '../shared/call.ts'

/**
 * Reads a response that is not a success. Gemini's error is an object, or the first item of a list.
 *
 * An invalid key is a 400 and still `authentication_failed`. The time to wait is in a header or in the error's `RetryInfo`.
 */
export function failureParser(provider: string): HttpCall['parseFailure'] {
  return (status, body, headers) => {
    const error = errorIn(parseBody(body))
    const wait = defined<Pick<HttpFailure, 'retryAfterMs'>>({ retryAfterMs: retryAfterMs(headers) })
    if (error !== undefined) return { ...failureOf(provider, error, status), ...wait }
    const message = `${provider} answered ${status} without a readable error`
    return { reason: reasonOf(status, ''), message, ...wait }
  }
}

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** An error of Gemini: a Google RPC status. */
interface WireError {
  readonly code?: unknown
  readonly message?: unknown
  readonly status?: unknown
  readonly details?: unknown
}

/** The error in a parsed body or event, or in the first item of a list. */
function errorIn(value: unknown): WireError | undefined {
  const body: unknown = Array.isArray(value) ? value[0] : value
  const error = isObject(body) ? body['error'] : undefined
  // Some proxies send the message alone.
  if (typeof error === 'string') return { message: error }
  return isObject(error) ? error : undefined
}

/** Reads an error object. `status` is that of the response; inside a stream it is taken from the error. */
function failureOf(
  provider: string,
  error: WireError,
  status: number = statusOf(error),
): HttpFailure & { readonly status: number } {
  const details = Array.isArray(error.details) ? error.details.filter(isObject) : []
  const text = typeof error.message === 'string' && error.message !== '' ? error.message : undefined
  const badKey = details.some((detail) => detail['reason'] === 'API_KEY_INVALID')
  return defined<HttpFailure & { readonly status: number }>({
    reason: badKey ? 'authentication_failed' : reasonOf(status, text ?? ''),
    message: text ?? `${provider} answered ${status}`,
    status,
    retryAfterMs: retryDelayMs(details),
    metadata: defined<Record<string, unknown>>({
      googleStatus: typeof error.status === 'string' ? error.status : undefined,
      details: details.length === 0 ? undefined : details,
    }),
  })
}

const statusOfWord: ReadonlyMap<unknown, number> = new Map([
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['UNAUTHENTICATED', 401],
  ['PERMISSION_DENIED', 403],
  ['NOT_FOUND', 404],
  ['RESOURCE_EXHAUSTED', 429],
  ['CANCELLED', 499],
  ['INTERNAL', 500],
  ['UNAVAILABLE', 503],
  ['DEADLINE_EXCEEDED', 504],
])

function statusOf({ code, status }: WireError): number {
  return typeof code === 'number' ? code : (statusOfWord.get(status) ?? 500)
}

const invalidRequest: ReadonlySet<number> = new Set([404, 405, 409, 411, 413, 415, 422])

function reasonOf(status: number, message: string): AdapterErrorReason {
  if (status === 400) return reasonOf400(message.toLowerCase())
  if (status === 401 || status === 403) return 'authentication_failed'
  if (status === 408) return 'timeout'
  if (status === 429) return 'rate_limited'
  if (invalidRequest.has(status)) return 'invalid_request'
  return status >= 500 ? 'provider_unavailable' : 'unknown'
}

/** Gemini answers 400 to many problems; some of them differ in their message only. */
function reasonOf400(message: string): AdapterErrorReason {
  if (/api key (?:not valid|not found|expired|invalid)/.test(message)) {
    return 'authentication_failed'
  }
  if (/exceeds the maximum number of tokens|input token count/.test(message)) {
    return 'context_length_exceeded'
  }
  return message.includes('responsible ai practices') ? 'content_filter' : 'invalid_request'
}

/** The `retryDelay` of a `RetryInfo`: seconds, written `34.4s`. */
function retryDelayMs(details: readonly Readonly<Record<string, unknown>>[]): number | undefined {
  for (const { retryDelay } of details) {
    const match = typeof retryDelay === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(retryDelay) : null
    if (match !== null) return Math.ceil(Number(match[1]) * 1000)
  }
  return undefined
}

/** What an error inside a successful response needs to know of its call. */
type FailedCall = Pick<CallFacts, 'provider' | 'requestId' | 'clean'>

/** The error that Gemini sent in place of an answer, or of the rest of one. */
export function reportedError(sent: unknown, call: FailedCall): AdapterError {
  const { provider, requestId, clean } = call
  const error: unknown = JSON.parse(clean(JSON.stringify(sent)))
  const known = errorIn({ error }) ?? { message: String(error) }
  const { reason, message, ...details } = failureOf(provider, known)
  return new AdapterError(reason, message, { provider, requestId, ...details })
}

/** The error of a blocked prompt, which has no answer. Gemini's reasons are in `metadata.promptFeedback`. */
export function blockedPrompt(
  answer: {
    readonly promptFeedback?: JsonObject
    readonly usageMetadata?: JsonObject
  },
  { provider, requestId }: FailedCall,
): AdapterError {
  const { promptFeedback = {}, usageMetadata } = answer
  const { blockReason, blockReasonMessage } = promptFeedback
  const words = typeof blockReasonMessage === 'string' ? ` (${blockReasonMessage})` : ''
  const message = `${provider} blocked the prompt: ${JSON.stringify(blockReason)}${words}`
  const usage = usageMetadata === undefined ? {} : { usageMetadata }
  const metadata = { promptFeedback, ...usage }
  return new AdapterError('content_filter', message, { provider, requestId, metadata })
}

/** The error of a response that has no answer or cannot be read, or of a whole answer that has no end. */
export function malformedAnswer(
  { provider, requestId }: FailedCall,
  cause?: unknown,
): AdapterError {
  const problem =
    cause instanceof Error
      ? `with a body that cannot be read: ${cause.message}`
      : 'without a candidate that has a finish reason'
  const message = `${provider} answered ${problem}`
  return new AdapterError('malformed_response', message, { provider, requestId, cause })
}
