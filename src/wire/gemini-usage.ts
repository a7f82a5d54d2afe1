import type { JsonObject } from '../types/json.ts'
import type { Usage } from '../types/response.ts'

/** Gemini's usage: `candidatesTokenCount` leaves the thoughts out, so they are taken off. Cache writes have no place. */
export function usageMetadata(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, extra } = usage
  const total = usage.totalTokens ?? sum(inputTokens, allOutput(usage))
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

/** The thoughts are a part of the output, so there is never less of it. */
function allOutput({ outputTokens, reasoningTokens }: Usage): number | undefined {
  if (outputTokens === undefined) return reasoningTokens
  return Math.max(outputTokens, reasoningTokens ?? 0)
}

function sum(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left + right
}
