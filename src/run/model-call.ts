import type { AdapterOptions, ChatAdapter } from '../contracts/adapter.ts'
import type { RetryOption } from '../contracts/options.ts'
import {
  abortWith,
  lazyAbort,
  signalOf,
  stopOf,
  withLazySignal,
  type LazyAbort,
} from '../core/abort.ts'
import type { Clock } from '../core/clock.ts'
import { keyFor } from '../core/keys.ts'
import { retry, type RetryPlan } from '../core/retry.ts'
import { emitTelemetry, isObserved, span, type Span, type SpanFacts } from '../core/telemetry.ts'
import { watchdog, type Watchdog } from '../core/timers.ts'
import { errorFromJSON, errorToJSON } from '../errors/error-json.ts'
import {
  AdapterError,
  EngineError,
  isAllmError,
  StreamError,
  type AllmError,
} from '../errors/errors.ts'
import { createCollector, foldEvent, toResponse, type Collector } from './collector.ts'
import { optionOf, type RunScene } from './context.ts'
import { retryPlan } from './retry-policy.ts'
import { assertValid } from '../schema/checks.ts'
import { validateRequest } from '../schema/validate.ts'
import type { ErrorData } from '../types/error-data.ts'
import { isStreamEvent, type Batch, type ModelEvent, type StreamEvent } from '../types/events.ts'
import type { ModelRequest } from '../types/request.ts'

/** Refuses a request that no adapter could send: an engine without an adapter, no model, or illegal contents. */
export function checkRequest(scene: RunScene, request: ModelRequest): void {
  const { adapter } = scene.engine
  if (adapter === undefined) {
    throw new EngineError(
      'missing_adapter',
      'the engine has no adapter; give one to createEngine({ adapter })',
    )
  }
  if (adapter.needsModel === true && request.model === undefined) {
    const { provider } = adapter
    throw new EngineError(
      'missing_model',
      `${provider} needs a model; give one to the call, the request or createEngine({ model })`,
      { provider },
    )
  }
  assertValid('invalid_request', validateRequest(request))
}

/** The run of one model call within a scene, folded into `state` when a loop has one. Nothing is sent before it is read. */
export function startCall(scene: RunScene, request: ModelRequest, state?: Collector): ModelRun {
  return modelRun(modelCall(scene, request), state)
}

function modelCall(scene: RunScene, request: ModelRequest): ModelCall {
  const { engine, call, requestId, sessionId } = scene
  const { adapter, clock, newId } = engine
  if (adapter === undefined) throw new EngineError('missing_adapter', 'the engine has no adapter')
  return {
    adapter,
    provider: adapter.provider,
    request,
    requestId,
    adapterOptions: {
      requestId,
      sessionId,
      includeRawChunks: optionOf(scene, 'includeRawChunks'),
      clock,
      newId,
    },
    findKey: () => keyFor(adapter, { apiKey: call.apiKey, keys: engine.keys }),
    clock,
    signal: call.signal,
    requestTimeoutMs: optionOf(scene, 'requestTimeoutMs'),
    streamTimeoutMs: optionOf(scene, 'streamTimeoutMs') ?? 60_000,
    retry: call.retry ?? engine.retry,
    onEvent: optionOf(scene, 'onEvent'),
  }
}

/** One model call with everything decided: nothing in it is looked up again. */
interface ModelCall {
  readonly adapter: ChatAdapter
  readonly provider: string
  readonly request: ModelRequest
  readonly requestId: string
  /** What goes to the adapter beside the request; its signal is added when the call starts. */
  readonly adapterOptions: Omit<AdapterOptions, 'signal'>
  /** Finds the key when the call starts. It is kept nowhere. */
  readonly findKey: () => string | undefined
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
  readonly requestTimeoutMs: number | undefined
  readonly streamTimeoutMs: number
  readonly retry: RetryOption | undefined
  readonly onEvent: ((event: StreamEvent) => void) | undefined
}

