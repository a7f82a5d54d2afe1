import { executeTool, type ToolRun, type Execution, type ToolOutcome } from './execute.ts'
import { abortWith, lazyAbort } from '../core/abort.ts'
import { reasonOf, startTimer, type CancelTimer, type Clock } from '../core/clock.ts'
import { emitTelemetry, isObserved, span, type Span, type SpanFacts } from '../core/telemetry.ts'
import { isAllmError, StreamError, ToolError, type AllmError } from '../errors/errors.ts'
import { toJsonValue } from '../errors/to-json-value.ts'
import { toolFailure } from './failures.ts'
import { answerCall, type AnswerEvent } from './results.ts'
import type { Batch, StreamEvent } from '../types/events.ts'
import type { ToolCall } from '../types/message.ts'

type Step = IteratorResult<Batch, void>

const over: Step = { done: true, value: undefined }

/** A batch of calls as a source of events. */
interface ToolBatches {
  next(): Promise<Step>
  /** Leaves the batch: the handlers that still run are told to stop, and nothing is waited for. */
  return(): Promise<Step>
  /** Whether it was stopped before every call had an answer. */
  wasCut(): boolean
}

/**
 * Runs calls, at most `maxConcurrency` at once. Events come in the order in which things happen; nothing happens
 * before the first `next()`.
 *
 * Each handler is started by a `next()` of its own, and `tool_execution_started` is the first event that this one gives. So
 * whoever stops reading has been told of every handler that ever ran. A halt or a question does not stop the others. The
 * run's signal does: what has not finished stays unanswered, and the batch ends.
 */
export function toolBatches(calls: readonly ToolCall[], run: ToolRun): ToolBatches {
  const live = newBatch(calls, run, expireCalls)
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
  live.onNews = () => {
    if (scheduled || answer === undefined) return
    scheduled = true
    // Whatever settles in the same turn goes out together.
    queueMicrotask(flush)
  }
  const after = (): Promise<Step> => next()
  const next = (): Promise<Step> => {
    // Whoever asks again before the answer is there waits for his turn.
    if (pending !== undefined) return pending.then(after, after)
    const step = take(live)
    if (step !== undefined) return step
    pending = new Promise((resolve) => {
      answer = resolve
    })
    return pending
  }
  const leave = async (): Promise<Step> => {
    live.events = []
    stopBatch(live, new StreamError('cancelled', 'the stream of tool calls was left'))
    live.onNews()
    return over
  }
  return { next, return: leave, wasCut: () => live.stopped && live.answered < calls.length }
}

