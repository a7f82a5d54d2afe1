import { errorToJSON } from '../errors/error-json.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { ModelRequest } from '../types/request.ts'
import type { Usage } from '../types/response.ts'
import type { Clock } from './clock.ts'
import type { NewId } from './ids.ts'

/** A span under way. `stop` or `error` ends it; what follows the end is ignored. */
export interface Span {
  /** Absent when nobody listens. */
  readonly id?: string | undefined
  /** Does a piece of its work, so that listeners can attribute it to the span. */
  run<T>(work: () => T): T
  /** Emits something that happened in the span, also after its end. */
  event(detail: SpanDetail): void
  stop(outcome?: SpanOutcome): void
  /** Takes an error, or one as data. A cancellation is not a failure: the span then stops, with `haltedReason: 'cancelled'`. */
  error(error: unknown, outcome?: SpanOutcome): void
}

/** The span of a run that nobody observed when it started. */
export const unobserved: Span = {
  run: (work) => work(),
  event: () => undefined,
  stop: () => undefined,
  error: () => undefined,
}

/** Where a run is, for telemetry: the span that the next thing in it is part of. Each run has its own. */
export interface RunTrace {
  parent: string | undefined
}

/** What `onTelemetry` puts in place while somebody listens. A program that never listens does not load it. */
export interface Observation {
  readonly open: (...given: Parameters<typeof span>) => Span
  readonly emit: (event: TelemetryEvent) => void
  readonly traceOf: (spanId: string) => string | undefined
}

/** A process has one set of listeners. Without any, telemetry costs one comparison. */
export const observed: { by?: Observation | undefined } = {}

/**
 * Starts a span. Without listeners it is free, and emits nothing even if a listener is added later. `facts` is called only if there
 * is one; its `content` is told at the start only.
 */
export function span(
  name: SpanName,
  source: { readonly clock: Clock; readonly newId: NewId },
  parentSpanId: string | undefined,
  facts: () => SpanFacts & { readonly content?: unknown },
): Span {
  return observed.by?.open(name, source, parentSpanId, facts) ?? unobserved
}

/** Calls every listener with something that happened outside of the spans of this library, such as in an adapter. */
export function emitTelemetry(event: TelemetryEvent): void {
  observed.by?.emit(event)
}

/** The text by which another process finds a span: of the first listener that has one. */
export function traceOf(spanId: string | undefined): string | undefined {
  return spanId === undefined ? undefined : observed.by?.traceOf(spanId)
}

/** The most characters of such a text. Saved sessions have no longer one. */
export const maxTraceLength = 512

/** The error of a span or of an event in it. A partial result is content, so it is left out. */
export function withoutPartial(error: unknown): ErrorData {
  const { partial: _content, ...data } = isErrorData(error) ? error : errorToJSON(error)
  return data
}

/** Whether an error is already data, as in events. */
function isErrorData(error: unknown): error is ErrorData {
  return typeof error === 'object' && error !== null && !(error instanceof Error) && 'kind' in error
}

/**
 * The kinds of spans. They nest: `advance` (of `allm-ts/runs`), `chat`, `step`, `stream` (one model call, with its retries), and `tool`
 * inside a step. A single call is a `generate` with a `stream` for each answer. The calls of models that are not chat are spans of their own.
 */
export type SpanName =
  | 'generate'
  | 'stream'
  | 'step'
  | 'chat'
  | 'tool'
  | 'image'
  | 'embed'
  | 'moderate'
  | 'speak'
  | 'transcribe'
  | 'rerank'
  | 'advance'

/** What is known when a span starts. Never content, never a key. */
export interface SpanFacts {
  readonly requestId?: string | undefined
  readonly sessionId?: string | undefined
  /** The `name` of the engine of a chat, a step or a model call. Of a chat that is handed over, that of the engine it begins with. */
  readonly agent?: string | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** The scheme, host and port that the adapter calls. */
  readonly server?: string | undefined
  /** The caller's own: of the call, over that of the session, over that of the engine, over that of the run that it is part of. */
  readonly metadata?: JsonObject | undefined
  /** What the request of a model call asks for. */
  readonly settings?: SpanSettings | undefined
  readonly toolName?: string | undefined
  readonly toolCallId?: string | undefined
  readonly toolDescription?: string | undefined
  readonly operation?: string | undefined
  /** What `traceOf` gave for the run that this one goes on with. It was saved, so it is not to be trusted. */
  readonly resumes?: string | undefined
}

