import type { Clock } from './clock.ts'

/** Watches over something that must not fall silent. */
export interface Watchdog {
  /** Something happened: from now on silence may last `ms`. */
  feed(ms: number | undefined): void
  /** It is over; the watchdog goes. */
  stop(): void
}

/**
 * Calls `onSilence` once when nothing was fed for the time that was granted last.
 *
 * Feeding costs a clock reading and no promise: one sleeper looks again when its time is up.
 */
export function watchdog(clock: Clock, onSilence: (ms: number) => void): Watchdog {
  let deadline = Number.POSITIVE_INFINITY
  let granted = 0
  let sleeping: AbortController | undefined
  let wakesAt = Number.POSITIVE_INFINITY

  const watch = async (): Promise<void> => {
    const controller = new AbortController()
    sleeping = controller
    try {
      for (let left = deadline - clock.now(); left > 0; left = deadline - clock.now()) {
        wakesAt = deadline
        if (left === Number.POSITIVE_INFINITY) return
        await clock.sleep(left, controller.signal)
      }
      if (!controller.signal.aborted) onSilence(granted)
    } catch {
      // Stopped or replaced while asleep.
    } finally {
      if (sleeping === controller) sleeping = undefined
    }
  }

  return {
    feed(ms) {
      granted = ms ?? 0
      deadline = ms === undefined ? Number.POSITIVE_INFINITY : clock.now() + ms
      if (sleeping !== undefined && deadline >= wakesAt) return
      sleeping?.abort()
      sleeping = undefined
      if (ms !== undefined) watch().catch(() => undefined)
    },
    stop() {
      deadline = Number.POSITIVE_INFINITY
      sleeping?.abort()
      sleeping = undefined
    },
  }
}
