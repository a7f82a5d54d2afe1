import type { PendingCall } from './call.ts'
import type { ErrorData } from './error-data.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Message, Thread, ToolCall } from './message.ts'
import type { PartialEmbeddings } from './models.ts'
import type { AnswerUsage, ModelResponse, Usage } from './response.ts'

/** Why a batch of tools stopped the loop. */
export interface ToolHalt {
  /** `ask_user`, `approval`, `tool_error`, or the reason that a handler passed to `halt`. */
  readonly reason: string
  readonly toolCallId: string
  /** The result that the handler passed to `halt`. */
  readonly result?: JsonValue
  /** The question of `askUser`, and its options. */
  readonly question?: string
  readonly options?: JsonObject
  /** Why the tool failed, with the reason `tool_error`. */
  readonly error?: ErrorData
}

/** What a step is, in either form. */
interface StepFacts<Call extends ToolCall> {
  readonly response: ModelResponse
  /** The tool messages of this step, in the order of the calls. */
  readonly toolResults: readonly Message[]
  /** The calls that the caller has to answer: all of them in manual mode, otherwise those of manual tools. */
  readonly manualToolCalls: readonly Call[]
  /** Why the step stops a loop, if one of its tools does. */
  readonly halt?: ToolHalt
}

/**
 * One model call and the results of its tool calls. `Call` is what is known about the calls that the caller has to answer:
 * that of a typed engine narrows by their names.
 */
export interface StepResult<Call extends ToolCall = ToolCall> extends StepFacts<Call> {
  /** The thread before the step, with the assistant's message and the tool messages added. */
  readonly thread: Thread
  /** Whether the step ends the loop by itself: it needs no further model call. */
  readonly done: boolean
}

/** One step of a chat: what it added. The thread of the whole run is in the result. */
export interface ChatStep<Call extends ToolCall = ToolCall> extends StepFacts<Call> {
  /** The messages that the step added to the thread: the answer, then its tool messages in the order of the calls. */
  readonly newMessages: readonly Message[]
  /** The run went on with an answer that was there before it, as after an approval. An earlier result may have told its usage. */
  readonly continues?: true
}

/** A call that is not run until it is approved. Its arguments match the schema of its tool. */
export type PendingApproval<Call extends ToolCall = ToolCall> = Call & ApprovalReason

interface ApprovalReason {
  /** Why it is asked for, if the policy could not decide. */
  readonly reason?: string
}

/** What a run has used until now. */
export interface RunUsage {
  /** All of it: that of the answers, of answers that were cut, and of what came before a cut or a wait, such as that for an approval. */
  readonly usage: Usage
  /** The answers since the run was entered, its own and those of the agents inside its calls. */
  readonly answers: readonly AnswerUsage[]
}

/** The halt reasons of the loop itself. A handler's `halt` may use any other. */
export const loopHaltReasons = [
  'completed',
  'max_turns',
  'halt_when',
  'ask_user',
  'approval',
  'manual_tool_calls',
  'tool_error',
  'provider_item',
  'error',
  'cancelled',
] as const

/** Why a chat ended: a reason of the loop, or one that a handler passed to `halt`. */
export type HaltedReason = (typeof loopHaltReasons)[number] | (string & {})

/**
 * The result of a chat as its last event carries it: without the thread, so that no event repeats the history. A fold that
 * knows the thread which the run started from gives the whole result.
 *
 * `Call` is what is known about calls whose arguments were checked, and `Manual` about those that the caller has to answer. In
 * `mode: 'manual'` nothing was checked: they are then as the model wrote them.
 */
export interface ChatOutcome<Call extends ToolCall = ToolCall, Manual extends ToolCall = Call> {
  /** The text of the last answer, after that of the answers in which the provider paused before it; empty when there is none. */
  readonly outputText: string
  /** The answer as the schema in `responseFormat` gives it, once a chat with one is completed. */
  readonly output?: unknown
  /** The last answer; absent when no model call completed one. */
  readonly finalResponse?: ModelResponse
  readonly steps: readonly ChatStep<Manual>[]
  /** Why the loop ended. */
  readonly haltedReason: HaltedReason
  /** The first question of a tool that the user has not answered, and the call that asked. */
  readonly pendingQuestion?: string
  readonly pendingToolCallId?: string
  /** The options of the question: choices, or anything else that its handler passed on. */
  readonly pendingQuestionOptions?: JsonObject
  /** The calls that are not run until they are approved. */
  readonly pendingApprovals: readonly PendingApproval<Call>[]
  /** The calls that the caller has to answer. */
  readonly manualToolCalls: readonly Manual[]
  /** What the run asks for, with tickets, in a session. What waited before is in the session (`Session.pending`). */
  readonly pending?: readonly PendingCall[]
  /** The result that a handler passed to `halt`. */
  readonly haltResult?: JsonValue
  /** Why the loop failed: in a partial result, and after a tool error that ended the loop. */
  readonly error?: ErrorData
  /** The sum over all steps, and over the agents inside their calls. */
  readonly usage: Usage
  /** What the agents inside calls used, answer by answer. Absent when there were none. It is part of `usage`. */
  readonly innerAnswers?: readonly AnswerUsage[]
  /** `structuredFinalize` after the extra call of that option; otherwise empty. */
  readonly metadata: JsonObject
}

/** A whole run of the loop. */
export interface ChatResult<
  Call extends ToolCall = ToolCall,
  Manual extends ToolCall = Call,
> extends ChatOutcome<Call, Manual> {
  /** Can be sent as it is: every tool call in it is answered, except those in `manualToolCalls` and `pendingApprovals`. */
  readonly thread: Thread
}

/**
 * The part of a result that was received before a failure: a response of `generate`, the result of a step or of a chat, or the vectors of an `embed`.
 * `outputText` and `usage` can be read of each; those of a step are in its `response`.
 */
export type PartialResult =
  | ModelResponse
  | (StepResult & { readonly outputText?: undefined; readonly usage?: undefined })
  | ChatResult
  | PartialEmbeddings
