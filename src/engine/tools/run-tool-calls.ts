import { createCollector, type Collector } from '../../core/answer/fold-answer.ts'
import { linkedAbort, unlessStopped, type LinkedAbort } from '../../core/base/abort.ts'
import { systemClock, type Clock } from '../../core/base/clock.ts'
import { frozenEvents } from '../../core/base/frozen.ts'
import { randomId } from '../../core/base/ids.ts'
import { itemsOf } from '../../core/base/shared-list.ts'
import { engineBrand, type Engine } from '../../core/contracts/engine.ts'
import type { ApprovePolicy, OnToolError } from '../../core/contracts/options.ts'
import type { Tool, ToolExecutor, ToolResultEncoder } from '../../core/contracts/tool.ts'
import { errorFromJSON } from '../../core/errors/error-json.ts'
import { EngineError, StreamError } from '../../core/errors/errors.ts'
import {
  anyFunction,
  assertValid,
  must,
  optionsOf,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import { callOptionChecks } from '../../core/schema/options.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { Message, ToolCall } from '../../core/types/message.ts'
import type { ToolHalt } from '../../core/types/results.ts'
import { engineMetadata, engineParts } from '../model-call/context.ts'
import { foldEvent, inCallOrder, innerPending, stepHalts, stepResults } from '../model-call/fold.ts'
import {
  runStream,
  type BatchSource,
  type RunFold,
  type RunStream,
} from '../model-call/run-stream.ts'
import { shownEvent } from '../model-call/view-event.ts'
import { allOf, judge, sortCalls, type SortedCalls } from './approval.ts'
import { cancellation, toolBatches } from './batch.ts'
import { toolTable } from './compact-tools.ts'
import { defaultToolTimeoutMs, type ToolRun } from './tool-run.ts'

/**
 * Runs a batch of tool calls: one message for each, in the order of the calls. It is the fold of `streamToolCalls`.
 *
 * A call of an unknown tool rejects with an `EngineError` before anything runs. A handler that fails is an answer, not a
 * rejection. A batch that is stopped by its signal rejects with `StreamError` `cancelled`.
 */
export async function runToolCalls(
  calls: readonly ToolCall[],
  tools: readonly Tool[],
  options: ToolCallsOptions = {},
): Promise<ToolCallsResult> {
  const run = settleToolRun(tools, options)
  const unknown = unknownTool(calls, run.tools)
  if (unknown !== undefined) throw unknown
  const { open, known } = await approvedCalls(calls, run)
  const events = [...known]
  const batches = toolBatches(open, run)
  for (let step = await batches.next(); step.done !== true; step = await batches.next()) {
    events.push(...step.value)
  }
  if (batches.wasCut()) throw cancellation(run)
  return foldToolEvents(calls, events)
}

/**
 * Runs a batch of tool calls as a stream of events, in the order in which things happen.
 *
 * Each call emits `tool_execution_started` before its handler runs, `tool_execution_completed`, and then one of
 * `tool_result_encoded`, `ask_user_requested` and `tool_halt`. A call of an unknown tool emits one `error` event, and nothing
 * runs. Leaving early aborts the signals of the handlers that still run. Illegal options throw at once.
 */
export function streamToolCalls(
  calls: readonly ToolCall[],
  tools: readonly Tool[],
  options: ToolCallsOptions = {},
): RunStream<ToolCallsResult> {
  const run = settleToolRun(tools, options)
  const state = createCollector()
  const unknown = unknownTool(calls, run.tools)
  let stop: LinkedAbort | undefined
  let batches: ReturnType<typeof toolBatches> | undefined
  let left = false

  /** Yields the batches. A failure is yielded as the last event. A stream that is cancelled before its first event rejects. */
  async function* events(): AsyncGenerator<Batch, void> {
    if (unknown !== undefined) {
      yield [{ type: 'error', error: unknown.toJSON() }]
      return
    }
    let started = false
    try {
      stop = linkedAbort(run.signal)
      const { open, known } = await approvedCalls(calls, { ...run, signal: stop.signal })
      if (left) return
      batches = toolBatches(open, run)
      if (known.length > 0) {
        started = true
        yield known
      }
    } finally {
      stop?.unlink()
    }
    for (let step = await batches.next(); step.done !== true; step = await batches.next()) {
      started = true
      yield step.value
    }
    if (left || !batches.wasCut()) return
    const error = cancellation(run)
    if (!started) throw error
    yield [{ type: 'error', error: error.toJSON() }]
  }

  const source = events()
  const reading: BatchSource = {
    next: async () => {
      const read = await source.next()
      if (read.done === true) return read
      const value = frozenEvents(read.value)
      for (const event of value) foldEvent(state, event)
      return { done: false, value }
    },
    async return() {
      left = true
      // The generator handles `return` only after its pending read, and leaving what it reads ends that read.
      stop?.abort(new StreamError('cancelled', 'the stream of tool calls was left'))
      await batches?.return()
      return source.return()
    },
  }
  const fold: RunFold<ToolCallsResult> = {
    state,
    add: foldEvent,
    isOver: (at) => {
      const records = itemsOf(at.records)
      const waiting = records.filter(({ state }) => state === 'awaiting_approval').length
      const open = waiting + innerPending(at).waiting.size
      return at.error !== undefined || stepResults(at).length + open === calls.length
    },
    settle(end, at) {
      if (end.type !== 'done') throw end.error
      if (at.error !== undefined) throw errorFromJSON(at.error)
      return toolCallsResult(calls, at)
    },
  }
  return runStream(reading, fold, { show: shownEvent })
}

/** Which of the calls run, and the events of the others. A run that is stopped meanwhile rejects as cancelled. */
async function approvedCalls(calls: readonly ToolCall[], run: ToolRun): Promise<SortedCalls> {
  const { signal } = run
  const judging = allOf(calls.map((call) => judge(call, run, false)))
  try {
    return sortCalls(
      await (judging instanceof Promise && signal !== undefined
        ? unlessStopped(judging, signal)
        : judging),
    )
  } catch {
    throw cancellation(run)
  }
}

/** The options of `runToolCalls` and `streamToolCalls`. What is absent comes from the engine, then from the defaults. */
export interface ToolCallsOptions {
  readonly engine?: Engine | undefined
  /** Merged over the engine's and handed to the handlers. */
  readonly context?: object | undefined
  readonly requestId?: string | undefined
  readonly sessionId?: string | undefined
  readonly toolExecutor?: ToolExecutor | undefined
  readonly toolResultEncoder?: ToolResultEncoder | undefined
  /** What to do when a call fails: tell the model (the default), halt, or ask a function. */
  readonly onToolError?: OnToolError | undefined
  /** Decides which calls run. Without it, a call of a tool with `needsApproval` is not run and halts with reason `approval`. */
  readonly approve?: ApprovePolicy | undefined
  /** A hard deadline for each call (30 000). */
  readonly toolTimeoutMs?: number | undefined
  /** Handlers that may run at once (8). */
  readonly maxConcurrency?: number | undefined
  /** Stops the batch: the handlers' own signals are aborted, and nothing is waited for. */
  readonly signal?: AbortSignal | undefined
  readonly clock?: Clock | undefined
}

const { onToolError, approve, toolTimeoutMs, maxConcurrency, context, requestId, signal } =
  callOptionChecks

/** The problems of such options: unknown keys, with the nearest legal one, and values of the wrong kind. */
const toolOptionIssues: Check = optionsOf({
  engine: must('an engine', (value) => isObject(value) && engineBrand in value),
  context,
  requestId,
  sessionId: requestId,
  toolExecutor: anyFunction,
  toolResultEncoder: anyFunction,
  onToolError,
  approve,
  toolTimeoutMs,
  maxConcurrency,
  signal,
  clock: must('a clock, with now and sleep', (value) => isObject(value) && 'sleep' in value),
} satisfies Readonly<Record<keyof ToolCallsOptions, Check>>)

/** Checks the options of a batch and applies the defaults. Throws a `ValidationError` that names every problem. */
function settleToolRun(tools: readonly Tool[], options: ToolCallsOptions): ToolRun {
  assertValid('invalid_options', toolOptionIssues(options))
  assertValid('invalid_tool', within('tools', callOptionChecks.tools(tools)))
  const engine = options.engine === undefined ? undefined : engineParts(options.engine)
  const { requestId, sessionId, signal } = options
  const { onToolError, approve, toolTimeoutMs, maxConcurrency } = engine?.defaults ?? {}
  return {
    tools: toolTable(tools),
    context: () => ({ ...engine?.context, ...options.context }),
    requestId,
    sessionId,
    engine: options.engine,
    executor: options.toolExecutor ?? engine?.defaults.toolExecutor,
    encoder: options.toolResultEncoder ?? engine?.defaults.toolResultEncoder,
    onToolError: options.onToolError ?? onToolError ?? 'continue',
    approve: options.approve ?? approve,
    timeoutMs: options.toolTimeoutMs ?? toolTimeoutMs ?? defaultToolTimeoutMs,
    maxConcurrency: options.maxConcurrency ?? maxConcurrency,
    signal,
    clock: options.clock ?? engine?.clock ?? systemClock,
    newId: engine?.newId ?? randomId,
    trace: { parent: engine?.parentSpanId },
    depth: engine?.depth,
    metadata: engine && engineMetadata(engine),
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
  return new EngineError(
    'unknown_tool',
    `there is no tool ${name}; known tools are ${[...tools.keys()].join(', ') || 'none'}`,
    {
      metadata: { toolName: name },
    },
  )
}

/** What a batch of tool calls gives. */
export interface ToolCallsResult {
  /** One tool message for each call that has an answer, in the order of the calls. */
  readonly messages: readonly Message[]
  /** Why a loop has to stop here: the first reason by the order of the calls. */
  readonly halt?: ToolHalt
}

/** Folds the events of a batch, which come in the order in which things happened, into messages in the order of the calls. */
export function foldToolEvents(
  calls: readonly ToolCall[],
  events: Iterable<StreamEvent>,
): ToolCallsResult {
  const state = createCollector()
  for (const event of events) foldEvent(state, event)
  return toolCallsResult(calls, state)
}

function toolCallsResult(calls: readonly ToolCall[], state: Collector): ToolCallsResult {
  const answers = stepResults(state)
  const halts = [...stepHalts(state), ...innerPending(state).halts]
  const messages = new Map<string | undefined, Message[]>()
  for (const message of answers) {
    const known = messages.get(message.toolCallId)
    if (known === undefined) messages.set(message.toolCallId, [message])
    else known.push(message)
  }
  return defined<ToolCallsResult>({
    // Of calls with the same id, the first gets the first answer.
    messages: calls.flatMap(({ id }) => messages.get(id)?.shift() ?? []),
    halt: inCallOrder(halts, { toolCalls: calls })[0],
  })
}
