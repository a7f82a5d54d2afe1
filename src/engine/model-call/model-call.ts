import {
  createCollector,
  foldModelEvent,
  toResponse,
  type Collector,
} from '../../core/answer/fold-answer.ts'
import { eventGate, passedGate, type EventGate } from '../../core/answer/gate.ts'
import { onAbort, unlessStopped } from '../../core/base/abort.ts'
import type { Clock } from '../../core/base/clock.ts'
import { frozen, frozenEvents } from '../../core/base/frozen.ts'
import type { NewId } from '../../core/base/ids.ts'
import { keyFor } from '../../core/base/keys.ts'
import { retry } from '../../core/base/retry.ts'
import {
  span,
  unobserved,
  type RunTrace,
  type Span,
  type SpanFacts,
} from '../../core/base/telemetry.ts'
import { idleTimer, type IdleTimer } from '../../core/base/timers.ts'
import type { AdapterOptions, ChatAdapter } from '../../core/contracts/adapter.ts'
import type { RetryOption } from '../../core/contracts/options.ts'
import { errorFromJSON } from '../../core/errors/error-json.ts'
import {
  cancelledCall,
  EngineError,
  failedCall,
  isAllmError,
  StreamError,
  timedOutCall,
  type AllmError,
  type AnyAllmError,
} from '../../core/errors/errors.ts'
import { asCallerCounts } from '../../core/messages/instructions.ts'
import { unknownProviders } from '../../core/messages/provider-options.ts'
import { assertValid } from '../../core/schema/checks.ts'
import { validateRequest } from '../../core/schema/validate.ts'
import type { Batch, FailedAttempt, ModelEvent, StreamEvent } from '../../core/types/events.ts'
import { assertNever, defined, merged } from '../../core/types/guards.ts'
import type { Message, Thread } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import { optionOf, show, type RunContext } from './context.ts'
import { reportRetry, retryPlan } from './retry-policy.ts'
import type { BatchSource } from './run-stream.ts'

/** A model call as a source of batches. Each batch is folded into `state` before it is emitted. */
export interface ModelRun extends BatchSource {
  /** What was received so far. */
  readonly state: Collector
}

/**
 * Makes one model call: one retry loop before the first event, timeouts, cancellation, telemetry and the fold.
 *
 * A failure before the first event rejects. A later failure is emitted as the last event, and the run then ends normally.
 * Nothing happens before the first `next()`. A loop passes its own `state` to fold into, and the attempts that an earlier run made.
 */
export function modelCall(
  context: RunContext,
  request: ModelRequest,
  state: Collector = createCollector(),
  attemptsBefore: number = 0,
): ModelRun {
  const call = settleCall(context, request, state.thread)
  state.requestId = call.requestId
  state.provider = call.provider
  const run: Run = {
    call,
    attemptsBefore,
    state,
    phase: 'new',
    stop: undefined,
    attempt: undefined,
    openedAt: 0,
    opening: undefined,
    unlink: undefined,
    trace: unobserved,
    timeToFirstChunkMs: undefined,
  }
  return { state, next: () => next(run), return: () => leave(run) }
}

/** Rejects a request that no adapter could send: an engine without an adapter, no model, or illegal contents. */
export function checkRequest({ engine }: RunContext, request: ModelRequest): void {
  const { provider, providers = [provider], needsModel } = adapterOf(engine.adapter)
  if (needsModel === true && request.model === undefined) {
    throw new EngineError(
      'missing_model',
      `${provider} needs a model: pass one to the call or as createEngine({ model })`,
      { provider },
    )
  }
  assertValid('invalid_request', asCallerCounts(request, validateRequest(request)))
  assertValid('invalid_request', asCallerCounts(request, unknownProviders(request, providers)))
}

function adapterOf(adapter: ChatAdapter | undefined): ChatAdapter {
  if (adapter !== undefined) return adapter
  throw new EngineError(
    'missing_adapter',
    'the engine has no adapter: pass one as createEngine({ adapter })',
  )
}

