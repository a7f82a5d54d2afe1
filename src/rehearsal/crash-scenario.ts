import type { Engine } from '../contracts/engine.ts'
import type { CallOptions } from '../contracts/options.ts'
import type { Tool } from '../contracts/tool.ts'
import type { ToolResultInput } from '../session/changes.ts'
import type { Script } from '../testing/script-entry.ts'
import type { Message } from '../types/message.ts'
import type { Session } from '../types/session.ts'

/** What to do with a session that waits: answer its question, or its tool calls. */
export type SuspendAnswer =
  | { readonly reply: string }
  | { readonly toolResults: readonly ToolResultInput[] }

/** A run to be cut after every one of its events. Either `scripts` or `engine` says what the model does. */
export interface CrashScenario {
  /** What each model call does, played by a fake. */
  readonly scripts?: readonly Script[] | undefined
  /** An engine whose model goes on after so many completed calls, as a real one would after a restart. */
  readonly engine?: ((completedCalls: number) => Engine) | undefined
  /** The tools; each run of a handler is counted. */
  readonly tools?: readonly Tool[] | undefined
  readonly messages: readonly Message[]
  readonly options?: CallOptions | undefined
  /** Needed when the run asks the user or leaves calls to the caller. */
  readonly onSuspend?: ((session: Session) => SuspendAnswer) | undefined
}

/** What was tried. */
export interface CrashReport {
  /** Events of the uncut run. */
  readonly events: number
  /** Places where it was cut: before each piece of it (the start, each reply, each resume), and after each event. */
  readonly cuts: number
  /** How often each tool's handler ran in the uncut run. */
  readonly toolRuns: Readonly<Record<string, number>>
}

/** How often the handler of each call ran, and which tool it was. */
export type Runs = Map<string, { readonly tool: Tool; times: number }>
