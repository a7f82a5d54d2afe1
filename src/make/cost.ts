import type { Usage } from '../types/response.ts'

/** What a model costs, for each million tokens, in whatever currency. Prices are your data: the library knows none. */
export interface Price {
  /** Of input tokens that have no price of their own. */
  readonly input: number
  /** Of output tokens that have no price of their own. */
  readonly output: number
  /** Of input tokens that were read from a cache. Without it they cost as much as others. */
  readonly cachedInput?: number
  /** Of input tokens that were written to a cache. Without it they cost as much as others. */
  readonly cacheWriteInput?: number
  /** Of output tokens that were spent on reasoning. Without it they cost as much as others. */
  readonly reasoning?: number
}

/**
 * What a run cost: its usage at a price for each million tokens.
 *
 * Returns `undefined` without a price, and when the provider did not report input or output tokens: what is not known is not free.
 */
export function cost(usage: Usage, price: Price | undefined): number | undefined {
  const { inputTokens, outputTokens } = usage
  if (price === undefined || inputTokens === undefined || outputTokens === undefined) {
    return undefined
  }
  const { cachedInputTokens = 0, cacheWriteInputTokens = 0, reasoningTokens = 0 } = usage
  const { input, output, cachedInput = input, cacheWriteInput = input, reasoning = output } = price
  const plainInput = Math.max(0, inputTokens - cachedInputTokens - cacheWriteInputTokens)
  const plainOutput = Math.max(0, outputTokens - reasoningTokens)
  const sum =
    plainInput * input +
    cachedInputTokens * cachedInput +
    cacheWriteInputTokens * cacheWriteInput +
    plainOutput * output +
    reasoningTokens * reasoning
  return sum / 1_000_000
}
