import type { FailureEntry } from './scripted-failure.ts'
import type { ModelEvent } from '../types/events.ts'

/** A script as it is played: everything is ready and frozen, save what differs from call to call. */
export interface CompiledScript {
  /** Fails the call before its first event. */
  readonly preflight?: FailureEntry
  /** What the script itself says of the message, such as its model. */
  readonly started: StartedFacts
  /** What is said, in order, cut at the waits. The very first event is a `message_started` to be filled in. */
  readonly sections: readonly Section[]
  /** The same with the raw chunks. */
  readonly rawSections: readonly Section[]
  /** Whether the last event is an `error`, to which the call's id is added. */
  readonly fails: boolean
}

/** What goes out in one batch, after a wait. */
export interface Section {
  readonly delayMs: number
  readonly events: readonly ModelEvent[]
}

/** `message_started`. */
export type Started = Extract<ModelEvent, { type: 'message_started' }>

/** The facts of `message_started` that a script may hold. */
export type StartedFacts = Partial<Pick<Started, 'requestId' | 'provider' | 'id' | 'model'>>
