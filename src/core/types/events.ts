import type { ErrorData } from './error-data.ts'
import { isObject, keysOf } from './guards.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Image } from './media.ts'
import type { Message, Source, ToolCall } from './message.ts'
import type { FinishReason, ModelResponse, Usage } from './response.ts'
import type { ChatOutcome, HaltedReason, ToolHalt } from './results.ts'
import type { Session } from './session.ts'
import type { CallOf, Known, OtherName, ToolTypes } from './tool-types.ts'
import type { Warning } from './warning.ts'

/**
 * Everything that a run can emit. The union is closed: a new member is a new major version.
 *
 * Every event is plain data and survives `JSON.parse(JSON.stringify(event))`.
 */
export type StreamEvent = ModelEvent | ToolEvent | RunEvent

/**
 * The events of a run whose tools are known. The events about the calls of a tool narrow by its name; every one of them is a
 * `StreamEvent`. The calls in `tool_call_completed` and in answers are as the model wrote them: they are not typed.
 */
export type TypedEvent<
  Types extends ToolTypes,
  Manual extends ToolCall = CallOf<Types>,
> = KnownEvent<Known<Types>, CallOf<Types>, Manual>

type KnownEvent<Types extends ToolTypes, Call extends ToolCall, Manual extends ToolCall> = [
  Types,
] extends [never]
  ? StreamEvent
  :
      | ModelEvent
      | AnswerEvent
      | CallEvent<Types>
      | ToolProgress<Types['name'] | OtherName>
      | RunEvent<Call, Manual>

/** The events about a call: for each known tool its own, and those of any other. */
type CallEvent<Types extends ToolTypes> =
  | (Types extends ToolTypes
      ?
          | ApprovalRequested<Types['name'], Types['arguments']>
          | ToolStarted<Types['name'], Types['arguments']>
          | ToolCompleted<Types['name'], Types['result']>
      : never)
  | ApprovalRequested<OtherName>
  | ToolStarted<OtherName>
  | ToolCompleted<OtherName>

/** The events of one read. Inside the library a stream is a stream of batches. */
export type Batch = readonly StreamEvent[]

/** The tags of the events of a model. The compiler refuses the table when one is missing. */
const modelTags: Readonly<Record<ModelEvent['type'], true>> = {
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
}

/** Every tag of the union. The compiler refuses this table, too. */
const tags: Readonly<Record<StreamEvent['type'], true>> = {
  ...modelTags,
  approval_requested: true,
  tool_execution_started: true,
  tool_progress: true,
  tool_execution_completed: true,
  tool_result_encoded: true,
  ask_user_requested: true,
  tool_halt: true,
  step_completed: true,
  chat_completed: true,
}

/** The tags of every event, in the order of the union. */
export const eventTypes: readonly StreamEvent['type'][] = /* @__PURE__ */ keysOf(tags)

/** Whether a value is an event that an adapter may emit, judged by its tag. */
export function isModelEvent(value: unknown): value is ModelEvent {
  return isStreamEvent(value) && Object.hasOwn(modelTags, value.type)
}

/** Whether a value is an event, judged by its tag. */
export function isStreamEvent(value: unknown): value is StreamEvent {
  return isObject(value) && typeof value['type'] === 'string' && Object.hasOwn(tags, value['type'])
}