/** One model call with every option settled. */
interface ModelCall {
  readonly adapter: ChatAdapter
  /** Who answers: the adapter's provider, until `message_started` names one of several. */
  provider: string
  readonly request: ModelRequest
  /** The messages whose calls have ids that the answer must not use again. */
  readonly history: readonly Message[]
  readonly requestId: string
  readonly trace: RunTrace
  /** The options of the adapter; its signal and key are added for each attempt. */
  readonly adapterOptions: Omit<AdapterOptions, 'signal' | 'apiKey'>
  /** Looks up the key when the call starts. The key is not kept. */
  readonly findKey: () => string | undefined | Promise<string | undefined>
  /** The name of the engine. */
  readonly agent: string | undefined
  readonly newId: NewId
  readonly clock: Clock
  readonly signal: AbortSignal | undefined
  readonly requestTimeoutMs: number
  /** How long the call may wait before it is sent: the `requestTimeoutMs` that the caller has set. */
  readonly queueTimeoutMs: number | undefined
  readonly streamTimeoutMs: number
  readonly retry: RetryOption | undefined
  readonly onEvent: ((event: StreamEvent) => void) | undefined
}

function settleCall(context: RunContext, request: ModelRequest, thread: Thread): ModelCall {
  const { engine, call, requestId, sessionId, trace } = context
  const { clock, newId } = engine
  const adapter = adapterOf(engine.adapter)
  const includeRawChunks = optionOf(context, 'includeRawChunks')
  const maxResponseBytes = optionOf(context, 'maxResponseBytes')
  const queueTimeoutMs = optionOf(context, 'requestTimeoutMs')
  const requestTimeoutMs = queueTimeoutMs ?? 600_000
  const streamTimeoutMs = optionOf(context, 'streamTimeoutMs') ?? 60_000
  const { apiKey } = call
  const { keys } = engine
  // An adapter in front of several providers finds the key of each, and keeps the time of each.
  const several = adapter.providers !== undefined
  return {
    adapter,
    provider: adapter.provider,
    request: sealed(request),
    // What is sent may be a part of the thread, or other messages.
    history: [...request.messages, ...thread.messages],
    requestId,
    trace,
    adapterOptions: {
      requestId,
      sessionId,
      includeRawChunks,
      maxResponseBytes,
      streamTimeoutMs,
      clock,
      newId,
      headers: callHeaders(context),
      ...(several ? { keys, requestTimeoutMs } : {}),
    },
    findKey: () => (several ? apiKey : keyFor(adapter, { apiKey, keys })),
    agent: engine.name,
    newId,
    clock,
    signal: call.signal,
    requestTimeoutMs: several ? Infinity : requestTimeoutMs,
    queueTimeoutMs,
    streamTimeoutMs: several ? Infinity : streamTimeoutMs,
    retry: call.retry ?? engine.defaults.retry,
    onEvent: optionOf(context, 'onEvent'),
  }
}

/** A request that nobody can change: not the adapter, not a hook of a middleware, not a listener. Its messages are the run's own, frozen. */
function sealed({ messages, ...settings }: ModelRequest): ModelRequest {
  return Object.freeze(merged(frozen(settings), { messages: Object.freeze(messages) }))
}

/** The engine's headers, with the call's over them. */
function callHeaders({ call, engine }: RunContext): AdapterOptions['headers'] {
  const { headers } = engine.defaults
  return headers === undefined ? call.headers : { ...headers, ...call.headers }
}

type Step = IteratorResult<Batch, void>

const over: Step = { done: true, value: undefined }

/** A model call under way. */
interface Run {
  readonly call: ModelCall
  /** Attempts of an earlier run, which waited between them. */
  readonly attemptsBefore: number
  readonly state: Collector
  /** `ending`: the last event was emitted, and the adapter may still have to finish. */
  phase: 'new' | 'opening' | 'open' | 'ending' | 'ended'
  /** Aborted when the call is stopped between two attempts; each attempt has a controller of its own. */
  stop: AbortController | undefined
  attempt: Attempt | undefined
  /** When the attempt started. */
  openedAt: number
  /** The first batch, while it is waited for. */
  opening: Promise<Step> | undefined
  /** Removes the listener on the caller's signal. */
  unlink: (() => void) | undefined
  trace: Span
  /** From the start of the attempt that answered to its first content. */
  timeToFirstChunkMs: number | undefined
}

