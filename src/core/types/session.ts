import type { CallApproval, CallQuestion, CallState, CallTold } from './call.ts'
import type { ErrorData } from './error-data.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Message, Part, Thread, ToolCall } from './message.ts'
import type { ModelResponse, Usage } from './response.ts'
import type { HaltedReason, PendingApproval, ToolHalt } from './results.ts'

/** Every session status. */
export const sessionStatuses = [
  'idle',
  'awaiting_user',
  'awaiting_approval',
  'awaiting_tools',
  'completed',
  'halted',
  'error',
] as const

/**
 * What a session is waiting for, if anything. Closed. Of several things, the first one of the list.
 *
 * `halted` means that the run was stopped: by a signal, a limit or a handler. `error` means that something failed.
 */
export type SessionStatus = (typeof sessionStatuses)[number]

/** The newest version of the saved format. Every older version stays readable. */
export const sessionVersion = 3

/** An answer without its message, which is in the thread. Without warnings the list is absent. */
export type AnswerFacts = Omit<ModelResponse, 'message' | 'outputText' | 'toolCalls' | 'warnings'> &
  Partial<Pick<ModelResponse, 'warnings'>>

/** What the handler of a call returned, before it is encoded as a message. */
export interface CallResult {
  readonly value?: JsonValue
  /** The value is a list of parts, made by `content`. */
  readonly parts?: true
  /** The question of `askUser`, if the handler returned one. */
  readonly question?: {
    readonly question: string
    readonly options: JsonObject
    readonly expiresInMs?: number
  }
  readonly haltReason?: string
}

/** Why a call stops the loop when the other calls of its answer have ended. */
export type CallHalt = Pick<ToolHalt, 'reason' | 'result' | 'error'>

/**
 * What a session keeps of a call: everything that its thread does not say. The name and the arguments are in the thread, and a result is in
 * its message. A call that has its result, and about which nobody was asked, is not kept.
 */
export interface SavedCall {
  /** Absent for a call that was removed from the thread, of which only the settled tickets are kept. */
  readonly state?: CallState
  readonly told?: CallTold
  /** The tickets of the call that were settled, in order. */
  readonly settled?: readonly string[]
  readonly approval?: CallApproval
  readonly question?: CallQuestion
  /** Why somebody is asked for an approval, if the policy could not decide. */
  readonly reason?: string
  /** Since when it waits for somebody, by the clock of the engine. */
  readonly since?: number
  /** When nobody waits for an answer any more, by the same clock. */
  readonly expiresAt?: number
  /** The last start, by the clock of the engine that made it. Absent if 0.2 started the call. */
  readonly startedAt?: number
  /** How long the handler of that start could take. Absent if it had no deadline. */
  readonly timeoutMs?: number
  /** The tool said at that start that running it twice is harmless. */
  readonly idempotent?: true
  readonly endedAt?: number
  /** What the handler returned, until the model is told. */
  readonly result?: CallResult
  /** Why the handler failed, until the model is told. */
  readonly error?: ErrorData
  /** Takes effect when the other calls of the answer have ended. */
  readonly halt?: CallHalt
  /** The session of the agent inside the call. */
  readonly inner?: Session
  /** The calls of agents that were inside of the call and are gone, about which somebody was asked. */
  readonly inside?: SavedCalls
  /** The call itself, of an agent that is gone: no thread has it any more. */
  readonly call?: PastCall
  /** The agent inside has rested with the run around it: it has not been entered since. */
  readonly rests?: true
}

/** A call of an agent that is gone. */
export interface PastCall extends Pick<ToolCall, 'name' | 'arguments'> {
  /** The name of the engine that made it. */
  readonly agent?: string
}

/** What is kept of the calls of a session, by their ids. */
export type SavedCalls = Readonly<Record<string, SavedCall>>

/**
 * The state of a run that is in progress or suspended, besides its thread.
 *
 * It makes a session resumable after every event. It is absent when no run is in progress and every usage was told.
 */
export interface RunProgress {
  /** A run that was suspended in manual mode continues in manual mode. */
  readonly mode: 'auto' | 'manual'
  /** The number of model calls since the user's message; `maxTurns` limits it. */
  readonly turns: number
  /** Attempts that were made of the next model call, by a run that waits for another one without holding a process. */
  readonly attempts?: number
  /** How often another process took the current step over, because its owner died. */
  readonly takeOvers?: number
  /** By which telemetry finds the first part of this run, such as a `traceparent`: a process that goes on with it links to that. */
  readonly trace?: string
  /** What was used and is in no result yet, besides `answer`. */
  readonly usage?: Usage
  /** What earlier results have told of this run. It counts for `haltWhen`, for as long as `turns` counts. */
  readonly told?: Usage
  /** Where the run is: waiting for an answer, running its tools, waiting for somebody to settle a call, or between two steps. What became of its calls is in `Session.calls`. */
  readonly phase: 'model' | 'tools' | 'waiting' | 'between'
  /**
   * The answer whose tools are running or waiting, or (in phase `model`) an unusable one that is requested again. Its
   * message is the last assistant message of the thread.
   */
  readonly answer?: AnswerFacts
  /** The name of the engine whose answer is being written. */
  readonly agent?: string
  /** The answer was empty and ended by itself, so it has no message in the thread. */
  readonly silent?: true
  /** What the handler passed to `halt` that stopped the run, for the call that an agent is in. */
  readonly haltResult?: JsonValue
  /** Messages that are added to the thread when the calls of the answer are answered. */
  readonly late?: readonly Message[]
}

