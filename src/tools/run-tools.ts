import { engineBrand, type Engine } from '../contracts/engine.ts'
import type { OnToolError } from '../contracts/options.ts'
import type { Tool, ToolExecutor, ToolResultEncoder } from '../contracts/tool.ts'
import { systemClock, type Clock } from '../core/clock.ts'
import { EngineError } from '../errors/errors.ts'
import { askedMessage, toolMessage } from '../make/tool-messages.ts'
import { partsOf } from '../run/context.ts'
import { runStream, type BatchSource, type RunStream } from '../run/run-stream.ts'
import { anyFunction, assertValid, must, optionsOf, within, type Check } from '../schema/checks.ts'
import { callOptionChecks } from '../schema/options.ts'
import { cancellation, failureBatch, toolBatches } from './batch.ts'
import type { ToolRun } from './execute.ts'
import { toolTable } from './compact-tools.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { Message, ToolCall } from '../types/message.ts'
import type { ToolHalt } from '../types/results.ts'

/**
 * Runs a batch of tool calls: one message for each, in the order of the calls. It is the fold of `streamToolCalls`.
 *
 * A call of an unknown tool rejects with an `EngineError` before anything runs. A handler that fails is an answer, not a
 * rejection. A batch that its signal stops rejects with `StreamError` `cancelled`.
 */
export async function runToolCalls(
  calls: readonly ToolCall[],
  tools: readonly Tool[],
  options: ToolCallsOptions = {},
): Promise<ToolCallsResult> {
  const run = settleToolRun(tools, options)
  const unknown = unknownTool(calls, run.tools)
  if (unknown !== undefined) throw unknown
  const events: StreamEvent[] = []
  const batches = toolBatches(calls, run)
  for (let step = await batches.next(); step.done !== true; step = await batches.next()) {
    events.push(...step.value)
  }
  if (batches.wasCut()) throw cancellation(run)
  return foldToolEvents(calls, events)
}

/**
 * Runs a batch of tool calls as a stream of events, in the order in which things happen.
 *
 * Each call says `tool_execution_started` when its handler starts, `tool_execution_completed`, and then one of
 * `tool_result_encoded`, `ask_user_requested` and `tool_halt`. A call of an unknown tool gives one `error` event, and nothing
 * runs. Leaving early aborts the signals of the handlers that still run. Illegal options throw at once.
 */
export function streamToolCalls(
  calls: readonly ToolCall[],
  tools: readonly Tool[],
  options: ToolCallsOptions = {},
): RunStream {
  const run = settleToolRun(tools, options)
  const unknown = unknownTool(calls, run.tools)
  return runStream(unknown === undefined ? source(calls, run) : only(failureBatch(unknown)))
}

/** The batch, with what its signal did to it as the last event. */
function source(calls: readonly ToolCall[], run: ToolRun): BatchSource {
  const batches = toolBatches(calls, run)
  let phase: 'new' | 'open' | 'ended' = 'new'
  return {
    next: async () => {
      const step = await batches.next()
      const cut = step.done === true && phase !== 'ended' && batches.wasCut()
      if (!cut) {
        phase = step.done === true ? 'ended' : 'open'
        return step
      }
      const error = cancellation(run)
      if (phase === 'new') throw error
      phase = 'ended'
      return { done: false, value: failureBatch(error) }
    },
    return: () => {
      phase = 'ended'
      return batches.return()
    },
  }
}