/** The next step, if it can be had without waiting. */
function take(live: LiveBatch): Promise<Step> | undefined {
  try {
    const value = takeEvents(live)
    if (value !== undefined) return Promise.resolve({ done: false, value })
    return isOver(live) ? Promise.resolve(over) : undefined
  } catch (error) {
    live.failure = undefined
    live.events = []
    haltBatch(live, new StreamError('unknown', 'an observer of the run threw', { cause: error }))
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
  readonly deadlines: Deadlines
  /** The handlers that answer by a promise and have not yet. */
  readonly running: Set<Execution>
  /** What nobody has taken yet. */
  events: StreamEvent[]
  /** How many calls were started. */
  started: number
  /** How many calls were answered. */
  answered: number
  /** No call is started any more. */
  stopped: boolean
  /** What an observer threw while nobody was asking; it ends the batch. */
  failure: { readonly error: unknown } | undefined
  /** Is told when something happened that nobody asked for just now. */
  onNews: () => void
  /** Stops listening to the run's signal. */
  unlink: (() => void) | undefined
}

/** A batch of which nothing has begun. `onDue` answers the calls whose time is up and gives the next deadline. */
function newBatch(
  calls: readonly ToolCall[],
  run: ToolRun,
  onDue: (live: LiveBatch, now: number) => number,
): LiveBatch {
  const live: LiveBatch = {
    calls,
    run,
    limit: run.maxConcurrency ?? defaultConcurrency(),
    deadlines: deadlines(run.clock, (now) => onDue(live, now)),
    running: new Set(),
    answered: 0,
    events: [],
    started: 0,
    stopped: false,
    failure: undefined,
    onNews: () => undefined,
    unlink: undefined,
  }
  return live
}

/** Whether nothing more can happen. */
function isOver({ stopped, started, calls, running }: LiveBatch): boolean {
  return (stopped || started === calls.length) && running.size === 0
}

/** Starts no more calls and tells the running handlers to stop; nobody waits for them. Gives those calls. */
function haltBatch(live: LiveBatch, reason: Error): readonly Execution[] {
  live.stopped = true
  const abandoned = [...live.running]
  live.running.clear()
  settleDown(live)
  for (const { control } of abandoned) abortWith(control, reason)
  return abandoned
}

/** No timer and no listener stays behind. */
function settleDown(live: LiveBatch): void {
  live.deadlines.stop()
  live.unlink?.()
  live.unlink = undefined
}

/**
 * What has happened in a batch; when that is nothing, one more call is started.
 *
 * `undefined` when there is nothing to do but wait, or when the batch is over. Throws what an observer threw.
 */
function takeEvents(live: LiveBatch): Batch | undefined {
  if (live.failure !== undefined) throw live.failure.error
  if (live.events.length === 0 && mayStart(live)) startNext(live)
  if (live.events.length === 0) return undefined
  const { events } = live
  live.events = []
  return events
}

/** Ends a batch before its time. */
function stopBatch(live: LiveBatch, reason: Error): void {
  for (const { trace } of haltBatch(live, reason)) trace.error(reason)
}

/** Answers the calls whose time is up, and gives the next deadline. */
function expireCalls(live: LiveBatch, now: number): number {
  let next = Number.POSITIVE_INFINITY
  for (const execution of live.running) {
    if (execution.deadline > now) next = Math.min(next, execution.deadline)
    else guarded(live, () => answer(live, execution, expireCall(execution)))
  }
  return next
}

function mayStart(live: LiveBatch): boolean {
  const { signal } = live.run
  if (signal?.aborted === true) stopBatch(live, reasonOf(signal))
  return !live.stopped && live.started < live.calls.length && live.running.size < live.limit
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

function watch(live: LiveBatch, execution: Execution, promise: Promise<ToolOutcome>): void {
  live.running.add(execution)
  live.deadlines.arm(execution.deadline)
  follow(live)
  promise.then(
    (outcome) => settle(live, execution, outcome),
    () => undefined,
  )
}

function settle(live: LiveBatch, execution: Execution, outcome: ToolOutcome): void {
  if (live.running.has(execution)) guarded(live, () => answer(live, execution, outcome))
  else guarded(live, () => reportLate(execution, outcome))
}

/** Stops with the run. */
function follow(live: LiveBatch): void {
  const { signal } = live.run
  if (signal === undefined || live.unlink !== undefined) return
  const onAbort = (): void => guarded(live, () => stopBatch(live, reasonOf(signal)))
  signal.addEventListener('abort', onAbort, { once: true })
  live.unlink = () => signal.removeEventListener('abort', onAbort)
}

function answer(live: LiveBatch, execution: Execution, outcome: ToolOutcome): void {
  live.running.delete(execution)
  closeCall(execution, outcome, live.events)
  live.answered++
  if (isOver(live)) settleDown(live)
}

/** What an observer throws reaches whoever reads the batch. */
function guarded(live: LiveBatch, act: () => void): void {
  try {
    act()
  } catch (error) {
    live.failure ??= { error }
  }
  live.onNews()
}

/** A call whose time begins now. */
function openCall(call: ToolCall, run: ToolRun): Execution {
  const tool = run.tools.get(call.name)
  const startedAt = run.clock.now()
  return {
    call,
    tool,
    run,
    control: lazyAbort(),
    startedAt,
    deadline: startedAt + (tool?.timeoutMs ?? run.timeoutMs),
    trace: toolSpan(call, run),
  }
}

/** Answers a call: adds the two events that end it, and ends its span. */
function closeCall(execution: Execution, outcome: ToolOutcome, events: StreamEvent[]): void {
  const { call, run, startedAt, trace } = execution
  const { result, outcome: wish, event, error } = answerCall(execution, outcome)
  const { id, name } = call
  const durationMs = run.clock.now() - startedAt
  const completed = { type: 'tool_execution_completed', id, name, result, durationMs } as const
  events.push(wish === undefined ? completed : { ...completed, outcome: wish }, event)
  if (error !== undefined) trace.error(error)
  else trace.stop({ haltedReason: haltReason(event), content: 'ok' in result ? result.ok : null })
}

function haltReason(event: AnswerEvent): string | undefined {
  if (event.type === 'tool_halt') return event.reason
  return event.type === 'ask_user_requested' ? 'ask_user' : undefined
}

/** The deadline has come: the handler is told to stop, and the call came out as timed out. */
function expireCall({ call, control, deadline, startedAt }: Execution): ToolOutcome {
  const message = `tool ${call.name} gave no answer within ${deadline - startedAt} ms`
  const error = toolFailure('timeout', call, message)
  abortWith(control, error)
  return { type: 'error', error }
}

/** Wakes somebody at the earliest of many moments. */
interface Deadlines {
  /** Something has to happen at this moment of the clock. */
  arm(at: number): void
  /** Nothing has to happen any more; no timer stays. */
  stop(): void
}

/**
 * One timer for many deadlines. `onDue` does what is due and gives the next moment, or `Infinity`.
 *
 * A deadline that is met in time costs nothing: the timer looks again when it fires.
 */
function deadlines(clock: Clock, onDue: (now: number) => number): Deadlines {
  let cancel: CancelTimer | undefined
  let firesAt = Number.POSITIVE_INFINITY

  const stop = (): void => {
    cancel?.()
    cancel = undefined
    firesAt = Number.POSITIVE_INFINITY
  }
  const arm = (at: number): void => {
    if (at >= firesAt) return
    stop()
    firesAt = at
    cancel = startTimer(clock, Math.max(0, at - clock.now()), () => {
      // A timer that was cancelled just as it fired has no say any more.
      if (firesAt !== at) return
      stop()
      arm(onDue(clock.now()))
    })
  }
  return { arm, stop }
}

/** The error of a batch that its signal stopped. A signal that gives an error of ours as its reason is taken at its word. */
export function cancellation({ signal, requestId }: ToolRun): AllmError {
  const reason: unknown = signal?.reason
  if (isAllmError(reason)) return reason
  const message = 'the tool calls were cancelled'
  return new StreamError('cancelled', message, { cause: reason, requestId })
}

/** The last event of a stream that failed, as a batch. */
export function failureBatch(error: AllmError): Batch {
  return [{ type: 'error', error: error.toJSON() }]
}

/** Starts the span of a call. */
function toolSpan(call: ToolCall, run: ToolRun): Span {
  return span('tool', factsOf(call, run), run.clock)
}

/** Tells of a handler that answered after its deadline. The answer itself is thrown away. */
function reportLate(execution: Execution, outcome: ToolOutcome): void {
  const { call, run, deadline, control } = execution
  // One that was stopped with its run is not late.
  if (!isObserved() || !isTimeout(control.reason)) return
  const at = run.clock.now()
  emitTelemetry({
    name: 'tool.unsettled',
    at,
    lateByMs: at - deadline,
    outcome: outcome.type === 'error' ? 'rejected' : 'resolved',
    ...(outcome.type === 'value' ? { content: toJsonValue(outcome.value) } : {}),
    ...factsOf(call, run),
  })
}

function isTimeout(reason: Error | undefined): boolean {
  return reason instanceof ToolError && reason.reason === 'timeout'
}

function factsOf(call: ToolCall, { requestId, sessionId }: ToolRun): SpanFacts {
  return { requestId, sessionId, toolName: call.name, toolCallId: call.id }
}

/** How many processors there are, where the runtime tells. */
const processors = globalThis.navigator?.hardwareConcurrency

/** How many handlers may run at once unless told: twice the processors, or 8 where their number is not known. */
export function defaultConcurrency(known: number | undefined = processors): number {
  return known === undefined || !(known > 0) ? 8 : 2 * known
}
