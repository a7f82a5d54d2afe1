/** Why a message ended. What a provider says beyond these is `other`, with its own word in `rawFinishReason`. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'error' | 'other'

/** Every finish reason, in the order of the union. */
export const finishReasons: readonly FinishReason[] = [
  'stop',
  'length',
  'tool_calls',
  'content_filter',
  'error',
  'other',
]