function next(run: Run): Promise<Step> {
  switch (run.phase) {
    case 'new':
      run.opening = start(run)
      return run.opening
    case 'open':
      return pull(run)
    case 'ending':
      return end(run, false)
    case 'opening':
    case 'ended':
      return Promise.resolve(over)
    default:
      return assertNever(run.phase)
  }
}

async function leave(run: Run): Promise<Step> {
  if (run.phase === 'opening') {
    stopCall(run)
    await run.opening?.catch(() => undefined)
  }
  return run.phase === 'ended' ? over : end(run, true)
}

/** Opens the call: the first batch of the first attempt that yields one. */
async function start(run: Run): Promise<Step> {
  const { call } = run
  run.phase = 'opening'
  const trace = span('stream', call, call.trace.parent, () => callFacts(call))
  run.trace = trace
  const report = reportRetry(trace)
  const failed: Failed[] = []
  try {
    followSignal(run)
    const found = trace.run(call.findKey)
    const apiKey = found instanceof Promise ? await unlessStopped(found, stopOf(run).signal) : found
    const batch = await retry(
      () =>
        retryPlan(call.retry, {
          clock: call.clock,
          signal: stopOf(run).signal,
          attemptsBefore: run.attemptsBefore,
          onRetry: (error, attempt, waitedMs) => {
            report(error, attempt, waitedMs)
            const tookMs = call.clock.now() - run.openedAt
            if (isAllmError(error)) failed.push({ error, tookMs, waitedMs })
          },
        }),
      () => firstBatch(run, apiKey),
    )
    run.phase = 'open'
    return step(run, withRetries(batch, failed))
  } catch (error) {
    run.phase = 'ended'
    run.unlink?.()
    addCauses(error, failed)
    trace.error(error)
    if (run.attempt !== undefined) await cutAttempt(run.attempt)
    throw error
  }
}

/** An attempt that is followed by another one. */
interface Failed extends Pick<FailedAttempt, 'tookMs' | 'waitedMs'> {
  readonly error: AnyAllmError
}

/** The attempts before the last one are the causes of its error. */
function addCauses(last: unknown, failed: readonly Failed[]): void {
  if (failed.length === 0 || !isAllmError(last)) return
  const before = failed.flatMap(({ error }) => (error === last ? [] : error.causes.concat(error)))
  Object.assign(last, { causes: before.concat(last.causes) })
}

/** The first batch of an answer, with the attempts before it. */
function withRetries(batch: ModelBatch, failed: readonly Failed[]): ModelBatch {
  if (failed.length === 0) return batch
  const retries = failed.map(({ error, ...times }) => {
    const { reason, status } = error.toJSON()
    return defined<FailedAttempt>({ reason, status, ...times })
  })
  return batch.map((event) => (event.type === 'message_started' ? { ...event, retries } : event))
}

/**
 * The first batch of one attempt. An attempt that fails is closed before the next one starts.
 *
 * An `error` event that comes first is a failure like any other: it rejects and may be retried.
 */
async function firstBatch(run: Run, apiKey: string | undefined): Promise<ModelBatch> {
  const { call, trace } = run
  run.openedAt = call.clock.now()
  const attempt = openAttempt(call, apiKey, trace)
  run.attempt = attempt
  try {
    for (;;) {
      const batch = await nextBatch(attempt)
      if (batch === undefined) throw truncated(call, 0)
      const settled = passGate(attempt, batch)
      const [first] = settled
      if (first === undefined) {
        if (attempt.gate.problem !== undefined) throw attempt.gate.problem
        continue
      }
      if (first.type === 'error') throw errorFromJSON(first.error)
      run.timeToFirstChunkMs = call.clock.now() - run.openedAt
      return settled
    }
  } catch (error) {
    run.attempt = undefined
    await cutAttempt(attempt).catch(() => undefined)
    throw error
  }
}

