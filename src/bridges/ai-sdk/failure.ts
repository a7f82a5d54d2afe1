import {
  AdapterError,
  EngineError,
  isAllmError,
  StreamError,
  type AllmError,
} from '../../core/errors/errors.ts'
import { thrownText } from '../../core/errors/to-json-value.ts'
import { isObject, parseJson } from '../../core/types/guards.ts'
import type { CallSink } from '../../providers/http/answer.ts'
import { transportFailure } from '../../providers/http/failure.ts'
import { firstWait, retryAfterMs } from '../../providers/http/retry-after.ts'
import { asCount, asText } from '../../providers/shared/read-json.ts'
import { failureParser } from '../../providers/shared/reported-failure.ts'
import type { Value } from './echo.ts'

/** What is known of a call when it fails. */
export interface FailedCall extends Pick<CallSink, 'provider' | 'requestId' | 'signal' | 'clean'> {
  /** Whether content has come. */
  readonly begun: boolean
  /** Whether the stream of the model is being read. */
  readonly reading: boolean
  /** The time of the call's clock, for dates in headers. */
  readonly now: number | undefined
}

/**
 * The error for what a model threw, or reported as an error part.
 *
 * The errors of the AI SDK are known by their names and members, so that any copy of its packages will do; the error object of a provider
 * is read as it is. The request, which those errors hold, is not kept: it is the whole conversation.
 */
export function modelFailure(error: unknown, call: FailedCall): AllmError {
  if (isAllmError(error)) return error
  const { provider, reading } = call
  const facts: Value = isObject(error) ? error : {}
  const { name, value, statusCode, cause } = facts
  const text = thrownText(error)
  const said = `${provider}: ${text}`
  if (name === 'AI_LoadAPIKeyError') return new EngineError('missing_key', said, { provider })
  if (name === 'AI_UnsupportedFunctionalityError')
    return new AdapterError('unsupported_feature', said)
  // A model that has no schema for failures inside an answer reports them as events that it does not know.
  if (isObject(value) && isObject(value['error'])) return reported(value, value, call)
  const isCall = name === 'AI_APICallError'
  const inner = isCall ? (cause ?? new Error(text)) : error
  if (isUnreadable(inner)) return unreadable(inner, call)
  // Where the call succeeded, or nobody answered, the connection broke.
  const isRefusal = statusCode === undefined ? !(error instanceof Error) : Number(statusCode) >= 300
  if (isRefusal) return reported(error, facts, call)
  if (reading || isCall) return broken(inner, call)
  // The other errors of the AI SDK are about the request, which they hold.
  return String(name).startsWith('AI_')
    ? new AdapterError('invalid_request', said)
    : new AdapterError('unknown', said, { cause: error })
}

/** Whether an error of the AI SDK is about an answer. One that comes first is hidden in the error of a call, with its words. */
function isUnreadable(error: unknown): boolean {
  const name = isObject(error) ? String(error['name']) : ''
  return (
    /^AI_(?:InvalidResponseData|EmptyResponseBody)Error$/.test(name) ||
    /^(?:JSON parsing|Type validation) failed/.test(thrownText(error))
  )
}

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

const answerMembers = 'choices candidates delta content_block message response item error'.split(
  ' ',
)

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
function reported(error: unknown, facts: Value, { provider, now }: FailedCall): AdapterError {
  const { message, statusCode, responseBody, responseHeaders, data } = facts
  const status = asCount(statusCode)
  const headers = headersOf(responseHeaders)
  const json = parseJson(String(responseBody)) ?? data ?? error
  const failure = failureParser(provider)({ status, headers, json })
  const words =
    failure.message ?? asText(message) ?? `${provider} answered ${status ?? 'with an error'}`
  return new AdapterError(failure.reason, words, {
    ...failure,
    status,
    retryAfterMs: firstWait(retryAfterMs(headers, now), failure.retryAfterMs),
  })
}

/** The headers of a response, as a model tells them. */
export function headersOf(value: unknown): Headers {
  try {
    return new Headers(Object(value) as Record<string, string>)
  } catch {
    // A model may be written without types.
    return new Headers()
  }
}
