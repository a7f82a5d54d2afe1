import { abortWith } from '../core/abort.ts'
import { defaultConcurrency } from './concurrency.ts'
import { deadlines, type Deadlines } from './deadlines.ts'
import type { Execution } from './execution.ts'
import type { ToolRun } from './tool-run.ts'
import type { StreamEvent } from '../types/events.ts'
import type { ToolCall } from '../types/message.ts'

/** A batch of calls under way. */
export interface LiveBatch {
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
export function newBatch(
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
export function isOver({ stopped, started, calls, running }: LiveBatch): boolean {
  return (stopped || started === calls.length) && running.size === 0
}

/** Starts no more calls and tells the running handlers to stop; nobody waits for them. Gives those calls. */
export function haltBatch(live: LiveBatch, reason: Error): readonly Execution[] {
  live.stopped = true
  const abandoned = [...live.running]
  live.running.clear()
  settleDown(live)
  for (const { control } of abandoned) abortWith(control, reason)
  return abandoned
}

/** No timer and no listener stays behind. */
export function settleDown(live: LiveBatch): void {
  live.deadlines.stop()
  live.unlink?.()
  live.unlink = undefined
}
