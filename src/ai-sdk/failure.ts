import {
  AdapterError,
  EngineError,
  isAllmError,
  reasonOfStatus,
  StreamError,
  type AdapterErrorReason,
  type AllmError,
} from '../errors/errors.ts'
import { thrownText } from '../errors/to-json-value.ts'
import { beginning, messageIn, retryAfterMs, transportFailure } from '../http/failure.ts'
import { asCount, asText } from '../providers/shared/read-json.ts'
import { defined, isObject, parseJson } from '../types/guards.ts'

/** What is known of a call when it fails. */
export interface FailedCall {
  readonly provider: string
  readonly signal: AbortSignal
  /** Whether content has come. */
  readonly begun: boolean
  /** Whether the stream of the model is being read. */
  readonly reading: boolean
  /** The time of the call's clock, for dates in headers. */
  readonly now: number
  /** Removes the secrets of the call from a text. */
  readonly clean: (text: string) => string
}

type Members = Readonly<Record<string, unknown>>

/**
 * The error for what a model threw, or reported as an error part.
 *
 * The errors of the AI SDK are known by their names and members, so that any copy of its packages will do; the error object of a provider
 * is read as it is. The request, which those errors hold, is not kept: it is the whole conversation.
 */
export function modelFailure(error: unknown, call: FailedCall): AllmError {
  if (isAllmError(error)) return error
  const { provider } = call
  const facts: Members = isObject(error) ? error : {}
  const said = `${provider}: ${thrownText(error)}`
  const name = asText(facts['name']) ?? ''
  if (name === 'AI_LoadAPIKeyError') return new EngineError('missing_key', said, { provider })
  if (Object.hasOwn(reasonByName, name))
    return new AdapterError(reasonByName[name] ?? 'unknown', said)
  if (unreadableNames.has(name)) {
    // A model that has no schema for failures inside an answer reports them as events that it does not know.
    const { value } = facts
    const isReport = isObject(value) && value['error'] !== undefined && value['error'] !== null
    return isReport ? reported(value, value, call) : unreadable(error, call)
  }
  const isSuccess = Math.floor((asCount(facts['statusCode']) ?? 0) / 100) === 2
  const isThrown = error instanceof Error
  if (
    isThrown &&
    (isSuccess || (name === 'AI_APICallError' && facts['statusCode'] === undefined))
  ) {
    // The call succeeded, or nobody answered: the connection broke, or the body was not an answer.
    const { cause = error } = error
    return isObject(cause) && unreadableNames.has(String(cause['name']))
      ? unreadable(cause, call)
      : broken(cause, call)
  }
  if (!isThrown || asCount(facts['statusCode']) !== undefined) return reported(error, facts, call)
  return call.reading
    ? broken(error, call)
    : new AdapterError('unknown', `${provider} failed: ${thrownText(error)}`, { cause: error })
}

/** The errors of the AI SDK about a request. */
const reasonByName: Readonly<Record<string, AdapterErrorReason>> = {
  AI_UnsupportedFunctionalityError: 'unsupported_feature',
  AI_InvalidPromptError: 'invalid_request',
  AI_InvalidArgumentError: 'invalid_request',
  AI_NoSuchModelError: 'invalid_request',
  AI_LoadSettingError: 'invalid_request',
}

/** The errors of the AI SDK about an answer. */
const unreadableNames: ReadonlySet<string> = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_InvalidResponseDataError',
  'AI_EmptyResponseBodyError',
])

/**
 * Whether an error part is about an event that the model does not know, and that is not a piece of an answer.
 *
 * Models check every event against a schema, and report one that fails; later events are still read. A new kind of event is passed over, as
 * everywhere. One that has the members of an answer is not: passing it over would lose a piece of the answer without a word.
 */
export function isForeignEvent(error: unknown): boolean {
  if (!isObject(error) || error['name'] !== 'AI_TypeValidationError') return false
  const { value } = error
  return isObject(value) && !answerMembers.some((member) => member in value)
}

const answerMembers = [
  'choices',
  'candidates',
  'delta',
  'content_block',
  'message',
  'response',
  'item',
  'error',
]

/** How much of an event that cannot be read is quoted. */
const quotedLength = 200

/** The event is not kept as a cause: it may hold anything. */
function unreadable(error: unknown, { provider, begun, clean }: FailedCall): AllmError {
  const text = clean(thrownText(error)).slice(0, quotedLength)
  const message = `${provider} sent an event that cannot be read: ${text}`
  return begun
    ? new StreamError('malformed_event', message)
    : new AdapterError('malformed_response', message)
}

function broken(error: unknown, call: FailedCall): AllmError {
  const failure = transportFailure(error, call, call.signal, call.reading)
  if (!call.begun || failure.kind !== 'adapter') return failure
  const reason = failure.reason === 'timeout' ? 'timeout' : 'truncated'
  return new StreamError(reason, failure.message, { cause: error })
}

