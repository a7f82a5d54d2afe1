import type { StreamEvent } from '../types/events.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { FilePart, ImagePart, Part, TextPart, ToolCall } from '../types/message.ts'
import type { ToolSpec } from '../types/request.ts'
import type { SavedCalls, Session } from '../types/session.ts'
import type { StandardSchema } from '../types/standard-schema.ts'
import type { ToolTypes } from '../types/tool-types.ts'
import type { Engine, EngineContext, toolTypes } from './engine.ts'

/**
 * What a handler gets beside its arguments.
 *
 * A handler that needs something of the context says so: `(args, { context }: HandlerOptions<{ db: Db }>) => …`. An engine
 * with such a tool does not compile without it.
 */
export interface HandlerOptions<Needs extends object = EngineContext> {
  /** Aborted at the tool's deadline and when the run is stopped. */
  readonly signal: AbortSignal
  /**
   * The engine's context, with the session's and the call's merged over it, member by member. The record is new for each
   * handler. Its members are the objects that were passed; those of the session are copies.
   */
  readonly context: Needs
  /** A copy of the call that is answered. */
  readonly toolCall: ToolCall
  /** The same on every run of this call, also after a crash: pass it to services that must not act twice. */
  readonly idempotencyKey: string
  /**
   * Emits `tool_progress`. The promise resolves when the consumer has asked for what follows; it need not be awaited. A value
   * that is not JSON throws.
   */
  readonly progress: (data: unknown) => Promise<void>
  /** The user's answer, when the handler is called again after `askUser(question, { resume: true })`. */
  readonly answer?: string | readonly Part[]
  /** The session of the run, if it has one. */
  readonly sessionId?: string | undefined
  /** The id of the run. */
  readonly requestId?: string | undefined
  /** The engine of the run, for calls of the handler's own. */
  readonly engine?: Engine | undefined
}

/**
 * The code of a tool. Its return value is the result; it may also return `askUser(…)`, `halt(…)`, `fail(…)` or `content(…)`.
 *
 * If it throws, the model gets the error as one short sentence.
 */
export type ToolHandler<Args = JsonObject, Needs extends object = object, Result = unknown> = {
  // A method's parameter is compared both ways, so a list may hold tools with different arguments.
  bivarianceHack(args: Args, options: HandlerOptions<Needs>): Result
}['bivarianceHack']

/** Whether a call with these arguments waits for approval. If it throws, the call waits. */
export type NeedsApproval<Args = JsonObject, Needs extends object = EngineContext> = {
  bivarianceHack(args: Args, options: { readonly context: Needs }): boolean | Promise<boolean>
}['bivarianceHack']

/**
 * Which calls of a tool wait for approval: all, none, those that a function names, or one of these with a limit. A call about which nobody
 * has decided after `expiresInMs` is denied by `expiry`.
 */
export type ApprovalNeed<Args = JsonObject, Needs extends object = EngineContext> =
  | boolean
  | NeedsApproval<Args, Needs>
  | {
      /** All calls, unless a function says otherwise. */
      readonly when?: boolean | NeedsApproval<Args, Needs> | undefined
      readonly expiresInMs: number
    }

/**
 * Says what became of a call that was started and left no result, because the process that ran it died or left. It reads, and changes
 * nothing: it may be asked any number of times. It is asked before the model is told of the call, and before the tool is run again.
 */
export type Reconcile<Call extends ToolCall = ToolCall, Needs extends object = EngineContext> = {
  bivarianceHack(
    call: Call,
    options: ReconcileOptions<Needs>,
  ): ReconcileAnswer | Promise<ReconcileAnswer>
}['bivarianceHack']

/** What `reconcile` gets beside a copy of the call. */
export interface ReconcileOptions<Needs extends object = EngineContext> {
  /** The key that the handler of the call had. */
  readonly idempotencyKey: string
  /** As a handler has it: a new record, whose members are the objects that were passed. */
  readonly context: Needs
  /** Aborted after the run's `toolTimeoutMs` and when the run is stopped. */
  readonly signal: AbortSignal
}

/**
 * What `reconcile` says.
 *
 * - `{ done: value }`: the call has had its effect. `value` is read like what a handler returns, and the handler does not run again.
 * - `'not_done'`: the call has had no effect, and the service promises that this key has none any more, or refuses it a second time. When the
 *   deadline of the call has passed, the handler runs again with the same key.
 * - `'unknown'`: nothing. The call is run again if its tool is `idempotent`, else it is answered as interrupted. It is the same if
 *   `reconcile` throws, takes too long or says anything else.
 */
export type ReconcileAnswer = { readonly done: unknown } | 'not_done' | 'unknown'

/** Holds what a tool needs of the context. No value has it. */
export declare const toolNeeds: unique symbol

/**
 * A tool: what the model sees, and what runs. Made by `tool({…})`. `Types` is what is known about its calls: events and results narrow
 * by it. Every tool is a plain `Tool`, of which nothing is known.
 */
export interface Tool<
  Args = JsonObject,
  Needs extends object = object,
  Types extends ToolTypes = ToolTypes,
