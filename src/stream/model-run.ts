import { createCollector, type Collector } from '../collect/collector-state.ts'
import { toResponse } from '../collect/to-response.ts'
import { abortWith, lazyAbort } from '../core/abort.ts'
import { isObserved, span, type Span } from '../core/telemetry.ts'
import { StreamError } from '../errors/errors.ts'
import { cancelledCall, cutAttempt, pullBatch, stopAttempt, type Attempt } from './attempt.ts'
import { firstBatch, type Opening } from './first-batch.ts'
import { failureEvent, foldBatch } from './fold-batch.ts'
import { callFacts, type ModelCall } from './model-call.ts'
import type { Batch } from '../types/events.ts'

type Step = IteratorResult<Batch, void>

const over: Step = { done: true, value: undefined }

/** A model call as a stream of batches, folded as it goes. */
export interface ModelRun {
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
export function modelRun(call: ModelCall, state: Collector = createCollector()): ModelRun {
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