/** The failure that a provider reports: with a status, or inside an answer. */
function reported(error: unknown, facts: Members, call: FailedCall): AdapterError {
  const { provider, now } = call
  const body = asText(facts['responseBody'])
  const report = reportIn(body === undefined ? error : (parseJson(body) ?? facts['data'] ?? error))
  const status = statusIn(facts['statusCode']) ?? statusIn(report.code)
  const headers = headersOf(facts['responseHeaders'])
  const message =
    messageIn(report.source) ??
    asText(facts['message']) ??
    asText(error) ??
    `${provider} answered ${status ?? 'with an error'}${beginning(body ?? '', call)}`
  const words = [report.code, report.type, report.status, message].join(' ')
  const reason = reasonOf(status, words)
  const retry = headers.get('x-should-retry')
  return new AdapterError(reason, message, {
    status,
    retryAfterMs:
      retryAfterMs(headers, now) ??
      (reason === 'rate_limited'
        ? waitIn(`${body ?? JSON.stringify(facts['data'] ?? '')} ${message}`)
        : undefined),
    // A used-up quota does not come back by waiting.
    retryable:
      retry === 'false' || /insufficient_quota|billing_hard_limit/.test(words)
        ? false
        : retry === 'true'
          ? true
          : undefined,
    metadata: defined<Members>({
      code: report.code ?? undefined,
      type: report.type ?? undefined,
      providerRequestId: headers.get('x-request-id') ?? headers.get('request-id') ?? undefined,
    }),
  })
}

/** The error of a provider, in its words. */
interface Report {
  /** What has the message. */
  readonly source: unknown
  readonly code: unknown
  readonly type: unknown
  readonly status: unknown
}

/** Reads an error object in any place: itself, under `error`, under `data`, or in a list. */
function reportIn(value: unknown): Report {
  const outer: unknown = Array.isArray(value) ? value[0] : value
  const members: Members = isObject(outer) ? outer : {}
  const source = isObject(members['data']) ? members['data'] : members
  const { code, type, status } = isObject(source['error']) ? source['error'] : source
  return { source: isObject(outer) ? source : outer, code, type, status }
}

function statusIn(value: unknown): number | undefined {
  const status = Number(value)
  return status >= 300 && status < 600 ? status : undefined
}

function headersOf(value: unknown): Headers {
  const headers = new Headers()
  for (const [name, text] of Object.entries(isObject(value) ? value : {})) {
    if (typeof text === 'string' && /^[\w-]+$/.test(name))
      headers.set(name, text.replaceAll(/[^\t\x20-\x7E]/g, ''))
  }
  return headers
}

/** What a status does not tell: these words mean the same at every provider. */
const detailed: readonly (readonly [RegExp, AdapterErrorReason])[] = [
  [
    /context[_ ](?:length|window|size)|prompt is too long|too many (?:input )?tokens|maximum number of tokens|exceed_context/i,
    'context_length_exceeded',
  ],
  [
    /content[_ ](?:filter|policy|management)|moderation_blocked|prohibited_content|responsible ai|safety/i,
    'content_filter',
  ],
  [/api[_ ]key[_ ](?:not valid|invalid)|invalid[_ ]api[_ ]key/i, 'authentication_failed'],
]

/** What the words of a failure without a status mean. */
const wordReasons: readonly (readonly [RegExp, AdapterErrorReason])[] = [
  [/rate[_ ]?limit|quota|RESOURCE_EXHAUSTED/i, 'rate_limited'],
  [/authentication|permission|unauthenticated/i, 'authentication_failed'],
  [/overloaded|unavailable|server_error|internal|api_error/i, 'provider_unavailable'],
  [/timeout|DEADLINE_EXCEEDED/i, 'timeout'],
  [/invalid|not_found|bad_request/i, 'invalid_request'],
]

function reasonOf(status: number | undefined, words: string): AdapterErrorReason {
  const find = (table: typeof detailed): AdapterErrorReason | undefined =>
    table.find(([pattern]) => pattern.test(words))?.[1]
  if (status === undefined) return find(detailed) ?? find(wordReasons) ?? 'unknown'
  const isVague = status === 400 || status === 413 || status === 422
  return (isVague ? find(detailed) : undefined) ?? reasonOfStatus(status)
}

/** The time to wait in the body of a failure: Google's `retryDelay`, or "try again in 1.5s". */
function waitIn(text: string): number | undefined {
  const [, seconds, count, unit] =
    /"retryDelay": ?"([\d.]+)s"|try again in ([\d.]+)(m?s)/i.exec(text) ?? []
  const ms = unit?.toLowerCase() === 'ms' ? Number(count) : Number(seconds ?? count) * 1000
  return Number.isFinite(ms) ? Math.round(ms) : undefined
}
