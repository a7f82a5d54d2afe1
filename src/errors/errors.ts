import { toJsonValue } from './to-json-value.ts'
import { redact, redactJson, redactObject } from './redact.ts'
import type { ErrorData, ErrorKind, Issue } from '../types/error-data.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { PartialResult } from '../types/results.ts'

/** Marks our errors across duplicate copies of the package, where `instanceof` does not work. */
const brand: unique symbol = Symbol.for('allm-ts.error')

/** What every error may carry beside its reason and message. */
interface ErrorDetails {
  readonly cause?: unknown
  /** Plain data; keys are redacted and what JSON can not hold is described. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly requestId?: string | undefined
  readonly partial?: PartialResult | undefined
}

/**
 * The base of every error of this library. Branch on `kind` and `reason`; `message` is for people.
 *
 * Messages and metadata never hold a key: whatever has the shape of one is redacted here.
 */
export abstract class AllmError extends Error {
  abstract readonly kind: ErrorKind
  abstract readonly reason: string
  readonly metadata: JsonObject
  readonly requestId: string | undefined
  /** What had been received when the call failed. Set on errors that reject `generate`, `step` and `chat`. */
  partial: PartialResult | undefined

  constructor(message: string, details: ErrorDetails = {}) {
    super(redact(message), details.cause === undefined ? {} : { cause: details.cause })
    this.metadata = redactObject(toJsonValue(details.metadata ?? {}) as JsonObject)
    this.requestId = details.requestId
    this.partial = details.partial
    Object.defineProperty(this, brand, { value: true })
  }

  /** The error as plain data; `errorFromJSON` gives it back. The cause is described, never copied. */
  toJSON(): ErrorData {
    return defined<ErrorData>({
      kind: this.kind,
      reason: this.reason,
      message: this.message,
      metadata: Object.keys(this.metadata).length === 0 ? undefined : this.metadata,
      cause: this.cause === undefined ? undefined : redactJson(toJsonValue(this.cause)),
      requestId: this.requestId,
      partial: this.partial,
      ...this.facts(),
    })
  }

  /** The fields that this kind of error adds to its JSON. */
  protected facts(): Partial<{ [K in keyof ErrorData]: ErrorData[K] | undefined }> {
    return {}
  }
}

/** Whether a value is an error of this library, also when it comes from another copy of the package. */
export function isAllmError(value: unknown): value is AllmError {
  return typeof value === 'object' && value !== null && brand in value
}

/** Why a provider call failed. Closed. */
export type AdapterErrorReason =
  | 'authentication_failed'
  | 'rate_limited'
  | 'invalid_request'
  | 'content_filter'
  | 'context_length_exceeded'
  | 'provider_unavailable'
  | 'timeout'
  | 'network_error'
  | 'malformed_response'
  | 'unsupported_feature'
  | 'no_scripted_response'
  | 'unknown'

/** Every reason of an `AdapterError`. */
export const adapterErrorReasons: readonly AdapterErrorReason[] = [
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
  'no_scripted_response',
  'unknown',
]

/** The reasons that may go away by themselves. */
const transientReasons: ReadonlySet<string> = new Set([
  'rate_limited',
  'provider_unavailable',
  'timeout',
  'network_error',
])

/** The facts of a failed provider call. */
export interface AdapterErrorDetails extends ErrorDetails {
  readonly provider?: string | undefined
  /** The HTTP status, when there was an answer. */
  readonly status?: number | undefined
  /** How long the provider asked to wait. */
  readonly retryAfterMs?: number | undefined
  /** Whether trying again may help. Follows from the reason unless the provider said otherwise. */
  readonly retryable?: boolean | undefined
}

/** A provider call failed. Branch on `reason`. */
export class AdapterError extends AllmError {
  override readonly name = 'AdapterError'
  readonly kind = 'adapter'
  readonly reason: AdapterErrorReason
  readonly provider: string | undefined
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly retryable: boolean

  constructor(reason: AdapterErrorReason, message: string, details: AdapterErrorDetails = {}) {
    super(message, details)
    this.reason = reason
    this.provider = details.provider
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.retryable = details.retryable ?? transientReasons.has(reason)
  }