/** The next step of a run that is open. Its batch is settled as soon as the adapter has answered: one promise for each batch. */
function pull(run: Run): Promise<Step> {
  const { attempt } = run
  if (attempt === undefined) return Promise.resolve(over)
  return new Promise((resolve, reject) => {
    const settleWith = (found: () => Step | Promise<Step>): void => {
      try {
        resolve(found())
      } catch (error) {
        reject(failedCall(error, run.call))
      }
    }
    ask(attempt, {
      resolve: (batch) => settleWith(() => settleBatch(run, batch)),
      reject: (error) => settleWith(() => step(run, [failureEvent(error)])),
    })
  })
}

/** Checks a batch of the adapter. One of which nothing is left is not emitted. */
function settleBatch(run: Run, batch: ModelBatch | undefined): Step | Promise<Step> {
  if (batch === undefined) return step(run, [failureEvent(truncated(run.call, run.state.count))])
  if (run.attempt === undefined) return step(run, batch)
  const settled = passGate(run.attempt, batch)
  const { problem } = run.attempt.gate
  return settled.length > 0 || problem !== undefined ? step(run, settled) : pull(run)
}

/** Folds a batch and returns what the consumer gets of it. */
function step(run: Run, batch: ModelBatch): Step {
  const value = foldBatch(run.state, run.call, batch, run.attempt?.gate.problem)
  const last = value.at(-1)?.type
  if (last === 'message_completed' || last === 'error') run.phase = 'ending'
  return { done: false, value }
}

/** Ends the call: with `cut` in the middle, else after its last event. */
async function end(run: Run, cut: boolean): Promise<Step> {
  const { attempt, state } = run
  const completed = !cut && state.error === undefined
  run.phase = 'ended'
  try {
    if (attempt === undefined) return over
    try {
      // An adapter that emitted its last event may finish, so that its connection can be used again.
      if (completed && (await nextBatch(attempt)) === undefined) return over
    } catch {
      // The message is complete. A failure after it changes nothing.
    }
    await cutAttempt(attempt)
    return over
  } finally {
    attempt?.idle.stop()
    run.unlink?.()
    endSpan(run.trace, state, run.timeToFirstChunkMs)
  }
}

/** Stops the call with the caller's signal. */
function followSignal(run: Run): void {
  const { signal } = run.call
  if (signal === undefined) return
  if (signal.aborted) throw cancelledCall(run.call)
  run.unlink = onAbort(signal, () => stopCall(run))
}

/** Stops the call, whatever it waits for. A pending `next()` gets a `cancelled` error. */
function stopCall(run: Run): void {
  const error = cancelledCall(run.call)
  stopOf(run).abort(error)
  if (run.attempt !== undefined) stopAttempt(run.attempt, error)
}

/** Most calls are neither stopped nor repeated, and need none. */
function stopOf(run: Run): AbortController {
  return (run.stop ??= new AbortController())
}

type ModelBatch = readonly ModelEvent[]

/** One attempt at a model call: the adapter's stream, its signal and its idle timer. */
interface Attempt {
  readonly call: ModelCall
  readonly trace: Span
  readonly source: AsyncIterator<ModelBatch>
  readonly abort: AbortController
  readonly idle: IdleTimer
  readonly gate: EventGate
  /** Asks the adapter, and answers the pending pull. They are made once, because there is a pull for every batch. */
  readonly pull: () => Promise<IteratorResult<ModelBatch>>
  readonly onResult: (result: IteratorResult<ModelBatch>) => void
  readonly onError: (error: unknown) => void
  /** Whether content has come. Until then `requestTimeoutMs` counts, however alive the provider is. */
  begun: boolean
  /** What is left of `requestTimeoutMs`, and when the pending pull began. */
  waitMs: number
  pulledAt: number
  /** Why nothing more is asked of the adapter. */
  stopped: AllmError | undefined
  /** The pending pull. */
  waiting: Waiting | undefined
}

interface Waiting {
  resolve(batch: ModelBatch | undefined): void
  reject(error: AllmError): void
}

