import type { ErrorData } from './error-data.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Message } from './message.ts'
import type { ModelResponse } from './model-response.ts'
import type { Thread } from './thread.ts'
import type { ToolCall } from './tool-call.ts'

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
