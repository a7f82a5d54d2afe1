import type { CauseData, ErrorData, ErrorKind, Issue } from '../types/error-data.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { PartialResult } from '../types/results.ts'
import { redact, redactJson } from './redact.ts'
import { thrownText, toJsonValue } from './to-json-value.ts'

/** Marks our errors across duplicate copies of the package, where `instanceof` does not work. */
const brand: unique symbol = Symbol.for('allm-ts.error')

/** What every error may have besides its reason and message. */
interface ErrorDetails {
  readonly cause?: unknown
  /** Becomes plain data: API keys are redacted, and a value that JSON cannot hold is described. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly requestId?: string | undefined
  readonly partial?: PartialResult | undefined
  readonly causes?: readonly AnyAllmError[] | undefined
}

/**
 * The base of every error of this library. Branch on `kind` and `reason`; `message` is for people.
 *
 * Messages and metadata never contain an API key: any text that looks like one is redacted here.
 *
 * The fields of the classes are only declared: their constructors set them all.
 */
export abstract class AllmError<Reason extends string = string> extends Error {
  abstract readonly kind: ErrorKind
  declare readonly reason: Reason
  declare readonly metadata: JsonObject
  declare readonly requestId: string | undefined
  /** What had been received when the call failed. Set on errors that reject `generate`, `step` and `chat`. */
  declare partial: PartialResult | undefined
  /** The failures before this one, the first one first: those of the adapters that a fallback has tried. Empty for most errors. */
  declare causes: readonly AnyAllmError[]

  constructor(reason: Reason, message: string, details: ErrorDetails = {}) {
    super(redact(message), details.cause === undefined ? {} : { cause: details.cause })
    this.reason = reason
    this.metadata = redactJson(toJsonValue(details.metadata ?? {}) as JsonObject)
    this.requestId = details.requestId
    this.partial = details.partial
    this.causes = details.causes ?? []
    Object.defineProperty(this, brand, { value: true })
  }

