import type { AdapterErrorReason } from '../errors/errors.ts'

/** What a provider says for a reason: its status, its own word for it, and a sentence. */
export interface FailureWords {
  readonly status: number
  /** The provider's word: OpenAI's `code` (or null), Anthropic's `type`, Gemini's `status`. */
  readonly word: string | null
  readonly message: string
  /** The message alone tells this reason from others with the same status and word. */
  readonly toldByMessage?: boolean
}

type FailureTable = Readonly<Record<AdapterErrorReason, FailureWords>>

/** OpenAI, both endpoints: the code of the error object. */
export const openaiFailures: FailureTable = {
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
  malformed_response: { status: 200, word: null, message: 'An answer that can not be read.' },
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
export const anthropicFailures: FailureTable = {
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
    message: 'An answer that can not be read.',
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
export const geminiFailures: FailureTable = {
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
    message: 'An answer that can not be read.',
  },
  unsupported_feature: {
    status: 400,
    word: 'INVALID_ARGUMENT',
    message: 'The feature is not supported.',
  },
  no_scripted_response: { status: 501, word: 'UNIMPLEMENTED', message: 'no scripted response' },
  unknown: { status: 418, word: 'UNKNOWN', message: 'scripted error' },
}
