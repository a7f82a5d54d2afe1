import type { JsonObject, JsonValue } from './json.ts'

/** Every kind of error. */
export const errorKinds = [
  'adapter',
  'stream',
  'tool',
  'engine',
  'validation',
  'session',
  'image_adapter',
] as const

/** Which domain an error belongs to; each has a class and a closed set of reasons. */
export type ErrorKind = (typeof errorKinds)[number]

/** One problem of a value: where it is, and what it is. */
export interface Issue {
  /** The path as written in code: `messages[2].role`. Empty for the value itself. */
  readonly path: string
  readonly problem: string
}

/** An error as plain data, as in events, results and saved sessions. */
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
