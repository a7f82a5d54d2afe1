import type { Clock } from '../base/clock.ts'
import type { NewId } from '../base/ids.ts'
import type { KeySource } from '../base/keys.ts'
import type { AdapterErrorReason, ImageAdapterErrorReason, ToolError } from '../errors/errors.ts'
import type { StreamEvent } from '../types/events.ts'
import type { JsonObject } from '../types/json.ts'
import type { Message, ToolCall } from '../types/message.ts'
import type { ProviderOptions } from '../types/provider-options.ts'
import type { FormatOption, PromptCache, ReasoningOptions, ToolChoice } from '../types/request.ts'
import type { ChatStep, RunUsage, StepResult } from '../types/results.ts'
import type { NeedsJsonSchema } from '../types/standard-schema.ts'
import type { NameOf, ToolTypes } from '../types/tool-types.ts'
import type {
  ChatAdapter,
  EmbeddingAdapter,
  ImageAdapter,
  ModelAdapters,
  ModelSlot,
  ModerationAdapter,
  RerankAdapter,
  SpeechAdapter,
  TranscriptionAdapter,
} from './adapter.ts'
import type { Engine, EngineContext } from './engine.ts'
import type { NeedsOf, Tool, ToolExecutor, ToolResultEncoder, TypesOf } from './tool.ts'

export type { FormatOption }

/**
 * A callback that returns a result, or a promise of it.
 *
 * It is `(...args: Args) => Result | Promise<Result>`. Against that type alone the compiler widens the literal of
 * `async () => 'run'` to `string`. So that type is given here with two signatures, which are too many to be a context,
 * and the context comes from the second member, whose result is a promise and a literal at once. No function has that type.
 */
type Callback<Args extends readonly unknown[], Result> =
  | {
      (...args: Args): Result | Promise<Result>
      // oxlint-disable-next-line no-unnecessary-type-parameters
      <_>(...args: Args): Result | Promise<Result>
    }
  | ((...args: Args) => Result & Promise<Result>)

/** What to do when a tool call fails. */
export type OnToolError =
  | 'continue'
  | 'halt'
  | Callback<[call: ToolCall, error: ToolError], ToolErrorDecision>

/** What a failed call becomes: the error that the model reads, a value that it reads instead, or the end of the loop. */
export type ToolErrorDecision = 'continue' | { readonly continue: unknown } | 'halt'

/** What happens with a call: it runs, it waits for approval, or the model is told that it was denied. */
export type ApprovalVerdict = 'run' | 'ask' | { readonly deny: string }

/**
 * Decides about each tool call before it runs, or before the caller is asked for its result. If it throws, or returns anything else,
 * the call waits for approval. In `mode: 'manual'` nothing runs, and it is not asked.
 */
export type ApprovePolicy<Context = EngineContext> = Callback<
  [call: ToolCall, options: { readonly tool: Tool; readonly context: Context }],
  ApprovalVerdict
>

/** A decision about a call that waits: approved, approved with other arguments, or denied. */
export type Approval = true | { readonly arguments: JsonObject } | { readonly deny: string }

/** The system text of a call, or a function of the context that gives it. */
export type Instructions<Context = EngineContext> =
  | string
  // A method's parameter is compared both ways, so the function may say what it needs of the context.
  | { bivarianceHack(context: Context): string }['bivarianceHack']

/** What `prepareStep` gets to know about the next model call. */
export interface NextStep<Context = EngineContext> {
  /** The messages that would be sent, without instructions. They are frozen; to send others, return them. */
  readonly messages: readonly Message[]
  /** The number of model calls before it since the user's message; 0 for the first. A run that waited or was cut goes on counting. */
  readonly stepNumber: number
  /** The steps of this call so far, frozen. */
  readonly steps: readonly ChatStep[]
  readonly context: Context
  /** Aborted when the run is stopped or left. The run does not wait for the hook then. */
  readonly signal: AbortSignal
}

