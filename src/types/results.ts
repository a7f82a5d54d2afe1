import type { ErrorData } from './error-data.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Message, Thread, ToolCall } from './message.ts'
import type { ModelResponse, Usage } from './response.ts'

/** Why a batch of tools stopped the loop. */
export interface ToolHalt {
  /** `ask_user`, `tool_error`, or the word that a handler gave to `halt`. */
  readonly reason: string
  readonly toolCallId: string
  readonly result?: JsonValue
  readonly question?: string
  readonly options?: JsonObject
  readonly error?: ErrorData
}

/** One model call and the tools that it asked for. */
export interface StepResult {
  /** The thread that the step started from, with the assistant's message and the tool messages added. */
  readonly thread: Thread
  readonly response: ModelResponse
  /** The tool messages of this step, in the order of the calls. */
  readonly toolResults: readonly Message[]
  /** No further model call follows from this step by itself. */
  readonly done: boolean
  /** Calls that the caller has to answer: all of them in manual mode, else those of manual tools. */
  readonly manualToolCalls: readonly ToolCall[]
  readonly halt?: ToolHalt
}

/** The words that the loop itself uses for its end; a handler's `halt` may use any other. */
type LoopHaltReason =
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

/** What was received before a failure: the fold of the call that failed. */
export type PartialResult = ModelResponse | StepResult | ChatResult
