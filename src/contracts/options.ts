import type { Clock } from '../core/clock.ts'
import type { NewId } from '../core/ids.ts'
import type { KeySource } from '../core/keys.ts'
import type { AdapterErrorReason, ImageAdapterErrorReason, ToolError } from '../errors/errors.ts'
import type { StreamEvent } from '../types/events.ts'
import type { JsonObject, ProviderOptions } from '../types/json.ts'
import type { ToolCall } from '../types/message.ts'
import type { FormatOption, PromptCache, ReasoningOptions, ToolChoice } from '../types/request.ts'
import type { StepResult } from '../types/results.ts'
import type { ChatAdapter, ImageAdapter } from './adapter.ts'
import type { Engine } from './engine.ts'
import type { ToolExecutor, ToolResultEncoder, Tool } from './tool.ts'

export type { FormatOption }

/** What to do when a tool call fails. */
export type OnToolError =
  | 'continue'
  | 'halt'
  | ((call: ToolCall, error: ToolError) => { readonly continue: unknown } | 'halt')

/**
 * Every option of a call. An unknown key throws a `ValidationError` that names it.
 *
 * Precedence is the same for all: the call, then the request, then the engine, then the default.
 */
export interface CallOptions<Format extends FormatOption = FormatOption> {
  readonly model?: string | undefined
  /** Added to the engine's; a tool of the same name is replaced. */
  readonly tools?: readonly Tool[] | undefined
  /** In a loop, a forced choice holds for the first turn only, so that the loop can end. */
  readonly toolChoice?: ToolChoice | undefined
  readonly temperature?: number | undefined
  readonly maxTokens?: number | undefined
  /** With a schema of Zod, Valibot or ArkType, the result has a validated, typed `output`; a stream only asks for the format. */
  readonly responseFormat?: Format | undefined
  /** Run the loop without the format first, then once more with it and with no tools. For a loop, not for a single step. */
  readonly structuredFinalize?: boolean | undefined
  readonly reasoning?: ReasoningOptions | undefined
  readonly promptCache?: PromptCache | undefined
  /** `manual`: no tool is run, and the caller answers the calls. */
  readonly mode?: 'auto' | 'manual' | undefined
  /** Model calls that a loop may make (8). */
  readonly maxTurns?: number | undefined
  /** Called after each step that does not end the loop. The loop ends if it returns true. */
  readonly haltWhen?: ((step: StepResult) => boolean | Promise<boolean>) | undefined
  readonly onToolError?: OnToolError | undefined
  /** A hard deadline for each tool call (30 000). */
  readonly toolTimeoutMs?: number | undefined
  /** Handlers that may run at once (twice the processors, or 8 if their number is unknown). */
  readonly maxConcurrency?: number | undefined
  /** Milliseconds to the first event of each model call (none; Node's `fetch` gives up after 300 s of silence). */
  readonly requestTimeoutMs?: number | undefined
  /** Milliseconds of silence between two events (60 000). */
  readonly streamTimeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly retry?: RetryOption | undefined
  /** Merged over the engine's and the session's, and passed to tool handlers. */
  readonly context?: JsonObject | undefined
  /** `false` hides `text_delta` and `reasoning_delta` from the consumer; results do not change. */
  readonly emitTextDeltas?: boolean | undefined
  /** `false` hides `tool_call_delta` from the consumer; results do not change. */
  readonly emitToolDeltas?: boolean | undefined
  readonly includeRawChunks?: boolean | undefined
  /** Called with every event, hidden or not, before the consumer gets it. */
  readonly onEvent?: ((event: StreamEvent) => void) | undefined
  readonly requestId?: string | undefined
  /** For this call only. It is not stored. */
  readonly apiKey?: string | undefined
  readonly providerOptions?: ProviderOptions | undefined
  readonly metadata?: JsonObject | undefined
}

/** When and how a call that failed before its first event is retried. */
export interface RetryPolicy {
  /** Attempts in all, the first included. */
  readonly maxAttempts: number
  /** The wait after the first failure; it doubles with each. */
  readonly baseDelayMs: number
  /** The longest wait. A `Retry-After` beyond it fails at once. */
  readonly maxDelayMs: number
  /** Up to this much is added to each wait, at random. */
  readonly jitterMs: number
  readonly retryOn: readonly (AdapterErrorReason | ImageAdapterErrorReason)[]
  readonly respectRetryAfter: boolean
}

/** `'default'`, `false` for none, or what differs from the default. */
export type RetryOption = 'default' | false | Partial<RetryPolicy>

/** The call options that an engine may hold defaults for. A key is not among them. */
export type CallDefaults = Omit<
  CallOptions,
  'model' | 'tools' | 'context' | 'retry' | 'signal' | 'requestId' | 'apiKey'
>

/** The options of an engine. All are optional; a call that needs a missing one fails with a typed error. */
export interface EngineOptions extends CallDefaults {
  readonly adapter?: ChatAdapter | undefined
  readonly model?: string | undefined
  readonly tools?: readonly Tool[] | undefined
  readonly imageAdapter?: ImageAdapter | undefined
  readonly imageModel?: string | undefined
  /** Passed to tool handlers. */
  readonly context?: JsonObject | undefined
  readonly retry?: RetryOption | undefined
  /** A function, for many tenants, or a record. Neither is visible on the engine. */
  readonly keys?: KeySource | Readonly<Record<string, string>> | undefined
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  readonly toolExecutor?: ToolExecutor | undefined
  readonly toolResultEncoder?: ToolResultEncoder | undefined
}

/** The inside of an engine. Only the library reads it. */
export interface EngineParts extends Engine {
  readonly adapter: ChatAdapter | undefined
  readonly tools: readonly Tool[]
  readonly imageAdapter: ImageAdapter | undefined
  readonly retry: RetryOption | undefined
  readonly keys: KeySource | undefined
  readonly clock: Clock
  readonly newId: NewId
  readonly toolExecutor: ToolExecutor | undefined
  readonly toolResultEncoder: ToolResultEncoder | undefined
  /** The defaults of call options. */
  readonly defaults: CallDefaults
}