/** What `prepareStep` changes, for the next model call only. What is absent stays as it is. */
export interface StepChanges {
  readonly model?: string | undefined
  /** The tools that the model may call: tools, or names of tools that the run has. */
  readonly tools?: readonly (Tool | string)[] | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly instructions?: string | undefined
  /** Sent instead of the thread. The thread itself does not change. */
  readonly messages?: readonly Message[] | undefined
  readonly maxTokens?: number | undefined
  readonly reasoning?: ReasoningOptions | undefined
}

/**
 * Called before each model call of a loop, and again when a run that was cut goes on with calls that nobody has decided about. It never
 * keeps a call from running that was approved.
 */
export type PrepareStep<Context = EngineContext> = (
  step: NextStep<Context>,
) => StepChanges | undefined | void | Promise<StepChanges | undefined | void>

/**
 * Every option of a call. An unknown key throws a `ValidationError` that names it.
 *
 * Precedence is the same for all: the call, then the request, then the engine, then the default.
 */
export interface CallOptions<Format extends FormatOption = FormatOption>
  extends CallSettings<Format>, ToolsOption {}

/**
 * The options of a call that are about its tools. A function that knows the tools of its engine takes the names of these and of the
 * added ones as a `toolChoice`, and no other; of a plain `Engine`, any name.
 */
export interface ToolsOption<
  Types extends ToolTypes = ToolTypes,
  Added extends readonly Tool[] = readonly Tool[],
  Mode extends ToolMode = ToolMode,
> {
  /** Added to the engine's; a tool of the same name is replaced. What they need of the context is not checked by the compiler. */
  readonly tools?: Added | undefined
  /** In a loop, a forced choice holds for the first turn only, so that the loop can end. */
  readonly toolChoice?: ChoiceOf<NoInfer<Types | TypesOf<Added>>> | undefined
  /** `manual`: no tool is run, and the caller answers the calls. */
  readonly mode?: Mode | undefined
}

/** The options of a call, except those about its tools. */
export interface CallSettings<
  Format extends FormatOption | undefined = FormatOption,
> extends BaseOptions {
  /** With a schema of Zod, Valibot or ArkType, the result has a validated, typed `output`, and so has the last event of a stream. */
  readonly responseFormat?: Format | undefined
}

/** The options of a call, except its format and those about its tools. */
export interface BaseOptions extends SharedOptions, ContextHooks {
  readonly model?: string | undefined
  /** The decisions about calls that wait for approval at the end of the thread, by the id of the call. */
  readonly approvals?: Readonly<Record<string, Approval>> | undefined
  /** Stops the call, the loop and its handlers. What was received is kept. */
  readonly signal?: AbortSignal | undefined
  /** Replaces the engine's; what it leaves out is the default. `false` turns retries off. */
  readonly retry?: RetryOption | undefined
  /**
   * Merged over the engine's and the session's, member by member, and passed to tool handlers. Its members may be anything. The compiler
   * does not check that a member has the type of the one that it replaces.
   */
  readonly context?: object | undefined
  /** The id of the run in events, errors and telemetry. Random unless given. */
  readonly requestId?: string | undefined
  /** For this call only. It is not stored. */
  readonly apiKey?: string | undefined
}

/** The hooks that get the context. */
interface ContextHooks<Context = EngineContext> {
  /** Sent as the system text of every model call. It is not part of the thread, so no session holds it and it may change from turn to turn. */
  readonly instructions?: Instructions<Context> | undefined
  /** Decides which tool calls run, wait for approval or are denied. Without it, tools with `needsApproval` wait, and the others run. */
  readonly approve?: ApprovePolicy<EngineContext & Context> | undefined
  /** May change the next model call of a loop: its model, tools, messages and a few settings. */
  readonly prepareStep?: PrepareStep<EngineContext & Context> | undefined
}

