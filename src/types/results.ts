import type { ErrorData } from './error-data.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Message, Thread, ToolCall } from './message.ts'
import type { ModelResponse, Usage } from './response.ts'

/** Why a batch of tools stopped the loop. */
export interface ToolHalt {
  /** `ask_user`, `tool_error`, or the reason that a handler passed to `halt`. */
  readonly reason: string
  readonly toolCallId: string
  readonly result?: JsonValue
  readonly question?: string
  readonly options?: JsonObject
  readonly error?: ErrorData
}

/** One model call and the results of its tool calls. */
export interface StepResult {
  /** The thread before the step, with the assistant's message and the tool messages added. */
  readonly thread: Thread
  readonly response: ModelResponse
  /** The tool messages of this step, in the order of the calls. */
  readonly toolResults: readonly Message[]
  /** Whether the step ends the loop by itself: it needs no further model call. */
  readonly done: boolean
  /** The calls that the caller has to answer: all of them in manual mode, otherwise those of manual tools. */
  readonly manualToolCalls: readonly ToolCall[]
  readonly halt?: ToolHalt
}

/** The halt reasons of the loop itself. A handler's `halt` may use any other. */
export const loopHaltReasons = [
  'completed',
  'max_turns',
  'halt_when',
  'ask_user',
  'manual_tool_calls',
  'tool_error',
  'error',
  'cancelled',
] as const

/** Why a chat ended: a reason of the loop, or one that a handler passed to `halt`. */
export type HaltedReason = (typeof loopHaltReasons)[number] | (string & {})

/** A whole run of the loop. */
export interface ChatResult {
  /** Can be sent as it is: every tool call in it is answered, except those in `manualToolCalls`. */
  readonly thread: Thread
  /** The last answer; absent when no model call completed one. */
  readonly finalResponse?: ModelResponse
  readonly steps: readonly StepResult[]
  readonly haltedReason: HaltedReason
  readonly pendingQuestion?: string
  readonly pendingToolCallId?: string
  readonly manualToolCalls: readonly ToolCall[]
  /** The result that a handler passed to `halt`. */
  readonly haltResult?: JsonValue
  readonly error?: ErrorData
  /** The sum over all steps. */
  readonly usage: Usage
  readonly metadata: JsonObject
}

/** The part of a result that was received before a failure. */
export type PartialResult = ModelResponse | StepResult | ChatResult