/** Opens an adapter's stream. Nothing is sent before the first pull. */
function openAttempt(call: ModelCall, apiKey: string | undefined, trace: Span): Attempt {
  const { requestId, clock } = call
  const { provider } = call.adapter
  call.provider = provider
  const abort = new AbortController()
  const options: AdapterOptions = merged(call.adapterOptions, {
    apiKey,
    spanId: trace.id,
    signal: abort.signal,
    onActivity: () => keepAlive(attempt),
    queue: { timeoutMs: call.queueTimeoutMs, enter: () => waitForPlace(attempt) },
  })
  const source = trace.run(() => openSource(call, options))
  const attempt: Attempt = {
    call,
    trace,
    source,
    abort,
    idle: idleTimer(
      clock,
      (ms) => {
        const { begun } = attempt
        stopAttempt(attempt, timedOutCall(call, begun ? ms : call.requestTimeoutMs, begun))
      },
      call.streamTimeoutMs,
    ),
    begun: false,
    waitMs: call.requestTimeoutMs,
    pulledAt: 0,
    gate: eventGate({
      provider,
      requestId,
      newId: call.newId,
      history: call.history,
      agent: call.agent,
      isPassed: passedGate in Object(source),
      maxResponseBytes: call.adapterOptions.maxResponseBytes,
    }),
    pull: () => attempt.source.next(),
    onResult: ({ done, value }) => settle(attempt)?.resolve(done === true ? undefined : value),
    onError: (error) => settle(attempt)?.reject(failedCall(error, call)),
    stopped: undefined,
    waiting: undefined,
  }
  return attempt
}

/** An adapter that is not a generator may throw at once. */
function openSource(call: ModelCall, options: AdapterOptions): Attempt['source'] {
  try {
    return call.adapter.stream(call.request, options)[Symbol.asyncIterator]()
  } catch (error) {
    throw failedCall(error, call)
  }
}

/**
 * The next batch of the adapter, or `undefined` at its end. One pull at a time. Rejects with typed errors only.
 *
 * A stop or a timeout rejects at once, also when the adapter ignores its signal.
 */
function nextBatch(attempt: Attempt): Promise<ModelBatch | undefined> {
  return new Promise((resolve, reject) => ask(attempt, { resolve, reject }))
}

function ask(attempt: Attempt, waiting: Waiting): void {
  if (attempt.stopped !== undefined) {
    waiting.reject(attempt.stopped)
    return
  }
  const { begun, call } = attempt
  attempt.waiting = waiting
  if (!begun) attempt.pulledAt = call.clock.now()
  attempt.idle.reset(begun ? call.streamTimeoutMs : attempt.waitMs)
  attempt.trace.run(attempt.pull).then(attempt.onResult, attempt.onError)
}

/** The pull that the adapter just answered; `undefined` if it was stopped in the meantime. */
function settle(attempt: Attempt): Waiting | undefined {
  const { waiting, begun, call } = attempt
  attempt.waiting = undefined
  if (waiting === undefined) return undefined
  if (!begun) attempt.waitMs -= call.clock.now() - attempt.pulledAt
  attempt.idle.reset(undefined)
  return waiting
}

/** The provider has sent something. That ends a silence, and does not extend the wait for the first content. */
function keepAlive(attempt: Attempt): void {
  if (attempt.begun && attempt.waiting !== undefined)
    attempt.idle.reset(attempt.call.streamTimeoutMs)
}

/** The call waits on this side. When it is sent, the wait for the first content begins. */
function waitForPlace(attempt: Attempt): () => void {
  attempt.idle.reset(undefined)
  return () => {
    if (attempt.begun || attempt.waiting === undefined) return
    attempt.waitMs = attempt.call.requestTimeoutMs
    attempt.pulledAt = attempt.call.clock.now()
    attempt.idle.reset(attempt.waitMs)
  }
}

/** What the gate leaves of a batch. Notes whether content has come: anything but the start of the message and what was shown of the wire. */
function passGate(attempt: Attempt, batch: ModelBatch): ModelBatch {
  const settled = attempt.gate.settle(batch)
  const [first] = settled
  if (first?.type === 'message_started') attempt.call.provider = first.provider
  attempt.begun ||= settled.some(({ type }) => type !== 'message_started' && type !== 'raw_chunk')
  return settled
}

