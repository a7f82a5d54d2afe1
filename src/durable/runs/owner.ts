import { startTimer, type Clock } from '../../core/base/clock.ts'
import { isAllmError, StreamError } from '../../core/errors/errors.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import type { Session } from '../../core/types/session.ts'
import { leaseLost, type RunState, type RunStore } from '../stores/run-store.ts'
import type { Lease, SaveOptions } from '../stores/session-store.ts'

/** What an owner needs to know. */
export interface OwnerOptions {
  readonly store: RunStore
  readonly clock: Clock
  readonly leaseMs: number
  readonly saveEveryMs: number
}

/** What is stored of a session when somebody takes it over. */
export interface OwnedState {
  readonly version: number
  readonly lastEventId: number
}

/**
 * The owner of a session: renews the lease, hears when it is asked to stop, and writes.
 *
 * Writes go out one after the other. If the store is gone, a write is tried again until the lease would have expired; if its answer was
 * lost, it is not made twice.
 */
export interface Owner {
  readonly lease: Lease
  /** Aborted when a stop is asked for, and when the lease is lost. */
  readonly signal: AbortSignal
  /** Whether a stop was asked for. */
  readonly isStopped: () => boolean
  /** Throws `SessionError` `lease_lost` if the lease is lost. */
  readonly check: () => void
  /**
   * Renews the lease if that is overdue, because the process stood still or hardly moves, and throws `SessionError` `lease_lost` if it is lost. Called before
   * anything begins whose start was saved. Returns `undefined` if the lease is good for some time.
   */
  readonly confirm: () => Promise<void> | undefined
  /** Asks for a stop from inside the process. */
  readonly stop: () => void
  /** Events that may be in the log a little later. A promise, if so many wait that the run should wait too. */
  readonly add: (events: readonly StreamEvent[]) => Promise<void> | undefined
  /** Saves the session with all events so far, and these. Resolves when all of it is stored. */
  readonly save: (session: Session, options?: OwnerSave) => Promise<void>
  /** Ends the renewals. */
  readonly end: () => void
}

/** What an owner adds to a save. */
export type OwnerSave = Pick<SaveOptions, 'events' | 'taken' | 'refused' | 'first'>

/** Events that may wait in memory while the store is slow. Beyond them the run waits for it. */
const mostWaiting = 2000

