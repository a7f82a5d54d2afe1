import type { FinishReason } from '../../types/response.ts'

const reasons: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool_calls'],
  ['refusal', 'content_filter'],
])

/** Why a message ended, in our words. `pause_turn` and every word that is not known are `other`. */
export function parseFinishReason(stopReason: string | undefined): FinishReason {
  return reasons.get(stopReason ?? '') ?? 'other'
}
