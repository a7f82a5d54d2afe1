import { linkedAbort } from '../core/abort.ts'
import { retry, type RetryPlan } from '../core/retry.ts'
import { watchdog } from '../core/timers.ts'
import { ImageAdapterError, StreamError } from '../errors/errors.ts'
import type { ImageCall } from './image-call.ts'
import { imageSpan, reportRetry } from './image-telemetry.ts'
import { retryPlan } from '../run/retry-policy.ts'
import type { ImageResponse } from '../types/media.ts'
import { imageFailure } from '../vision/image-failure.ts'

/** Makes an image call: one retry loop, a deadline for each attempt, cancellation and telemetry. */
export async function runImageCall(call: ImageCall): Promise<ImageResponse> {
  const { clock, signal } = call
  const trace = imageSpan(call)
  try {
    const apiKey = call.findKey()
    const plan = (): RetryPlan =>
      retryPlan(call.retry, { clock, signal, onRetry: reportRetry(call) })
    const response = await retry(plan, () => attempt(call, apiKey))
    trace.stop({ images: response.images.length, content: response })
    return response
  } catch (error) {
    // The wait between two attempts rejects with whatever the caller gave to `abort`.
    const failure = signal?.aborted === true ? cancelled(call) : error
    trace.error(failure)
    throw failure
  }
}

/** One attempt. A deadline or a stop ends it at once, also when the adapter does not listen to its signal. */
async function attempt(call: ImageCall, apiKey: string | undefined): Promise<ImageResponse> {
  const { adapter, request, requestId, provider, clock, newId, requestTimeoutMs } = call
  if (call.signal?.aborted === true) throw cancelled(call)
  const abort = linkedAbort(call.signal)
  const dog = watchdog(clock, (ms) => {
    const message = `${provider} took longer than ${ms} ms`
    abort.abort(new ImageAdapterError('timeout', message, { provider, requestId }))
  })
  dog.feed(requestTimeoutMs)
  try {
    const { signal } = abort
    const options = { requestId, signal, apiKey, clock, newId }
    const answer = adapter.generate(request, options)
    return conforming(await Promise.race([answer, stopped(signal, call)]), call)
  } catch (error) {
    throw imageFailure(error, call)
  } finally {
    dog.stop()
    abort.unlink()
  }
}

/** Rejects as soon as the signal is aborted: with the deadline's error, or as cancelled. */
function stopped(signal: AbortSignal, call: ImageCall): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        const reason: unknown = signal.reason
        reject(reason instanceof ImageAdapterError ? reason : cancelled(call))
      },
      { once: true },
    )
  })
}

function cancelled({ provider, requestId, signal }: ImageCall): StreamError {
  const message = `the call to ${provider} was cancelled`
  return new StreamError('cancelled', message, { provider, requestId, cause: signal?.reason })
}

/** Adapters are also written elsewhere, so what they answer is looked at before it is handed on. */
function conforming(response: ImageResponse, { provider, requestId }: ImageCall): ImageResponse {
  if (Array.isArray(response?.images)) return response
  const message = `${provider} gave an answer without images`
  throw new ImageAdapterError('malformed_response', message, { provider, requestId })
}
