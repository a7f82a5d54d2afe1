import { errorToJSON } from '../errors/error-json.ts'
import type { ErrorData } from '../types/error-data.ts'
import { defined } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { Usage } from '../types/response.ts'
import type { Clock } from './clock.ts'

/** Called with every telemetry event. An error that it throws is not caught: it surfaces where the event was emitted. */
type TelemetryListener = (event: TelemetryEvent) => void

interface Subscription {
  readonly listener: TelemetryListener
  readonly content: boolean
}

/** A process has one set of listeners. Without any, telemetry costs one comparison. */
const subscriptions = new Set<Subscription>()

/**
 * Listens to every run of this process, until the returned function is called.
 *
 * Events hold ids, counts, durations and errors. Results are added only with `{ content: true }`.
 */
export function onTelemetry(
  listener: TelemetryListener,
  options: { readonly content?: boolean | undefined } = {},
): () => void {
  const subscription = { listener, content: options.content ?? false }
  subscriptions.add(subscription)
  return () => {
    subscriptions.delete(subscription)
  }
}

/** Calls every listener. */
export function emitTelemetry(said: TelemetryEvent): void {
  if (subscriptions.size === 0) return
  const event = defined<TelemetryEvent>(said)
  for (const { listener, content } of subscriptions) {
    if (content || !('content' in event)) listener(event)
    else {
      const { content: _hidden, ...rest } = event
      listener(rest)
    }
  }
}

/** Whether there is a listener. Events that are costly to build are skipped without one. */
export function isObserved(): boolean {
  return subscriptions.size > 0
}

/** A span under way. Exactly one of its functions is called, once. */
export interface Span {
  stop(outcome?: SpanOutcome): void
  /** Takes an error, or one as data. */
  error(error: unknown): void
}

const unobserved: Span = { stop: () => undefined, error: () => undefined }

/** Starts a span. Without listeners it is free, and emits nothing even if a listener is added later. */
export function span(name: SpanName, facts: SpanFacts, clock: Clock): Span {
  if (subscriptions.size === 0) return unobserved
  const start = clock.now()
  emitTelemetry({ name, phase: 'start', at: start, ...facts })
  const times = (): { at: number; durationMs: number } => {
    const at = clock.now()
    return { at, durationMs: at - start }
  }
  return {
    stop: (outcome) => emitTelemetry({ name, phase: 'stop', ...times(), ...facts, ...outcome }),
    error: (error) =>
      emitTelemetry({ name, phase: 'error', ...times(), ...facts, error: withoutPartial(error) }),
  }
}

/** A partial result is content, so it is left out. */
function withoutPartial(error: unknown): ErrorData {
  const { partial: _content, ...data } = isErrorData(error) ? error : errorToJSON(error)
  return data
}

/** Whether an error is already data, as in events. */
function isErrorData(error: unknown): error is ErrorData {
  return typeof error === 'object' && error !== null && !(error instanceof Error) && 'kind' in error
}

/** The kinds of spans. They nest: chat, step, stream, and tools inside a step. */
type SpanName = 'generate' | 'stream' | 'step' | 'chat' | 'tool' | 'image'

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

/** What is known when a span ends successfully. */
export interface SpanOutcome {
  readonly finishReason?: string | undefined
  readonly haltedReason?: string | undefined
  readonly usage?: Usage | undefined
  readonly images?: number | undefined
  /** The result itself; only for listeners that asked for content. */
  readonly content?: unknown
}

/**
 * Every telemetry event. Times are those of the engine's clock.
 *
 * A span emits `start`, then `stop` or `error`. The duration covers the whole span, also of a stream.
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
  /** A call failed and is retried after `delayMs`. */
  | ({
      readonly name: 'retry'
      readonly at: number
      readonly attempt: number
      readonly delayMs: number
      readonly error: ErrorData
    } & SpanFacts)
  /** A tool's handler settled after its deadline; the result was discarded. */
  | ({
      readonly name: 'tool.unsettled'
      readonly at: number
      readonly lateByMs: number
      readonly outcome: 'resolved' | 'rejected'
      readonly content?: JsonValue
    } & SpanFacts)
  /** A tool had started in a run that was cut and left no result; its call was answered as interrupted. */
  | ({ readonly name: 'tool.interrupted'; readonly at: number } & SpanFacts)
