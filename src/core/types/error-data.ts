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
  /** One of the reasons of this kind. */
  readonly reason: string
  readonly message: string
  readonly metadata?: JsonObject
  /** The cause, described as JSON. */
  readonly cause?: JsonValue
  readonly requestId?: string
  readonly provider?: string
  /** The HTTP status, if the provider answered. */
  readonly status?: number
  /** How long the provider asked to wait. */
  readonly retryAfterMs?: number
  /** Whether another attempt may succeed. */
  readonly retryable?: boolean
  /** The number of events before the failure. */
  readonly eventIndex?: number
  readonly toolName?: string
  readonly toolCallId?: string
  /** Every problem of an invalid value. */
  readonly issues?: readonly Issue[]
  /** What was received before the failure: a `ModelResponse`, `StepResult` or `ChatResult`. */
  readonly partial?: unknown
  /** The failures before this one, the first one first: attempts that were repeated, and adapters that a fallback tried. */
  readonly causes?: readonly CauseData[]
}

/** An earlier failure. It has no causes of its own: all are in one list. */
export type CauseData = Omit<ErrorData, 'partial' | 'causes'>
