import { asError } from '../async/as-error.ts'
import { createCollector, type Collector } from '../collect/collector-state.ts'
import { foldEvent } from '../collect/fold-event.ts'
import { toResponse } from '../collect/to-response.ts'
import { StreamError } from '../errors/stream-error.ts'
import type { Batch } from '../events/event.ts'
import { isObserved, span, type Span } from '../telemetry/telemetry.ts'
import { closeAttempt, pullBatch, type Attempt } from './attempt.ts'
import { firstBatch } from './first-batch.ts'
import { callFacts, type ModelCall } from './model-call.ts'

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
interface Live {
  readonly call: ModelCall
  readonly state: Collector
  attempt: Attempt | undefined
  trace: Span | undefined
  /** `ending`: the last event is out, and what is left to do is to wind up. */
  phase: 'new' | 'open' | 'ending' | 'ended'
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
  const live: Live = { call, state, attempt: undefined, trace: undefined, phase: 'new' }
  return {
    state,
    next: () => next(live),
    return: () => (live.phase === 'ended' ? Promise.resolve(over) : end(live, true)),
  }
}

function next(live: Live): Promise<Step> {
  const { phase, attempt } = live
  if (phase === 'open' && attempt !== undefined) return pull(live, attempt)
  if (phase === 'new') return start(live)
  return phase === 'ending' ? end(live, false) : Promise.resolve(over)
}

async function start(live: Live): Promise<Step> {
  const { call } = live
  live.trace = span('stream', callFacts(call), call.clock)
  try {
    const first = await firstBatch(call)
    live.attempt = first.attempt
    live.phase = 'open'
    return { done: false, value: take(live, first.batch) }
  } catch (error) {
    live.phase = 'ended'
    live.trace.error(error)
    if (live.attempt !== undefined) await closeAttempt(live.attempt, true)
    throw error
  }
}

function pull(live: Live, attempt: Attempt): Promise<Step> {
  return new Promise((resolve, reject) => {
    const settle = (batch: Batch): void => {
      try {
        resolve({ done: false, value: take(live, batch) })
      } catch (error) {
        // An observer of the caller's threw. The caller gets it, and the call is over.
        end(live, true).then(() => reject(asError(error)), reject)
      }
    }
    pullBatch(
      attempt,
      live.call.streamTimeoutMs,
      (batch) => settle(batch ?? [failureEvent(truncated(live))]),
      (error) => settle([failureEvent(error)]),
    )
  })
}

/** Folds a batch and gives what the consumer gets of it: nothing follows the event that ends a message. */
function take(live: Live, batch: Batch): Batch {
  const { state, call } = live
  for (let index = 0; index < batch.length; index++) {
    const event = batch[index]
    if (event === undefined) continue
    foldEvent(state, event)
    call.onEvent?.(event)
    if (event.type === 'message_completed' || event.type === 'error') {
      live.phase = 'ending'
      return index === batch.length - 1 ? batch : batch.slice(0, index + 1)
    }
  }
  return batch
}

function failureEvent(error: Pick<StreamError, 'toJSON'>): Batch[number] {
  return { type: 'error', error: error.toJSON() }
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
    if (attempt !== undefined) await closeAttempt(attempt, cut || state.error !== undefined)
  } finally {
    live.phase = 'ended'
    report(live)
  }
  return over
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