/**
 * What may be done to a session, as data: it can be queued, stored and applied by another process.
 *
 * A command is not checked for who sends it. An endpoint for users checks its type, and what addresses its media name.
 */
export type SessionCommand =
  /**
   * A message of the user: the answer to a question, or a user message. Parts are texts, images and files. `answers` is the ticket of
   * the question; `null` makes it a user message, whatever is open. With `toolCallId` it is the answer to that call's question. Without
   * both it answers the first open question.
   */
  | {
      readonly type: 'send'
      readonly content: string | readonly Part[]
      readonly toolCallId?: string | undefined
      readonly answers?: string | null | undefined
      /** The sender did not name the question: if it is gone when the command is applied, this is a user message. */
      readonly implied?: boolean | undefined
      readonly by?: string | undefined
      /** Merged into the session's, member by member. */
      readonly context?: JsonObject | undefined
      readonly metadata?: JsonObject | undefined
      /** When it was given, in milliseconds since 1970. It is noted on the message, as `metadata.at`. */
      readonly at?: number | undefined
    }
  | ({
      readonly type: 'approve'
      readonly toolCallId: string
      readonly arguments?: JsonObject | undefined
    } & Settles)
  | ({
      readonly type: 'deny'
      readonly toolCallId: string
      readonly reason?: string | undefined
    } & Settles)
  | ({
      readonly type: 'submitToolResult'
      readonly toolCallId: string
      /** A text as it is, any other value as JSON. */
      readonly content: JsonValue | readonly Part[]
      /** `content` is a list of parts: texts, images and files. Without it, a list that looks like parts is data. */
      readonly parts?: boolean | undefined
      readonly isError?: boolean | undefined
    } & Settles)
  | { readonly type: 'resume' }

/** What a command that settles something says about it. */
interface Settles {
  /** The ticket of what was shown. Without it, what is open when the command is applied. */
  readonly ticket?: string | undefined
  /** The giver did not name the ticket: it is that of what was open when the command was given. */
  readonly implied?: boolean | undefined
  /** Who decides. */
  readonly by?: string | undefined
  /** When it was given, in milliseconds since 1970. */
  readonly at?: number | undefined
}

/** A conversation that can be saved and resumed: plain data, saved with `JSON.stringify`, read by `Session.parse`, resumed on any machine. */
export interface Session {
  /** The version of the saved form. */
  readonly version: number
  readonly id: string
  readonly status: SessionStatus
  readonly thread: Thread
  /** The calls that the caller has to answer. */
  readonly pendingToolCalls: readonly ToolCall[]
  /** The calls that are not run until they are approved. */
  readonly pendingApprovals: readonly PendingApproval[]
  /** The question that the next reply answers, and the call that asked. */
  readonly pendingQuestion?: string
  readonly pendingToolCallId?: string
  /** The options of the question: choices, or anything else that its handler passed on. */
  readonly pendingQuestionOptions?: JsonObject
  /** Questions that wait behind `pendingQuestion`, in the order of the calls. */
  readonly moreQuestions?: readonly ToolHalt[]
  /** Why the run was stopped, when the status is `halted`. */
  readonly haltedReason?: HaltedReason
  /** Passed to tool handlers, merged over the engine's. It is saved, so it is JSON. */
  readonly context: JsonObject
  /** Yours. A run never changes it. */
  readonly metadata: JsonObject
  /** What failed, when the status is `error`. */
  readonly error?: ErrorData
  /** What is known of calls beside the thread: `Session.calls` reads it. What the session waits for is derived from it. */
  readonly calls?: SavedCalls
  /** What a run that was cut needs to go on. Only the library reads it. */
  readonly run?: RunProgress
}

/** One tool call of a session: what became of it, what was asked and decided, and what the model knows of it. */
export interface CallRecord {
  /** The id of the call. A call of an agent inside another call is `outer/inner`, as `Session.approve` takes it. */
  readonly id: string
  readonly name: string
  /** The arguments as the model wrote them. */
  readonly arguments: JsonObject
  readonly state: CallState
  readonly told: CallTold
  readonly approval?: CallApproval
  /** The last question that the call asked. */
  readonly question?: CallQuestion
  /** While the call waits for somebody: what a command that settles it names. */
  readonly ticket?: string
  /** What the tool said when the call was started: running it twice is harmless. A deploy does not change that. */
  readonly idempotent?: boolean
  /** When it was started last, and when its handler ended, by the clock of the engine. Kept while something else of the call is. */
  readonly startedAt?: number
  readonly endedAt?: number
  /** The name of the engine that made the call. */
  readonly agent?: string
  /** Why it failed. Known until the session goes on: then the model has read a sentence about it. */
  readonly error?: ErrorData
  /** The session of the agent inside the call, while the call has no result. */
  readonly inner?: Session
}
