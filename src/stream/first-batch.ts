import { signalOf, type LazyAbort } from '../core/abort.ts'
import { retry, type RetryPlan } from '../core/retry.ts'
import { emitTelemetry, isObserved } from '../core/telemetry.ts'
import { errorFromJSON, errorToJSON } from '../errors/error-json.ts'
import { StreamError } from '../errors/errors.ts'
import { cutAttempt, openAttempt, pullBatch, type Attempt, type Puller } from './attempt.ts'
import { isList, isWhole, malformedBatch, malformedEvent } from './malformed.ts'
import { callFacts, type ModelCall } from './model-call.ts'
import { retryPlan } from './retry-policy.ts'
import { isStreamEvent, type Batch } from '../types/events.ts'

/** A call that is about to begin. */
export interface Opening {
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
export function firstBatch(opening: Opening): Promise<Batch> {
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