/** The options of a call that an engine may hold defaults for, and that say nothing about the format, the tools or the context. */
interface SharedOptions {
  /** `false`: at most one tool call in an answer. */
  readonly parallelToolCalls?: boolean | undefined
  readonly temperature?: number | undefined
  /** Only tokens that add up to this probability are considered: 0 to 1. */
  readonly topP?: number | undefined
  /** Only this many of the most probable tokens are considered. */
  readonly topK?: number | undefined
  /** The longest answer, in tokens, reasoning included. */
  readonly maxTokens?: number | undefined
  /** The answer ends before the first of these texts. */
  readonly stopSequences?: readonly string[] | undefined
  /** The same seed makes equal answers more probable. */
  readonly seed?: number | undefined
  readonly presencePenalty?: number | undefined
  readonly frequencyPenalty?: number | undefined
  /** Headers of this call. They override those of the adapter (`anthropic-beta` is added to it), and are in no event and no saved data. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** How often a model whose answer does not match its schema is told what is wrong and asked again (0). */
  readonly repair?: number | undefined
  /** Run the loop without the format first, then once more with it and with no tools. For a loop, not for a single step. */
  readonly structuredFinalize?: boolean | undefined
  /** How much a reasoning model thinks, and whether its reasoning is summed up. */
  readonly reasoning?: ReasoningOptions | undefined
  /** Ask the provider to cache the beginning of the prompt. */
  readonly promptCache?: PromptCache | undefined
  /** Model calls that a loop may make (8). An approval, a submitted result or an answer goes on with the count; a new message of the user begins anew. */
  readonly maxTurns?: number | undefined
  /**
   * Called after each step that does not end the loop, with what the run has used. The loop ends if it returns true, or fails if a wrong
   * answer was to be repaired; the call of `structuredFinalize` is still made. `budget` makes one.
   */
  readonly haltWhen?: ((step: StepResult, run: RunUsage) => boolean | Promise<boolean>) | undefined
  /** Called with each step before it ends. The loop waits for it. If it throws, a session that is resumed goes on with this step and calls it again. */
  readonly onStep?: ((step: StepResult) => void | Promise<void>) | undefined
  /** What happens when a tool call fails: `continue` (the default) lets the model read the error, `halt` ends the loop. A function decides for each call. */
  readonly onToolError?: OnToolError | undefined
  /** A hard deadline for each tool call (30 000). */
  readonly toolTimeoutMs?: number | undefined
  /** Handlers that may run at once (8). */
  readonly maxConcurrency?: number | undefined
  /** Milliseconds to the first content of each model call (600 000). Node's own `fetch` gives up after 300 s without headers. */
  readonly requestTimeoutMs?: number | undefined
  /** Milliseconds of silence after the first content (60 000). Pings and comments of the provider end a silence. */
  readonly streamTimeoutMs?: number | undefined
  /** The longest answer of a model call, in bytes as they arrive (64 MiB). A longer one ends in `too_large`, and what came before is kept. */
  readonly maxResponseBytes?: number | undefined
  /** `false` hides `text_delta` and `reasoning_delta` from the consumer; results do not change. */
  readonly emitTextDeltas?: boolean | undefined
  /** `false` hides `tool_call_delta` from the consumer; results do not change. */
  readonly emitToolDeltas?: boolean | undefined
  /** Also emit `raw_chunk` events: what the provider sent, as it is. */
  readonly includeRawChunks?: boolean | undefined
  /**
   * Called with every event, hidden or not, before the consumer gets it. What it throws ends the run. A promise that it returns is not awaited: what
   * that rejects with is a warning of the process, once, and the run goes on. `onStep` may be async.
   */
  readonly onEvent?: ((event: StreamEvent) => void) | undefined
  /** Parameters that only one provider supports, by its name. They are merged into the body of the request. */
  readonly providerOptions?: ProviderOptions | undefined
  /** Yours. It is in the request, and is not sent to the provider. */
  readonly metadata?: JsonObject | undefined
}

