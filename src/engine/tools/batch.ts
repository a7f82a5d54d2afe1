import { onAbort } from '../../core/base/abort.ts'
import { reasonOf } from '../../core/base/clock.ts'
import { span } from '../../core/base/telemetry.ts'
import { deadlineTimer, type DeadlineTimer } from '../../core/base/timers.ts'
import { isAllmError, StreamError, ToolError, type AllmError } from '../../core/errors/errors.ts'
import { toJsonValue } from '../../core/errors/to-json-value.ts'
import type { Batch, StreamEvent } from '../../core/types/events.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { BatchSource } from '../model-call/run-stream.ts'
import { executeTool, type Execution, type ToolOutcome } from './execute.ts'
import { toolFailure } from './failed-calls.ts'
import { plainJson } from './json.ts'
import { answerCall, type Answer, type AnswerEvent } from './results.ts'
import {
  callFacts,
  defaultMaxConcurrency,
  startEvent,
  timeoutOf,
  type ToolRun,
} from './tool-run.ts'

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
 * `tool_execution_started` is delivered before the handler runs. All starts that fit `maxConcurrency` end one batch of
 * events, and the `next()` after it starts their handlers side by side. A consumer that saves what it was given before it
 * asks for more has therefore saved the start of every handler that ran. A halt or a question does not stop the other
 * calls. The run's signal does: calls that did not finish stay unanswered, and the batch ends.
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
    // The events of calls that settle in the same turn are delivered together.
    queueMicrotask(flush)
  }
  const next = (): Promise<Step> => {
    // Concurrent next() calls are queued.
    if (pending !== undefined) return pending.then(next, next)
    releaseWaiting(live)
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
      stopBatch(live, new StreamError('cancelled', 'the tool calls were cancelled'))
      return over
    },
    wasCut: () => live.stopped && live.answered < calls.length,
  }
}

/** The next step, if there is no need to wait for it. */
function take(live: LiveBatch): Promise<Step> | undefined {
  const value = takeEvents(live)
  if (value !== undefined) return Promise.resolve({ done: false, value })
  return isOver(live) ? Promise.resolve(over) : undefined
}

/** A batch of calls under way. */
interface LiveBatch {
  readonly calls: readonly ToolCall[]
  readonly run: ToolRun
  readonly limit: number
  readonly deadlines: DeadlineTimer
  /** The calls whose handlers run. */
  readonly running: Set<Execution>
  /** The calls that failed, and whose error policy has not decided yet. */
  readonly deciding: Set<Execution>
  /** The calls whose start was delivered. The next read starts their handlers. */
  announced: readonly ToolCall[]
  /** The calls that were answered. */
  readonly finished: Set<ToolCall>
  /** Handlers that wait until their progress was read: not delivered yet, and delivered. */
  waiting: (() => void)[]
  told: (() => void)[]
  /** What happened and was not delivered yet. */
  events: StreamEvent[]
  /** How many calls were announced. */
  reached: number
  /** How many calls were answered. */
  answered: number
  /** No further call is started. */
  stopped: boolean
  /** Called when something happened between two reads. */
  onChange: () => void
  /** Removes the listener on the run's signal. */
  unlink: (() => void) | undefined
}

function newBatch(calls: readonly ToolCall[], run: ToolRun): LiveBatch {
  const live: LiveBatch = {
    calls,
    run,
    limit: run.maxConcurrency ?? defaultMaxConcurrency,
    deadlines: deadlineTimer(run.clock, (now) => expireCalls(live, now)),
    running: new Set(),
    deciding: new Set(),
    announced: [],
    finished: new Set(),
    waiting: [],
    told: [],
    events: [],
    reached: 0,
    answered: 0,
    stopped: false,
    onChange: () => undefined,
    unlink: undefined,
  }
  return live
}

/**
 * Starts the handlers whose starts were delivered, and returns what happened since the last read, then the next starts.
 *
 * Returns `undefined` when there is nothing to do but wait, or when the batch is over.
 */
function takeEvents(live: LiveBatch): Batch | undefined {
  startAnnounced(live)
  announceNext(live)
  if (live.events.length === 0) return undefined
  const { events } = live
  live.events = []
  live.told.push(...live.waiting)
  live.waiting = []
  return events
}

/** Whether nothing more can happen. */
function isOver({ stopped, reached, calls, announced, running, deciding }: LiveBatch): boolean {
  const allReached = stopped || reached === calls.length
  return allReached && announced.length === 0 && running.size === 0 && deciding.size === 0
}

