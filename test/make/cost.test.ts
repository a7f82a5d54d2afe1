import { expect, test } from 'vitest'
import { cost } from '../../src/index.ts'

test('tokens cost what their kind costs, and as much as others where it has no price', () => {
  const usage = {
    inputTokens: 1_000_000,
    cachedInputTokens: 400_000,
    cacheWriteInputTokens: 100_000,
    outputTokens: 200_000,
    reasoningTokens: 50_000,
  }
  expect(cost(usage, { input: 2, output: 10 })).toBe(4)
  const apart = { input: 2, output: 10, cachedInput: 0.5, cacheWriteInput: 4, reasoning: 20 }
  expect(cost(usage, apart)).toBeCloseTo(0.5 * 2 + 0.4 * 0.5 + 0.1 * 4 + 0.15 * 10 + 0.05 * 20, 12)
  expect(cost({ inputTokens: 0, outputTokens: 0 }, { input: 2, output: 10 })).toBe(0)
})

test('what is not known is not free', () => {
  expect(cost({ inputTokens: 1, outputTokens: 1 }, undefined)).toBeUndefined()
  expect(cost({}, { input: 1, output: 1 })).toBeUndefined()
  expect(cost({ inputTokens: 5 }, { input: 1, output: 1 })).toBeUndefined()
})
