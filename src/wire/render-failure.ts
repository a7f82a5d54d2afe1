import { assertNever } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import {
  anthropicFailures,
  geminiFailures,
  openaiFailures,
  type FailureWords,
} from './failure-words.ts'
import type { PlanFailure } from './plan.ts'
import type { WireFormat } from './wire-answer.ts'

/** A provider's refusal: the status, the body in the provider's own form, and the headers that belong to it. */
export interface RenderedFailure {
  readonly status: number
  readonly body: JsonObject
  readonly headers: Readonly<Record<string, string>>
}

/** Renders a failure as the provider's own error body. `requestId` is the id in the answer's header. */
export function renderFailure(
  format: WireFormat,
  failure: PlanFailure,
  requestId: string,
): RenderedFailure {
  const words = wordsOf(format, failure)
  const headers = failureHeaders(format, failure)
  switch (format) {
    case 'openai_chat':
    case 'openai_responses':
      return { status: words.status, headers, body: { error: openaiError(words) } }
    case 'anthropic':
      return {
        status: words.status,
        headers,
        body: { type: 'error', error: anthropicError(words), request_id: requestId },
      }
    case 'gemini':
      return { status: words.status, headers, body: { error: geminiError(words, failure) } }
    default:
      return assertNever(format)
  }
}

/** What the provider says: the table's words, with what the script says in their place. */
export function wordsOf(format: WireFormat, failure: PlanFailure): FailureWords {
  const { reason, message, status } = failure
  const table =
    format === 'anthropic'
      ? anthropicFailures
      : format === 'gemini'
        ? geminiFailures
        : openaiFailures
  const usual = table[reason]
  const unusual = status !== undefined && status !== usual.status
  return {
    status: status ?? usual.status,
    // A status that the script chose brings its own word, where the word follows from the status.
    word: unusual ? wordOfStatus(format, status, usual.word) : usual.word,
    message: said(usual, message) + waitHint(format, failure),
  }
}

/** The script's own message, beside the usual one where only that tells the reason. */
function said(usual: FailureWords, message: string | undefined): string {
  if (message === undefined) return usual.message
  return usual.toldByMessage === true ? `${usual.message} (${message})` : message
}

/** OpenAI says how long to wait in its sentence too, which is all that there is of it inside a stream. */
function waitHint(format: WireFormat, { reason, retryAfterMs }: PlanFailure): string {
  if (format === 'anthropic' || format === 'gemini') return ''
  if (reason !== 'rate_limited' || retryAfterMs === undefined) return ''
  return ` Please try again in ${retryAfterMs / 1000}s.`
}

/** OpenAI's error object, as it stands in bodies and inside streams. */
export function openaiError({ status, word, message }: FailureWords): JsonObject {
  return { message, type: openaiType(status, word), param: null, code: word }
}

function openaiType(status: number, word: string | null): string {
  if (status === 429) return word === 'insufficient_quota' ? word : 'requests'
  if (status >= 500) return 'server_error'
  return word === 'unknown_error' ? word : 'invalid_request_error'
}

function anthropicError({ word, message }: FailureWords): JsonObject {
  return { type: word, message }
}

function geminiError(words: FailureWords, failure: PlanFailure): JsonObject {
  const details: JsonValue[] = []
  if (failure.reason === 'authentication_failed' && words.status === 400) {
    details.push({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
      metadata: { service: 'generativelanguage.googleapis.com' },
    })
  }
  if (failure.retryAfterMs !== undefined) {
    details.push({
      '@type': 'type.googleapis.com/google.rpc.RetryInfo',
      retryDelay: `${failure.retryAfterMs / 1000}s`,
    })
  }
  const error = { code: words.status, message: words.message, status: words.word }
  return details.length === 0 ? error : { ...error, details }
}

const googleWords: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

const anthropicWords: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'api_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function wordOfStatus(format: WireFormat, status: number, usual: string | null): string | null {
  if (format === 'gemini') return googleWords[status] ?? (status >= 500 ? 'INTERNAL' : 'UNKNOWN')
  return format === 'anthropic' ? (anthropicWords[status] ?? usual) : usual
}

/** Gemini says how long to wait in the body; the others in a header. Fractions of a second need `retry-after-ms`. */
function failureHeaders(format: WireFormat, failure: PlanFailure): Record<string, string> {
  const headers: Record<string, string> = {}
  const { retryAfterMs, reason } = failure
  if (retryAfterMs !== undefined && format !== 'gemini') {
    headers['retry-after'] = String(Math.ceil(retryAfterMs / 1000))
    if (format !== 'anthropic' || retryAfterMs % 1000 !== 0) {
      headers['retry-after-ms'] = String(retryAfterMs)
    }
  }
  // A client that tries again would only hear the same.
  if (reason === 'no_scripted_response') headers['x-should-retry'] = 'false'
  return headers
}
