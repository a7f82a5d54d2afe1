import { startTimer, type CancelTimer, type Clock } from './clock.ts'

/** One timer for many deadlines. */
export interface DeadlineTimer {
  /** Something is due at this moment of the clock. */
  arm(at: number): void
  /** Nothing is due any more. No timer is left. */
  stop(): void
}

/**
 * Calls `onDue` at the earliest of the armed deadlines. `onDue` handles what is due and returns the next deadline, or
 * `Infinity`.
 *
 * When the timer fires too early, because a deadline was met in the meantime, it is set again for the next one.
 */
export function deadlineTimer(clock: Clock, onDue: (now: number) => number): DeadlineTimer {
  let cancel: CancelTimer | undefined
  let firesAt = Infinity

  const stop = (): void => {
    cancel?.()
    cancel = undefined
    firesAt = Infinity
  }
  const arm = (at: number): void => {
    if (at >= firesAt) return
    stop()
    firesAt = at
    cancel = startTimer(clock, Math.max(0, at - clock.now()), () => {
      // A timer that was cancelled while it fired is ignored.
      if (firesAt !== at) return
      stop()
      arm(onDue(clock.now()))
    })
  }
  return { arm, stop }
}

/** A timer for something that must not stay silent for too long. */
export interface IdleTimer {
  /** Something happened. From now on, silence may last `ms`, or forever if that is `undefined`. */
  reset(ms: number | undefined): void
  stop(): void
}

/**
 * Calls `onIdle` once when `reset` was not called within the time of the last `reset`.
 *
 * A reset costs a reading of the clock, no timer and no promise. Where the first silence may be long and later ones short, `tickMs` is the
 * short one: the timer that is set for it serves both.
 */
export function idleTimer(
  clock: Clock,
  onIdle: (ms: number) => void,
  tickMs: number = Infinity,
): IdleTimer {
  let deadline = Infinity
  let allowed = Infinity
  const timer = deadlineTimer(clock, (now) => {
    if (now >= deadline) {
      deadline = Infinity
      onIdle(allowed)
    }
    return deadline === Infinity ? deadline : Math.min(deadline, now + tickMs)
  })
  return {
    reset(ms = Infinity) {
      allowed = ms
      if (ms === Infinity) {
        deadline = ms
        return
      }
      const now = clock.now()
      deadline = now + ms
      timer.arm(Math.min(deadline, now + tickMs))
    },
    stop() {
      deadline = Infinity
      timer.stop()
    },
  }
}
