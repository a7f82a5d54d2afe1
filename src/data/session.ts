import type { ErrorData } from './error-data.ts'
import type { JsonObject } from './json.ts'
import type { Thread } from './thread.ts'
import type { ToolCall } from './tool-call.ts'

export type SessionStatus = 'idle' | 'awaiting_user' | 'awaiting_tools' | 'completed' | 'error'

export const sessionStatuses: readonly SessionStatus[] = [
  'idle',
  'awaiting_user',
  'awaiting_tools',
  'completed',
  'error',
]

/** The newest version of the saved form. Every older one stays readable. */
export const sessionVersion = 1

/** A question that a tool asked and that nobody has answered yet. */
export interface OpenQuestion {
  readonly toolCallId: string
  readonly toolName: string
  readonly question: string
  readonly options: JsonObject
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
  /** The calls whose handlers were started; what is started and unanswered may have had effects. */
  readonly startedToolCalls: readonly string[]
  /** Questions beyond the one in `pendingQuestion`, in the order of the calls. */
  readonly questions: readonly OpenQuestion[]
  /** The second pass of `structuredFinalize` has begun. */
  readonly finalizing?: boolean
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
  readonly context: JsonObject
  /** Yours; a run never writes to it. */
  readonly metadata: JsonObject
  readonly error?: ErrorData
  readonly run?: RunProgress
}
