import { AdapterError, type AdapterErrorReason } from '../../errors/errors.ts'
import type { HttpFailure } from '../../http/call.ts'
import { retryAfterMs } from '../../http/failure.ts'
import { isJsonObject, type WireAnswer } from './wire.ts'
import { defined } from '../../types/guards.ts'

/** An answer that is not a success, as it came. */
interface FailedAnswer {
  readonly status: number
  readonly body: string
  readonly headers: Headers
}

/**
 * What a refusal of Gemini means. Its error is an object, or the first item of a list.
 *
 * A key that is not valid is a 400 here and still `authentication_failed`. How long to wait is in a header or in the
 * error's `RetryInfo`.
 */
export function parseFailure(provider: string, answer: FailedAnswer): HttpFailure {
  const { status, body, headers } = answer
  const error = errorIn(parseBody(body))
  if (error === undefined) {
    const message = `${provider} answered ${status} without an error that can be read`
    return defined<HttpFailure>({
      reason: reasonOf(status, ''),
      message,
      retryAfterMs: retryAfterMs(headers),
    })
  }
  const failure = failureOf(provider, error, status)
  const wait = retryAfterMs(headers)
  return wait === undefined ? failure : { ...failure, retryAfterMs: wait }
}

/** An error of Gemini: a Google RPC status. */
interface WireError {
  readonly code?: unknown
  readonly message?: unknown
  readonly status?: unknown
  readonly details?: unknown
}

/** The error in a parsed body or event, or in the first item of a list; `undefined` when there is none. */
function errorIn(value: unknown): WireError | undefined {
  const body: unknown = Array.isArray(value) ? value[0] : value
  const error = isJsonObject(body) ? body['error'] : undefined
  // As some proxies write it, its message alone.
  if (typeof error === 'string') return { message: error }
  return isJsonObject(error) ? error : undefined
}

/** What an error object means. `status` is that of the answer; inside a stream it is read from the error. */
function failureOf(
  provider: string,
  error: WireError,
  status: number = statusOf(error),
): HttpFailure & { readonly status: number } {
  const details = Array.isArray(error.details) ? error.details.filter(isJsonObject) : []
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

/** Gemini says 400 to many things; some of them only its words tell apart. */
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
function retryDelayMs(details: readonly Record<string, unknown>[]): number | undefined {
  for (const { retryDelay } of details) {
    const match = typeof retryDelay === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(retryDelay) : null
    if (match !== null) return Math.ceil(Number(match[1]) * 1000)
  }
  return undefined
}

function parseBody(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Whose call failed. */
export interface CallFacts {
  readonly provider: string
  readonly requestId: string
  /** Takes the key of the call out of a text. */
  readonly hideKey: (text: string) => string
}

/** The error that Gemini put in the place of an answer, or of the rest of one. */
export function reportedError(answer: WireAnswer, facts: CallFacts): AdapterError {
  const { provider, requestId, hideKey } = facts
  const error: unknown = JSON.parse(hideKey(JSON.stringify(answer.error)))
  const known = errorIn({ error }) ?? { message: String(error) }
  const { reason, message, ...details } = failureOf(provider, known)
  return new AdapterError(reason, message, { provider, requestId, ...details })
}

/** The prompt was blocked: there is no answer, and Gemini's reasons are in `metadata.promptFeedback`. */
export function blockedPrompt(answer: WireAnswer, facts: CallFacts): AdapterError {
  const { provider, requestId } = facts
  const { promptFeedback = {}, usageMetadata } = answer
  const { blockReason, blockReasonMessage } = promptFeedback
  const words = typeof blockReasonMessage === 'string' ? ` (${blockReasonMessage})` : ''
  const message = `${provider} blocked the prompt: ${JSON.stringify(blockReason)}${words}`
  const usage = usageMetadata === undefined ? {} : { usageMetadata }
  const metadata = { promptFeedback, ...usage }
  return new AdapterError('content_filter', message, { provider, requestId, metadata })
}

/** An answer that is whole and has no end, or is no answer at all. */
export function malformedAnswer(facts: CallFacts, cause?: unknown): AdapterError {
  const { provider, requestId } = facts
  const message = `${provider} answered without a candidate that has a finish reason`
  return new AdapterError('malformed_response', message, { provider, requestId, cause })
}
