import { reasonOfStatus, type AdapterErrorReason } from '../../core/errors/errors.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { HttpFailure, Refusal } from '../http/call.ts'
import { durationMs } from '../http/rate-limits.ts'
import { asCount, asList, asObject, asText } from './read-json.ts'

/** A failure as a provider reports it, in the body of an error response or inside a stream. */
interface ReportedFailure {
  readonly message: string | undefined
  readonly code: string | undefined
  readonly type: string | undefined
  readonly param: string | undefined
  /** The status that a failure inside a response with status 200 claims for itself. */
  readonly status: number | undefined
  /** Google says how long to wait among the details of an error, also where it speaks OpenAI's format. */
  readonly retryAfterMs: number | undefined
}

/** Reads error responses. The body may be JSON, the HTML of a proxy, or empty. A failure inside an answer has no status. */
export function failureParser(
  provider: string,
): (refusal: Pick<Refusal, 'json' | 'headers'> & { status: number | undefined }) => ReadFailure {
  return ({ status, json, headers }) => {
    const failure = readFailure(json)
    const judged = judgeFailure(provider, failure, status)
    const requestId = headers.get('x-request-id') ?? headers.get('apim-request-id')
    const retry = headers.get('x-should-retry')
    return defined<ReadFailure>({
      ...judged,
      retryable: retry === 'false' ? false : (judged.retryable ?? (retry === 'true' || undefined)),
      message: failure.message === undefined ? undefined : judged.message,
      metadata: defined<JsonObject>({
        ...judged.metadata,
        providerRequestId: requestId ?? undefined,
      }),
    })
  }
}

/** Reads an error object in any place: `{error: {…}}`, `{error: '…'}`, a list of those, or the object itself. */
export function readFailure(value: unknown): ReportedFailure {
  const outer = asObject(firstOf(value))
  const inner = firstOf(outer?.['error'] ?? outer?.['errors'] ?? value)
  const error = asObject(inner) ?? outer
  const code = error?.['code'] ?? undefined
  const claimed = statusIn(error?.['status_code']) ?? statusIn(error?.['status']) ?? statusIn(code)
  return {
    message:
      asText(inner) ??
      wordsOf(error?.['message']) ??
      wordsOf(outer?.['message']) ??
      wordsOf(outer?.['detail']),
    code: asText(code),
    type: asText(error?.['type']),
    param: asText(error?.['param']),
    status: claimed,
    retryAfterMs: retryDelayIn(error?.['details']),
  }
}

/** The `retryDelay` of Google's `RetryInfo`: seconds, written `34.4s`. */
export function retryDelayIn(details: unknown): number | undefined {
  const delays = asList(details).map((detail) => asText(asObject(detail)?.['retryDelay']) ?? '')
  const seconds = delays.map((delay) => Number.parseFloat(delay)).find(Number.isFinite)
  return seconds === undefined ? undefined : Math.ceil(seconds * 1000)
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value
}

/** The HTTP status in a number or its text, if it is that of an error. */
function statusIn(value: unknown): number | undefined {
  const status = asCount(value) ?? Number(asText(value))
  return status >= 400 && status < 600 ? status : undefined
}

/** The message. Some servers send the problems as structured data in its place. */
function wordsOf(value: unknown): string | undefined {
  const isStructured = typeof value === 'object' && value !== null
  return isStructured ? JSON.stringify(value).slice(0, 500) : asText(value)
}

type ReadFailure = HttpFailure & { readonly reason: AdapterErrorReason }

type JudgedFailure = HttpFailure & {
  readonly reason: AdapterErrorReason
  readonly message: string
  readonly metadata: JsonObject
}

/** Classifies a failure: by the provider's own word if it is known, else by status. */
export function judgeFailure(
  provider: string,
  failure: ReportedFailure,
  status: number | undefined = failure.status,
): JudgedFailure {
  const reason = reasonOf(failure, status)
  const { message, code, type, param } = failure
  const fallback = `${provider} answered ${status ?? 'with an error'}`
  return defined<JudgedFailure>({
    reason,
    message: message ?? fallback,
    retryable: [code, type].some(isQuota) ? false : undefined,
    retryAfterMs:
      failure.retryAfterMs ?? (reason === 'rate_limited' ? waitIn(message ?? '') : undefined),
    metadata: defined<JsonObject>({ code, type, param }),
  })
}

/** A used-up quota does not come back by waiting, so it is not retried. */
function isQuota(word: string | undefined): boolean {
  return word === 'insufficient_quota' || word === 'billing_hard_limit_reached'
}

/** The codes and types of OpenAI, of compatible servers, and of other APIs that are reached through one, after what they mean. */
const words: readonly (readonly [AdapterErrorReason, string])[] = [
  [
    'context_length_exceeded',
    'context_length_exceeded exceed_context_size_error string_above_max_length',
  ],
  [
    'content_filter',
    'content_filter content_policy_violation image_content_policy_violation bio_policy moderation_blocked ResponsibleAIPolicyViolation',
  ],
  ['authentication_failed', 'invalid_api_key authentication_error permission_error'],
  [
    'rate_limited',
    'rate_limit_exceeded rate_limit_error insufficient_quota billing_hard_limit_reached tokens requests',
  ],
  [
    'provider_unavailable',
    'server_error internal_error overloaded_error api_error timeout_error service_unavailable',
  ],
  ['timeout', 'vector_store_timeout timeout'],
  ['invalid_request', 'invalid_request_error invalid_prompt model_not_found'],
]

function reasonOf(failure: ReportedFailure, status: number | undefined): AdapterErrorReason {
  const { code = '', type = '', message = '' } = failure
  const byWord = wordReason(code) ?? wordReason(type)
  const byText = status === undefined || status < 500 ? textReason(message) : undefined
  // These override a status. The others are used only without one.
  if (byWord === 'context_length_exceeded' || byWord === 'content_filter') return byWord
  if (status === undefined) return wordReason(code) ?? byText ?? byWord ?? 'unknown'
  if (status === 400 || status === 413 || status === 422) {
    return wordReason(code) === 'authentication_failed'
      ? 'authentication_failed'
      : (byText ?? 'invalid_request')
  }
  return reasonOfStatus(status)
}

function wordReason(word: string): AdapterErrorReason | undefined {
  return words.find(([, list]) => list.split(' ').includes(word))?.[0]
}

/** Messages of servers that send no code. */
const sentences: readonly (readonly [RegExp, AdapterErrorReason])[] = [
  [
    /maximum context length|context window|context size|context length|prompt is too long|too many (?:input )?tokens|maximum number of tokens/i,
    'context_length_exceeded',
  ],
  [/content management policy|content filter|responsible ai practices/i, 'content_filter'],
  [/(?:incorrect|invalid) api key|api key not valid/i, 'authentication_failed'],
]

function textReason(message: string): AdapterErrorReason | undefined {
  return sentences.find(([sentence]) => sentence.test(message))?.[1]
}

/** The time in "Please try again in 1.5s". */
function waitIn(message: string): number | undefined {
  const [, duration = ''] = /try again in ((?:[\d.]+[a-z]+)+)/i.exec(message) ?? []
  const waitMs = Math.round(durationMs(duration) ?? 0)
  return waitMs > 0 ? waitMs : undefined
}