/**
 * Everything that an adapter can emit, in the order in which it can emit it.
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
      /** The usage that the provider has reported so far. */
      readonly usage?: Usage
      /** The settings of the request that could not be sent. Absent when there are none. */
      readonly warnings?: readonly Warning[]
      /** The attempts before this one that failed, in order. The engine adds them; absent when there were none. */
      readonly retries?: readonly FailedAttempt[]
      /** The `name` of the engine that answers. The engine adds it; absent when it has none. */
      readonly agent?: string
    }
  | { readonly type: 'text_delta'; readonly delta: string; readonly index?: number }
  /** One text block is complete; `text` is all of that block. */
  | {
      readonly type: 'text_completed'
      readonly text: string
      readonly index?: number
      /** The sources that became known with this block. Their places are those in the text of the message. */
      readonly sources?: readonly Source[]
    }
  | { readonly type: 'reasoning_delta'; readonly delta: string; readonly index?: number }
  | {
      readonly type: 'reasoning_completed'
      readonly text: string
      readonly index?: number
      readonly opaque?: JsonValue
      /**
       * An item of the provider's own, such as a web search, is complete. There is no text then, and the message has a
       * `provider_item` part in this place.
       */
      readonly item?: JsonObject
    }
  | { readonly type: 'tool_call_started'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_call_delta'; readonly id: string; readonly argumentsDelta: string }
  | { readonly type: 'tool_call_completed'; readonly call: ToolCall }
  | { readonly type: 'image_completed'; readonly image: Image }
  /** A chunk exactly as the provider sent it. Only with `includeRawChunks`. */
  | { readonly type: 'raw_chunk'; readonly chunk: JsonValue }
  | {
      readonly type: 'message_completed'
      readonly message: Message
      readonly finishReason: FinishReason
      readonly rawFinishReason?: string
      readonly usage?: Usage
      readonly metadata?: JsonObject
      /** Set by `streamGenerate` with a schema as `responseFormat`: the validated answer, as plain data. */
      readonly output?: JsonValue
    }
  | ErrorEvent

/** An attempt of a model call that failed before its first event, and was made again. */
export interface FailedAttempt {
  /** The reason of its error. */
  readonly reason: string
  /** The HTTP status of the refusal, if there was one. */
  readonly status?: number
  /** How long it took to fail. */
  readonly tookMs: number
  /** How long the engine waited before the next attempt. */
  readonly waitedMs: number
}

/** A failure after the first event. Always the last event of its stream. */
interface ErrorEvent {
  readonly type: 'error'
  readonly error: ErrorData
}

/** The result of a tool call: its value, or the whole structured error. */
export type ToolExecutionResult<Value extends JsonValue = JsonValue> =
  | {
      readonly ok: Value
      /** `ok` is a list of parts, made by `content`, and not a JSON value that looks like one. */
      readonly parts?: true
    }
  | { readonly error: ErrorData }

/** What a handler asks of the loop: to ask the user, or to halt. */
export type HandlerSignal =
  | {
      readonly type: 'ask_user'
      readonly question: string
      readonly options: JsonObject
      /** How long somebody may take to answer. Absent if there is no limit. */
      readonly expiresInMs?: number
    }
  | { readonly type: 'halt'; readonly reason: string }

/**
 * Everything that the tool runner can emit.
 *
 * Each call that is run emits `tool_execution_started`, any number of `tool_progress`, `tool_execution_completed`, and then exactly one
 * of `tool_result_encoded`, `ask_user_requested` and `tool_halt`. The events of different calls interleave. A call that no
 * handler ran (denied, interrupted, not yet answered) emits `tool_result_encoded` alone, and one that waits for approval
 * `approval_requested` alone.
 *
 * An agent that waits for somebody ends the events of its call with `ask_user_requested` and `approval_requested`, for each thing that it
 * waits for. Their ids are `outer/inner`.
 *
 * `at` is the time by the clock of the engine, which is in milliseconds since 1970 unless the engine was given a clock that counts from
 * another moment. Every event that the engine emits has it. It is absent in logs of 0.2.
 */
export type ToolEvent = ApprovalRequested | ToolStarted | ToolProgress | ToolCompleted | AnswerEvent

/** The events that answer a call. They know nothing about its tool. */
type AnswerEvent =
  /** The tool message is ready: `content` is what the model will read. */
  | {
      readonly type: 'tool_result_encoded'
      readonly id: string
      readonly content: Message['content']
      /**
       * The metadata of the message: `isError` if the call failed, `denied`, `approvedArguments` if the call was approved with other
       * arguments than the model wrote, or `lateResultOf` for a result that follows the thread as a message of its own.
       */
      readonly metadata?: JsonObject
      /** Set when the content replaces a result that never came. */
      readonly interrupted?: InterruptedReason
      /** Set when the call failed and the error policy ends the loop after this batch. */
      readonly halt?: ToolHalt
    }
  | {
      readonly type: 'ask_user_requested'
      readonly toolCallId: string
      readonly toolName: string
      readonly question: string
      readonly options: JsonObject
      /** In a session: what an answer names (`answers`). */
      readonly ticket?: string
      /** More metadata of the message: `approvedArguments`. */
      readonly metadata?: JsonObject
      /** When it was asked, by the clock of the engine. See `ToolEvent`. */
      readonly at?: number
      /** When it is answered as not answered, by the same clock. Absent if it waits without a limit. */
      readonly expiresAt?: number
    }
  | {
      readonly type: 'tool_halt'
      readonly toolCallId: string
      readonly reason: string
      readonly result: JsonValue
      readonly content: Message['content']
      /** The metadata of the message: `approvedArguments`. */
      readonly metadata?: JsonObject
    }

/** The call is not run until it is approved. Its arguments match the schema of its tool. */
type ApprovalRequested<Name extends string = string, Arguments extends JsonObject = JsonObject> = {
  readonly type: 'approval_requested'
  readonly toolCallId: string
  readonly toolName: Name
  readonly call: ToolCall<Name, Arguments>
  /** In a session: what a decision names (`ticket`). */
  readonly ticket?: string
  /** Why it is asked for, if the policy could not decide. */
  readonly reason?: string
  /** When it was asked for. */
  readonly at?: number
  /** When it is denied, by the same clock, if nobody has decided. Absent if it waits without a limit. */
  readonly expiresAt?: number
}

/**
 * The handler is about to run: it starts when the consumer asks for what follows. That is when the arguments are checked, so a call
 * with wrong ones starts, too, and ends with `invalid_arguments`.
 */
type ToolStarted<Name extends string = string, Arguments extends JsonObject = JsonObject> = {
  readonly type: 'tool_execution_started'
  readonly id: string
  readonly name: Name
  readonly arguments: Arguments
  /** When it was announced. The handler starts later, when the consumer asks for what follows. */
  readonly at?: number
  /** How long the handler may take. Absent if it has no deadline. */
  readonly timeoutMs?: number
  /** The tool said that running it twice is harmless. What a later build says of it does not matter for this start. */
  readonly idempotent?: true
}

/** A handler called `progress(data)`. */
type ToolProgress<Name extends string = string> = {
  readonly type: 'tool_progress'
  readonly id: string
  readonly name: Name
  readonly data: JsonValue
  /**
   * Set by `agentTool` only: `data` is the session that the inner run goes on from, or one event of the inner run, with its own ids.
   * `innerEvent` reads it.
   */
  readonly inner?: 'session' | 'event'
}

type ToolCompleted<Name extends string = string, Value extends JsonValue = JsonValue> = {
  readonly type: 'tool_execution_completed'
  readonly id: string
  readonly name: Name
  readonly result: ToolExecutionResult<Value>
  readonly durationMs: number
  /** When it ended. */
  readonly at?: number
  /** Set when the handler returned `askUser(…)` or `halt(…)`. */
  readonly outcome?: HandlerSignal
}

/** The events of the loop itself: the end of a step, and the end of a chat. */
export type RunEvent<Call extends ToolCall = ToolCall, Manual extends ToolCall = Call> =
  | {
      readonly type: 'step_completed'
      readonly response: ModelResponse
      /** The messages that this step added to the thread, without the history before them. */
      readonly newMessages: readonly Message[]
      readonly manualToolCalls: readonly Manual[]
      /** When the caller was left with `manualToolCalls`. Absent if there are none. */
      readonly at?: number
      readonly mode: 'auto' | 'manual'
      /** The step goes on with the last answer of the thread: its messages replace that answer and the results after it. */
      readonly continues?: true
      readonly halt?: ToolHalt
      /** Why the loop ends with this step, or why no model call follows a single step. Absent when one follows. */
      readonly haltedReason?: HaltedReason
    }
  | { readonly type: 'chat_completed'; readonly result: ChatOutcome<Call, Manual> }

/** Why a tool call has a placeholder instead of a result. */
export type InterruptedReason = 'length' | 'content_filter' | 'cancelled' | 'error' | 'interrupted'

/** The events after which a save is worth its price: a resumed run would otherwise lose a result, or ask the model again. */
const boundaries: ReadonlySet<StreamEvent['type']> = new Set<StreamEvent['type']>([
  'message_completed',
  'approval_requested',
  'tool_execution_started',
  'tool_execution_completed',
  'tool_result_encoded',
  'ask_user_requested',
  'tool_halt',
  'step_completed',
  'chat_completed',
  'error',
])

/**
 * Whether a session should be saved after this event: the end of an answer, the start and the result of a tool, a question, an approval,
 * the end of a step, a stop. Between boundaries a crash loses only a part of an answer, which is asked for again.
 */
export function isBoundary(event: StreamEvent): boolean {
  if (event.type !== 'tool_progress') return boundaries.has(event.type)
  const inner = innerEvent(event)
  return event.inner === 'session' || (inner !== undefined && isBoundary(inner))
}

/** The event of an agent inside a call that an event reports; `undefined` for any other event. */
export function innerEvent(event: StreamEvent): StreamEvent | undefined {
  const isInner = event.type === 'tool_progress' && event.inner === 'event'
  return isInner && isStreamEvent(event.data) ? event.data : undefined
}

/** The session that the agent inside a call goes on from, if an event reports it. */
export function innerSession(event: StreamEvent): Session | undefined {
  const isInner = event.type === 'tool_progress' && event.inner === 'session'
  // Only the library reports sessions in this way.
  return isInner ? (event.data as unknown as Session) : undefined
}
