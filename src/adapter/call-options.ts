import type { JsonObject } from '../data/json.ts'
import type { PromptCache, ProviderOptions, ReasoningOptions } from '../data/model-request.ts'
import type { FormatOption } from '../data/response-format.ts'
import type { StepResult } from '../data/step-result.ts'
import type { ToolCall } from '../data/tool-call.ts'
import type { ToolChoice } from '../data/tool-spec.ts'
import type { ToolError } from '../errors/tool-error.ts'
import type { StreamEvent } from '../events/event.ts'
import type { RetryOption } from './retry-policy.ts'
import type { Tool } from './tool.ts'

export type { FormatOption }

/** What to do when a tool call fails. */
export type OnToolError =
  | 'continue'
  | 'halt'
  | ((call: ToolCall, error: ToolError) => { readonly continue: unknown } | 'halt')

/**
 * Every option of a call. Unknown keys are refused by name.
 *
 * Precedence is the same for all: the call, then the request, then the engine, then the default.
 */
export interface CallOptions<Format extends FormatOption = FormatOption> {
  readonly model?: string | undefined
  /** Added to the engine's; a tool of the same name takes its place. */
  readonly tools?: readonly Tool[] | undefined
  /** In a loop, a forced choice holds for the first turn only, so that the loop can end. */
  readonly toolChoice?: ToolChoice | undefined
  readonly temperature?: number | undefined
  readonly maxTokens?: number | undefined
  /** With a schema of Zod, Valibot or ArkType, the result has a validated, typed `output`; a stream only asks for it. */
  readonly responseFormat?: Format | undefined
  /** Run the loop without the format first, then once more with it and with no tools. For a loop, not for a single step. */
  readonly structuredFinalize?: boolean | undefined
  readonly reasoning?: ReasoningOptions | undefined
  readonly promptCache?: PromptCache | undefined
  /** `manual`: no tool is run; the calls are handed to the caller. */
  readonly mode?: 'auto' | 'manual' | undefined
  /** Model calls that a loop may make (8). */
  readonly maxTurns?: number | undefined
  /** Ends the loop after a step that does not end it by itself. */
  readonly haltWhen?: ((step: StepResult) => boolean | Promise<boolean>) | undefined
  readonly onToolError?: OnToolError | undefined
  /** A hard deadline for each tool call (30 000). */
  readonly toolTimeoutMs?: number | undefined
  /** Handlers that may run at once (twice the processors, or 8 where their number is not known). */
  readonly maxConcurrency?: number | undefined
  /** Milliseconds to the first event of each model call (none; Node's `fetch` gives up after 300 s of silence). */
  readonly requestTimeoutMs?: number | undefined
  /** Milliseconds of silence between two events (60 000). */
  readonly streamTimeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly retry?: RetryOption | undefined
  /** Merged over the engine's (and the session's) and handed to tool handlers. */
  readonly context?: JsonObject | undefined
  /** `false` hides `text_delta` and `reasoning_delta` from the consumer; results do not change. */
  readonly emitTextDeltas?: boolean | undefined
  /** `false` hides `tool_call_delta` from the consumer; results do not change. */
  readonly emitToolDeltas?: boolean | undefined
  readonly includeRawChunks?: boolean | undefined
  /** Sees every event, filtered or not, before the consumer does. */
  readonly onEvent?: ((event: StreamEvent) => void) | undefined
  readonly requestId?: string | undefined
  /** For this call only; stored nowhere. */
  readonly apiKey?: string | undefined
  readonly providerOptions?: ProviderOptions | undefined
  readonly metadata?: JsonObject | undefined
}
