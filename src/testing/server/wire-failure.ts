import type { AdapterErrorReason } from '../../core/errors/errors.ts'
import { assertNever } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { PlanFailure } from './plan.ts'
import type { RenderContext, WireFormat } from './wire-format.ts'

/** A provider's refusal: status, body and headers. */
interface RenderedFailure {
  readonly status: number
  readonly body: JsonObject
  readonly headers: Readonly<Record<string, string>>
}

/** Renders a failure as the error body of the provider, or of its platform. `requestId` is the id in the answer's header. */
export function renderFailure(
  format: WireFormat,
  failure: PlanFailure,
  { requestId, platform }: Pick<RenderContext, 'requestId' | 'platform'>,
): RenderedFailure {
  if (platform === 'bedrock') return awsFailure(failure)
  if (platform === 'vertex' && (format === 'gemini' || reportedByGoogle.has(failure.reason))) {
    return vertexFailure(failure)
  }
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

/** What Vertex AI reports itself for a model of another maker. The rest comes from the maker. */
const reportedByGoogle: ReadonlySet<AdapterErrorReason> = new Set([
  'authentication_failed',
  'rate_limited',
  'provider_unavailable',
])

/** A refusal of Vertex AI: Google's words, but a credential that is refused is not a wrong key. */
function vertexFailure(given: PlanFailure): RenderedFailure {
  const isKey = given.reason === 'authentication_failed' && given.status === undefined
  const message = 'Request had invalid authentication credentials.'
  const failure = isKey ? { message, ...given, status: 401 } : given
  const words = wordsOf('gemini', failure)
  const headers = failureHeaders('gemini', failure)
  return { status: words.status, headers, body: { error: geminiError(words, failure) } }
}

/** A refusal of AWS: its name is in a header. */
function awsFailure(failure: PlanFailure): RenderedFailure {
  const { reason, message, status } = failure
  const usual = awsFailures[reason]
  return {
    status: status ?? usual.status,
    headers: {
      ...failureHeaders('anthropic', failure),
      ...(usual.word === null || status !== undefined
        ? {}
        : { 'x-amzn-errortype': `${usual.word}:http://internal.amazon.com/coral/` }),
    },
    body: { message: messageOf(usual, message) },
  }
}

/** Status, word and message of a failure: those of the script, else those of the table. */
export function wordsOf(format: WireFormat, failure: PlanFailure): FailureWords {
  const { reason, message, status } = failure
  const usual = failureTables[format][reason]
  const unusual = status !== undefined && status !== usual.status
  return {
    status: status ?? usual.status,
    // Where the word follows from the status, a status of the script has its own word.
    word: unusual ? wordOfStatus(format, status, usual.word) : usual.word,
    message: messageOf(usual, message) + waitHint(format, failure),
  }
}

/** The message of the script, after the usual message where only that tells the reason. */
function messageOf(usual: FailureWords, message: string | undefined): string {
  if (message === undefined) return usual.message
  return usual.toldByMessage === true ? `${usual.message} (${message})` : message
}

/** OpenAI also puts the time to wait into its message. Inside a stream there is no other place for it. */
function waitHint(format: WireFormat, { reason, retryAfterMs }: PlanFailure): string {
  if (format === 'anthropic' || format === 'gemini') return ''
  if (reason !== 'rate_limited' || retryAfterMs === undefined) return ''
  return ` Please try again in ${retryAfterMs / 1000}s.`
}

/** OpenAI's error object, in bodies and inside streams. */
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

/** The time to wait is in a header, for Gemini in the body. Fractions of a second need `retry-after-ms`. */
function failureHeaders(format: WireFormat, failure: PlanFailure): Record<string, string> {
  const headers: Record<string, string> = {}
  const { retryAfterMs, reason } = failure
  if (retryAfterMs !== undefined && format !== 'gemini') {
    headers['retry-after'] = String(Math.ceil(retryAfterMs / 1000))
    if (format !== 'anthropic' || retryAfterMs % 1000 !== 0) {
      headers['retry-after-ms'] = String(retryAfterMs)
    }
  }
  // A retry would get the same answer.
  if (reason === 'no_scripted_response') headers['x-should-retry'] = 'false'
  return headers
}

/** How a provider reports a reason: status, word and message. */
interface FailureWords {
  readonly status: number
  /** The provider's word: OpenAI's `code` (or null), Anthropic's `type`, Gemini's `status`. */
  readonly word: string | null
  readonly message: string
  /** Whether only the message distinguishes this reason from others with the same status and word. */
  readonly toldByMessage?: boolean
}

type FailureTable = Readonly<Record<AdapterErrorReason, FailureWords>>

/** OpenAI, both endpoints: the code of the error object. */
const openaiFailures: FailureTable = {
  authentication_failed: {
    status: 401,
    word: 'invalid_api_key',
    message: 'Incorrect API key provided.',
  },
  rate_limited: { status: 429, word: 'rate_limit_exceeded', message: 'Rate limit reached.' },
  invalid_request: { status: 400, word: null, message: 'The request is invalid.' },
  content_filter: {
    status: 400,
    word: 'content_filter',
    message: 'The content was blocked by the content management policy.',
  },
  context_length_exceeded: {
    status: 400,
    word: 'context_length_exceeded',
    message: 'Your input exceeds the context window of this model.',
  },
  provider_unavailable: {
    status: 503,
    word: 'server_error',
    message: 'The server had an error while processing the request.',
  },
  timeout: { status: 504, word: 'server_error', message: 'The request timed out.' },
  network_error: { status: 502, word: 'server_error', message: 'Bad gateway.' },
  malformed_response: { status: 200, word: null, message: 'The answer cannot be parsed.' },
  unsupported_feature: {
    status: 400,
    word: 'unsupported_parameter',
    message: 'Unsupported parameter.',
  },
  no_scripted_response: {
    status: 501,
    word: 'no_scripted_response',
    message: 'no scripted response',
  },
  unknown: { status: 418, word: 'unknown_error', message: 'scripted error' },
}

/** Anthropic: the type of the error object. */
const anthropicFailures: FailureTable = {
  authentication_failed: {
    status: 401,
    word: 'authentication_error',
    message: 'invalid x-api-key',
  },
  rate_limited: {
    status: 429,
    word: 'rate_limit_error',
    message: 'This request would exceed the rate limit.',
  },
  invalid_request: {
    status: 400,
    word: 'invalid_request_error',
    message: 'The request is invalid.',
  },
  content_filter: {
    status: 400,
    word: 'invalid_request_error',
    message: 'Output blocked by content filtering policy',
    toldByMessage: true,
  },
  context_length_exceeded: {
    status: 400,
    word: 'invalid_request_error',
    message: 'prompt is too long: 200001 tokens > 200000 maximum',
    toldByMessage: true,
  },
  provider_unavailable: { status: 529, word: 'overloaded_error', message: 'Overloaded' },
  timeout: { status: 504, word: 'timeout_error', message: 'The request timed out.' },
  network_error: { status: 502, word: 'api_error', message: 'Bad gateway.' },
  malformed_response: {
    status: 200,
    word: 'api_error',
    message: 'The answer cannot be parsed.',
  },
  unsupported_feature: {
    status: 400,
    word: 'invalid_request_error',
    message: 'The feature is not supported.',
  },
  no_scripted_response: { status: 501, word: 'api_error', message: 'no scripted response' },
  unknown: { status: 418, word: 'unknown_error', message: 'scripted error' },
}

/** Gemini: the status word of the error object. */
const geminiFailures: FailureTable = {
  authentication_failed: {
    status: 400,
    word: 'INVALID_ARGUMENT',
    message: 'API key not valid. Please pass a valid API key.',
  },
  rate_limited: { status: 429, word: 'RESOURCE_EXHAUSTED', message: 'The quota is exceeded.' },
  invalid_request: { status: 400, word: 'INVALID_ARGUMENT', message: 'The request is invalid.' },
  content_filter: {
    status: 400,
    word: 'INVALID_ARGUMENT',
    message: "The prompt could not be used: it violates Google's Responsible AI practices.",
    toldByMessage: true,
  },
  context_length_exceeded: {
    status: 400,
    word: 'INVALID_ARGUMENT',
    message:
      'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).',
    toldByMessage: true,
  },
  provider_unavailable: {
    status: 503,
    word: 'UNAVAILABLE',
    message: 'The model is overloaded. Please try again later.',
  },
  timeout: { status: 504, word: 'DEADLINE_EXCEEDED', message: 'The deadline was exceeded.' },
  network_error: { status: 502, word: 'UNAVAILABLE', message: 'Bad gateway.' },
  malformed_response: {
    status: 200,
    word: 'INTERNAL',
    message: 'The answer cannot be parsed.',
  },
  unsupported_feature: {
    status: 400,
    word: 'INVALID_ARGUMENT',
    message: 'The feature is not supported.',
  },
  no_scripted_response: { status: 501, word: 'UNIMPLEMENTED', message: 'no scripted response' },
  unknown: { status: 418, word: 'UNKNOWN', message: 'scripted error' },
}

/** AWS: the name of the error. */
const awsFailures: FailureTable = {
  authentication_failed: {
    status: 403,
    word: 'UnrecognizedClientException',
    message: 'The security token included in the request is invalid.',
  },
  rate_limited: {
    status: 429,
    word: 'ThrottlingException',
    message: 'Too many requests, please wait before trying again.',
  },
  invalid_request: { status: 400, word: 'ValidationException', message: 'The request is invalid.' },
  content_filter: {
    status: 400,
    word: 'ValidationException',
    message: 'Output blocked by content filtering policy',
    toldByMessage: true,
  },
  context_length_exceeded: {
    status: 400,
    word: 'ValidationException',
    message: 'Input is too long for requested model.',
    toldByMessage: true,
  },
  provider_unavailable: {
    status: 503,
    word: 'ServiceUnavailableException',
    message: 'The service is not available.',
  },
  timeout: { status: 408, word: 'ModelTimeoutException', message: 'The model took too long.' },
  network_error: { status: 502, word: null, message: 'Bad gateway.' },
  malformed_response: { status: 200, word: null, message: 'The answer cannot be parsed.' },
  unsupported_feature: {
    status: 400,
    word: 'ValidationException',
    message: 'The feature is not supported.',
  },
  no_scripted_response: { status: 501, word: null, message: 'no scripted response' },
  unknown: { status: 418, word: null, message: 'scripted error' },
}

const failureTables: Readonly<Record<WireFormat, FailureTable>> = {
  openai_chat: openaiFailures,
  openai_responses: openaiFailures,
  anthropic: anthropicFailures,
  gemini: geminiFailures,
}

/** The headers of every answer of OpenAI. */
export function openaiHeaders(requestId: string): Readonly<Record<string, string>> {
  return {
    'x-request-id': requestId,
    'openai-version': '2020-10-01',
    'openai-processing-ms': '1',
  }
}
