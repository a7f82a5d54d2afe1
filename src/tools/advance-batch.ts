import { reasonOf } from '../core/clock.ts'
import { reportLate } from './call-telemetry.ts'
import { executeTool } from './execute-tool.ts'
import type { Execution } from './execution.ts'
import { haltBatch, isOver, settleDown, type LiveBatch } from './live-batch.ts'
import { closeCall, expireCall, openCall } from './running-call.ts'
import type { ToolOutcome } from './tool-outcome.ts'
import type { Batch } from '../types/events.ts'

/**
 * What has happened in a batch; when that is nothing, one more call is started.
 *
 * `undefined` when there is nothing to do but wait, or when the batch is over. Throws what an observer threw.
 */
export function takeEvents(live: LiveBatch): Batch | undefined {
  if (live.failure !== undefined) throw live.failure.error
  if (live.events.length === 0 && mayStart(live)) startNext(live)
  if (live.events.length === 0) return undefined
  const { events } = live
  live.events = []
  return events
}

/** Ends a batch before its time. */
export function stopBatch(live: LiveBatch, reason: Error): void {
  for (const { trace } of haltBatch(live, reason)) trace.error(reason)
}

/** Answers the calls whose time is up, and gives the next deadline. */
export function expireCalls(live: LiveBatch, now: number): number {
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
