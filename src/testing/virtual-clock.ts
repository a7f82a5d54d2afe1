import { reasonOf, type CancelTimer, type Clock } from '../core/clock.ts'

/** A clock for tests: nothing waits in real time. */
export interface VirtualClock extends Clock {
  timer(ms: number, onTime: () => void): CancelTimer
  /** The number of sleeps and timers that are waiting. */
  readonly pending: number
  /** Moves time forward and wakes everything that is due, in order. Resolves when all the work that this started waits again. */
  advance(ms: number): Promise<void>
  /** Moves time forward until nothing is waiting. */
  runAll(): Promise<void>
}

/** Options of `virtualClock`. */
export interface VirtualClockOptions {
  /** The start time (0). */
  readonly start?: number | undefined
  /** With `false`, time moves only by `advance` and `runAll` (true). */
  readonly auto?: boolean | undefined
}

/** After this many turns of the event loop without a change, everything counts as waiting. */
const quietTurns = 4

/**
 * Makes a clock whose time moves by itself: when everything waits, it jumps to the next sleeper and wakes it. Sleepers that are due
 * at the same time wake one after the other, in the order in which they fell asleep.
 *
 * The clock sees promises and its own sleepers. Code that waits for something else, such as a socket or `setTimeout`, looks idle:
 * for such code, make the clock with `auto: false` and move it by hand.
 */
export function virtualClock({ start = 0, auto = true }: VirtualClockOptions = {}): VirtualClock {
  const queue = sleeperQueue()
  let now = start
  let running = false
  let drivenByHand = 0

  const fallAsleep = (ms: number, wake: () => void): CancelTimer => {
    const cancel = queue.add(now + (ms > 0 ? ms : 0), wake)
    startRunning()
    return cancel
  }
  const wakeUntil = async (until: number, goesOn: () => boolean): Promise<void> => {
    await settled(queue)
    while (goesOn() && queue.earliest <= until) {
      now = Math.max(now, queue.earliest)
      queue.wakeFirst()
      await settled(queue)
    }
  }
  const startRunning = (): void => {
    if (!auto || running || drivenByHand > 0 || queue.earliest === Infinity) return
    running = true
    wakeUntil(Number.MAX_VALUE, () => drivenByHand === 0)
      .catch(raise)
      .finally(() => {
        running = false
        // There may be a new sleeper since the last look.
        startRunning()
      })
  }
  const drive = async (until: number): Promise<void> => {
    drivenByHand++
    try {
      await wakeUntil(until, () => true)
    } finally {
      drivenByHand--
      startRunning()
    }
  }

  return {
    now: () => now,
    sleep: (ms, signal) => sleepOn(fallAsleep, ms, signal),
    timer: fallAsleep,
    get pending() {
      return queue.size
    },
    async advance(ms) {
      if (!(ms >= 0))
        throw new RangeError(`advance(ms) needs a number of milliseconds, 0 or more, not ${ms}`)
      const until = now + ms
      await drive(until)
      now = Math.max(now, until)
    },
    runAll: () => drive(Number.MAX_VALUE),
  }
}

/** Waits until the queue has not changed for some turns. */
async function settled(queue: SleeperQueue): Promise<void> {
  for (let quiet = 0, seen = queue.changes; quiet < quietTurns; quiet++) {
    await nextTurn()
    if (queue.changes === seen) continue
    seen = queue.changes
    quiet = -1
  }
}

function sleepOn(
  fallAsleep: (ms: number, wake: () => void) => CancelTimer,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(reasonOf(signal))
      return
    }
    if (!(ms > 0)) {
      resolve()
      return
    }
    if (signal === undefined) {
      fallAsleep(ms, resolve)
      return
    }
    const onAbort = (): void => {
      cancel()
      reject(reasonOf(signal))
    }
    const cancel = fallAsleep(ms, () => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    })
    signal.addEventListener('abort', onAbort, { once: true })
  })
}

/** Throws outside of any promise, as a callback of a real timer does. */
function raise(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}

/** The sleepers, in the order in which they wake. */
interface SleeperQueue {
  readonly size: number
  /** The time at which the first one wakes; infinite if there is none. */
  readonly earliest: number
  /** Counts every change: added, removed or woken. */
  readonly changes: number
  /** Adds a sleeper behind all with the same time. Returns a function that removes it. */
  add(at: number, wake: () => void): () => void
  /** Removes the first one and wakes it. */
  wakeFirst(): void
}

function sleeperQueue(): SleeperQueue {
  const sleepers: { readonly at: number; readonly wake: () => void }[] = []
  let changes = 0
  return {
    get size() {
      return sleepers.length
    },
    get earliest() {
      return sleepers[0]?.at ?? Infinity
    },
    get changes() {
      return changes
    },
    add(at, wake) {
      const sleeper = { at, wake }
      const behind = sleepers.findLastIndex((other) => other.at <= at)
      sleepers.splice(behind + 1, 0, sleeper)
      changes++
      return () => {
        const place = sleepers.indexOf(sleeper)
        if (place === -1) return
        sleepers.splice(place, 1)
        changes++
      }
    },
    wakeFirst() {
      const first = sleepers.shift()
      changes++
      first?.wake()
    },
  }
}

/** The functions of a runtime that run a callback after all work that is ready now. */
interface Runtime {
  readonly setImmediate?: (work: () => void) => unknown
  readonly MessageChannel?: new () => Channel
}

/** The part of `MessageChannel` that is used. */
interface Channel {
  readonly port1: {
    addEventListener(type: 'message', listener: () => void, options: { once: true }): void
    start(): void
    close(): void
  }
  readonly port2: { postMessage(message: number): void }
}

/**
 * Waits until all work that is ready now has run: every chain of promises, and one turn of the event loop.
 *
 * The runtime's functions are read when this module is loaded, so fake timers of a test do not affect it.
 */
export const nextTurn: () => Promise<void> = pickTurn(globalThis)

/** The fastest way that a runtime has. `setTimeout` exists everywhere, but is slow. */
export function pickTurn(runtime: Runtime): () => Promise<void> {
  const { setImmediate: immediate, MessageChannel: NewChannel } = runtime
  if (immediate !== undefined) return () => new Promise((resolve) => void immediate(resolve))
  if (NewChannel !== undefined) return () => messageTurn(new NewChannel())
  const later = setTimeout
  return () => new Promise((resolve) => void later(resolve, 0))
}

function messageTurn({ port1, port2 }: Channel): Promise<void> {
  return new Promise((resolve) => {
    const onMessage = (): void => {
      // An open port would keep the process alive.
      port1.close()
      resolve()
    }
    port1.addEventListener('message', onMessage, { once: true })
    port1.start()
    port2.postMessage(0)
  })
}
