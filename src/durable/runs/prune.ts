import { startTimer, type CancelTimer, type Clock } from '../../core/base/clock.ts'

/** Removes old logs every so often until it is stopped: batch after batch while there is much to remove, so that it keeps up with any fleet. */
export function startPruning({ clock, prune, onError }: PruneHands): PruneLoop {
  let isStopped = false
  let cancel: CancelTimer | undefined
  let underWay: Promise<void> = Promise.resolve()

  const pruneOnce = async (): Promise<void> => {
    let removed = 0
    try {
      removed = await prune()
    } catch (error) {
      // The store may come back.
      onError(error)
    }
    // Some that a batch looks at have nothing to remove yet, so that one of a long backlog is seldom full.
    lookAfter(removed >= pruneBatch / 2 ? 0 : pruneEveryMs)
  }
  const lookAfter = (ms: number): void => {
    if (isStopped) return
    cancel = startTimer(clock, ms, () => {
      underWay = pruneOnce()
    })
  }
  lookAfter(pruneEveryMs)
  return {
    stop: () => {
      isStopped = true
      cancel?.()
      return underWay
    },
  }
}

/** What a loop that prunes needs. */
export interface PruneHands {
  readonly clock: Clock
  /** Prunes at most `pruneBatch` sessions, and says how many. */
  readonly prune: () => Promise<number>
  readonly onError: (error: unknown) => void
}

/** A loop that prunes. */
export interface PruneLoop {
  /** Prunes no more, and resolves when the batch under way has ended. */
  readonly stop: () => Promise<void>
}

/** How many sessions are pruned at once. */
export const pruneBatch = 1000

/** How often old logs are looked for. */
const pruneEveryMs = 600_000
