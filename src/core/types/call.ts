import type { JsonObject } from './json.ts'
import type { Part, ToolCall } from './message.ts'

/** Every state of a tool call. */
export const callStates = [
  'proposed',
  'awaiting_approval',
  'approved',
  'denied',
  'running',
  'asking',
  'awaiting_result',
  'done',
  'failed',
  'interrupted',
] as const

/**
 * What became of a tool call. Closed.
 *
 * `proposed`: the model made it, and nothing was decided. `awaiting_approval`, `asking` and `awaiting_result` wait for a person
 * or for the caller. `approved` and `denied` were decided; an approved call runs when the session goes on. `running` was started,
 * also if its process died since. `done`, `failed` and `interrupted` have their result: an interrupted call left none and never will.
 */
export type CallState = (typeof callStates)[number]

/** What the model has read of a call: nothing, that there is no result yet, or its result. */
export type CallTold = 'no' | 'placeholder' | 'result'

/** The largest number of characters of an author's name. */
export const maxAuthorLength = 256

/** A decision about a call. Without `by` and `at` nobody noted them, as when a policy decided. */
export interface CallApproval {
  readonly decision: 'approved' | 'denied'
  /** Who decided, as the command says. */
  readonly by?: string
  /** When, in milliseconds since 1970. */
  readonly at?: number
  /** Why it was denied. */
  readonly reason?: string
  /** The arguments that were approved, if they are others than the model wrote. */
  readonly arguments?: JsonObject
}

/** A question of a call, and its answer once there is one. */
export interface CallQuestion {
  readonly text: string
  /** Choices, or anything else that the handler passed on. */
  readonly options?: JsonObject
  readonly answer?: string | readonly Part[]
  /** Who answered, as the command says. */
  readonly by?: string
  /** When it was answered, in milliseconds since 1970. */
  readonly at?: number
}

/** What a call waits for. */
export const pendingKinds = ['question', 'approval', 'result'] as const

/** What a call waits for: the answer to its question, a decision, or a result that the caller submits. Closed. */
export type PendingKind = (typeof pendingKinds)[number]

/** A call that waits for somebody, and the ticket by which it is settled. */
export interface PendingCall {
  /** Names what waits: the call, and the question or the arguments that were shown. A command with it settles nothing else. */
  readonly ticket: string
  readonly kind: PendingKind
  /** The call, with the arguments that would run. */
  readonly call: ToolCall
  /** With kind `question`. */
  readonly question?: CallQuestion
  /** Why somebody is asked for an approval, if the policy could not decide. */
  readonly reason?: string
  /** Since when it waits, by the clock of the engine. Absent if a session of 0.2 waits. */
  readonly since?: number
  /** When it is denied, or answered as not answered, if nobody has settled it. */
  readonly expiresAt?: number
}
