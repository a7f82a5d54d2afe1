import type { ErrorData } from './error-data.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Thread, ToolCall } from './message.ts'
import type { ModelResponse } from './response.ts'
import type { ToolHalt } from './results.ts'

/** What a session is waiting for, if anything. Closed. */
export type SessionStatus = 'idle' | 'awaiting_user' | 'awaiting_tools' | 'completed' | 'error'

/** Every session status. */
export const sessionStatuses: readonly SessionStatus[] = [
  'idle',
  'awaiting_user',
  'awaiting_tools',
  'completed',
  'error',
]

/** The newest version of the saved form. Every older one stays readable. */
export const sessionVersion = 1

/** What is known of an answer beside its message, which stands in the thread. */
export type AnswerFacts = Omit<ModelResponse, 'message' | 'outputText' | 'toolCalls'>

/** What a tool gave, before it became a message. */
export interface StoredResult {
  readonly toolCallId: string
  readonly value?: JsonValue
  readonly error?: ErrorData
  /** What the handler wanted beside its value. */
  readonly question?: { readonly question: string; readonly options: JsonObject }
  readonly haltReason?: string
}

/**
 * What a run that is under way, or suspended, has to remember beside its thread.
 *
 * It is what makes a session resumable at every event; it is absent when nothing is under way.
 */
export interface RunProgress {
  /** A run that suspended in manual mode goes on in manual mode. */
  readonly mode: 'auto' | 'manual'
  /** Model calls made so far, towards `maxTurns`. */
  readonly turns: number
  /** Where the run is: before an answer is complete, among its tools, or between two steps. */
  readonly phase: 'model' | 'tools' | 'between'
  /**
   * The answer whose tools are being run, or (in phase `model`) one that is of no use and is asked for again. Its message
   * is the last assistant message of the thread.
   */
  readonly answer?: AnswerFacts
  /** The answer said nothing, so it has no message in the thread. */
  readonly silent?: true
  /** The calls whose handlers were started; what is started and unanswered may have had effects. */
  readonly started: readonly string[]
  /** What has halted in the step under way. */
  readonly halts: readonly ToolHalt[]
  /** Results that came and were not encoded yet. */
  readonly results?: readonly StoredResult[]
}

/** A conversation that can wait: plain data, saved with `JSON.stringify`, resumed anywhere. */
export interface Session {
  readonly version: number
  readonly id: string
  readonly status: SessionStatus
  readonly thread: Thread
  /** The calls that the caller has to answer, when the status is `awaiting_tools`. */
  readonly pendingToolCalls: readonly ToolCall[]
  readonly pendingQuestion?: string
  readonly pendingToolCallId?: string
  /** Questions that wait behind `pendingQuestion`, in the order of the calls. */
  readonly moreQuestions?: readonly ToolHalt[]
  readonly context: JsonObject
  /** Yours; a run never writes to it. */
  readonly metadata: JsonObject
  readonly error?: ErrorData
  readonly run?: RunProgress
}
