import { reasonOf } from '../core/clock.ts'
import { emitTelemetry, isObserved, span, type SpanFacts } from '../core/telemetry.ts'
import { deadlineTimer, type DeadlineTimer } from '../core/timers.ts'
import { isAllmError, StreamError, ToolError, type AllmError } from '../errors/errors.ts'
import { toJsonValue } from '../errors/to-json-value.ts'
import type { BatchSource } from '../run/run-stream.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import type { ToolCall } from '../types/message.ts'
import { executeTool, type Execution, type ToolOutcome, type ToolRun } from './execute.ts'
import { toolFailure } from './failures.ts'
import { answerCall, type AnswerEvent } from './results.ts'

/** A batch of calls as a source of events. */
interface ToolBatches extends BatchSource {
  /** Leaves the batch: the handlers that still run are told to stop, and nothing is waited for. */
  return(): Promise<Step>
  /** Whether the batch was stopped before every call was answered. */
  wasCut(): boolean
}

type Step = IteratorResult<Batch, void>

const over: Step = { done: true, value: undefined }

/**
 * Runs calls, at most `maxConcurrency` at once. Events come in the order in which things happen; nothing happens
 * before the first `next()`.
 *
 * Each handler is started by a `next()` of its own, whose first event is `tool_execution_started`. A consumer that stops
 * reading therefore knows of every handler that ran. A halt or a question does not stop the other calls. The run's signal
 * does: calls that did not finish stay unanswered, and the batch ends.
 */
export function toolBatches(calls: readonly ToolCall[], run: ToolRun): ToolBatches {
  const live = newBatch(calls, run)
  let pending: Promise<Step> | undefined
  let answer: ((step: Promise<Step>) => void) | undefined
  let scheduled = false

  const flush = (): void => {
    scheduled = false
    const step = take(live)
    if (step === undefined) return
    answer?.(step)
    answer = undefined
    pending = undefined
  }
  live.onChange = () => {
    if (scheduled || answer === undefined) return
    scheduled = true
    // Calls that settle in the same turn are handed out together.
    queueMicrotask(flush)
  }
  const next = (): Promise<Step> => {
    // Concurrent next() calls are queued.
    if (pending !== undefined) return pending.then(next, next)
    const step = take(live)
    if (step !== undefined) return step
    pending = new Promise((resolve) => {
      answer = resolve
    })
    return pending
  }
  return {
    next,
    async return() {
      live.events = []
      stopBatch(
        live,
        new StreamError('cancelled', 'the stream of tool calls was closed by its consumer'),
      )
      live.onChange()
      return over
    },
    wasCut: () => live.stopped && live.answered < calls.length,
  }
}

/** The next step, if there is no need to wait for it. */
function take(live: LiveBatch): Promise<Step> | undefined {
  try {
    const value = takeEvents(live)
    if (value !== undefined) return Promise.resolve({ done: false, value })
    return isOver(live) ? Promise.resolve(over) : undefined
  } catch (error) {
    live.failure = undefined
    live.events = []
    haltBatch(
      live,
      new StreamError('unknown', 'onEvent or a telemetry listener threw', { cause: error }),
    )
    return failed(error)
  }
}

async function failed(error: unknown): Promise<never> {
  throw error
}

/** A batch of calls under way. */
interface LiveBatch {
  readonly calls: readonly ToolCall[]
  readonly run: ToolRun
  readonly limit: number
  readonly deadlines: DeadlineTimer
  /** The calls whose handlers run. */
  readonly running: Set<Execution>
  /** What happened and was not handed out yet. */
  events: StreamEvent[]
  /** How many calls were started. */
  started: number
  /** How many calls were answered. */
  answered: number
  /** No further call is started. */
  stopped: boolean
  /** What an observer threw between two reads; it ends the batch. */
  failure: { readonly error: unknown } | undefined
  /** Called when something happened between two reads. */
  onChange: () => void
  /** Removes the listener on the run's signal. */
  unlink: (() => void) | undefined
}

function newBatch(calls: readonly ToolCall[], run: ToolRun): LiveBatch {
  const live: LiveBatch = {
    calls,
    run,
    limit: run.maxConcurrency ?? defaultConcurrency(),
    deadlines: deadlineTimer(run.clock, (now) => expireCalls(live, now)),
    running: new Set(),
    events: [],
    started: 0,
    answered: 0,
    stopped: false,
    failure: undefined,
    onChange: () => undefined,
    unlink: undefined,
  }
  return live
}

const processors = globalThis.navigator?.hardwareConcurrency

/** The default of `maxConcurrency`: twice the number of processors, or 8 where that is unknown. */
export function defaultConcurrency(known: number | undefined = processors): number {
  return known === undefined || !(known > 0) ? 8 : 2 * known
}

/**
 * What happened since the last read. If nothing did, one more call is started.
 *
 * Returns `undefined` when there is nothing to do but wait, or when the batch is over. Throws what an observer threw.
 */
function takeEvents(live: LiveBatch): Batch | undefined {
  if (live.failure !== undefined) throw live.failure.error
  if (live.events.length === 0 && mayStart(live)) startNext(live)
  if (live.events.length === 0) return undefined
  const { events } = live
  live.events = []
  return events
}

function mayStart(live: LiveBatch): boolean {
  const { signal } = live.run
  if (signal?.aborted === true) stopBatch(live, reasonOf(signal))
  return !live.stopped && live.started < live.calls.length && live.running.size < live.limit
}

/** Whether nothing more can happen. */
function isOver({ stopped, started, calls, running }: LiveBatch): boolean {
  return (stopped || started === calls.length) && running.size === 0
}

