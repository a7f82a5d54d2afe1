import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { Usage } from '../types/response.ts'

/**
 * Anthropic's usage: its `input_tokens` are those that no cache had a part in, so cached reads and writes are
 * taken off. This API always counts input and output, so what the script does not know of them is 0.
 */
export function messageUsage(usage: Usage): JsonObject {
  const read = usage.cachedInputTokens ?? 0
  const written = usage.cacheWriteInputTokens ?? 0
  const { inputTokens, outputTokens, reasoningTokens, extra } = usage
  return {
    input_tokens: Math.max(0, (inputTokens ?? 0) - read - written),
    cache_creation_input_tokens: usage.cacheWriteInputTokens ?? null,
    cache_read_input_tokens: usage.cachedInputTokens ?? null,
    output_tokens: outputTokens ?? 0,
    ...(reasoningTokens === undefined
      ? {}
      : { output_tokens_details: { thinking_tokens: reasoningTokens } }),
    ...extra,
  }
}

/** The usage that a stream starts with: the input is known, and nothing was written yet. */
export function startUsage(usage: Usage): JsonObject {
  const { inputTokens, cachedInputTokens, cacheWriteInputTokens } = usage
  const known = defined<Usage>({ inputTokens, cachedInputTokens, cacheWriteInputTokens })
  return messageUsage({ ...known, outputTokens: 0 })
}
