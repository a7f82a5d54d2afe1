import { reasonOf, type CancelTimer, type Clock } from '../core/clock.ts'

/** A clock for tests: nothing waits in real time. */
export interface VirtualClock extends Clock {
  timer(ms: number, onTime: () => void): CancelTimer
  /** How many are asleep. */
  readonly pending: number
  /** Moves time on, waking on the way whoever's time has come, in order. Resolves when all that they started waits again. */
  advance(ms: number): Promise<void>
  /** Moves time on until nobody is asleep. */
  runAll(): Promise<void>
}

/** How a virtual clock behaves. */
export interface VirtualClockOptions {
  /** The time at the start (0). */
  readonly start?: number | undefined
  /** `false`: time moves only by `advance` and `runAll`. */
  readonly auto?: boolean | undefined
}

/** Rounds of the event loop without a change, after which everything counts as waiting. */
const quietTurns = 4

/**
 * Makes a clock whose time moves by itself: when everything waits, it jumps to whoever sleeps shortest, and wakes them one after
 * the other, those with the same time in the order in which they fell asleep.
 *
 * It sees promises and its own sleepers. Code that waits for something else, such as a socket or `setTimeout`, looks idle to it:
 * for that, make the clock with `auto: false` and move it by hand.
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
        // Somebody may have fallen asleep since the last look.
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
      if (!(ms >= 0)) throw new RangeError(`time can not be moved by ${ms} ms`)
      const until = now + ms
      await drive(until)
      now = Math.max(now, until)
    },
    runAll: () => drive(Number.MAX_VALUE),
  }
}

/** Waits until nobody has come, gone or woken for a while. */
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

/** A timer's callback that throws is nobody's rejection: it is reported as a real timer's would be. */
function raise(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}

/** Who sleeps, in the order in which they wake. */
interface SleeperQueue {
  readonly size: number
  /** When the first one wakes; infinite when nobody does. */
  readonly earliest: number
  /** Counts everyone who came, went or woke, so that a change can be seen. */
  readonly changes: number
  /** Adds a sleeper behind all that wake at the same time. Gives what takes it out again. */
  add(at: number, wake: () => void): () => void
  /** Takes out the first one and wakes it. */
  wakeFirst(): void
}

/** A queue without sleepers. */
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