/** What telemetry may know of a call. */
function callFacts(call: ModelCall): SpanFacts {
  const { requestId, provider, request, adapterOptions } = call
  return { requestId, provider, model: request.model, sessionId: adapterOptions.sessionId }
}

type Step = IteratorResult<Batch, void>

const over: Step = { done: true, value: undefined }

/** A model call as a stream of batches, folded as it goes. */
interface ModelRun {
  /** What has been received so far. */
  readonly state: Collector
  next(): Promise<Step>
  return(): Promise<Step>
}

/** A call under way. */
interface Live extends Opening {
  readonly state: Collector
  trace: Span | undefined
  /** The first batch, on its way. */
  opening: Promise<Step> | undefined
  /** Stops listening to the caller's signal. */
  unlink: (() => void) | undefined
  /** `ending`: the last event is out, and what is left to do is to wind up. */
  phase: 'new' | 'opening' | 'open' | 'ending' | 'ended'
}

/**
 * Makes a model call: one retry loop before the first event, time-outs, cancellation, telemetry and the fold.
 *
 * What fails before the first event rejects; what fails later is the last event, and the run then ends normally.
 * Nothing happens before the first `next()`. A loop gives its own `state` to fold into.
 */
function modelRun(call: ModelCall, state: Collector = createCollector()): ModelRun {
  state.requestId = call.requestId
  state.provider = call.provider
  const live: Live = {
    call,
    state,
    stop: lazyAbort(),
    attempt: undefined,
    trace: undefined,
    opening: undefined,
    unlink: undefined,
    phase: 'new',
  }
  return { state, next: () => next(live), return: () => leave(live) }
}

function next(live: Live): Promise<Step> {
  const { phase, attempt } = live
  if (phase === 'open' && attempt !== undefined) return pull(live, attempt)
  if (phase === 'new') return (live.opening = start(live))
  return phase === 'ending' ? end(live, false) : Promise.resolve(over)
}

async function start(live: Live): Promise<Step> {
  const { call } = live
  live.phase = 'opening'
  live.trace = span('stream', callFacts(call), call.clock)
  try {
    follow(live)
    const batch = await firstBatch(live)
    live.phase = 'open'
    return { done: false, value: take(live, batch) }
  } catch (error) {
    // The wait between two attempts rejects with the reason of the stop, which is the error to give.
    live.phase = 'ended'
    live.unlink?.()
    live.trace.error(error)
    if (live.attempt !== undefined) await cutAttempt(live.attempt)
    throw error
  }
}

/** Stops with the caller's signal. */
function follow(live: Live): void {
  const { signal } = live.call
  if (signal === undefined) return
  const onAbort = (): void => stopCall(live)
  if (signal.aborted) throw cancelledCall(live.call)
  signal.addEventListener('abort', onAbort, { once: true })
  live.unlink = () => signal.removeEventListener('abort', onAbort)
}

/** Stops the call, whatever it waits for. Whoever waits is told that it was cancelled. */
function stopCall({ call, stop, attempt }: Live): void {
  const error = cancelledCall(call)
  abortWith(stop, error)
  if (attempt !== undefined) stopAttempt(attempt, error)
}

async function leave(live: Live): Promise<Step> {
  if (live.phase === 'opening') {
    stopCall(live)
    await live.opening?.catch(() => undefined)
  }
  return live.phase === 'ended' ? over : end(live, true)
}

function pull(live: Live, attempt: Attempt): Promise<Step> {
  return new Promise((resolve) => {
    const settle = (batch: Batch): void => {
      try {
        resolve({ done: false, value: take(live, batch) })
      } catch (error) {
        resolve(failed(live, error))
      }
    }
    pullBatch(attempt, live.call.streamTimeoutMs, {
      onBatch: (batch) => settle(batch ?? [failureEvent(truncated(live))]),
      onFailure: (error) => settle([failureEvent(error)]),
    })
  })
}

/** An observer of the caller's threw. The caller gets it, and the call is over. */
async function failed(live: Live, error: unknown): Promise<never> {
  await end(live, true)
  throw error
}

