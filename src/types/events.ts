import type { ErrorData } from './error-data.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Image } from './media.ts'
import type { Message, ToolCall } from './message.ts'
import type { FinishReason, ModelResponse, Usage } from './response.ts'
import type { ChatResult, HaltedReason, ToolHalt } from './results.ts'

/**
 * Everything that a run can say. The union is closed: a new member is a new major version.
 *
 * Every event is plain data and survives `JSON.parse(JSON.stringify(event))`.
 */
export type StreamEvent = ModelEvent | ToolEvent | RunEvent

/** All that one read gave. Inside the library a stream is a stream of batches. */
export type Batch = readonly StreamEvent[]

/** The tags of the union. */
const tags: Readonly<Record<StreamEvent['type'], true>> = {
  message_started: true,
  text_delta: true,
  text_completed: true,
  reasoning_delta: true,
  reasoning_completed: true,
  tool_call_started: true,
  tool_call_delta: true,
  tool_call_completed: true,
  image_completed: true,
  raw_chunk: true,
  message_completed: true,
  error: true,
  tool_execution_started: true,
  tool_execution_completed: true,
  tool_result_encoded: true,
  ask_user_requested: true,
  tool_halt: true,
  step_completed: true,
  chat_completed: true,
}

/** The tags of every event, in the order of the union. */
export const eventTypes: readonly StreamEvent['type'][] = Object.keys(tags) as StreamEvent['type'][]

// Object.keys forgets what the record's type says.

/** Whether a value is an event, judged by its tag. */
export function isStreamEvent(value: unknown): value is StreamEvent {
  return (
    typeof value === 'object' &&
    value !== null &&
    'type' in value &&
    typeof value.type === 'string' &&
    Object.hasOwn(tags, value.type)
  )
}

/**
 * Everything that an adapter can say, in the order in which it can say it.
 *
 * `message_started` comes first. `message_completed` or `error` comes last, exactly one of them.
 */
export type ModelEvent =
  | {
      readonly type: 'message_started'
      readonly requestId: string
      readonly provider: string
      readonly id?: string
      readonly model?: string
      /** What is known of the usage by then. */
      readonly usage?: Usage
    }
  | { readonly type: 'text_delta'; readonly delta: string; readonly index?: number }
  /** One text block is complete; `text` is all of that block. */
  | { readonly type: 'text_completed'; readonly text: string; readonly index?: number }
  | { readonly type: 'reasoning_delta'; readonly delta: string; readonly index?: number }
  | {
      readonly type: 'reasoning_completed'
      readonly text: string
      readonly index?: number
      readonly opaque?: JsonValue
    }
  | { readonly type: 'tool_call_started'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_call_delta'; readonly id: string; readonly argumentsDelta: string }
  | { readonly type: 'tool_call_completed'; readonly call: ToolCall }
  | { readonly type: 'image_completed'; readonly image: Image }
  /** What the provider sent, as it sent it. Only with `includeRawChunks`. */
  | { readonly type: 'raw_chunk'; readonly chunk: JsonValue }
  | {
      readonly type: 'message_completed'
      readonly message: Message
      readonly finishReason: FinishReason
      readonly rawFinishReason?: string
      readonly usage?: Usage
      readonly metadata?: JsonObject
    }
  | ErrorEvent

/** A failure after the first event. Always the last event of its stream. */
interface ErrorEvent {
  readonly type: 'error'
  readonly error: ErrorData
}

/** How a tool call came out: its value, or the whole structured error. */
export type ToolExecutionResult = { readonly ok: JsonValue } | { readonly error: ErrorData }

/** What a handler wants of the loop: to ask the user, or to halt it. */
export type HandlerSignal =
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
      readonly outcome?: HandlerSignal
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

/** The boundaries of the loop. */
export type RunEvent =
  | {
      readonly type: 'step_completed'
      readonly response: ModelResponse
      /** What this step added to the thread; the history is not repeated. */
      readonly newMessages: readonly Message[]
      readonly manualToolCalls: readonly ToolCall[]
      readonly mode: 'auto' | 'manual'
      readonly halt?: ToolHalt
      /** The loop ends with this step, and why. Absent when it goes on, and for a single step. */
      readonly haltedReason?: HaltedReason
    }
  | { readonly type: 'chat_completed'; readonly result: ChatResult }

/** Why a call was answered by a mark instead of a result. */
export type InterruptedReason = 'length' | 'content_filter' | 'cancelled' | 'error' | 'interrupted'
