import type { ErrorData } from '../data/error-data.ts'
import type { JsonObject, JsonValue } from '../data/json.ts'
import type { ToolHalt } from '../data/step-result.ts'
import type { InterruptedReason } from './tool-message.ts'

/** How a tool call came out: its value, or the whole structured error. */
export type ToolExecutionResult = { readonly ok: JsonValue } | { readonly error: ErrorData }

/** What a handler wants of the loop: to ask the user, or to halt it. */
export type HandlerWish =
  | { readonly type: 'ask_user'; readonly question: string; readonly options: JsonObject }
  | { readonly type: 'halt'; readonly reason: string }

/**
 * Everything that the tool runner can say.
 *
 * Each call says `tool_execution_started`, `tool_execution_completed`, and then exactly one of the others.
 * Different calls interleave, in the order in which things happen.
 */
export type ToolEvent =
  /** The handler is being started now. */
  | {
      readonly type: 'tool_execution_started'
      readonly id: string
      readonly name: string
      readonly arguments: JsonObject
    }
  | {
      readonly type: 'tool_execution_completed'
      readonly id: string
      readonly name: string
      readonly result: ToolExecutionResult
      readonly durationMs: number
      /** Set when the handler wants more than to give a value. */
      readonly outcome?: HandlerWish
    }
  /** The tool message is ready: `content` is what the model will read. */
  | {
      readonly type: 'tool_result_encoded'
      readonly id: string
      readonly content: string
      /** The result stands in for one that never came. */
      readonly interrupted?: InterruptedReason
      /** The call failed, and by the error policy the loop ends after this batch. */
      readonly halt?: ToolHalt
    }
  | {
      readonly type: 'ask_user_requested'
      readonly toolCallId: string
      readonly toolName: string
      readonly question: string
      readonly options: JsonObject
    }
  | {
      readonly type: 'tool_halt'
      readonly toolCallId: string
      readonly reason: string
      readonly result: JsonValue
      readonly content: string
    }
