import { collectEventsSync } from '../core/answer/fold-answer.ts'
import { leavable, linkedAbort, unlessStopped } from '../core/base/abort.ts'
import { reasonOf, startTimer, systemClock, type Clock } from '../core/base/clock.ts'
import { randomId } from '../core/base/ids.ts'
import { emitTelemetry, type SpanDetail } from '../core/base/telemetry.ts'
import type { AdapterOptions, ChatAdapter } from '../core/contracts/adapter.ts'
import {
  AdapterError,
  cancelledCall,
  isAllmError,
  timedOutCall,
  type AnyAllmError,
} from '../core/errors/errors.ts'
import { thrownText } from '../core/errors/to-json-value.ts'
import type { CauseData } from '../core/types/error-data.ts'
import type { ModelEvent } from '../core/types/events.ts'
import { defined } from '../core/types/guards.ts'
import type { JsonObject } from '../core/types/json.ts'
import type { ModelRequest } from '../core/types/request.ts'
import { attributed } from '../providers/http/answer.ts'

/** What an adapter says about itself: everything but its calls. */
export type AdapterFacts = Omit<ChatAdapter, 'stream' | 'generate'>

/** The events of one read. */
export type ModelBatch = readonly ModelEvent[]

/** The options that a middleware hands on: the run has an id, and the signal also ends when the consumer leaves the stream. */
export interface InnerOptions extends AdapterOptions {
  readonly requestId: string
  readonly signal: AbortSignal
}

/** One call of a middleware. */
export interface WrappedCall {
  /** The provider of the middleware, for what it says by itself. */
  readonly provider: string
  readonly request: ModelRequest
  readonly options: InnerOptions
  readonly clock: Clock
  /** When the call began. */
  readonly start: number
}

/** What an adapter says about itself, for an adapter around it. */
export function factsOf(adapter: ChatAdapter): AdapterFacts {
  const { provider, providers, identity, model, needsModel, key, server, wire } = adapter
  return defined<AdapterFacts>({
    provider,
    providers,
    identity,
    model,
    needsModel,
    key,
    server,
    // What is neither an answer nor a part of one goes past a middleware.
    wire,
    listModels: adapter.listModels?.bind(adapter),
    countTokens: adapter.countTokens?.bind(adapter),
    // A new fact must be decided about here.
  } satisfies Readonly<Record<keyof AdapterFacts, unknown>>)
}

/**
 * Makes an adapter around others. `play` makes the batches of one call; it runs from the first `next()` on.
 *
 * The frame keeps the contract: a failure before the first event throws and a later one is the last event, every error names its provider
 * and its run, and `return()` ends a read that is under way, because it aborts `options.signal`. `generate` is the fold of `stream`.
 */
export function around(
  facts: AdapterFacts,
  play: (call: WrappedCall) => AsyncIterable<ModelBatch>,
): ChatAdapter {
  const stream = (request: ModelRequest, options: AdapterOptions = {}) => {
    const exit: Exit = { left: false, abort: undefined, over: false }
    return leavable(played(facts, play, { request, options, exit }), () => {
      exit.left = true
      if (!exit.over) exit.abort?.()
    })
  }
  return {
    ...facts,
    stream,
    async generate(request, options) {
      const events: ModelEvent[] = []
      for await (const batch of stream(request, options)) events.push(...batch)
      return collectEventsSync(events)
    },
  }
}

interface Exit {
  left: boolean
  abort: (() => void) | undefined
  /** The last event was emitted. The connection may end by itself then, so that it can be used again. */
  over: boolean
}

interface Asked {
  readonly request: ModelRequest
  readonly options: AdapterOptions
  readonly exit: Exit
}

async function* played(
  { provider }: AdapterFacts,
  play: (call: WrappedCall) => AsyncIterable<ModelBatch>,
  { request, options: given, exit }: Asked,
): AsyncGenerator<ModelBatch, void> {
  const { newId = randomId, clock = systemClock } = given
  const abort = linkedAbort(given.signal)
  const { signal } = abort
  exit.abort = () => abort.abort(new Error('the stream was left'))
  const call = { provider, requestId: given.requestId ?? newId('request'), signal }
  let sent = 0
  try {
    if (signal.aborted) throw reasonOf(signal)
    const options = { ...given, requestId: call.requestId, signal }
    for await (const batch of play({ provider, request, options, clock, start: clock.now() })) {
      if (exit.left) return
      sent += batch.length
      exit.over = isOver(batch)
      yield batch
    }
  } catch (error) {
    // What comes after the last event changes nothing.
    if (exit.left || exit.over) return
    const failure = failureOf(error, call)
    if (sent === 0) throw failure
    exit.over = true
    yield [{ type: 'error', error: failure.toJSON() }]
  } finally {
    abort.unlink()
  }
}