> extends ToolSpec {
  readonly name: Types['name']
  readonly [toolTypes]?: Types
  readonly [toolNeeds]?: Needs
  /** The schema of the library that the tool was made with; it validates and types the arguments. */
  readonly input?: StandardSchema<unknown, Args>
  readonly handler?: ToolHandler<Args, Needs>
  /** The caller answers calls of this tool; it is never run by the loop. */
  readonly manual: boolean
  /** Calls of this tool wait for approval, unless the `approve` policy decides. A function decides by the arguments, and `expiresInMs` limits the wait. */
  readonly needsApproval?: ApprovalNeed<Args, Needs>
  /** Send a one-line stub instead of the schema, and let the model ask for it with `tool_help`. */
  readonly compact: boolean
  /** The line of the stub. Default: the first sentence of the description. */
  readonly summary?: string
  /** This tool's own deadline. */
  readonly timeoutMs?: number
  /** Running it twice is harmless, so a run that was cut while it ran may run it again. */
  readonly idempotent: boolean
  /** Says what became of a call that was started and left no result. It is asked before `idempotent` counts. */
  readonly reconcile?: Reconcile<ToolCall<Types['name'], Types['arguments']>, Needs>
  /** Set by `agentTool`: the engine that runs inside. A run that was cut goes on with the inner run where it was. */
  readonly agent?: { readonly engine: Engine }
  /** Set by `handoff`: the engine that continues the conversation after a call of this tool. */
  readonly handoff?: { readonly engine: () => Engine }
}

/** What the tools of a list need of the context, all together; `unknown` when that is nothing. */
export type NeedsOf<Tools extends readonly Tool[]> = (
  Exclude<Tools[number][typeof toolNeeds], undefined> extends infer Needs
    ? Needs extends unknown
      ? (context: EngineContext extends Needs ? unknown : Needs) => void
      : never
    : never
) extends (context: infer All) => void
  ? All
  : unknown

/** What is known about the calls of the tools of a list. */
export type TypesOf<Tools extends readonly Tool[]> = Exclude<
  Tools[number][typeof toolTypes],
  undefined
>

/** Runs a tool's handler. The default calls `tool.handler(args, options)`. */
export type ToolExecutor = (tool: Tool, args: JsonObject, options: HandlerOptions) => unknown

/** Turns a handler's value into what the model reads. The default is JSON, with strings as they are. */
export type ToolResultEncoder = (value: unknown) => string

/** Marks an outcome, to tell it from a value that looks like one. */
export const outcomeBrand: unique symbol = Symbol.for('allm-ts.outcome')

/** Where the handler of an agent finds what only the loop can give it. */
export const agentChannel: unique symbol = Symbol.for('allm-ts.agent')

/** What the loop gives to the handler of an agent. */
export interface AgentChannel {
  /** The engine of the agent. */
  readonly engine: Engine
  /** The inner session, if the call was entered before. */
  readonly session?: Session | undefined
  /** What is kept of the calls of agents that were inside of the call and are gone. */
  readonly before?: SavedCalls | undefined
  /** How many agents the call is inside of. */
  readonly depth: number
  /** The metadata of the outer run. */
  readonly metadata?: JsonObject | undefined
  /** Emits what happened inside. Resolves when the consumer has asked for what follows. Absent: nobody hears it. */
  readonly tell?: (
    kind: 'session' | 'event',
    data: readonly (Session | StreamEvent)[],
  ) => Promise<void>
}

/** What the handler of an agent may return besides a value: the inner run waits for somebody, or it failed. */
export type AgentOutcome =
  | {
      readonly [outcomeBrand]: true
      readonly type: 'agent_waits'
      readonly status: string
      readonly events: readonly StreamEvent[]
    }
  | { readonly [outcomeBrand]: true; readonly type: 'agent_failed'; readonly error: unknown }

/** What a handler may return instead of a value. Made by `askUser`, `halt`, `fail` and `content`. */
export type HandlerOutcome = AskOutcome | HaltOutcome | FailOutcome | ContentOutcome

/** A question to the user. Made by `askUser`. */
export interface AskOutcome {
  readonly [outcomeBrand]: true
  readonly type: 'ask_user'
  readonly question: string
  readonly options: JsonObject
  /** How long somebody may take to answer. Absent if there is no limit. */
  readonly expiresInMs?: number
}

/** The end of the loop, with a result. Made by `halt`. */
export interface HaltOutcome<Result = unknown> {
  readonly [outcomeBrand]: true
  readonly type: 'halt'
  readonly reason: string
  readonly result: Result
}

/** A failure that the model reads. Made by `fail`. */
export interface FailOutcome {
  readonly [outcomeBrand]: true
  readonly type: 'fail'
  readonly reason: JsonValue
}

/** A result that is made of parts: texts, images and files. Made by `content`. */
export interface ContentOutcome {
  readonly [outcomeBrand]: true
  readonly type: 'content'
  readonly parts: readonly ResultPart[]
}

/** What a tool may answer with. */
export type ResultPart = TextPart | ImagePart | FilePart

/**
 * What `tool_execution_completed` has as `ok` for what a handler returns: the value as JSON, `null` for nothing and for a question, the
 * result of `halt`, the parts of `content`. A failure has none. A value that the compiler does not know as JSON is any `JsonValue`.
 */
export type ResultOf<Returned> =
  Returned extends Promise<infer Value>
    ? JsonOf<Value>
    : Returned extends PromiseLike<unknown>
      ? JsonValue
      : JsonOf<Returned>

type JsonOf<Value> = Value extends JsonValue
  ? Value
  : Value extends void
    ? null
    : Value extends { readonly [outcomeBrand]: true }
      ? OfOutcome<Value>
      : Value extends object
        ? // An interface is no JSON object, and its members may be one.
          { readonly [Key in keyof Value]: Value[Key] } extends infer Plain extends JsonObject
          ? Plain
          : JsonValue
        : JsonValue

type OfOutcome<Outcome> = Outcome extends AskOutcome
  ? null
  : Outcome extends HaltOutcome<infer Result>
    ? JsonOf<Result>
    : Outcome extends FailOutcome
      ? never
      : JsonValue
