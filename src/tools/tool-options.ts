import { engineBrand, type Engine } from '../contracts/engine.ts'
import type { OnToolError } from '../contracts/options.ts'
import type { ToolExecutor, ToolResultEncoder } from '../contracts/tool.ts'
import type { Clock } from '../core/clock.ts'
import { anyFunction, must, optionsOf, type Check } from '../schema/checks.ts'
import { callOptionChecks } from '../schema/options.ts'
import type { JsonObject } from '../types/json.ts'

/** The options of `runToolCalls` and `streamToolCalls`. What is absent comes from the engine, then from the defaults. */
export interface ToolCallsOptions {
  readonly engine?: Engine | undefined
  /** Merged over the engine's and handed to the handlers. */
  readonly context?: JsonObject | undefined
  readonly requestId?: string | undefined
  readonly sessionId?: string | undefined
  readonly toolExecutor?: ToolExecutor | undefined
  readonly toolResultEncoder?: ToolResultEncoder | undefined
  /** What to do when a call fails: tell the model (the default), halt, or ask a function. */
  readonly onToolError?: OnToolError | undefined
  /** A hard deadline for each call (30 000). */
  readonly toolTimeoutMs?: number | undefined
  /** Handlers that may run at once (twice the processors, or 8 where their number is not known). */
  readonly maxConcurrency?: number | undefined
  /** Stops the batch: the handlers' own signals are aborted, and nothing is waited for. */
  readonly signal?: AbortSignal | undefined
  readonly clock?: Clock | undefined
}

const { onToolError, toolTimeoutMs, maxConcurrency, context, requestId, signal } = callOptionChecks

/** The problems of such options: unknown keys, with the nearest legal one, and values of the wrong kind. */
export const toolOptionIssues: Check = optionsOf({
  engine: must('an engine', (value) => isObject(value) && engineBrand in value),
  context,
  requestId,
  sessionId: requestId,
  toolExecutor: anyFunction,
  toolResultEncoder: anyFunction,
  onToolError,
  toolTimeoutMs,
  maxConcurrency,
  signal,
  clock: must('a clock, with now and sleep', (value) => isObject(value) && 'sleep' in value),
} satisfies Readonly<Record<keyof ToolCallsOptions, Check>>)

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
