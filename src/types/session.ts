import type { ErrorData } from './error-data.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Thread, ToolCall } from './message.ts'
import type { ModelResponse } from './response.ts'
import type { ToolHalt } from './results.ts'

/** Every session status. */
export const sessionStatuses = [
  'idle',
  'awaiting_user',
  'awaiting_tools',
  'completed',
  'error',
] as const

/** What a session is waiting for, if anything. Closed. */
export type SessionStatus = (typeof sessionStatuses)[number]

/** The newest version of the saved format. Every older version stays readable. */
export const sessionVersion = 1

/** An answer without its message, which is in the thread. */
export type AnswerFacts = Omit<ModelResponse, 'message' | 'outputText' | 'toolCalls'>

/** The result of a tool call before it is encoded as a message. */
export interface StoredResult {
  readonly toolCallId: string
  readonly value?: JsonValue
  readonly error?: ErrorData
  /** The question of `askUser`, if the handler returned one. */
  readonly question?: { readonly question: string; readonly options: JsonObject }
  readonly haltReason?: string
}

/**
 * The state of a run that is in progress or suspended, besides its thread.
 *
 * It makes a session resumable after every event. It is absent when no run is in progress.
 */
export interface RunProgress {
  /** A run that was suspended in manual mode continues in manual mode. */
  readonly mode: 'auto' | 'manual'
  /** The number of model calls so far; `maxTurns` limits it. */
  readonly turns: number
  /** Where the run is: waiting for an answer, running its tools, or between two steps. */
  readonly phase: 'model' | 'tools' | 'between'
  /**
   * The answer whose tools are running, or (in phase `model`) an unusable one that is requested again. Its message is
   * the last assistant message of the thread.
   */
  readonly answer?: AnswerFacts
  /** The answer was empty, so it has no message in the thread. */
  readonly silent?: true
  /** The calls whose handlers were started. A started call without a result may have had effects. */
  readonly started: readonly string[]
  /** The halts of the current step. */
  readonly halts: readonly ToolHalt[]
  /** Results that are not encoded as messages yet. */
  readonly results?: readonly StoredResult[]
}

/** A conversation that can be saved and resumed: plain data, saved with `JSON.stringify`, resumed on any machine. */
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
  /** Yours. A run never changes it. */
  readonly metadata: JsonObject
  readonly error?: ErrorData
  readonly run?: RunProgress
}