/** The settings of a model call, as they were requested. */
export type SpanSettings = Pick<
  ModelRequest,
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'maxTokens'
  | 'stopSequences'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'reasoning'
  | 'toolChoice'
  | 'parallelToolCalls'
> & {
  /** The type of the response format, if one was asked for. */
  readonly responseFormat?: NonNullable<ModelRequest['responseFormat']>['type'] | undefined
}

/** What is known when a span ends, in an error too. */
export interface SpanOutcome {
  readonly finishReason?: string | undefined
  /** Why a run or a tool halted. `cancelled`: it was stopped by its signal, or left before its end. */
  readonly haltedReason?: string | undefined
  readonly usage?: Usage | undefined
  /** Who answered. At the start of a span it is the adapter's provider, which may hand its calls to others. */
  readonly provider?: string | undefined
  readonly responseId?: string | undefined
  /** The model that answered, by its own words. */
  readonly responseModel?: string | undefined
  /** From the start of the attempt that succeeded to its first content. */
  readonly timeToFirstChunkMs?: number | undefined
  readonly images?: number | undefined
  /** The number of vectors that were made, and of the calls that it took. */
  readonly embeddings?: number | undefined
  readonly batches?: number | undefined
  /** Whether anything was flagged. */
  readonly flagged?: boolean | undefined
  /** The size of the audio that was made or sent. */
  readonly audioBytes?: number | undefined
  /** In which status `advance` left its session, or `busy`, `lost` or `drained`. */
  readonly status?: string | undefined
  /** The metadata of the session of `advance`, which has not read it when it starts. */
  readonly metadata?: JsonObject | undefined
  /** The result itself; only for listeners that asked for content. */
  readonly content?: unknown
}

/** Where an event belongs. */
interface SpanPlace extends SpanFacts {
  /** Of the span that starts or ends, or in which something happened. */
  readonly spanId: string
  /** Absent for a span that is part of no other. */
  readonly parentSpanId?: string | undefined
}

/**
 * Every telemetry event. Times are those of the engine's clock.
 *
 * A span emits `start`, then `stop` or `error`, exactly one of them. The duration covers the whole span, also of a stream. Events
 * without a `phase` happened in the span that `spanId` names.
 */
export type TelemetryEvent =
  | (SpanPlace & {
      readonly name: SpanName
      readonly phase: 'start'
      readonly at: number
      readonly content?: unknown
    })
  | (SpanPlace &
      SpanOutcome & {
        readonly name: SpanName
        readonly phase: 'stop'
        readonly at: number
        readonly durationMs: number
      })
  | (SpanPlace &
      SpanOutcome & {
        readonly name: SpanName
        readonly phase: 'error'
        readonly at: number
        readonly durationMs: number
        readonly error: ErrorData
      })
  | (SpanPlace & SpanDetail & { readonly at: number })

/** Something that happened in a span. */
export type SpanDetail =
  /** A call failed and is retried after `delayMs`. */
  | {
      readonly name: 'retry'
      readonly attempt: number
      readonly delayMs: number
      readonly error: ErrorData
    }
  /** A tool's handler settled after its deadline; the result was discarded. */
  | {
      readonly name: 'tool.unsettled'
      readonly lateByMs: number
      readonly outcome: 'resolved' | 'rejected'
      readonly content?: JsonValue
    }
  /**
   * A middleware has changed the way of calls: a fallback asks another provider, a circuit breaker has another state, a cache has
   * answered or has stored an answer, a guard has judged. `from` and `to` are the providers, the states, or `hit`, `stored` and `failed`; of a
   * guard, `from` is `input` or `output`, and `to` is `passed`, `flagged`, `withheld` or `failed`.
   */
  | {
      readonly name: 'fallback' | 'breaker' | 'cache' | 'guard'
      readonly from?: string | undefined
      readonly to: string
      readonly error?: ErrorData | undefined
    }
  /**
   * A tool had started in a run that was cut and left no result, and its `reconcile` was asked. `error` is why it is `unknown`, if it did
   * not say so itself.
   */
  | {
      readonly name: 'tool.reconciled'
      readonly toolName: string
      readonly toolCallId: string
      readonly outcome: 'done' | 'not_done' | 'unknown'
      readonly error?: ErrorData | undefined
    }
  /** A tool had started in a run that was cut and left no result; its call was answered as interrupted. */
  | {
      readonly name: 'tool.interrupted'
      readonly toolName: string
      readonly toolCallId: string
    }