function startNext(live: LiveBatch): void {
  const call = live.calls[live.started++]
  if (call === undefined) return
  const execution = openCall(call, live.run)
  const { id, name } = call
  live.events.push({ type: 'tool_execution_started', id, name, arguments: call.arguments })
  const outcome = executeTool(execution)
  if (outcome instanceof Promise) watch(live, execution, outcome)
  else answer(live, execution, outcome)
}

/** A call whose deadline runs from now on. */
function openCall(call: ToolCall, run: ToolRun): Execution {
  const tool = run.tools.get(call.name)
  const startedAt = run.clock.now()
  return {
    call,
    tool,
    run,
    control: new AbortController(),
    startedAt,
    deadline: startedAt + (tool?.timeoutMs ?? run.timeoutMs),
    trace: span('tool', callFacts(call, run), run.clock),
  }
}

function watch(live: LiveBatch, execution: Execution, promise: Promise<ToolOutcome>): void {
  live.running.add(execution)
  live.deadlines.arm(execution.deadline)
  followSignal(live)
  promise.then(
    (outcome) =>
      guarded(live, () => {
        if (live.running.has(execution)) answer(live, execution, outcome)
        else reportLate(execution, outcome)
      }),
    () => undefined,
  )
}

/** Stops the batch with the run. */
function followSignal(live: LiveBatch): void {
  const { signal } = live.run
  if (signal === undefined || live.unlink !== undefined) return
  const onAbort = (): void => guarded(live, () => stopBatch(live, reasonOf(signal)))
  signal.addEventListener('abort', onAbort, { once: true })
  live.unlink = () => signal.removeEventListener('abort', onAbort)
}

/** Answers the calls whose deadline has passed, and returns the next deadline. */
function expireCalls(live: LiveBatch, now: number): number {
  let next = Number.POSITIVE_INFINITY
  for (const execution of live.running) {
    if (execution.deadline > now) next = Math.min(next, execution.deadline)
    else guarded(live, () => answer(live, execution, expireCall(execution)))
  }
  return next
}

/** The deadline has passed: the handler is told to stop, and the outcome of the call is a timeout. */
function expireCall({ call, control, deadline, startedAt }: Execution): ToolOutcome {
  const message = `tool ${call.name} did not finish within ${deadline - startedAt} ms`
  const error = toolFailure('timeout', call, message)
  control.abort(error)
  return { type: 'error', error }
}

/** Runs `act`. If an observer throws, the next read rejects with that error. */
function guarded(live: LiveBatch, act: () => void): void {
  try {
    act()
  } catch (error) {
    live.failure ??= { error }
  }
  live.onChange()
}

function answer(live: LiveBatch, execution: Execution, outcome: ToolOutcome): void {
  live.running.delete(execution)
  closeCall(execution, outcome, live.events)
  live.answered++
  if (isOver(live)) settleDown(live)
}

/** Answers a call: adds the two events that end it, and ends its span. */
function closeCall(execution: Execution, outcome: ToolOutcome, events: StreamEvent[]): void {
  const { call, run, startedAt, trace } = execution
  const { result, outcome: signal, event, error } = answerCall(execution, outcome)
  const { id, name } = call
  const durationMs = run.clock.now() - startedAt
  const completed = { type: 'tool_execution_completed', id, name, result, durationMs } as const
  events.push(signal === undefined ? completed : { ...completed, outcome: signal }, event)
  if (error !== undefined) trace.error(error)
  else trace.stop({ haltedReason: haltReason(event), content: 'ok' in result ? result.ok : null })
}

function haltReason(event: AnswerEvent): string | undefined {
  if (event.type === 'tool_halt') return event.reason
  return event.type === 'ask_user_requested' ? 'ask_user' : undefined
}

/** Stops the batch before every call was answered. */
function stopBatch(live: LiveBatch, reason: Error): void {
  for (const { trace } of haltBatch(live, reason)) trace.error(reason)
}

/** Starts no more calls, tells the running handlers to stop, and returns their calls. */
function haltBatch(live: LiveBatch, reason: Error): readonly Execution[] {
  live.stopped = true
  const abandoned = [...live.running]
  live.running.clear()
  settleDown(live)
  for (const { control } of abandoned) control.abort(reason)
  return abandoned
}

/** Leaves no timer and no listener behind. */
function settleDown(live: LiveBatch): void {
  live.deadlines.stop()
  live.unlink?.()
  live.unlink = undefined
}

/** Reports a handler that finished after its deadline. Its result is discarded. */
function reportLate(execution: Execution, outcome: ToolOutcome): void {
  const { call, run, deadline, control } = execution
  // A handler that was stopped with its run is not late.
  if (!isObserved() || !isTimeout(control.signal.reason)) return
  const at = run.clock.now()
  emitTelemetry({
    name: 'tool.unsettled',
    at,
    lateByMs: at - deadline,
    outcome: outcome.type === 'error' ? 'rejected' : 'resolved',
    ...(outcome.type === 'value' ? { content: toJsonValue(outcome.value) } : {}),
    ...callFacts(call, run),
  })
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof ToolError && reason.reason === 'timeout'
}

function callFacts(call: ToolCall, { requestId, sessionId }: ToolRun): SpanFacts {
  return { requestId, sessionId, toolName: call.name, toolCallId: call.id }
}

/** The error of a batch that was stopped by its signal: the signal's reason if that is an error of the library. */
export function cancellation({ signal, requestId }: ToolRun): AllmError {
  const reason: unknown = signal?.reason
  if (isAllmError(reason)) return reason
  const message = 'the tool calls were cancelled'
  return new StreamError('cancelled', message, { cause: reason, requestId })
}