/** Folds a batch and gives what the consumer gets of it. */
function take(live: Live, batch: Batch): Batch {
  const taken = foldBatch(live.state, live.call, batch)
  const last = taken.at(-1)?.type
  if (last === 'message_completed' || last === 'error') live.phase = 'ending'
  return taken
}

function truncated({ call, state }: Live): StreamError {
  const { provider, requestId } = call
  const message = `the answer of ${provider} ended without its last event`
  return new StreamError('truncated', message, { provider, requestId, eventIndex: state.count })
}

/** Ends the call: with `cut` in the middle, else after its last event. */
async function end(live: Live, cut: boolean): Promise<Step> {
  const { attempt, state } = live
  live.phase = 'ended'
  try {
    if (attempt !== undefined) {
      const whole = !cut && state.error === undefined && (await windUp(attempt))
      if (!whole) await cutAttempt(attempt)
    }
  } finally {
    live.phase = 'ended'
    attempt?.dog?.stop()
    live.unlink?.()
    report(live)
  }
  return over
}

/** Lets an adapter that has said its last word finish, so that its connection can be used again. Says whether it did. */
function windUp(attempt: Attempt): Promise<boolean> {
  return new Promise((resolve) => {
    pullBatch(attempt, attempt.call.streamTimeoutMs, {
      onBatch: (batch) => resolve(batch === undefined),
      onFailure: () => resolve(false),
    })
  })
}

function report({ trace, state }: Live): void {
  if (trace === undefined || !isObserved()) return
  if (state.error !== undefined) {
    trace.error(state.error)
    return
  }
  const response = toResponse(state)
  const { finishReason, usage } = response
  trace.stop({ finishReason, usage, content: response })
}

/** A call that is about to begin. */
interface Opening {
  readonly call: ModelCall
  /** Stops the call between two attempts; an attempt has its own. */
  readonly stop: LazyAbort
  /** The attempt under way. */
  attempt: Attempt | undefined
}

/**
 * The first batch of the first attempt that gives one. An attempt that fails is closed before the next begins.
 *
 * An `error` event that comes first is a failure like any other here, so it rejects, and may be tried again.
 */
function firstBatch(opening: Opening): Promise<Batch> {
  const { call, stop } = opening
  const apiKey = call.findKey()
  const plan = (): RetryPlan =>
    retryPlan(call.retry, {
      clock: call.clock,
      signal: signalOf(stop),
      onRetry: (error, attempt, delayMs) => reportRetry(call, error, attempt, delayMs),
    })
  return retry(plan, () => tryOnce(opening, apiKey))
}

function tryOnce(opening: Opening, apiKey: string | undefined): Promise<Batch> {
  const { call } = opening
  const attempt = openAttempt(call, apiKey)
  opening.attempt = attempt
  return new Promise((resolve) => {
    const fail = (error: Error): void => {
      opening.attempt = undefined
      resolve(failAfter(cutAttempt(attempt), error))
    }
    const puller: Puller = {
      onBatch(batch) {
        if (batch === undefined) fail(emptyAnswer(call))
        else if (!isList(batch)) fail(malformedBatch(call, 0))
        else if (batch[0] === undefined) pullBatch(attempt, call.requestTimeoutMs, puller)
        else if (!isStreamEvent(batch[0]) || !isWhole(batch[0])) fail(malformedEvent(call, 0))
        else if (batch[0].type === 'error') fail(errorFromJSON(batch[0].error))
        else resolve(batch)
      },
      onFailure: fail,
    }
    pullBatch(attempt, call.requestTimeoutMs, puller)
  })
}

/** Fails when something is over, however it came out. */
async function failAfter(work: Promise<unknown>, error: Error): Promise<never> {
  await work.catch(() => undefined)
  throw error
}

function emptyAnswer({ provider, requestId }: ModelCall): StreamError {
  const message = `${provider} gave an answer without any event`
  return new StreamError('truncated', message, { provider, requestId, eventIndex: 0 })
}