/** A source of one batch. */
function only(batch: Batch): BatchSource {
  let left = true
  const end = { done: true, value: undefined } as const
  return {
    next: async () => {
      if (!left) return end
      left = false
      return { done: false, value: batch }
    },
    return: async () => {
      left = false
      return end
    },
  }
}

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
const toolOptionIssues: Check = optionsOf({
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

/** Settles the options of a batch, once. Throws a `ValidationError` that names every problem. */
function settleToolRun(tools: readonly Tool[], options: ToolCallsOptions): ToolRun {
  assertValid('invalid_options', toolOptionIssues(options))
  assertValid('invalid_tool', within('tools', callOptionChecks.tools(tools)))
  const engine = options.engine === undefined ? undefined : partsOf(options.engine)
  const { requestId, sessionId, signal } = options
  const { onToolError, toolTimeoutMs, maxConcurrency } = engine?.defaults ?? {}
  return {
    tools: toolTable(tools),
    context: { ...engine?.context, ...options.context },
    requestId,
    sessionId,
    engine: options.engine,
    executor: options.toolExecutor ?? engine?.toolExecutor,
    encoder: options.toolResultEncoder ?? engine?.toolResultEncoder,
    onToolError: options.onToolError ?? onToolError ?? 'continue',
    timeoutMs: options.toolTimeoutMs ?? toolTimeoutMs ?? 30_000,
    maxConcurrency: options.maxConcurrency ?? maxConcurrency,
    signal,
    clock: options.clock ?? engine?.clock ?? systemClock,
  }
}

/** The error of the first call whose tool does not exist; `undefined` when all exist. */
function unknownTool(
  calls: readonly ToolCall[],
  tools: ReadonlyMap<string, Tool>,
): EngineError | undefined {
  const call = calls.find(({ name }) => !tools.has(name))
  if (call === undefined) return undefined
  const { name } = call
  return new EngineError('unknown_tool', `there is no tool ${name}`, {
    metadata: { toolName: name },
  })
}

/** What a batch of tool calls gives. */
export interface ToolCallsResult {
  /** One tool message for each call that has an answer, in the order of the calls. */
  readonly messages: readonly Message[]
  /** Why a loop has to stop here: the first reason by the order of the calls. */
  readonly halt?: ToolHalt
}

/**
 * Folds the events of a batch, which come in the order in which things happened, into messages in the order of the calls.
 *
 * Pure. Events of anything else are passed over; of calls with one id, the first is the first to be answered.
 */
export function foldToolEvents(
  calls: readonly ToolCall[],
  events: Iterable<StreamEvent>,
): ToolCallsResult {
  const answers: (CallAnswer | undefined)[] = []
  const placeOf = places(calls)
  for (const event of events) {
    const answer = answerOf(event)
    const place = answer === undefined ? undefined : placeOf(answer.toolCallId)
    if (place !== undefined) answers[place] = answer
  }
  const given = answers.filter((answer) => answer !== undefined)
  return defined<ToolCallsResult>({
    messages: given.map(({ message }) => message),
    halt: given.find(({ halt }) => halt !== undefined)?.halt,
  })
}

interface CallAnswer {
  readonly toolCallId: string
  readonly message: Message
  readonly halt?: ToolHalt | undefined
}

function answerOf(event: StreamEvent): CallAnswer | undefined {
  if (event.type === 'tool_result_encoded') {
    const { id: toolCallId, content, halt } = event
    return { toolCallId, message: toolMessage(toolCallId, content), halt }
  }
  if (event.type === 'ask_user_requested') {
    const { toolCallId, question, options } = event
    const halt = { reason: 'ask_user', toolCallId, question, options }
    return { toolCallId, message: askedMessage(toolCallId), halt }
  }
  if (event.type === 'tool_halt') {
    const { toolCallId, reason, result, content } = event
    const halt = { reason, toolCallId, result }
    return { toolCallId, message: toolMessage(toolCallId, content), halt }
  }
  return undefined
}

/** Gives the place of the next unanswered call with an id. */
function places(calls: readonly ToolCall[]): (id: string) => number | undefined {
  const byId = new Map<string, number[]>()
  calls.forEach(({ id }, index) => {
    const known = byId.get(id)
    if (known === undefined) byId.set(id, [index])
    else known.push(index)
  })
  return (id) => byId.get(id)?.shift()
}
