import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { FinishReason, Usage } from '../../types/response.ts'

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

/** What Gemini's words for the end of an answer mean. */
const meanings: ReadonlyMap<string, FinishReason> = new Map([
  ['STOP', 'stop'],
  ['MAX_TOKENS', 'length'],
  ['CONTINUATION', 'length'],
  ['SAFETY', 'content_filter'],
  ['RECITATION', 'content_filter'],
  ['LANGUAGE', 'content_filter'],
  ['BLOCKLIST', 'content_filter'],
  ['PROHIBITED_CONTENT', 'content_filter'],
  ['SPII', 'content_filter'],
  ['MODEL_ARMOR', 'content_filter'],
  ['IMAGE_SAFETY', 'content_filter'],
  ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
  ['IMAGE_RECITATION', 'content_filter'],
  ['MALFORMED_FUNCTION_CALL', 'error'],
  ['UNEXPECTED_TOOL_CALL', 'error'],
  ['TOO_MANY_TOOL_CALLS', 'error'],
  ['MISSING_THOUGHT_SIGNATURE', 'error'],
  ['MALFORMED_RESPONSE', 'error'],
])

/**
 * The finish reason in our words; whatever is not known is `other`.
 *
 * Gemini says `STOP` also after function calls: with calls that is `tool_calls`.
 */
export function finishReasonOf(word: string, hasCalls: boolean): FinishReason {
  const meaning = meanings.get(word) ?? 'other'
  return meaning === 'stop' && hasCalls ? 'tool_calls' : meaning
}