/** Begins to own a session whose lease was taken. */
export function createOwner(
  options: OwnerOptions,
  id: string,
  lease: Lease,
  { version, lastEventId }: OwnedState,
): Owner {
  const { store, clock, leaseMs, saveEveryMs } = options
  const controller = new AbortController()
  let stored = { version, lastEventId }
  let waiting: StreamEvent[] = []
  let isStopped = false
  let failure: { readonly error: Error } | undefined
  let renewedAt = clock.now()
  /** When content was appended for the last time. */
  let writtenAt = Number.NEGATIVE_INFINITY
  let hasEnded = false
  let cancelAppend: (() => void) | undefined
  let writes: Promise<void> = Promise.resolve()

  const lose = (thrown: unknown): void => {
    const error = thrown instanceof Error ? thrown : leaseLost(id, lease)
    failure ??= { error }
    controller.abort(error)
  }
  const stop = (): void => {
    isStopped = true
    controller.abort(new StreamError('cancelled', 'the run was asked to stop'))
  }
  const check = (): void => {
    if (failure !== undefined) throw failure.error
  }

  /** Makes a write, again and again while the store is gone. `wasDone` tells whether one whose answer was lost has arrived. */
  const durably = async (
    write: () => Promise<void>,
    wasDone: (state: RunState) => boolean,
  ): Promise<void> => {
    for (let waitMs = 50; ; waitMs = Math.min(1000, waitMs * 2)) {
      check()
      try {
        await write()
        return
      } catch (error) {
        if (!isGone(error) && !isStale(error)) throw error
        const state = await store.look(id).catch(() => undefined)
        if (state !== undefined && wasDone(state)) return
        if (isStale(error)) throw leaseLost(id, lease)
        if (clock.now() - renewedAt > leaseMs) throw error
        await clock.sleep(waitMs)
      }
    }
  }
  /** Puts a write behind those under way. The first that fails ends the run. */
  const enqueue = (write: () => Promise<void>): Promise<void> => {
    const next = writes.then(write)
    writes = next.catch(lose)
    return next
  }
  const append = async (): Promise<void> => {
    if (waiting.length === 0) return
    if (waiting.some(isContent)) writtenAt = clock.now()
    const events = waiting
    waiting = []
    const after = stored.lastEventId
    const last = after + events.length
    await durably(
      async () => void (await store.append(id, events, { lease, after })),
      (state) => state.lastEventId === last,
    )
    stored = { ...stored, lastEventId: last }
  }
  /** Writes what waits, at most every `saveEveryMs`. The first text after a pause is written at once, so that it is seen at once. */
  const appendSoon = (events: readonly StreamEvent[]): void => {
    const write = (): void => {
      cancelAppend?.()
      cancelAppend = undefined
      void enqueue(append).catch(() => undefined)
    }
    const waitMs = writtenAt + saveEveryMs - clock.now()
    if (waitMs <= 0 && events.some(isContent)) write()
    else cancelAppend ??= startTimer(clock, waitMs > 0 ? waitMs : saveEveryMs, write)
  }

  const renew = async (): Promise<void> => {
    const at = clock.now()
    try {
      if (!(await store.renew(id, lease, leaseMs))) return lose(leaseLost(id, lease))
      renewedAt = at
      if (await store.stopRequested(id)) stop()
    } catch (error) {
      // The store may come back in time.
      if (clock.now() - renewedAt > leaseMs) lose(error)
    }
  }
  let cancelRenewal: (() => void) | undefined
  const renewLater = (): void => {
    cancelRenewal = startTimer(clock, Math.max(1, Math.floor(leaseMs / 3)), () => {
      renew().then(
        () => hasEnded || renewLater(),
        () => undefined,
      )
    })
  }
  renewLater()

  // A hint may be about a stop. Own writes may give hints too, so the question is asked at most every 50 ms.
  let cancelLook: (() => void) | undefined
  const onHint = (): void => {
    if (hasEnded || isStopped) return
    cancelLook ??= startTimer(clock, 50, () => {
      cancelLook = undefined
      store.stopRequested(id).then(
        (asked) => asked && !hasEnded && stop(),
        () => undefined,
      )
    })
  }
  const unwatch = store.watch(id, onHint, { stopsOnly: true })

  return {
    lease,
    signal: controller.signal,
    isStopped: () => isStopped,
    check,
    confirm: () => (clock.now() - renewedAt > leaseMs / 2 ? renew().then(check) : undefined),
    stop,
    add(events) {
      waiting.push(...events)
      if (waiting.length >= mostWaiting) return enqueue(append)
      appendSoon(events)
      return undefined
    },
    async save(session, { events = [], ...rest } = {}) {
      cancelAppend?.()
      cancelAppend = undefined
      await enqueue(async () => {
        const all = [...waiting, ...events]
        waiting = []
        const next = {
          version: stored.version + 1,
          lastEventId: stored.lastEventId + all.length,
        }
        const options = { ...rest, lease, ifVersion: stored.version, events: all }
        await durably(
          async () => void (await store.save(session, options)),
          (state) => state.version === next.version && state.lastEventId === next.lastEventId,
        )
        stored = next
      })
    },
    end() {
      if (hasEnded) return
      hasEnded = true
      cancelAppend?.()
      cancelRenewal?.()
      cancelLook?.()
      unwatch()
    },
  }
}

/** Whether there is something to see in an event. */
function isContent({ type }: StreamEvent): boolean {
  return type !== 'message_started'
}

/** Whether the store could not be reached. */
export function isGone(error: unknown): boolean {
  return isAllmError(error) && error.kind === 'session' && error.reason === 'unavailable'
}

/** Whether an owner is not the owner any more. */
export function isLost(error: unknown): boolean {
  return isAllmError(error) && error.kind === 'session' && error.reason === 'lease_lost'
}

function isStale(error: unknown): boolean {
  return isAllmError(error) && error.kind === 'session' && error.reason === 'stale'
}