function reportRetry(call: ModelCall, failure: unknown, attempt: number, delayMs: number): void {
  if (!isObserved()) return
  const { partial: _content, ...error } = errorToJSON(failure)
  emitTelemetry({
    name: 'retry',
    at: call.clock.now(),
    ...callFacts(call),
    attempt,
    delayMs,
    error,
  })
}

type ModelBatch = readonly ModelEvent[]

/** Whoever pulls; exactly one of the two is called, once. */
interface Puller {
  /** The next batch, `undefined` at the end. */
  onBatch(batch: ModelBatch | undefined): void
  onFailure(error: AllmError): void
}

/** One try at a model call: the adapter's stream, watched over. */
interface Attempt {
  readonly call: ModelCall
  readonly source: AsyncIterator<ModelBatch>
  readonly abort: LazyAbort
  /** What the adapter's promises call, made once for all pulls. */
  readonly onResult: (result: IteratorResult<ModelBatch>) => void
  readonly onError: (error: unknown) => void
  dog: Watchdog | undefined
  /** Why no more is asked of the adapter. */
  stopped: AllmError | undefined
  /** Who waits for the pull that is under way. */
  waiting: Puller | undefined
}

/** Starts an adapter's stream. Nothing is sent before the first pull. */
function openAttempt(call: ModelCall, apiKey: string | undefined): Attempt {
  const abort = lazyAbort()
  const { requestId, sessionId, includeRawChunks, clock, newId } = call.adapterOptions
  // Written out: to spread an object and add to it costs more than all the rest of this function.
  const options = withLazySignal({
    [stopOf]: abort,
    requestId,
    sessionId,
    includeRawChunks,
    clock,
    newId,
    apiKey,
  })
  const attempt: Attempt = {
    call,
    source: openSource(call, options),
    abort,
    onResult: (result) =>
      settled(attempt)?.onBatch(result.done === true ? undefined : result.value),
    onError: (error) => settled(attempt)?.onFailure(typed(error, call)),
    dog: undefined,
    stopped: undefined,
    waiting: undefined,
  }
  return attempt
}

/**
 * Asks for the next batch. One pull at a time.
 *
 * A stop (by `stopAttempt`, or by silence for `timeoutMs`) answers at once, also when the adapter does not listen to
 * its signal.
 */
function pullBatch(attempt: Attempt, timeoutMs: number | undefined, puller: Puller): void {
  if (attempt.stopped !== undefined) {
    puller.onFailure(attempt.stopped)
    return
  }
  attempt.waiting = puller
  attempt.source.next().then(attempt.onResult, attempt.onError)
  if (timeoutMs === undefined) return
  // Most fakes, and adapters with something at hand, answer before the watch would begin; it needs a timer.
  soon.then(() => {
    if (attempt.waiting === puller) watchOver(attempt).feed(timeoutMs)
  }, noFailure)
}

/** `queueMicrotask`, at a tenth of its price in Node. */
const soon = Promise.resolve()

const noFailure = (): void => undefined

/** Stops an attempt: the adapter's signal is aborted, and whoever waits gets the error. The first reason counts. */
function stopAttempt(attempt: Attempt, error: AllmError): void {
  if (attempt.stopped !== undefined) return
  attempt.stopped = error
  abortWith(attempt.abort, error)
  const { waiting } = attempt
  attempt.waiting = undefined
  waiting?.onFailure(error)
}

/** Releases an attempt that has not come to its own end. */
async function cutAttempt(attempt: Attempt): Promise<void> {
  attempt.dog?.stop()
  const busy = attempt.waiting !== undefined || attempt.stopped !== undefined
  stopAttempt(attempt, cancelledCall(attempt.call))
  const left = attempt.source.return?.()
  // A generator that is still waiting inside takes its `return` only when it wakes up.
  if (busy) left?.catch(() => undefined)
  else await left
}

/** The error of a call that its caller stopped. */
function cancelledCall({ provider, requestId, signal }: ModelCall): StreamError {
  const cause: unknown = signal?.reason
  const message = `the call to ${provider} was cancelled`
  return new StreamError('cancelled', message, { provider, requestId, cause })
}

