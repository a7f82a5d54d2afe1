import type { FinishReason } from '../../../types/response.ts'

/** The words of OpenAI, and those that servers of its kind use instead. */
const known: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  eos: 'stop',
  end_turn: 'stop',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
  error: 'error',
}

/**
 * Why a chat answer ended. A word that is not known is `other`.
 *
 * An end marker without a word is `tool_calls` when there are calls, for they are whole, else `other`.
 */
export function chatFinishReason(word: string | undefined, hasCalls: boolean): FinishReason {
  if (word === undefined) return hasCalls ? 'tool_calls' : 'other'
  return (Object.hasOwn(known, word) ? known[word] : undefined) ?? 'other'
}
