import type { JsonObject, JsonValue } from './json.ts'

/** Which domain an error belongs to; each has a class and a closed set of reasons. */
export type ErrorKind =
  | 'adapter'
  | 'stream'
  | 'tool'
  | 'engine'
  | 'validation'
  | 'session'
  | 'image_adapter'

/** One thing that is wrong with a value: where, and what. */
export interface Issue {
  /** The place, as one would write it in code: `messages[2].role`. Empty for the value itself. */
  readonly path: string
  readonly problem: string
}

/** An error as plain data, as it stands in events, results and saved sessions. */
export interface ErrorData {
  readonly kind: ErrorKind
  readonly reason: string
  readonly message: string
  readonly metadata?: JsonObject
  readonly cause?: JsonValue
  readonly requestId?: string
  readonly provider?: string
  readonly status?: number
  readonly retryAfterMs?: number
  readonly retryable?: boolean
  readonly eventIndex?: number
  readonly toolName?: string
  readonly toolCallId?: string
  readonly issues?: readonly Issue[]
  /** What was received before the failure: a `ModelResponse`, `StepResult` or `ChatResult`. */
  readonly partial?: unknown
}