/** When and how a call that failed before its first event is retried. */
export interface RetryPolicy {
  /** Attempts in all, the first included. */
  readonly maxAttempts: number
  /** The wait after the first failure; it doubles with each. */
  readonly baseDelayMs: number
  /** The longest wait. A `Retry-After` beyond it fails at once, unless `maxRetryAfterMs` allows it. */
  readonly maxDelayMs: number
  /** Up to this much is added to each wait, at random. */
  readonly jitterMs: number
  /** The reasons that are retried: by default `rate_limited`, `provider_unavailable`, `timeout` and `network_error`. */
  readonly retryOn: readonly (AdapterErrorReason | ImageAdapterErrorReason)[]
  /** Wait as long as the provider asks, instead of the computed time. */
  readonly respectRetryAfter: boolean
  /** The longest `Retry-After` that is waited for, if it is not `maxDelayMs`. In `allm-ts/runs`, where a wait holds no process, it is a day unless either is given. */
  readonly maxRetryAfterMs?: number | undefined
  /**
   * The longest wait that passes inside the call. Without it, all do. A call that would have to wait longer fails instead, and its error says
   * how long (`retryAfterMs`), how many attempts were made (`metadata.attempts`) and that
   * another one is due (`metadata.postponed`).
   */
  readonly longestWaitMs?: number | undefined
}

/** `'default'`, `false` for none, or what differs from the default. */
export type RetryOption = 'default' | false | Partial<RetryPolicy>

/** The call options that an engine may hold defaults for. A key is not among them. */
export interface CallDefaults
  extends
    SharedOptions,
    ContextHooks,
    Pick<CallSettings, 'responseFormat'>,
    Pick<ToolsOption, 'toolChoice' | 'mode'> {}

/** The options of an engine. All are optional; a call that needs a missing one fails with a typed error. */
export interface EngineOptions extends CallDefaults, EngineSettings {
  /** The tools of every call. A call may add to them. */
  readonly tools?: readonly Tool[] | undefined
  /**
   * Passed to tool handlers. Its members may be anything: a database handle, a logger, the current user. It is a plain object, because
   * contexts are merged member by member: an instance of a class is refused when the engine is made; make it a member.
   */
  readonly context?: object | undefined
}

/** The options that only an engine has, except its tools and its context. */
interface EngineSettings {
  /** Who speaks when this engine answers, in at most 100 characters: pages, traces and saved messages (`agent`) say it. Models are not told. */
  readonly name?: string | undefined
  /** Talks to the provider: `openai()`, `anthropic()`, `gemini()`, `fake({…})`, or your own. */
  readonly adapter?: ChatAdapter | undefined
  /** The model of every call that names none. Without it, the one that the adapter was made with. */
  readonly model?: string | undefined
  /** For `generateImage`, `editImage` and `imageVariations`. */
  readonly imageAdapter?: ImageAdapter | undefined
  /** The model of image calls. It does not fall back to `model`; nor do those below. */
  readonly imageModel?: string | undefined
  /** For `embed`. */
  readonly embeddingAdapter?: EmbeddingAdapter | undefined
  readonly embeddingModel?: string | undefined
  /** For `moderate`. */
  readonly moderationAdapter?: ModerationAdapter | undefined
  readonly moderationModel?: string | undefined
  /** For `speak` and `streamSpeech`. */
  readonly speechAdapter?: SpeechAdapter | undefined
  readonly speechModel?: string | undefined
  /** For `transcribe`. */
  readonly transcriptionAdapter?: TranscriptionAdapter | undefined
  readonly transcriptionModel?: string | undefined
  /** For `rerank`. */
  readonly rerankAdapter?: RerankAdapter | undefined
  readonly rerankModel?: string | undefined
  /** When calls are retried: three attempts by default; `false` turns retries off. */
  readonly retry?: RetryOption | undefined
  /** A function, for many tenants, or a record. Neither is visible on the engine. */
  readonly keys?: KeySource | Readonly<Record<string, string>> | undefined
  /** The source of time of all waits and deadlines. A test passes `virtualClock()`. */
  readonly clock?: Clock | undefined
  /** Makes the ids of requests, sessions and calls. Random by default. */
  readonly newId?: NewId | undefined
  /** Runs the handlers of tools, for example in a sandbox. By default they are called. */
  readonly toolExecutor?: ToolExecutor | undefined
  /** Turns a handler's value into the text that the model reads. By default JSON. */
  readonly toolResultEncoder?: ToolResultEncoder | undefined
}

