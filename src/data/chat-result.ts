import type { ErrorData } from './error-data.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { ModelResponse } from './model-response.ts'
import type { StepResult } from './step-result.ts'
import type { Thread } from './thread.ts'
import type { ToolCall } from './tool-call.ts'
import type { Usage } from './usage.ts'

/** The words that the loop itself uses for its end; a handler's `halt` may use any other. */
export type LoopHaltReason =
  | 'completed'
  | 'max_turns'
  | 'halt_when'
  | 'ask_user'
  | 'manual_tool_calls'
  | 'tool_error'
  | 'error'
  | 'cancelled'

/** Why a chat ended. */
export type HaltedReason = LoopHaltReason | (string & {})

/** The words that a handler may not use for its own halt. */
export const loopHaltReasons: readonly LoopHaltReason[] = [
  'completed',
  'max_turns',
  'halt_when',
  'ask_user',
  'manual_tool_calls',
  'tool_error',
  'error',
  'cancelled',
]

/** A whole run of the loop. */
export interface ChatResult {
  /** Sendable as it is: every tool call in it is answered, save those in `manualToolCalls`. */
  readonly thread: Thread
  /** The last answer; absent when no model call got as far as one. */
  readonly finalResponse?: ModelResponse
  readonly steps: readonly StepResult[]
  readonly haltedReason: HaltedReason
  readonly pendingQuestion?: string
  readonly pendingToolCallId?: string
  readonly manualToolCalls: readonly ToolCall[]
  /** What a handler gave to `halt`. */
  readonly haltResult?: JsonValue
  readonly error?: ErrorData
  /** The sum over all steps. */
  readonly usage: Usage
  readonly metadata: JsonObject
}
