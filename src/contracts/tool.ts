import type { JsonObject, JsonValue } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'
import type { ToolSpec } from '../types/request.ts'
import type { StandardSchema } from '../types/standard-schema.ts'
import type { Engine } from './engine.ts'

/** What a handler gets beside its arguments. */
export interface HandlerOptions {
  /** Aborted at the tool's deadline and when the run is stopped. */
  readonly signal: AbortSignal
  /** The engine's context, with the session's and the call's merged over it. */
  readonly context: JsonObject
  readonly toolCall: ToolCall
  readonly sessionId?: string | undefined
  readonly requestId?: string | undefined
  readonly engine?: Engine | undefined
}

/**
 * The code of a tool. Its return value is the result; it may also return `askUser(…)`, `halt(…)` or `fail(…)`.
 *
 * If it throws, the model gets the error as one short sentence.
 */
export type ToolHandler<Args = JsonObject> = {
  // A method's parameter is compared both ways, so a list may hold tools with different arguments.
  bivarianceHack(args: Args, options: HandlerOptions): unknown
}['bivarianceHack']

/** A tool: what the model sees, and what runs. Made by `tool({…})`. */
export interface Tool<Args = JsonObject> extends ToolSpec {
  /** The schema of the library that the tool was made with; it validates and types the arguments. */
  readonly input?: StandardSchema<unknown, Args>
  readonly handler?: ToolHandler<Args>
  /** The caller answers calls of this tool; it is never run by the loop. */
  readonly manual: boolean
  /** Send a one-line stub instead of the schema, and let the model ask for it with `tool_help`. */
  readonly compact: boolean
  /** The line of the stub. Default: the first sentence of the description. */
  readonly summary?: string
  /** This tool's own deadline. */
  readonly timeoutMs?: number
  /** Running it twice is harmless, so a run that was cut while it ran may run it again. */
  readonly idempotent: boolean
}

/** Runs a tool's handler. The default calls `tool.handler(args, options)`. */
export type ToolExecutor = (tool: Tool, args: JsonObject, options: HandlerOptions) => unknown

/** Turns a handler's value into what the model reads. The default is JSON, with strings as they are. */
export type ToolResultEncoder = (value: unknown) => string

/** Marks an outcome, to tell it from a value that looks like one. */
export const outcomeBrand: unique symbol = Symbol.for('allm-ts.outcome')

/** What a handler may return instead of a value. Made by `askUser`, `halt` and `fail`. */
export type HandlerOutcome =
  | {
      readonly [outcomeBrand]: true
      readonly type: 'ask_user'
      readonly question: string
      readonly options: JsonObject
    }
  | {
      readonly [outcomeBrand]: true
      readonly type: 'halt'
      readonly reason: string
      readonly result: unknown
    }
  | { readonly [outcomeBrand]: true; readonly type: 'fail'; readonly reason: JsonValue }
