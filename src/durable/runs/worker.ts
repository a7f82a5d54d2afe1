import { startTimer, type Clock } from '../../core/base/clock.ts'
import type { AcquiredLease, RunStore } from '../stores/run-store.ts'

/** What a worker does with the store. */
export interface WorkerHands {
  readonly clock: Clock
  readonly claim: () => Promise<{ readonly id: string; readonly lease: AcquiredLease } | undefined>
  /** Runs a claimed session until it rests. */
  readonly advance: (id: string, lease: AcquiredLease) => Promise<void>
  /** Called when the store could not be asked. */
  readonly onError: (error: unknown) => void
}

/** A loop that claims sessions. */
export interface WorkLoop {
  /** Claims nothing more. */
  readonly stop: () => void
  /** Resolves when the loop has ended and everything that it claimed is advanced. */
  readonly done: Promise<void>
}

/** Claims what is due and advances it, `concurrency` sessions at once. With `once` it ends when nothing is due any more. */
export function startWorking(
  { clock, claim, advance, onError }: WorkerHands,
  options: { readonly concurrency: number; readonly everyMs: number; readonly once?: true },
): WorkLoop {
  const { concurrency, everyMs, once } = options
  const active = new Set<Promise<void>>()
  let isStopped = false
  let wake: (() => void) | undefined

  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const done = (): void => {
        wake = undefined
        cancel()
        resolve()
      }
      const cancel = startTimer(clock, everyMs, done)
      wake = done
    })
  const begin = (id: string, lease: AcquiredLease): void => {
    const work = advance(id, lease).finally(() => {
      active.delete(work)
      wake?.()
    })
    active.add(work)
  }
  const claimNext = async (): Promise<boolean> => {
    try {
      const claimed = await claim()
      if (claimed === undefined) return false
      begin(claimed.id, claimed.lease)
      return true
    } catch (error) {
      if (once === true) throw error
      // The store may come back.
      onError(error)
      return false
    }
  }
  const loop = async (): Promise<void> => {
    for (;;) {
      if (isStopped) break
      if (active.size < concurrency && (await claimNext())) continue
      if (once === true && active.size === 0) return
      if (!isStopped) await pause()
    }
    await Promise.allSettled(active)
  }
  return {
    stop() {
      isStopped = true
      wake?.()
    },
    done: loop(),
  }
}

/** The sessions with calls that nobody has settled in time. */
export interface ExpiringSessions {
  /** The next one; `undefined` at the end of a walk through the index. The next walk begins a second later. */
  next(): Promise<string | undefined>
  /** The next walk begins now. */
  lookNow(): void
}

/** Walks through the index of what waits. */
export function expiringSessions(store: Pick<RunStore, 'pending'>, clock: Clock): ExpiringSessions {
  let walk: AsyncGenerator<string, void> | undefined
  let nextWalk = 0
  return {
    async next() {
      if (walk === undefined) {
        const now = clock.now()
        // A clock that was set back does not put the next walk off.
        if (now < nextWalk && now >= nextWalk - walkEveryMs) return undefined
        nextWalk = now + walkEveryMs
        walk = expiredIds(store, now)
      }
      const read = await walk.next()
      if (read.done !== true) return read.value
      walk = undefined
      return undefined
    },
    lookNow() {
      nextWalk = 0
    },
  }
}

/** How often a worker looks for what has expired. */
const walkEveryMs = 1000

/** How many calls are looked at together. */
const expiringPage = 100

/** The sessions that wait for something whose time is over. One comes again if its calls are not together in the index. */
export async function* expiredIds(
  store: Pick<RunStore, 'pending'>,
  expiresBy: number,
): AsyncGenerator<string, void> {
  let after: string | undefined
  do {
    const { rows, next } = await store.pending({ expiresBy, limit: expiringPage, after })
    yield* new Set(rows.map(({ sessionId }) => sessionId))
    after = next
  } while (after !== undefined)
}
