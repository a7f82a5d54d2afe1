import { isObject } from './is-object.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Usage } from '../../types/response.ts'

/** Lays the counts of a later event over those of an earlier one. A count that is `null` says nothing. */
export function mergeCounts(earlier: JsonObject, later: JsonObject | null | undefined): JsonObject {
  const merged: Record<string, JsonValue> = { ...earlier }
  for (const [name, value] of Object.entries(later ?? {})) if (value !== null) merged[name] = value
  return merged
}

/**
 * The API's counts in our words.
 *
 * The API counts cached input apart; here `inputTokens` includes what was read from a cache and written to one. What has no
 * word here is in `extra`.
 */
export function parseUsage(counts: JsonObject): Usage {
  const {
    input_tokens,
    output_tokens,
    cache_read_input_tokens,
    cache_creation_input_tokens,
    output_tokens_details,
    ...extra
  } = counts
  const uncached = count(input_tokens)
  const cachedInputTokens = count(cache_read_input_tokens)
  const cacheWriteInputTokens = count(cache_creation_input_tokens)
  const outputTokens = count(output_tokens)
  const inputTokens =
    uncached === undefined
      ? undefined
      : uncached + (cachedInputTokens ?? 0) + (cacheWriteInputTokens ?? 0)
  return defined<Usage>({
    inputTokens,
    outputTokens,
    totalTokens:
      inputTokens === undefined || outputTokens === undefined
        ? undefined
        : inputTokens + outputTokens,
    cachedInputTokens,
    cacheWriteInputTokens,
    reasoningTokens: isObject(output_tokens_details)
      ? count(output_tokens_details['thinking_tokens'])
      : undefined,
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  })
}

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}