  protected override facts(): Partial<ErrorData> {
    return adapterFacts(this)
  }
}

/** The JSON fields that chat and image adapter errors share. */
function adapterFacts(error: {
  readonly provider: string | undefined
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly retryable: boolean
}): Partial<ErrorData> {
  const { provider, status, retryAfterMs, retryable } = error
  return {
    ...(provider === undefined ? {} : { provider }),
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    retryable,
  }
}

/** How a stream broke. Closed. */
export type StreamErrorReason =
  | 'cancelled'
  | 'timeout'
  | 'malformed_event'
  | 'truncated'
  | 'adapter_error'
  | 'unknown'

/** Every reason of a `StreamError`. */
export const streamErrorReasons: readonly StreamErrorReason[] = [
  'cancelled',
  'timeout',
  'malformed_event',
  'truncated',
  'adapter_error',
  'unknown',
]

/** The facts of a broken stream. */
interface StreamErrorDetails extends ErrorDetails {
  readonly provider?: string | undefined
  /** How many events had come before. */
  readonly eventIndex?: number | undefined
}

/** The transport broke, or the stream was stopped. Branch on `reason`. */
export class StreamError extends AllmError {
  override readonly name = 'StreamError'
  readonly kind = 'stream'
  readonly reason: StreamErrorReason
  readonly provider: string | undefined
  readonly eventIndex: number | undefined

  constructor(reason: StreamErrorReason, message: string, details: StreamErrorDetails = {}) {
    super(message, details)
    this.reason = reason
    this.provider = details.provider
    this.eventIndex = details.eventIndex
  }

  protected override facts(): Partial<ErrorData> {
    return {
      ...(this.provider === undefined ? {} : { provider: this.provider }),
      ...(this.eventIndex === undefined ? {} : { eventIndex: this.eventIndex }),
    }
  }
}

/** How a tool call failed. Closed. */
export type ToolErrorReason =
  | 'handler_raised'
  | 'handler_failed'
  | 'timeout'
  | 'invalid_return'
  | 'invalid_arguments'
  | 'not_found'
  | 'encoding_failed'

/** Every reason of a `ToolError`. */
export const toolErrorReasons: readonly ToolErrorReason[] = [
  'handler_raised',
  'handler_failed',
  'timeout',
  'invalid_return',
  'invalid_arguments',
  'not_found',
  'encoding_failed',
]

/** The facts of a failed tool call. */
interface ToolErrorDetails extends ErrorDetails {
  readonly toolName?: string | undefined
  readonly toolCallId?: string | undefined
}

/** A tool call failed. The model sees one short sentence of it; the caller sees all. */
export class ToolError extends AllmError {
  override readonly name = 'ToolError'
  readonly kind = 'tool'
  readonly reason: ToolErrorReason
  readonly toolName: string | undefined
  readonly toolCallId: string | undefined

  constructor(reason: ToolErrorReason, message: string, details: ToolErrorDetails = {}) {
    super(message, details)
    this.reason = reason
    this.toolName = details.toolName
    this.toolCallId = details.toolCallId
  }

  protected override facts(): Partial<ErrorData> {
    return {
      ...(this.toolName === undefined ? {} : { toolName: this.toolName }),
      ...(this.toolCallId === undefined ? {} : { toolCallId: this.toolCallId }),
    }
  }
}

/** What the caller asked for that the engine can not do. Closed. */
export type EngineErrorReason =
  | 'missing_adapter'
  | 'missing_model'
  | 'missing_key'
  | 'unknown_tool'
  | 'invalid_engine'
  | 'unsupported_response_format'
  | 'no_image_adapter'

/** Every reason of an `EngineError`. */
export const engineErrorReasons: readonly EngineErrorReason[] = [
  'missing_adapter',
  'missing_model',
  'missing_key',
  'unknown_tool',
  'invalid_engine',
  'unsupported_response_format',
  'no_image_adapter',
]

/** The facts of a request that the engine refused. */
interface EngineErrorDetails extends ErrorDetails {
  readonly provider?: string | undefined
}

/** The engine is not set up for what was asked. Nothing was sent. */
export class EngineError extends AllmError {
  override readonly name = 'EngineError'
  readonly kind = 'engine'
  readonly reason: EngineErrorReason
  readonly provider: string | undefined

