import { startTimer, type CancelTimer, type Clock } from '../core/clock.ts'

/** Wakes somebody at the earliest of many moments. */
export interface Deadlines {
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
export function deadlines(clock: Clock, onDue: (now: number) => number): Deadlines {
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