/** Stops an attempt: its signal is aborted, and a pending pull rejects with the error. Only the first reason counts. */
function stopAttempt(attempt: Attempt, error: AllmError): void {
  if (attempt.stopped !== undefined) return
  attempt.stopped = error
  attempt.abort.abort(error)
  const { waiting } = attempt
  attempt.waiting = undefined
  waiting?.reject(error)
}

/** Releases an attempt that did not end by itself. */
async function cutAttempt(attempt: Attempt): Promise<void> {
  attempt.idle.stop()
  const busy = attempt.waiting !== undefined || attempt.stopped !== undefined
  stopAttempt(attempt, cancelledCall(attempt.call))
  const left = attempt.trace.run(() => attempt.source.return?.())
  // A generator that is still waiting handles `return` only when it wakes up.
  if (busy) left?.catch(() => undefined)
  else await left
}

/**
 * Folds a batch that has passed the gate and returns what the consumer gets of it: nothing follows the event that ends a
 * message, or the `problem` that the gate found after the batch. An observer that throws ends the message with an error.
 */
function foldBatch(
  state: Collector,
  call: ModelCall,
  given: ModelBatch,
  problem: StreamError | undefined,
): Batch {
  const batch = frozenEvents(given)
  let failure: StreamError | undefined
  let taken = batch
  for (let index = 0; index < batch.length; index++) {
    const event = batch[index]
    if (event === undefined) continue
    foldModelEvent(state, event)
    failure ??= show(call.onEvent, event)
    if (event.type === 'message_completed' || event.type === 'error') {
      if (index < batch.length - 1) taken = batch.slice(0, index + 1)
      problem = undefined
      break
    }
  }
  failure ??= problem
  // What follows an error is not read.
  return failure === undefined || state.error !== undefined
    ? taken
    : broken(state, call, taken, failure)
}

function broken(state: Collector, call: ModelCall, before: ModelBatch, error: StreamError): Batch {
  const event = failureEvent(error)
  foldModelEvent(state, event)
  show(call.onEvent, event)
  return [...before, event]
}

/** A failure as the last event of a run. */
function failureEvent(error: AllmError): ModelEvent {
  return { type: 'error', error: error.toJSON() }
}

/** The answer ended, and not by its last event. */
function truncated({ provider, requestId }: ModelCall, eventIndex: number): StreamError {
  const what = eventIndex === 0 ? 'without any event' : 'early, without message_completed'
  const message = `the answer of ${provider} ended ${what}`
  return new StreamError('truncated', message, { provider, requestId, eventIndex })
}

/** What telemetry says of a call at its start. */
function callFacts(call: ModelCall): SpanFacts & { readonly content: ModelRequest } {
  const { requestId, adapter, request, adapterOptions } = call
  const { model, metadata, messages: _messages, tools: _tools, ...options } = request
  const { responseFormat, promptCache: _cache, providerOptions: _options, ...settings } = options
  return {
    requestId,
    sessionId: adapterOptions.sessionId,
    agent: call.agent,
    provider: adapter.provider,
    server: adapter.server,
    model,
    metadata,
    settings:
      responseFormat === undefined
        ? settings
        : { ...settings, responseFormat: responseFormat.type },
    content: request,
  }
}

/**
 * Ends the span of a call as its state says: by the end of the answer, by an error, or because it was left. An answer that was received in
 * part is told too.
 */
export function endSpan(trace: Span, state: Collector, timeToFirstChunkMs?: number): void {
  if (trace.id === undefined) return
  const { id: responseId, model: responseModel, provider, usage, end, error } = state
  const content = toResponse(state)
  const answer = { responseId, responseModel, usage, timeToFirstChunkMs, content }
  const outcome = provider === '' ? answer : { ...answer, provider }
  if (error !== undefined) trace.error(error, outcome)
  else if (end === undefined) trace.stop({ ...outcome, haltedReason: 'cancelled' })
  else trace.stop({ ...outcome, finishReason: end.finishReason })
}
