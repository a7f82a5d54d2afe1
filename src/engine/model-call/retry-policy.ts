import type { Clock } from '../../core/base/clock.ts'
import type { RetryPlan } from '../../core/base/retry.ts'
import { withoutPartial, type Span } from '../../core/base/telemetry.ts'
import type { RetryOption, RetryPolicy } from '../../core/contracts/options.ts'
import {
  AdapterError,
  ImageAdapterError,
  isAllmError,
  transientReasons,
} from '../../core/errors/errors.ts'
import type { JsonObject } from '../../core/types/json.ts'

/** Three attempts, with waits from half a second doubling to thirty, for transient failures. */
export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 3,
  baseDelayMs: 500,
  maxDelayMs: 30_000,
  jitterMs: 250,
  retryOn: transientReasons,
  respectRetryAfter: true,
}

/** What the retry loop needs beside its policy. */
interface RetryContext {
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
  readonly attemptsBefore?: number | undefined
  readonly onRetry?: RetryPlan['onRetry']
}

/** The plan of a retry option, for `retry` of `core`. Which failures are retried is decided here, and by `retryable` of the error (see `transientReasons`). */
export function retryPlan(option: RetryOption | undefined, context: RetryContext): RetryPlan {
  const policy = settlePolicy(option)
  return {
    ...policy,
    ...context,
    classify: (error) => {
      // An answer that ended before its first event is a network failure.
      if (!isAllmError(error)) return { transient: false }
      const cut = error.kind === 'stream' && error.reason === 'truncated'
      if (cut) return { transient: policy.retryOn.includes('network_error') }
      if (error.kind !== 'adapter' && error.kind !== 'image_adapter') return { transient: false }
      const listed = policy.retryOn.some((reason) => reason === error.reason)
      return { transient: listed && error.retryable, retryAfterMs: error.retryAfterMs }
    },
    retryAfterTooLong: (error, retryAfterMs) => {
      const why = `the provider asks to wait ${retryAfterMs} ms, longer than ${policy.maxRetryAfterMs === undefined ? `maxDelayMs ${policy.maxDelayMs}` : `maxRetryAfterMs ${policy.maxRetryAfterMs}`}`
      return notRetried(error, retryAfterMs, why)
    },
    postponed: (error, attempts, delayMs) => {
      const why = `attempt ${attempts} of ${policy.maxAttempts}; the next is due in ${delayMs} ms`
      return notRetried(error, delayMs, why, { postponed: true, attempts })
    },
  }
}

/** The whole policy of a retry option. */
export function settlePolicy(option: RetryOption | undefined): RetryPolicy {
  if (option === undefined || option === 'default') return defaultRetryPolicy
  if (option === false) return { ...defaultRetryPolicy, maxAttempts: 1 }
  return { ...defaultRetryPolicy, ...option }
}

/** The same failure, with the reason why it was not retried. */
function notRetried(
  error: unknown,
  retryAfterMs: number,
  why: string,
  facts: JsonObject = {},
): unknown {
  if (!isAllmError(error)) return error
  if (error.kind !== 'adapter' && error.kind !== 'image_adapter') return error
  const message = `${error.message} (${why})`
  const { cause } = error
  const metadata = { ...error.metadata, ...facts }
  const details = Object.assign({}, error, { cause, metadata, retryAfterMs, retryable: true })
  return error.kind === 'adapter'
    ? new AdapterError(error.reason, message, details)
    : new ImageAdapterError(error.reason, message, details)
}

/** Emits a `retry` event in the span of the call before each wait. */
export function reportRetry(trace: Span): NonNullable<RetryPlan['onRetry']> {
  return (failure, attempt, delayMs) => {
    if (trace.id === undefined) return
    trace.event({ name: 'retry', attempt, delayMs, error: withoutPartial(failure) })
  }
}