/** Whether a batch has the last event of its stream. */
export function isOver(batch: ModelBatch): boolean {
  const last = batch.at(-1)?.type
  return last === 'message_completed' || last === 'error'
}

/**
 * The batches of an adapter. Whatever it throws is an error of this library that names the adapter's provider.
 *
 * A read ends when the signal is aborted, also if the adapter ignores it. An adapter that is not read to its end is left.
 */
export async function* batchesOf(
  adapter: ChatAdapter,
  request: ModelRequest,
  options: InnerOptions,
): AsyncGenerator<ModelBatch, void> {
  const { requestId, signal } = options
  const call = { provider: adapter.provider, requestId, signal }
  let source: AsyncIterator<ModelBatch, unknown> | undefined
  let isOpen = true
  let isReading = false
  try {
    source = adapter.stream(request, options)[Symbol.asyncIterator]()
    for (;;) {
      isReading = true
      const step: IteratorResult<ModelBatch, unknown> = await unlessStopped(source.next(), signal)
      isReading = false
      if (step.done === true) {
        isOpen = false
        return
      }
      yield step.value
    }
  } catch (error) {
    isOpen = signal.aborted
    throw failureOf(error, call)
  } finally {
    if (isOpen) {
      const leaving = Promise.resolve(source?.return?.()).catch(() => undefined)
      // A generator that is still reading handles `return` only when its read ends.
      if (!isReading) await leaving
    }
  }
}

/** What the metadata of an error says when a `limit` has kept its call from the provider: the failure is not one of the provider. */
export const unsent: JsonObject = { limit: 'not_sent' }

/** Whether the call of an error has waited in a `limit` and was never sent. */
export function isUnsent({ metadata }: CauseData): boolean {
  return metadata?.['limit'] === unsent['limit']
}

/** Waits for something in a middleware, until the call is stopped or its `requestTimeoutMs` has passed. `late` is the error then. */
export async function waitFor<T>(
  promise: Promise<T>,
  call: WrappedCall,
  late: (ms: number) => AnyAllmError = (ms) =>
    timedOutCall({ ...call.options, provider: call.provider }, ms, false),
): Promise<T> {
  const { clock, options, start } = call
  const { requestTimeoutMs, signal } = options
  if (requestTimeoutMs === undefined) return unlessStopped(promise, signal)
  const limit = linkedAbort(signal)
  const cancel = startTimer(clock, Math.max(0, start + requestTimeoutMs - clock.now()), () => {
    limit.abort(late(requestTimeoutMs))
  })
  try {
    return await unlessStopped(promise, limit.signal)
  } finally {
    cancel()
    limit.unlink()
  }
}

/** The options for the adapter inside after a wait: what is left of `requestTimeoutMs`. */
export function optionsAfterWait({ options, clock, start }: WrappedCall): InnerOptions {
  const { requestTimeoutMs } = options
  const waited = clock.now() - start
  return requestTimeoutMs === undefined || waited === 0
    ? options
    : { ...options, requestTimeoutMs: Math.max(1, requestTimeoutMs - waited) }
}

/** Tells listeners of telemetry what a middleware did. A call without an engine is part of no span: its `spanId` is empty. */
export function tell(
  { request, options, clock }: WrappedCall,
  facts: { readonly provider: string; readonly model?: string | undefined },
  detail: SpanDetail,
): void {
  const { requestId, sessionId, spanId = '' } = options
  const { provider, model = request.model } = facts
  emitTelemetry({ at: clock.now(), spanId, requestId, sessionId, provider, model, ...detail })
}

/** What a call failed with, as an error of this library. */
export function failureOf(
  error: unknown,
  call: { readonly provider: string; readonly requestId: string; readonly signal: AbortSignal },
): AnyAllmError {
  const { provider, requestId, signal } = call
  if (isAllmError(error)) return attributed(error, call)
  if (signal.aborted) {
    const reason: unknown = signal.reason
    return isAllmError(reason) ? reason : cancelledCall(call)
  }
  const message = `${provider} failed: ${thrownText(error)}`
  return new AdapterError('unknown', message, { provider, requestId, cause: error })
}
