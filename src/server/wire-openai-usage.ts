import type { JsonObject } from '../types/json.ts'
import type { Usage } from '../types/response.ts'

/** Chat Completions usage. Counters that the script does not know are left out, their sum is filled in. */
export function chatUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, reasoningTokens, extra } = usage
  return {
    ...(inputTokens === undefined ? {} : { prompt_tokens: inputTokens }),
    ...(outputTokens === undefined ? {} : { completion_tokens: outputTokens }),
    ...total(usage),
    ...inputDetails('prompt_tokens_details', usage),
    ...(reasoningTokens === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
    ...extra,
  }
}

/** Responses usage. This API always sends all counters, so what the script does not know is 0. */
export function responsesUsage(usage: Usage): JsonObject {
  const { inputTokens = 0, outputTokens = 0, extra } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens ?? 0,
      cache_write_tokens: usage.cacheWriteInputTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: usage.totalTokens ?? inputTokens + outputTokens,
    ...extra,
  }
}

function total({ inputTokens, outputTokens, totalTokens }: Usage): JsonObject {
  if (totalTokens !== undefined) return { total_tokens: totalTokens }
  if (inputTokens === undefined || outputTokens === undefined) return {}
  return { total_tokens: inputTokens + outputTokens }
}

function inputDetails(name: string, usage: Usage): JsonObject {
  const { cachedInputTokens, cacheWriteInputTokens } = usage
  if (cachedInputTokens === undefined && cacheWriteInputTokens === undefined) return {}
  return {
    [name]: {
      ...(cachedInputTokens === undefined ? {} : { cached_tokens: cachedInputTokens }),
      ...(cacheWriteInputTokens === undefined ? {} : { cache_write_tokens: cacheWriteInputTokens }),
    },
  }
}