  /** The error as plain data; `errorFromJSON` restores it. The cause is described, never copied. */
  toJSON(): ErrorData {
    return defined<ErrorData>({
      kind: this.kind,
      reason: this.reason,
      message: this.message,
      metadata: Object.keys(this.metadata).length === 0 ? undefined : this.metadata,
      cause: this.cause === undefined ? undefined : redactJson(toJsonValue(this.cause)),
      requestId: this.requestId,
      partial: this.partial,
      causes: this.causes.length === 0 ? undefined : this.causes.map(causeData),
      ...Object.fromEntries(ownFields.map((field) => [field, Reflect.get(this, field)])),
    })
  }
}

/** An error as one of the causes of another: without a partial result, which is content, and without causes, which are in the same list. */
export function causeData(error: AllmError): CauseData {
  const { partial: _content, causes: _listed, ...data } = error.toJSON()
  return data
}

/** The fields that the kinds of errors add, each to its JSON too. */
const ownFields: readonly (keyof ErrorData)[] = [
  'provider',
  'status',
  'retryAfterMs',
  'retryable',
  'eventIndex',
  'toolName',
  'toolCallId',
  'issues',
]

/** Any error of this library, one type for each `kind`: `error.kind === 'adapter'` tells the compiler that it is an `AdapterError`. */
export type AnyAllmError =
  | AdapterError
  | StreamError
  | ToolError
  | EngineError
  | ValidationError
  | SessionError
  | ImageAdapterError

/**
 * Whether a value is an error of this library, also when it comes from another copy of the package. The compiler then knows
 * the class by the `kind`.
 */
export function isAllmError(value: unknown): value is AnyAllmError {
  try {
    return typeof value === 'object' && value !== null && brand in value
  } catch {
    // A proxy may refuse to be asked.
    return false
  }
}

/** Why any call to a provider may fail. */
const callErrorReasons = [
  'authentication_failed',
  'rate_limited',
  'invalid_request',
  'content_filter',
  'context_length_exceeded',
  'provider_unavailable',
  'timeout',
  'network_error',
  'malformed_response',
  'unsupported_feature',
  'unknown',
] as const

type CallErrorReason = (typeof callErrorReasons)[number]

/** Why a provider call failed. Closed. */
export type AdapterErrorReason = CallErrorReason | 'no_scripted_response'

/** Every reason of an `AdapterError`. */
export const adapterErrorReasons: readonly AdapterErrorReason[] = [
  ...callErrorReasons,
  'no_scripted_response',
]

/** What each HTTP status of a refusal means, the same for every provider. A provider's own words may say more. */
const reasonByStatus: Readonly<Record<number, AdapterErrorReason>> = {
  400: 'invalid_request',
  401: 'authentication_failed',
  // The account cannot pay. Neither waiting nor another request helps.
  402: 'authentication_failed',
  403: 'authentication_failed',
  404: 'invalid_request',
  405: 'invalid_request',
  408: 'timeout',
  409: 'invalid_request',
  411: 'invalid_request',
  413: 'invalid_request',
  415: 'invalid_request',
  422: 'invalid_request',
  429: 'rate_limited',
}

/** The reason of a refusal with this HTTP status. */
export function reasonOfStatus(status: number): AdapterErrorReason {
  return reasonByStatus[status] ?? (status >= 500 ? 'provider_unavailable' : 'unknown')
}

/** The reasons of failures after which another attempt may succeed. All others are final. */
export const transientReasons: readonly AdapterErrorReason[] = [
  'rate_limited',
  'provider_unavailable',
  'timeout',
  'network_error',
]

/** What is known about a failed provider call. */
export interface AdapterErrorDetails extends ErrorDetails {
  readonly provider?: string | undefined
  /** The HTTP status, if the provider answered. */
  readonly status?: number | undefined
  /** How long the provider asked the caller to wait. */
  readonly retryAfterMs?: number | undefined
  /** Whether another attempt may succeed. Follows from the reason unless the provider states it. */
  readonly retryable?: boolean | undefined
}

/** A failed call to a provider, for chat or for images. */
abstract class CallError<
  Reason extends AdapterErrorReason | ImageAdapterErrorReason,
> extends AllmError<Reason> {
  declare readonly provider: string | undefined
  declare readonly status: number | undefined
  declare readonly retryAfterMs: number | undefined
  declare readonly retryable: boolean

  constructor(reason: Reason, message: string, details: AdapterErrorDetails = {}) {
    super(reason, message, details)
    this.provider = details.provider
    this.status = Number.isInteger(details.status) ? count(details.status) : undefined
    this.retryAfterMs = count(details.retryAfterMs)
    this.retryable = details.retryable ?? transientReasons.some((known) => known === reason)
  }
}

/** A number that may come from a provider: one that is negative or not finite says nothing. */
function count(value: number | undefined): number | undefined {
  return Number.isFinite(value) && Number(value) >= 0 ? value : undefined
}

/** A provider call failed. Branch on `reason`. */
export class AdapterError extends CallError<AdapterErrorReason> {
  override readonly name = 'AdapterError'
  readonly kind = 'adapter'
}

/** Why an image call failed: the adapter reasons, and an operation that the provider does not support. Closed. */
export type ImageAdapterErrorReason = CallErrorReason | 'unsupported_operation'

/** Every reason of an `ImageAdapterError`. */
export const imageAdapterErrorReasons: readonly ImageAdapterErrorReason[] = [
  ...callErrorReasons,
  'unsupported_operation',
]

/** An image call failed. Branch on `reason`. */
export class ImageAdapterError extends CallError<ImageAdapterErrorReason> {
  override readonly name = 'ImageAdapterError'
  readonly kind = 'image_adapter'
}

/** Every reason of a `StreamError`. */
export const streamErrorReasons = [
  'cancelled',
  'timeout',
  'malformed_event',
  'truncated',
  'too_large',
  'already_read',
  'adapter_error',
  'unknown',
] as const

/** How a stream broke. Closed. */
export type StreamErrorReason = (typeof streamErrorReasons)[number]

/** What is known about a broken stream. */
interface StreamErrorDetails extends ErrorDetails {
  readonly provider?: string | undefined
  /** The number of events before the failure. */
  readonly eventIndex?: number | undefined
}

/** The transport broke, or the stream was stopped. Branch on `reason`. */
export class StreamError extends AllmError<StreamErrorReason> {
  override readonly name = 'StreamError'
  readonly kind = 'stream'
  declare readonly provider: string | undefined
  declare readonly eventIndex: number | undefined

  constructor(reason: StreamErrorReason, message: string, details: StreamErrorDetails = {}) {
    super(reason, message, details)
    this.provider = details.provider
    this.eventIndex = Number.isInteger(details.eventIndex) ? count(details.eventIndex) : undefined
  }
}

/** The error of a call that its caller stopped. */
export function cancelledCall(call: {
  readonly provider: string
  readonly requestId?: string | undefined
  readonly signal?: AbortSignal | undefined
}): StreamError {
  const { provider, requestId, signal } = call
  const message = `the call to ${provider} was cancelled`
  return new StreamError('cancelled', message, { provider, requestId, cause: signal?.reason })
}

/** The error of a call that failed: one of ours as it is, and anything else as `unknown`. */
export function failedCall(
  error: unknown,
  call: { readonly provider: string; readonly requestId?: string | undefined },
): AnyAllmError {
  if (isAllmError(error)) return error
  const { provider, requestId } = call
  const message = `${provider} failed: ${thrownText(error)}`
  return new AdapterError('unknown', message, { provider, requestId, cause: error })
}

/** The error of a call that waited too long: for its first content, or in a silence after it. */
export function timedOutCall(
  call: { readonly provider: string; readonly requestId?: string | undefined },
  ms: number,
  begun: boolean,
): AdapterError {
  const { provider, requestId } = call
  const what = begun
    ? `was silent for ${ms} ms (streamTimeoutMs)`
    : `sent no content within ${ms} ms (requestTimeoutMs)`
  return new AdapterError('timeout', `${provider} ${what}`, { provider, requestId })
}

/** How many bytes one answer may have, unless the call says otherwise. */
export const defaultMaxResponseBytes: number = 64 * 1024 * 1024

/** The error of an answer that is longer than its bound. */
export function tooLongAnswer(
  call: { readonly provider: string; readonly requestId?: string | undefined },
  maxBytes: number,
  eventIndex: number,
): StreamError {
  const { provider, requestId } = call
  const message = `the answer of ${provider} is longer than ${maxBytes} bytes (maxResponseBytes)`
  return new StreamError('too_large', message, { provider, requestId, eventIndex })
}

/** Every reason of a `ToolError`. */
export const toolErrorReasons = [
  'handler_raised',
  'handler_failed',
  'timeout',
  'invalid_return',
  'invalid_arguments',
  'not_found',
  'encoding_failed',
] as const

/** How a tool call failed. Closed. */
export type ToolErrorReason = (typeof toolErrorReasons)[number]

/** What is known about a failed tool call. */
interface ToolErrorDetails extends ErrorDetails {
  readonly toolName?: string | undefined
  readonly toolCallId?: string | undefined
}

/** A tool call failed. The model reads one short sentence about it; the caller gets the whole error. */
export class ToolError extends AllmError<ToolErrorReason> {
  override readonly name = 'ToolError'
  readonly kind = 'tool'
  declare readonly toolName: string | undefined
  declare readonly toolCallId: string | undefined