function startAnnounced(live: LiveBatch): void {
  const calls = live.announced
  live.announced = []
  for (const call of calls) {
    // A handler that has just run may have stopped the run.
    if (stopsHere(live)) return
    startCall(live, call)
  }
}

/** Emits the starts of as many calls as may run now. */
function announceNext(live: LiveBatch): void {
  const free = live.limit - live.running.size - live.deciding.size
  if (free <= 0 || live.reached === live.calls.length || stopsHere(live)) return
  live.announced = live.calls.slice(live.reached, live.reached + free)
  live.reached += live.announced.length
  live.events.push(...live.announced.map((call) => startEvent(call, live.run)))
}

function stopsHere(live: LiveBatch): boolean {
  const { signal } = live.run
  if (signal?.aborted === true && !live.stopped) stopBatch(live, reasonOf(signal))
  return live.stopped
}

function startCall(live: LiveBatch, call: ToolCall): void {
  const execution = openCall(live, call)
  const outcome = execution.trace.run(() => executeTool(execution))
  if (outcome instanceof Promise) watch(live, execution, outcome)
  else answer(live, execution, inTime(execution, outcome))
}

/** A call whose deadline runs from now on. */
function openCall(live: LiveBatch, call: ToolCall): Execution {
  const { run } = live
  const tool = run.tools.get(call.name)
  const startedAt = run.clock.now()
  const timeoutMs = timeoutOf(tool, run)
  const deadline = startedAt + timeoutMs
  const execution: Execution = {
    call,
    tool,
    run,
    control: new AbortController(),
    startedAt,
    timeoutMs,
    deadline,
    release: run.clock.hold?.(deadline),
    trace: span('tool', run, run.trace.parent, () => callFacts(call, tool, run)),
    progress: (data) => reportProgress(live, execution, [{ data: plainJson(data) }]),
    tell: (inner, list) =>
      // The events and sessions of a run are plain data.
      reportProgress(
        live,
        execution,
        list.map((data) => ({ data: data as unknown as JsonValue, inner })),
      ),
  }
  return execution
}

/**
 * Emits the progress of a call. The promise resolves when the consumer has asked for what follows the event. Until then the deadline of
 * the call rests: a slow consumer does not use up the time of the handler.
 */
function reportProgress(
  live: LiveBatch,
  execution: Execution,
  told: readonly Pick<Progress, 'data' | 'inner'>[],
): Promise<void> {
  const { call, deadline, run } = execution
  const { id, name } = call
  if (live.stopped || live.finished.has(call)) return Promise.resolve()
  const toldAt = run.clock.now()
  execution.deadline = Infinity
  return new Promise((resolve) => {
    for (const data of told) live.events.push({ type: 'tool_progress', id, name, ...data })
    live.waiting.push(() => {
      // Of several that wait, the first knew the deadline.
      if (deadline !== Infinity) {
        execution.deadline = deadline + run.clock.now() - toldAt
        if (live.running.has(execution)) live.deadlines.arm(execution.deadline)
      }
      resolve()
    })
    live.onChange()
  })
}

type Progress = Extract<StreamEvent, { type: 'tool_progress' }>

/** The consumer asks for more: it has what it was given. */
function releaseWaiting(live: LiveBatch): void {
  const told = live.told
  live.told = []
  for (const resolve of told) resolve()
}

function watch(live: LiveBatch, execution: Execution, promise: Promise<ToolOutcome>): void {
  live.running.add(execution)
  live.deadlines.arm(execution.deadline)
  followSignal(live)
  promise.then(
    (outcome) => {
      if (live.running.has(execution)) answer(live, execution, inTime(execution, outcome))
      else reportLate(execution, outcome)
    },
    () => undefined,
  )
  // The handler may have stopped the run before it returned.
  stopsHere(live)
}

/** Stops the batch with the run. */
function followSignal(live: LiveBatch): void {
  const { signal } = live.run
  if (signal === undefined || live.unlink !== undefined) return
  live.unlink = onAbort(signal, () => stopBatch(live, reasonOf(signal)))
}

/** Answers the calls whose deadline has passed, and returns the next deadline. */
function expireCalls(live: LiveBatch, now: number): number {
  let next = Infinity
  for (const execution of live.running) {
    if (execution.deadline > now) next = Math.min(next, execution.deadline)
    else answer(live, execution, expireCall(execution))
  }
  return next
}

