import { retry, type RetryPlan } from '../async/retry.ts'
import type { AllmError } from '../errors/allm-error.ts'
import { errorFromJSON, errorToJSON } from '../errors/error-json.ts'
import { StreamError } from '../errors/stream-error.ts'
import type { Batch } from '../events/event.ts'
import { emitTelemetry, isObserved } from '../telemetry/telemetry.ts'
import { cancelledCall, closeAttempt, openAttempt, pullBatch, type Attempt } from './attempt.ts'
import { callFacts, type ModelCall } from './model-call.ts'
import { retryPlan } from './retry-policy.ts'

/** An attempt that has begun to answer. */
export interface Opened {
  readonly attempt: Attempt
  readonly batch: Batch
}

/**
 * The first batch of the first attempt that gives one. An attempt that fails is closed before the next begins.
 *
 * An `error` event that comes first is a failure like any other here, so it is thrown, and may be tried again.
 */
export async function firstBatch(call: ModelCall): Promise<Opened> {
  const apiKey = call.findKey()
  const keyed =
    apiKey === undefined ? call : { ...call, adapterOptions: { ...call.adapterOptions, apiKey } }
  const { clock, signal } = call
  const plan = (): RetryPlan =>
    retryPlan(call.retry, {
      clock,
      signal,
      onRetry: (error, attempt, delayMs) => reportRetry(call, error, attempt, delayMs),
    })
  try {
    return await retry(plan, () => tryOnce(keyed))
  } catch (error) {
    // The wait between two attempts rejects with whatever the caller gave to `abort`.
    throw signal?.aborted === true && !(error instanceof StreamError) ? cancelledCall(call) : error
  }
}

async function tryOnce(call: ModelCall): Promise<Opened> {
  const attempt = openAttempt(call)
  try {
    for (;;) {
      const batch = await pulled(attempt, call)
      const first = batch[0]
      if (first === undefined) continue
      if (first.type === 'error') throw errorFromJSON(first.error)
      return { attempt, batch }
    }
  } catch (error) {
    await closeAttempt(attempt, true)
    throw error
  }
}

function pulled(attempt: Attempt, call: ModelCall): Promise<Batch> {
  const { provider, requestId } = call
  return new Promise((resolve, reject) => {
    pullBatch(
      attempt,
      call.requestTimeoutMs,
      (batch) => {
        if (batch !== undefined) resolve(batch)
        else {
          const message = `${provider} gave an answer without any event`
          reject(new StreamError('truncated', message, { provider, requestId, eventIndex: 0 }))
        }
      },
      (error: AllmError) => reject(error),
    )
  })
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
