import type { AdapterOptions } from '../contracts/adapter.ts'
import { abortWith, lazyAbort, stopOf, withLazySignal, type LazyAbort } from '../core/abort.ts'
import { watchdog, type Watchdog } from '../core/timers.ts'
import { AdapterError, isAllmError, StreamError, type AllmError } from '../errors/errors.ts'
import type { ModelCall } from './model-call.ts'
import type { ModelEvent } from '../types/events.ts'

type ModelBatch = readonly ModelEvent[]

/** Whoever pulls; exactly one of the two is called, once. */
export interface Puller {
  /** The next batch, `undefined` at the end. */
  onBatch(batch: ModelBatch | undefined): void
  onFailure(error: AllmError): void
}

/** One try at a model call: the adapter's stream, watched over. */
export interface Attempt {
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
export function openAttempt(call: ModelCall, apiKey: string | undefined): Attempt {
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
export function pullBatch(attempt: Attempt, timeoutMs: number | undefined, puller: Puller): void {
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
export function stopAttempt(attempt: Attempt, error: AllmError): void {
  if (attempt.stopped !== undefined) return
  attempt.stopped = error
  abortWith(attempt.abort, error)
  const { waiting } = attempt
  attempt.waiting = undefined
  waiting?.onFailure(error)
}

/** Releases an attempt that has not come to its own end. */
export async function cutAttempt(attempt: Attempt): Promise<void> {
  attempt.dog?.stop()
  const busy = attempt.waiting !== undefined || attempt.stopped !== undefined
  stopAttempt(attempt, cancelledCall(attempt.call))
  const left = attempt.source.return?.()
  // A generator that is still waiting inside takes its `return` only when it wakes up.
  if (busy) left?.catch(() => undefined)
  else await left
}

/** The error of a call that its caller stopped. */
export function cancelledCall({ provider, requestId, signal }: ModelCall): StreamError {
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