/** The deadline has passed: the handler is told to stop, and the outcome of the call is a timeout. */
function expireCall({ call, control, timeoutMs }: Execution): ToolOutcome {
  const message = `tool ${call.name} did not finish within ${timeoutMs} ms`
  const error = toolFailure('timeout', call, message)
  control.abort(error)
  return { type: 'error', error }
}

/** The outcome of a handler, unless it comes after the deadline. A handler that blocked the process is judged here. */
function inTime(execution: Execution, outcome: ToolOutcome): ToolOutcome {
  if (execution.run.clock.now() <= execution.deadline) return outcome
  const expired = expireCall(execution)
  reportLate(execution, outcome)
  return expired
}

function answer(live: LiveBatch, execution: Execution, outcome: ToolOutcome): void {
  live.running.delete(execution)
  live.finished.add(execution.call)
  execution.release?.()
  if (outcome.type === 'waits') {
    suspendCall(live, execution, outcome)
    return
  }
  const answered = execution.trace.run(() => answerCall(execution, outcome))
  if (!(answered instanceof Promise)) {
    closeCall(live, execution, answered)
    return
  }
  live.deciding.add(execution)
  followSignal(live)
  answered.then(
    (settled) => {
      if (live.deciding.delete(execution)) closeCall(live, execution, settled)
    },
    () => undefined,
  )
  // The policy may have stopped the run before it returned.
  stopsHere(live)
}

/** The agent inside a call waits: what it waits for is told, and the call stays open. */
function suspendCall(live: LiveBatch, { trace }: Execution, { events, status }: Waits): void {
  const at = live.run.clock.now()
  live.events.push(...events.map((event) => ({ ...event, at })))
  live.answered++
  live.onChange()
  if (isOver(live)) settleDown(live)
  trace.stop({ haltedReason: status })
}

type Waits = Extract<ToolOutcome, { type: 'waits' }>

/** Answers a call: adds the two events that end it, and ends its span. */
function closeCall(live: LiveBatch, execution: Execution, answered: Answer): void {
  const { call, run, startedAt, trace } = execution
  const { result, outcome: signal, event, error } = answered
  const { id, name } = call
  const at = run.clock.now()
  const durationMs = at - startedAt
  const completed = { type: 'tool_execution_completed', id, name, result, durationMs, at } as const
  live.events.push(signal === undefined ? completed : { ...completed, outcome: signal }, event)
  live.answered++
  live.onChange()
  if (isOver(live)) settleDown(live)
  if (error !== undefined) trace.error(error)
  else trace.stop({ haltedReason: haltReason(event), content: 'ok' in result ? result.ok : null })
}

function haltReason(event: AnswerEvent): string | undefined {
  if (event.type === 'tool_halt') return event.reason
  return event.type === 'ask_user_requested' ? 'ask_user' : undefined
}

/** Stops the batch before every call was answered: starts no more calls, and tells the running handlers to stop. */
function stopBatch(live: LiveBatch, reason: Error): void {
  live.stopped = true
  live.announced = []
  live.told.push(...live.waiting)
  live.waiting = []
  releaseWaiting(live)
  const abandoned = [...live.running, ...live.deciding]
  live.running.clear()
  live.deciding.clear()
  settleDown(live)
  for (const { control, release, trace } of abandoned) {
    release?.()
    control.abort(reason)
    trace.stop({ haltedReason: 'cancelled' })
  }
  live.onChange()
}

/** Leaves no timer and no listener behind. */
function settleDown(live: LiveBatch): void {
  live.deadlines.stop()
  live.unlink?.()
  live.unlink = undefined
}

/** Reports a handler that finished after its deadline. Its result is discarded. */
function reportLate(execution: Execution, outcome: ToolOutcome): void {
  const { run, deadline, control, trace } = execution
  // A handler that was stopped with its run is not late.
  if (trace.id === undefined || !isTimeout(control.signal.reason)) return
  trace.event({
    name: 'tool.unsettled',
    lateByMs: run.clock.now() - deadline,
    outcome: outcome.type === 'error' ? 'rejected' : 'resolved',
    ...(outcome.type === 'value' ? { content: toJsonValue(outcome.value) } : {}),
  })
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof ToolError && reason.reason === 'timeout'
}

/** The error of a batch that was stopped by its signal: the signal's reason if that is an error of the library. */
export function cancellation({ signal, requestId }: ToolRun): AllmError {
  const reason: unknown = signal?.reason
  if (isAllmError(reason)) return reason
  const message = 'the tool calls were cancelled'
  return new StreamError('cancelled', message, { cause: reason, requestId })
}
