import type { JsonObject } from '../data/json.ts'
import type { Usage } from '../data/usage.ts'

/** Gemini's usage: `candidatesTokenCount` leaves the thoughts out, so they are taken off. Cache writes have no place. */
export function usageMetadata(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, extra } = usage
  const total = usage.totalTokens ?? sum(inputTokens, outputTokens)
  return {
    ...(inputTokens === undefined ? {} : { promptTokenCount: inputTokens }),
    ...(outputTokens === undefined
      ? {}
      : { candidatesTokenCount: Math.max(0, outputTokens - (reasoningTokens ?? 0)) }),
    ...(total === undefined ? {} : { totalTokenCount: total }),
    ...(cachedInputTokens === undefined ? {} : { cachedContentTokenCount: cachedInputTokens }),
    ...(reasoningTokens === undefined ? {} : { thoughtsTokenCount: reasoningTokens }),
    ...extra,
  }
}

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right
}
