import { AdapterError, reasonOfStatus, type AdapterErrorReason } from '../../core/errors/errors.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { CallSink } from '../http/answer.ts'
import type { HttpFailure, Refusal } from '../http/call.ts'
import { asText } from '../shared/read-json.ts'
import { retryDelayIn } from '../shared/reported-failure.ts'

/**
 * Reads a response that is not a success. Gemini's error is an object, or the first item of a list.
 *
 * An invalid key is a 400 and still `authentication_failed`. The time to wait is in a header or in the error's `RetryInfo`.
 */
export function parseFailure({ status, json }: Refusal): HttpFailure {
  const error = errorIn(json)
  return error === undefined ? {} : failureOf(error, status)
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

type ReadFailure = HttpFailure & {
  readonly reason: AdapterErrorReason
  readonly status: number
}

/** Reads an error object. `status` is that of the response; inside a stream it is taken from the error. */
function failureOf(error: WireError, status: number = statusOf(error)): ReadFailure {
  const details = Array.isArray(error.details) ? error.details.filter(isObject) : []
  const text = asText(error.message)
  const badKey = details.some((detail) => detail['reason'] === 'API_KEY_INVALID')
  return defined<ReadFailure>({
    reason: badKey ? 'authentication_failed' : reasonOf(status, text ?? ''),
    message: text,
    status,
    retryAfterMs: retryDelayIn(details),
    // The quota of a day does not come back in the seconds that its RetryInfo names.
    retryable: /"quotaId":"[^"]*PerDay/.test(JSON.stringify(details)) ? false : undefined,
    metadata: defined<Record<string, unknown>>({
      googleStatus: asText(error.status),
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

function reasonOf(status: number, message: string): AdapterErrorReason {
  return status === 400 ? reasonOf400(message.toLowerCase()) : reasonOfStatus(status)
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

/** What an error inside a successful response needs to know of its call. */
type FailedCall = Pick<CallSink, 'provider'>

/** The error that Gemini sent in place of an answer, or of the rest of one. */
export function reportedError(error: unknown, { provider }: FailedCall): AdapterError {
  const known = errorIn({ error }) ?? { message: String(error) }
  const { reason, message = `${provider} reported an error`, ...details } = failureOf(known)
  return new AdapterError(reason, message, details)
}

/** The error of a blocked prompt, which has no answer. Gemini's reasons are in `metadata.promptFeedback`. */
export function blockedPrompt(
  answer: {
    readonly promptFeedback?: JsonObject
    readonly usageMetadata?: JsonObject
  },
  { provider }: FailedCall,
): AdapterError {
  const { promptFeedback = {}, usageMetadata } = answer
  const { blockReason, blockReasonMessage } = promptFeedback
  const words = typeof blockReasonMessage === 'string' ? ` (${blockReasonMessage})` : ''
  const message = `${provider} blocked the prompt: ${JSON.stringify(blockReason)}${words}`
  const usage = usageMetadata === undefined ? {} : { usageMetadata }
  const metadata = { promptFeedback, ...usage }
  return new AdapterError('content_filter', message, { metadata })
}

/** The error of a response that has no answer or cannot be read, or of a whole answer that has no end. */
export function malformedAnswer(
  { provider }: FailedCall,
  problem: string = 'without a finish reason',
): AdapterError {
  const message = `${provider} answered ${problem}`
  return new AdapterError('malformed_response', message)
}
