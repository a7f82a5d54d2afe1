import type { ToolError } from '../errors/errors.ts'
import type { HandlerWish, ToolEvent, ToolExecutionResult } from '../types/events.ts'

/** The event that ends a call. */
export type AnswerEvent = Extract<
  ToolEvent,
  { type: 'tool_result_encoded' | 'ask_user_requested' | 'tool_halt' }
>

/** What a finished call says: its result, and the event that ends it. */
export interface Answer {
  readonly result: ToolExecutionResult
  /** What the handler wanted beside its value. */
  readonly outcome?: HandlerWish
  readonly event: AnswerEvent
  /** Why the call failed, if it did. */
  readonly error?: ToolError
}
