import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Usage } from '../../types/response.ts'

/**
 * Gemini's token counts in our words. What it did not count is absent; what has no field of ours is in `extra`.
 *
 * `outputTokens` is the candidate's tokens and its thoughts, which Gemini counts apart.
 */
export function parseUsage(counts: JsonObject): Usage {
  const answer = count(counts['candidatesTokenCount'])
  const thoughts = count(counts['thoughtsTokenCount'])
  const silent = answer === undefined && thoughts === undefined
  return defined<Usage>({
    inputTokens: count(counts['promptTokenCount']),
    outputTokens: silent ? undefined : (answer ?? 0) + (thoughts ?? 0),
    totalTokens: count(counts['totalTokenCount']),
    cachedInputTokens: count(counts['cachedContentTokenCount']),
    reasoningTokens: thoughts,
    extra: extraCounts(counts),
  })
}

const mapped: ReadonlySet<string> = new Set([
  'promptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
  'cachedContentTokenCount',
])

function extraCounts(counts: JsonObject): JsonObject | undefined {
  const extra = Object.entries(counts).filter(([key]) => !mapped.has(key))
  return extra.length === 0 ? undefined : Object.fromEntries(extra)
}

function count(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}
