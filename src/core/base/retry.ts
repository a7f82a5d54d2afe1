import type { Clock } from './clock.ts'

/** What the loop needs to know of a failure. */
interface Failure {
  /** Whether the policy retries it. */
  readonly transient: boolean
  /** How long the other side asked to wait. */
  readonly retryAfterMs?: number | undefined
}

/** The settings of the loop. */
export interface RetryPlan {
  readonly maxAttempts: number
  readonly baseDelayMs: number
  readonly maxDelayMs: number
  readonly jitterMs: number
  readonly respectRetryAfter: boolean
  /** The longest wait that the other side may ask for, instead of `maxDelayMs`. */
  readonly maxRetryAfterMs?: number | undefined
  /** A longer wait is not waited for here: the loop fails with what `postponed` returns. */
  readonly longestWaitMs?: number | undefined
  /** Attempts that were made before this loop. They count. */
  readonly attemptsBefore?: number | undefined
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
  /** Classifies a failure. */
  readonly classify: (error: unknown) => Failure
  /** The other side asked for a longer wait than `maxDelayMs`: returns the error to fail with. */
  readonly retryAfterTooLong: (error: unknown, retryAfterMs: number) => unknown
  /** The next attempt is for the caller, after a wait: returns the error that says so. */
  readonly postponed: (error: unknown, attempts: number, delayMs: number) => unknown
  /** Called before each wait. */
  readonly onRetry?: ((error: unknown, attempt: number, delayMs: number) => void) | undefined
  readonly random?: (() => number) | undefined
}

/**
 * The one retry loop of the library: tries `attempt` until it succeeds, fails for good, or the attempts are used up.
 *
 * Waits double from `baseDelayMs` to `maxDelayMs`, plus jitter. A wait that the other side asks for is used instead, up to `maxRetryAfterMs`; beyond that the
 * loop fails at once. A wait of 0 is used after the first failure only: from the second on the back-off counts, so that nobody is called without a pause.
 * With `longestWaitMs` the longer waits are the caller's. The plan is made when it is first needed, because most calls succeed.
 */
export async function retry<T>(makePlan: () => RetryPlan, attempt: () => Promise<T>): Promise<T> {
  let plan: RetryPlan | undefined
  for (let number = 1; ; number++) {
    try {
      return await attempt()
    } catch (error) {
      plan ??= makePlan()
      const { longestWaitMs, attemptsBefore = 0 } = plan
      const attempts = attemptsBefore + number
      const failure = plan.classify(error)
      if (!failure.transient || attempts >= plan.maxAttempts) throw error
      const asked = plan.respectRetryAfter ? failure.retryAfterMs : undefined
      if (asked !== undefined && asked > (plan.maxRetryAfterMs ?? plan.maxDelayMs)) {
        throw plan.retryAfterTooLong(error, asked)
      }
      const delayMs = delayAfter(attempts, asked, plan)
      plan.onRetry?.(error, attempts, delayMs)
      if (longestWaitMs !== undefined && delayMs > longestWaitMs) {
        throw plan.postponed(error, attempts, delayMs)
      }
      await plan.clock.sleep(delayMs, plan.signal)
    }
  }
}

function delayAfter(attempt: number, asked: number | undefined, plan: RetryPlan): number {
  if (asked === 0 && attempt === 1) return 0
  const backOff = Math.min(plan.maxDelayMs, plan.baseDelayMs * 2 ** (attempt - 1))
  const jitter = Math.floor((plan.random ?? Math.random)() * (plan.jitterMs + 1))
  return (asked || backOff) + jitter
}
