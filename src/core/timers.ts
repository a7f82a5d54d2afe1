import { startTimer, type CancelTimer, type Clock } from './clock.ts'

/** Watches over something that must not fall silent. */
export interface Watchdog {
  /** Something happened: from now on silence may last `ms`, or for ever when that is `undefined`. */
  feed(ms: number | undefined): void
  /** It is over; the watchdog goes. */
  stop(): void
}

/**
 * Calls `onSilence` once when nothing was fed for the time that was granted last.
 *
 * Feeding costs a clock reading and no promise: one timer looks again when its time is up.
 */
export function watchdog(clock: Clock, onSilence: (ms: number) => void): Watchdog {
  let deadline = Number.POSITIVE_INFINITY
  let firesAt = Number.POSITIVE_INFINITY
  let granted = 0
  let cancel: CancelTimer | undefined

  const arm = (): void => {
    cancel?.()
    firesAt = deadline
    cancel = startTimer(clock, Math.max(0, deadline - clock.now()), look)
  }
  const look = (): void => {
    cancel = undefined
    firesAt = Number.POSITIVE_INFINITY
    if (deadline === Number.POSITIVE_INFINITY) return
    if (clock.now() < deadline) arm()
    else {
      deadline = Number.POSITIVE_INFINITY
      onSilence(granted)
    }
  }

  return {
    feed(ms) {
      if (ms === undefined || ms === Number.POSITIVE_INFINITY) {
        deadline = Number.POSITIVE_INFINITY
        return
      }
      granted = ms
      deadline = clock.now() + ms
      if (deadline < firesAt) arm()
    },
    stop() {
      deadline = Number.POSITIVE_INFINITY
      cancel?.()
      cancel = undefined
      firesAt = deadline
    },
  }
}
