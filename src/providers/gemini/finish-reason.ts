import type { FinishReason } from '../../types/response.ts'

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
