import type { ErrorData } from '../data/error-data.ts'
import type { JsonValue } from '../data/json.ts'
import type { Usage } from '../data/usage.ts'

/** What a span is about. They nest: chat, step, stream, and tools inside a step. */
export type SpanName = 'generate' | 'stream' | 'step' | 'chat' | 'tool' | 'image'

/** What is known when a span starts. Never content, never a key. */
export interface SpanFacts {
  readonly requestId?: string | undefined
  readonly sessionId?: string | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly toolName?: string | undefined
  readonly toolCallId?: string | undefined
  readonly operation?: string | undefined
}

/** What is known when a span ends well. */
export interface SpanOutcome {
  readonly finishReason?: string | undefined
  readonly haltedReason?: string | undefined
  readonly usage?: Usage | undefined
  readonly images?: number | undefined
  /** The result itself; only for listeners that asked for content. */
  readonly content?: unknown
}

/**
 * Everything that a listener can be told. Times are of the engine's clock.
 *
 * A span says `start`, then `stop` or `error`; the duration covers all of it, a whole stream included.
 */
export type TelemetryEvent =
  | ({ readonly name: SpanName; readonly phase: 'start'; readonly at: number } & SpanFacts)
  | ({
      readonly name: SpanName
      readonly phase: 'stop'
      readonly at: number
      readonly durationMs: number
    } & SpanFacts &
      SpanOutcome)
  | ({
      readonly name: SpanName
      readonly phase: 'error'
      readonly at: number
      readonly durationMs: number
      readonly error: ErrorData
    } & SpanFacts)
  /** A call failed and is tried again after `delayMs`. */
  | ({
      readonly name: 'retry'
      readonly at: number
      readonly attempt: number
      readonly delayMs: number
      readonly error: ErrorData
    } & SpanFacts)
  /** A tool's handler settled after its deadline; the result was thrown away. */
  | ({
      readonly name: 'tool.unsettled'
      readonly at: number
      readonly lateByMs: number
      readonly outcome: 'resolved' | 'rejected'
      readonly content?: JsonValue
    } & SpanFacts)
  /** A tool had started in a run that was cut and left no result; its call was answered as interrupted. */
  | ({ readonly name: 'tool.interrupted'; readonly at: number } & SpanFacts)
