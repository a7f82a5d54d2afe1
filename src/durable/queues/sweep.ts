/// <reference lib="esnext.disposable" preserve="true" />

import { startTimer, systemClock, type CancelTimer, type Clock } from '../../core/base/clock.ts'
import {
  anyClock,
  anyFunction,
  assertValid,
  optionsOf,
  positiveInteger,
  refusal,
  type Check,
} from '../../core/schema/checks.ts'
import type { Runs } from '../runs/contract.ts'
import { startPruning } from '../runs/prune.ts'

/**
 * Enqueues every session that has something to do and that nobody works on: runs whose process died, commands whose ring was lost, wake-ups
 * whose time has come, calls that have expired. So an engine that calls `runs.advance(id)` may forget a job or give it up. It must take
 * another job for the session then: one that drops it, because it believes that a dead worker still has the last one, must find that out by
 * itself (BullMQ does so with `bullmqOptions`). It also prunes old logs, as `runs.work` does. One process with it is enough, and more do no
 * harm.
 */
export function sweep(runs: SweptRuns, options: SweepOptions): Sweep {
  checkOptions(options)
  const { enqueue, everyMs = 5000, limit = 1000, clock = systemClock } = options
  const onError = options.onError ?? runs.onError
  let isClosed = false
  let cancel: CancelTimer | undefined

  const look = async (): Promise<void> => {
    try {
      for (const id of await runs.due({ limit })) {
        if (isClosed) return
        try {
          await enqueue(id)
        } catch (error) {
          onError?.(error, id)
        }
      }
    } catch (error) {
      onError?.(error)
    }
  }
  const lookAgain = (): void => {
    if (!isClosed) cancel = startTimer(clock, everyMs, start)
  }
  const start = (): void => {
    underWay = look().then(lookAgain)
  }
  let underWay = look().then(lookAgain)
  const prune = async (): Promise<number> => runs.prune?.() ?? 0
  const pruning = startPruning({ clock, prune, onError: (error) => onError?.(error) })
  const close = async (): Promise<void> => {
    isClosed = true
    cancel?.()
    await Promise.all([underWay, pruning.stop()])
  }
  return { close, [Symbol.asyncDispose]: close }
}

/** What `sweep` needs of runs. */
export type SweptRuns = Pick<Runs, 'due'> & Partial<Pick<Runs, 'prune' | 'onError'>>

/** The options of `sweep`. */
export interface SweepOptions {
  /** Gives a session to the engine, whose handler calls `runs.advance(id)`. It is called again for a session that is still due the next time. */
  readonly enqueue: (id: string) => unknown
  /** The pause between two looks (5 000). */
  readonly everyMs?: number | undefined
  /** The largest number of sessions of one look (1 000). Those that are due the longest come first. */
  readonly limit?: number | undefined
  readonly clock?: Clock | undefined
  /** Called when the store could not be asked (without an id), and when a session could not be enqueued. Both are tried again. That of the runs unless given. */
  readonly onError?: ((error: unknown, id?: string) => void) | undefined
}

/** A sweep under way. */
export interface Sweep {
  /** Looks no more, and resolves when the look under way has ended. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Everything but `enqueue` may be left out. */
function checkOptions(options: SweepOptions): void {
  assertValid('invalid_options', sweepOptions(options))
  if (options.enqueue === undefined) throw refusal('invalid_options', 'enqueue', 'is missing')
}

const sweepOptions = optionsOf({
  enqueue: anyFunction,
  everyMs: positiveInteger,
  limit: positiveInteger,
  clock: anyClock,
  onError: anyFunction,
} satisfies Record<keyof SweepOptions, Check>)
