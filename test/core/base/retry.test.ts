import { describe, expect, test } from 'vitest'
import { retry, type RetryPlan } from '../../../src/core/base/retry.ts'
import { virtualClock } from '../../../src/testing.ts'

/** The waits of a loop whose attempts fail, each with the wait that the other side asks for. */
async function waitsOf(
  asked: readonly (number | undefined)[],
  plan: Partial<RetryPlan> = {},
): Promise<readonly number[]> {
  const clock = virtualClock()
  const waits: number[] = []
  let calls = 0
  await retry(
    () => ({
      maxAttempts: asked.length + 1,
      baseDelayMs: 500,
      maxDelayMs: 30_000,
      jitterMs: 0,
      respectRetryAfter: true,
      clock,
      classify: () => ({ transient: true, retryAfterMs: asked[calls - 1] }),
      retryAfterTooLong: (error) => error,
      postponed: (error) => error,
      onRetry: (_error, _attempt, delayMs) => void waits.push(delayMs),
      ...plan,
    }),
    async () => {
      if (calls++ < asked.length) throw new Error('not yet')
    },
  )
  return waits
}

describe('a wait of 0 that the other side asks for', () => {
  test('is at once after the first failure only', async () => {
    expect(await waitsOf([0])).toEqual([0])
    expect(await waitsOf([0, 0, 0, 0])).toEqual([0, 1000, 2000, 4000])
  })

  test('has the jitter of the back-off from the second failure on', async () => {
    const random = (): number => 0.5
    expect(await waitsOf([0, 0, 0], { jitterMs: 250, random })).toEqual([0, 1125, 2125])
  })

  test('is not at once when an earlier run made the first attempt', async () => {
    expect(await waitsOf([0], { attemptsBefore: 1, maxAttempts: 9 })).toEqual([1000])
  })

  test('ends no other wait, whatever the order', async () => {
    expect(await waitsOf([700, 0, 700, undefined, 0])).toEqual([700, 1000, 700, 4000, 8000])
  })
})

test('a wait that the other side asks for is used instead of the back-off, with jitter', async () => {
  const random = (): number => 0.5
  expect(await waitsOf([10, 10, 10], { jitterMs: 250, random })).toEqual([135, 135, 135])
})

test('nothing is asked where respectRetryAfter is off', async () => {
  expect(await waitsOf([0, 10, 0], { respectRetryAfter: false })).toEqual([500, 1000, 2000])
})
