import { errorToJSON } from '../errors/error-json.ts'
import { redact } from '../errors/redact.ts'
import { thrownText } from '../errors/to-json-value.ts'
import type { ErrorData } from '../types/error-data.ts'
import { defined, isObject } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { Usage } from '../types/response.ts'
import type { Clock } from './clock.ts'

/**
 * Called with every telemetry event. It cannot break a run: what it throws, or rejects with, is reported once for each listener,
 * as a warning of the process. A promise that it returns is not awaited.
 */
type TelemetryListener = (event: TelemetryEvent) => unknown

interface Subscription {
  readonly listener: TelemetryListener
  readonly content: boolean
  /** Whether a failure of this listener was reported. */
  failed: boolean
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
  const subscription: Subscription = { listener, content: options.content ?? false, failed: false }
  subscriptions.add(subscription)
  return () => {
    subscriptions.delete(subscription)
  }
}

/** Calls every listener. */
export function emitTelemetry(said: TelemetryEvent): void {
  if (subscriptions.size === 0) return
  const event = defined<TelemetryEvent>(said)
  for (const subscription of subscriptions) {
    if (subscription.content || !('content' in event)) call(subscription, event)
    else {
      const { content: _hidden, ...rest } = event
      call(subscription, rest)
    }
  }
}

function call(subscription: Subscription, event: TelemetryEvent): void {
  const fail = (error: unknown): void => reportOnce(subscription, error)
  try {
    const returned = subscription.listener(event)
    if (isObject(returned) && 'then' in returned) Promise.resolve(returned).catch(fail)
  } catch (error) {
    fail(error)
  }
}

/** The parts of the runtimes that report an error without stopping anything. */
interface Host {
  readonly process?: { emitWarning?(text: string, options: { readonly type: string }): void }
  reportError?(error: unknown): void
}

function reportOnce(subscription: Subscription, error: unknown): void {
  if (subscription.failed) return
  subscription.failed = true
  // Not every runtime has both, so their types are not used here.
  const host = globalThis as Host
  const text = `a telemetry listener failed: ${redact(thrownText(error))}`
  if (host.process?.emitWarning !== undefined)
    host.process.emitWarning(text, { type: 'AllmWarning' })
  else host.reportError?.(error)
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
  /**
   * A middleware has changed the way of calls: a fallback asks another provider, a circuit breaker has another state, a cache has
   * answered or has stored an answer. `from` and `to` are the providers, the states, or `hit`, `stored` and `failed`.
   */
  | ({
      readonly name: 'fallback' | 'breaker' | 'cache'
      readonly at: number
      readonly from?: string | undefined
      readonly to: string
      readonly error?: ErrorData | undefined
    } & SpanFacts)
  /** A tool had started in a run that was cut and left no result; its call was answered as interrupted. */
  | ({ readonly name: 'tool.interrupted'; readonly at: number } & SpanFacts)