  constructor(reason: ToolErrorReason, message: string, details: ToolErrorDetails = {}) {
    super(reason, message, details)
    this.toolName = details.toolName
    this.toolCallId = details.toolCallId
  }
}

/** Every reason of an `EngineError`. */
export const engineErrorReasons = [
  'missing_adapter',
  'missing_model',
  'missing_key',
  'unknown_tool',
  'invalid_engine',
  'unsupported_response_format',
  'no_image_adapter',
] as const

/** Why the engine cannot do what the caller asked for. Closed. */
export type EngineErrorReason = (typeof engineErrorReasons)[number]

/** What is known about a request that the engine refused. */
interface EngineErrorDetails extends ErrorDetails {
  readonly provider?: string | undefined
}

/** The engine is not configured for the call. Nothing was sent. */
export class EngineError extends AllmError<EngineErrorReason> {
  override readonly name = 'EngineError'
  readonly kind = 'engine'
  declare readonly provider: string | undefined

  constructor(reason: EngineErrorReason, message: string, details: EngineErrorDetails = {}) {
    super(reason, message, details)
    this.provider = details.provider
  }
}

/** Every reason of a `ValidationError`. */
export const validationErrorReasons = [
  'invalid_request',
  'invalid_message',
  'invalid_thread',
  'invalid_tool',
  'invalid_session',
  'invalid_image',
  'invalid_file',
  'invalid_image_request',
  'invalid_options',
  'invalid_script',
  'invalid_output',
] as const

/** Which kind of value was invalid. Closed. */
export type ValidationErrorReason = (typeof validationErrorReasons)[number]

/** A value is invalid. `issues` lists every problem with its path. Nothing was sent, unless the reason is `invalid_output`. */
export class ValidationError extends AllmError<ValidationErrorReason> {
  override readonly name = 'ValidationError'
  readonly kind = 'validation'
  declare readonly issues: readonly Issue[]

  constructor(reason: ValidationErrorReason, issues: readonly Issue[], details: ErrorDetails = {}) {
    super(reason, `${reason.replaceAll('_', ' ')}: ${issueList(issues)}`, details)
    this.issues = issues.map(({ path, problem }) => ({ path, problem: redact(problem) }))
  }
}

/** Problems as one text. Checks stop at 50 problems, so there may be more than that. */
export function issueList(issues: readonly Issue[]): string {
  const sentences = issues.slice(0, 50).map(sentence).join('; ')
  return issues.length < 50 ? sentences : `${sentences}; and perhaps more`
}

function sentence({ path, problem }: Issue): string {
  return path === '' ? problem : `${path} ${problem}`
}

/** Every reason of a `SessionError`. */
export const sessionErrorReasons = [
  'illegal_status',
  'unknown_tool_call_id',
  'session_in_error_state',
  'unreadable',
  'stale',
  'busy',
  'lease_lost',
  'key_reused',
  'already_answered',
  'already_decided',
  'stale_ticket',
  'unavailable',
] as const

/**
 * Why a session refused an operation, or could not be read or stored. Closed.
 *
 * `illegal_status`, `session_in_error_state` and `unknown_tool_call_id` come from the operations of `Session`; so do `already_answered` and
 * `already_decided` (somebody else was first) and `stale_ticket` (what was shown has changed or is gone); `unreadable` from
 * `Session.parse`, `Session.unseal` and stores; `stale` (it was changed in the meantime) and `unavailable` (the storage failed) from stores;
 * `busy` (somebody runs the session), `lease_lost` (somebody else took it over) and `key_reused` (the idempotency key came before with another
 * command) from stores with leases and from runs.
 */
export type SessionErrorReason = (typeof sessionErrorReasons)[number]

/**
 * A session refused an operation, or could not be read or stored. It was not changed. The message of a refused operation names
 * those that are legal now.
 */
export class SessionError extends AllmError<SessionErrorReason> {
  override readonly name = 'SessionError'
  readonly kind = 'session'
}