/** Whether tools run by themselves. */
export type ToolMode = 'auto' | 'manual'

/** A mode, or the name of one of the tools. */
type ChoiceOf<Types extends ToolTypes> = 'auto' | 'none' | 'required' | NameOf<Types>

/** The options of an engine with these tools and this context, which must have what the tools need. */
export type EngineOptionsFor<Tools extends readonly Tool[], Context, Format> = TypedOptions<
  Tools,
  NoInfer<Context>,
  never
> &
  FormatSetting<Format> &
  (unknown extends NeedsOf<Tools>
    ? { readonly context?: Context | undefined }
    : { readonly context: Context })

/**
 * A format with its exact type. With a schema, results have a validated, typed `output`: those of the call, or of all calls of an engine that have no
 * format of their own. One that may be absent has a type with `undefined` in it.
 */
export type FormatSetting<Format> =
  | { readonly responseFormat: Format & NeedsJsonSchema<Format> }
  | { readonly responseFormat?: undefined }

/** What changes of an engine whose context has `Has`: tools whose needs neither it nor the new context has do not compile. */
export type OverridesFor<
  Has extends object,
  Tools extends readonly Tool[],
  Context extends object,
  Types extends ToolTypes = ToolTypes,
> = TypedOptions<Tools, NoInfer<Merged<Has, Context>>, Types> & {
  readonly context?: Context | undefined
} & (object extends Has
    ? unknown
    : [Merged<Has, Context>] extends [NeedsOf<Tools>]
      ? unknown
      : { readonly context: NeedsOf<Tools> })

/** A context with another one merged over it, member by member. */
export type Merged<Has, Context> = [keyof Context] extends [never]
  ? Has
  : string extends keyof Has
    ? Has & Context
    : Omit<Has, keyof Context> & Context

/** The options of an engine, except its context, with hooks that know the context. */
interface TypedOptions<Tools extends readonly Tool[], Context, Types extends ToolTypes>
  extends
    EngineSettings,
    SharedOptions,
    // A hook that was written for any context fits, too.
    ContextHooks<Context>,
    Pick<CallDefaults, 'mode'> {
  readonly tools?: Tools | undefined
  readonly toolChoice?: ChoiceOf<NoInfer<Types | TypesOf<Tools>>> | undefined
}

/** The adapters and the models of an engine that are not for chat. */
export type ModelSlots = {
  readonly [Slot in ModelSlot as `${Slot}Adapter`]?: ModelAdapters[Slot] | undefined
} & { readonly [Slot in ModelSlot as `${Slot}Model`]?: string | undefined }

/** The inside of an engine. Only the library reads it. */
export interface EngineParts extends Engine {
  readonly adapter: ChatAdapter | undefined
  readonly tools: readonly Tool[]
  readonly keys: KeySource | undefined
  readonly clock: Clock
  readonly newId: NewId
  /** The options that are kept as they are given: defaults of call options, the adapters and models that are not for chat, and a few more. */
  readonly defaults: CallDefaults &
    ModelSlots &
    Pick<EngineSettings, 'retry' | 'toolExecutor' | 'toolResultEncoder'>
  /** The telemetry span that runs of the engine are part of: only in the copy that a handler or a worker gets while somebody listens. */
  readonly parentSpanId?: string | undefined
  /** How many agents the runs of the engine are inside of: only in the copy that an agent runs on. */
  readonly depth?: number | undefined
  /** The metadata of the run that runs of the engine are part of, under the engine's own: only in the copy of an agent, or after a handoff. */
  readonly outerMetadata?: JsonObject | undefined
}