/** An adapter that is no generator may throw at once. */
function openSource(call: ModelCall, options: AdapterOptions): Attempt['source'] {
  try {
    return call.adapter.stream(call.request, options)[Symbol.asyncIterator]()
  } catch (error) {
    throw typed(error, call)
  }
}

/** Who waited for the pull that the adapter has just answered; nobody, if it was stopped meanwhile. */
function settled(attempt: Attempt): Puller | undefined {
  const { waiting } = attempt
  attempt.waiting = undefined
  if (waiting !== undefined) attempt.dog?.feed(undefined)
  return waiting
}

function watchOver(attempt: Attempt): Watchdog {
  const { provider, requestId, clock } = attempt.call
  attempt.dog ??= watchdog(clock, (ms) => {
    const message = `${provider} was silent for ${ms} ms`
    stopAttempt(attempt, new AdapterError('timeout', message, { provider, requestId }))
  })
  return attempt.dog
}

/** An error of the library as it is; anything else that an adapter throws is `unknown`, with the original as its cause. */
function typed(error: unknown, { provider, requestId }: ModelCall): AllmError {
  if (isAllmError(error)) return error
  const text = error instanceof Error ? error.message : String(error)
  const message = `${provider} failed: ${text}`
  return new AdapterError('unknown', message, { provider, requestId, cause: error })
}

/**
 * Folds a batch of an adapter and gives what the consumer gets of it: nothing follows the event that ends a message.
 *
 * Something that is no event ends the message with an error; what came before it is kept.
 */
function foldBatch(state: Collector, call: ModelCall, batch: Batch): Batch {
  if (!isList(batch)) return broken(state, call, [], malformedBatch(call, state.count))
  for (let index = 0; index < batch.length; index++) {
    const event = batch[index]
    if (event === undefined) continue
    if (!folds(state, event)) {
      return broken(state, call, batch.slice(0, index), malformedEvent(call, state.count))
    }
    call.onEvent?.(event)
    if (event.type === 'message_completed' || event.type === 'error') {
      return index === batch.length - 1 ? batch : batch.slice(0, index + 1)
    }
  }
  return batch
}

/** A failure as the last event of a run. */
function failureEvent(error: Pick<StreamError, 'toJSON'>): StreamEvent {
  return { type: 'error', error: error.toJSON() }
}

/** Folds an event, and says whether it is one: an adapter may be written without types. */
function folds(state: Collector, event: StreamEvent): boolean {
  const { count } = state
  try {
    const whole = isWhole(event)
    if (whole) foldEvent(state, event)
    return whole
  } catch {
    state.count = count
    return false
  }
}

function broken(state: Collector, call: ModelCall, before: Batch, error: StreamError): Batch {
  const event = failureEvent(error)
  foldEvent(state, event)
  call.onEvent?.(event)
  return [...before, event]
}

/** The error of an adapter that gave something else than an event of the union. */
function malformedEvent({ provider, requestId }: ModelCall, eventIndex: number): StreamError {
  const message = `the adapter ${provider} gave something that is no event`
  return new StreamError('malformed_event', message, { provider, requestId, eventIndex })
}

/** The error of an adapter that gave something else than a list of events. */
function malformedBatch({ provider, requestId }: ModelCall, eventIndex: number): StreamError {
  const message = `the adapter ${provider} gave something that is no list of events; a single one is given as [event]`
  return new StreamError('malformed_event', message, { provider, requestId, eventIndex })
}

/** Whether a batch is one. Its type says so, but an adapter may be written without types. */
function isList(batch: unknown): boolean {
  return Array.isArray(batch)
}

/** Whether an event that ends a message has what a fold needs of it. */
function isWhole(event: StreamEvent): boolean {
  if (event.type === 'error') return isReadable(event.error)
  return event.type !== 'message_completed' || isObject(event.message)
}

function isReadable(error: ErrorData): boolean {
  try {
    errorFromJSON(error)
    return true
  } catch {
    return false
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
