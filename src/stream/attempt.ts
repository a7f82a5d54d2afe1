import type { AdapterOptions } from '../adapter/adapter-options.ts'
import { lazyAbort, withLazySignal, type LazyAbort } from '../async/lazy-abort.ts'
import { watchdog, type Watchdog } from '../async/watchdog.ts'
import { AdapterError } from '../errors/adapter-error.ts'
import { isAllmError, type AllmError } from '../errors/allm-error.ts'
import { StreamError } from '../errors/stream-error.ts'
import type { ModelEvent } from '../events/model-event.ts'
import type { ModelCall } from './model-call.ts'

type ModelBatch = readonly ModelEvent[]
type OnBatch = (batch: ModelBatch | undefined) => void
type OnFailure = (error: AllmError) => void

/** One try at a model call: the adapter's stream, watched over. */
export interface Attempt {
  readonly call: ModelCall
  readonly source: AsyncIterator<ModelBatch>
  readonly abort: LazyAbort
  readonly onAbort: () => void
  dog: Watchdog | undefined
  /** Why no more is asked of the adapter. */
  stopped: AllmError | undefined
  /** Answers the pull that is under way, before the adapter does. */
  waiting: OnFailure | undefined
}

/** Starts an adapter's stream. Nothing is sent before the first pull. */
export function openAttempt(call: ModelCall): Attempt {
  const abort = lazyAbort()
  const { signal } = call
  const options = withLazySignal(call.adapterOptions, abort)
  const attempt: Attempt = {
    call,
    source: openSource(call, options),
    abort,
    onAbort: () => stop(attempt, cancelledCall(call)),
    dog: undefined,
    stopped: undefined,
    waiting: undefined,
  }
  if (signal?.aborted === true) attempt.onAbort()
  else signal?.addEventListener('abort', attempt.onAbort, { once: true })
  return attempt
}

/**
 * Asks for the next batch, `undefined` at the end. One pull at a time; exactly one callback is called.
 *
 * A stop (by the caller's signal, or by silence for `timeoutMs`) answers at once, also when the adapter does not
 * listen to its signal.
 */
export function pullBatch(
  attempt: Attempt,
  timeoutMs: number | undefined,
  onBatch: OnBatch,
  onFailure: OnFailure,
): void {
  if (attempt.stopped !== undefined) {
    onFailure(attempt.stopped)
    return
  }
  attempt.waiting = onFailure
  if (timeoutMs !== undefined) watchOver(attempt).feed(timeoutMs)
  const settle = (): boolean => {
    if (attempt.waiting !== onFailure) return false
    attempt.waiting = undefined
    attempt.dog?.feed(undefined)
    return true
  }
  attempt.source.next().then(
    (result) => {
      if (settle()) onBatch(result.done === true ? undefined : result.value)
    },
    (error: unknown) => {
      if (settle()) onFailure(typed(error, attempt.call))
    },
  )
}

/** Releases everything: with `cut` at once, else after the adapter has come to its own end. */
export async function closeAttempt(attempt: Attempt, cut: boolean): Promise<void> {
  const { call, source } = attempt
  const ended = !cut && (await windUp(attempt))
  attempt.dog?.stop()
  call.signal?.removeEventListener('abort', attempt.onAbort)
  if (ended) return
  const busy = attempt.waiting !== undefined || attempt.stopped !== undefined
  stop(attempt, cancelledCall(call))
  const left = source.return?.()
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

/** Lets an adapter that has said its last word finish, so that its connection can be used again. */
function windUp(attempt: Attempt): Promise<boolean> {
  return new Promise((resolve) => {
    pullBatch(
      attempt,
      attempt.call.streamTimeoutMs,
      (batch) => resolve(batch === undefined),
      () => resolve(false),
    )
  })
}

function stop(attempt: Attempt, error: AllmError): void {
  if (attempt.stopped !== undefined) return
  attempt.stopped = error
  attempt.abort.abort(error)
  const { waiting } = attempt
  attempt.waiting = undefined
  waiting?.(error)
}

function watchOver(attempt: Attempt): Watchdog {
  const { provider, requestId, clock } = attempt.call
  attempt.dog ??= watchdog(clock, (ms) => {
    const message = `${provider} was silent for ${ms} ms`
    stop(attempt, new AdapterError('timeout', message, { provider, requestId }))
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
