import { systemClock } from '../core/clock.ts'
import { retry, type RetryPlan } from '../core/retry.ts'
import { isAllmError } from '../errors/errors.ts'
import { retryPlan } from '../run/retry-policy.ts'
import type { FakeInput } from './begin-call.ts'
import { fakeProvider, left } from './fake-state.ts'
import { foldCall } from './fold-call.ts'
import { stoppedBy } from './stopped-by.ts'
import type { ModelResponse } from '../types/response.ts'

/**
 * Folds one call's stream into its response. Rejects where the stream throws or ends in `error`.
 *
 * What fails before the first event and may go away by itself is tried again by the library's default policy, as long as there
 * is a script for one more call.
 */
export function generateCall(input: FakeInput): Promise<ModelResponse> {
  const response = retry(
    () => planFor(input),
    () => foldCall(input),
  )
  const { fake, options } = input
  const { signal } = options
  if (signal === undefined) return response
  return response.catch((error) => {
    // The wait between two attempts rejects with whatever the caller gave to `abort`.
    if (!signal.aborted || isAllmError(error)) throw error
    const requestId = options.requestId ?? `fake-request-${fake.log.count}`
    throw stoppedBy(signal, { provider: fakeProvider, requestId }, 0)
  })
}

function planFor({ fake, options }: FakeInput): RetryPlan {
  const { clock = systemClock, signal } = options
  const plan = retryPlan('default', { clock, signal })
  const judge: RetryPlan['judge'] = (error) => {
    // An error that came after the first event holds what came before it.
    const preflight = isAllmError(error) && error.partial === undefined
    const another = fake.log.count < fake.firstGoodCall || left(fake.forGenerate) > 0
    return preflight && another ? plan.judge(error) : { transient: false }
  }
  return { ...plan, judge }
}