  constructor(reason: EngineErrorReason, message: string, details: EngineErrorDetails = {}) {
    super(message, details)
    this.reason = reason
    this.provider = details.provider
  }

  protected override facts(): Partial<ErrorData> {
    return this.provider === undefined ? {} : { provider: this.provider }
  }
}

/** What kind of value was refused. Closed. */
export type ValidationErrorReason =
  | 'invalid_request'
  | 'invalid_message'
  | 'invalid_thread'
  | 'invalid_tool'
  | 'invalid_session'
  | 'invalid_image'
  | 'invalid_image_request'
  | 'invalid_options'
  | 'invalid_script'
  | 'invalid_output'

/** Every reason of a `ValidationError`. */
export const validationErrorReasons: readonly ValidationErrorReason[] = [
  'invalid_request',
  'invalid_message',
  'invalid_thread',
  'invalid_tool',
  'invalid_session',
  'invalid_image',
  'invalid_image_request',
  'invalid_options',
  'invalid_script',
  'invalid_output',
]

/** A value was refused before anything was sent. `issues` holds every problem, with its place. */
export class ValidationError extends AllmError {
  override readonly name = 'ValidationError'
  readonly kind = 'validation'
  readonly reason: ValidationErrorReason
  readonly issues: readonly Issue[]

  constructor(reason: ValidationErrorReason, issues: readonly Issue[], details: ErrorDetails = {}) {
    super(`${reason.replaceAll('_', ' ')}: ${issues.map(sentence).join('; ')}`, details)
    this.reason = reason
    this.issues = issues.map(({ path, problem }) => ({ path, problem: redact(problem) }))
  }

  protected override facts(): Partial<ErrorData> {
    return { issues: this.issues }
  }
}

function sentence({ path, problem }: Issue): string {
  return path === '' ? problem : `${path} ${problem}`
}

/** Why a session refused an operation. Closed. */
export type SessionErrorReason =
  | 'illegal_status'
  | 'unknown_tool_call_id'
  | 'session_in_error_state'
  | 'unreadable'
  | 'stale'

/** Every reason of a `SessionError`. */
export const sessionErrorReasons: readonly SessionErrorReason[] = [
  'illegal_status',
  'unknown_tool_call_id',
  'session_in_error_state',
  'unreadable',
  'stale',
]

/** A session refused an operation; it was not changed. The message says what is legal now. */
export class SessionError extends AllmError {
  override readonly name = 'SessionError'
  readonly kind = 'session'
  readonly reason: SessionErrorReason

  constructor(reason: SessionErrorReason, message: string, details: ErrorDetails = {}) {
    super(message, details)
    this.reason = reason
  }
}

/** Why an image call failed: the adapter reasons, and an operation that the provider does not offer. Closed. */
export type ImageAdapterErrorReason =
  | Exclude<AdapterErrorReason, 'no_scripted_response'>
  | 'unsupported_operation'

/** Every reason of an `ImageAdapterError`. */
export const imageAdapterErrorReasons: readonly ImageAdapterErrorReason[] = [
  ...adapterErrorReasons.filter((reason) => reason !== 'no_scripted_response'),
  'unsupported_operation',
]

/** An image call failed. Branch on `reason`. */
export class ImageAdapterError extends AllmError {
  override readonly name = 'ImageAdapterError'
  readonly kind = 'image_adapter'
  readonly reason: ImageAdapterErrorReason
  readonly provider: string | undefined
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly retryable: boolean

  constructor(reason: ImageAdapterErrorReason, message: string, details: AdapterErrorDetails = {}) {
    super(message, details)
    this.reason = reason
    this.provider = details.provider
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.retryable = details.retryable ?? transientReasons.has(reason)
  }

  protected override facts(): Partial<ErrorData> {
    return adapterFacts(this)
  }
}
