import { reasonOf, type CancelTimer, type Clock } from '../../core/base/clock.ts'
import { assertValid, flag, must, optionsOf, type Check } from '../../core/schema/checks.ts'

/** A clock for tests: nothing waits in real time. */
export interface VirtualClock extends Clock {
  timer(ms: number, onTime: () => void): CancelTimer
  hold(until: number): () => void
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

const clockOptions = /* @__PURE__ */ optionsOf({
  start: /* @__PURE__ */ must('a number', Number.isFinite),
  auto: flag,
} satisfies Record<keyof VirtualClockOptions, Check>)

/** After this many turns of the event loop without a change, everything counts as waiting. */
const quietTurns = 4

/**
 * Makes a clock whose time moves by itself: when everything waits, it jumps to the next sleeper and wakes it. Sleepers that are due
 * at the same time wake one after the other, in the order in which they fell asleep.
 *
 * The clock sees promises and its own sleepers. Code that waits for something else, such as a socket or `setTimeout`, looks idle.
 * The handlers of tools are the exception: the clock does not reach the deadline of a running handler by itself while the process
 * has real work in flight: a file operation, an open connection, or a timer, child process or the like that was not there when the
 * handlers started. So real work takes no virtual time and cannot time out by chance. It times out when the deadline has passed in
 * real time too. For work that Node does not list (hashing, compression) the clock waits for 10 ms of real time; on a runtime that cannot
 * tell what is in flight it does not wait. For other code that waits for real work, make the clock with `auto: false` and move it by hand.
 */
export function virtualClock(options: VirtualClockOptions = {}): VirtualClock {
  assertValid('invalid_options', clockOptions(options))
  const { start = 0, auto = true } = options
  const queue = sleeperQueue()
  const holds = holdList()
  let now = start
  let running = false
  let drivenByHand = 0

  const fallAsleep = (ms: number, wake: () => void): CancelTimer => {
    const cancel = queue.add(now + (ms > 0 ? ms : 0), wake)
    startRunning()
    return cancel
  }
  const wakeUntil = async (
    until: number,
    goesOn: () => boolean,
    byHand: boolean,
  ): Promise<void> => {
    await settled(queue)
    while (goesOn() && queue.earliest <= until) {
      if (byHand || !(await realWorkEnded(holds, queue, goesOn))) {
        now = Math.max(now, queue.earliest)
        queue.wakeFirst()
      }
      await settled(queue)
    }
  }
  const startRunning = (): void => {
    if (!auto || running || drivenByHand > 0 || queue.earliest === Infinity) return
    running = true
    wakeUntil(Number.MAX_VALUE, () => drivenByHand === 0, false)
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
      await wakeUntil(until, () => true, true)
    } finally {
      drivenByHand--
      startRunning()
    }
  }

  return {
    now: () => now,
    sleep: (ms, signal) => sleepOn(fallAsleep, ms, signal),
    timer: fallAsleep,
    hold: (until) => holds.add(now, until),
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

/** The handlers that may wait for real work, each with the moment that the clock must not reach by itself. */
interface HoldList {
  /** Counts every change: added or released. */
  readonly changes: number
  /** Whether the clock would reach the moment of a handler. */
  reaches(at: number): boolean
  /** Whether such a handler may be waiting for real work. */
  isWorking(at: number): boolean
  add(now: number, until: number): () => void
}

function holdList(): HoldList {
  const holds = new Set<{ readonly until: number; readonly endsAt: number }>()
  const work = workWatch()
  let changes = 0
  const reached = (at: number) => [...holds].filter(({ until }) => until <= at)
  return {
    get changes() {
      return changes
    },
    reaches: (at) => holds.size > 0 && reached(at).length > 0,
    // A deadline that has passed in real time too is a real one.
    isWorking: (at) => reached(at).every(({ endsAt }) => realNow() < endsAt) && work.isInFlight(),
    add(now, until) {
      if (holds.size === 0) work.start()
      const hold = { until, endsAt: realNow() + until - now }
      holds.add(hold)
      changes++
      return () => {
        if (holds.delete(hold)) changes++
      }
    },
  }
}

/** How long real work is waited for that the runtime does not list, in real milliseconds. */
const graceMs = 10

/**
 * Waits for the real work of handlers whose deadline the clock would reach with its next sleeper. Returns whether anything
 * changed: then the clock looks again.
 */
async function realWorkEnded(
  holds: HoldList,
  queue: SleeperQueue,
  goesOn: () => boolean,
): Promise<boolean> {
  if (!listsWork || !holds.reaches(queue.earliest)) return false
  // A timer and not the time: some runtimes stop their clock while code runs.
  let graceOver = false
  realTimer(() => {
    graceOver = true
  }, graceMs)
  const seen = holds.changes + queue.changes
  for (let quiet = 0; quiet < quietTurns;) {
    if (!graceOver) await nextTurn()
    else if (holds.isWorking(queue.earliest)) {
      quiet = 0
      await shortPause()
    } else {
      quiet++
      await nextTurn()
    }
    if (!goesOn() || holds.changes + queue.changes !== seen) return true
  }
  return false
}

/** Real time, which the fake timers of a test do not affect. */
const realNow = performance.now.bind(performance)
const realTimeout: (work: () => void, ms: number) => NodeTimer | number = setTimeout

/** A timer of Node. Elsewhere a timer is a number. */
interface NodeTimer {
  unref?(): unknown
}

function shortPause(): Promise<void> {
  return new Promise((resolve) => realTimer(resolve, 1))
}

/** Calls back after some real time. It does not keep the process alive; the work that is waited for does. */
function realTimer(onTime: () => void, ms: number): void {
  const timer = realTimeout(onTime, ms)
  if (typeof timer !== 'number') timer.unref?.()
}

/** Looks for real work of handlers among the resources that keep the process alive. */
interface WorkWatch {
  /** No handler is running yet: what is there is not their work. */
  start(): void
  isInFlight(): boolean
}

/** How many resources of each kind keep the process alive. */
type Resources = Map<string, number>

function workWatch(): WorkWatch {
  let before: Resources = new Map()
  let last: Resources = new Map()
  const look = (): void => {
    const now = resources()
    for (const [kind, count] of last) {
      const ended = count - (now.get(kind) ?? 0)
      // Which one has ended is not known. If it was an old one, those that are left are work.
      if (ended > 0) before.set(kind, Math.max(0, (before.get(kind) ?? 0) - ended))
    }
    last = now
  }
  return {
    start() {
      before = resources()
      last = new Map(before)
      // By then the handlers have started their first work, and nothing else could end.
      queueMicrotask(look)
    },
    isInFlight() {
      look()
      for (const [kind, count] of last) {
        if (alwaysWork.has(kind) || count > (before.get(kind) ?? 0)) return true
      }
      return false
    },
  }
}

/** Kinds that may be work of a handler whenever they were made: a handler may use a connection of a pool. */
const alwaysWork: ReadonlySet<string> = new Set([
  // Of a file.
  'CloseReq',
  'FSReqCallback',
  'FSReqPromise',
  'GetAddrInfoReqWrap',
  'TCPConnectWrap',
  'TCPSocketWrap',
  'TLSWrap',
])

/** The part of Node's `process` that is used. Other runtimes have none of it. */
interface Processes {
  readonly process?: { getActiveResourcesInfo?: () => readonly string[] }
}

/** Whether the runtime can tell what is in flight. */
const listsWork = (globalThis as Processes).process?.getActiveResourcesInfo !== undefined

function resources({ process }: Processes = globalThis as Processes): Resources {
  const counts: Resources = new Map()
  for (const kind of process?.getActiveResourcesInfo?.() ?? []) {
    // The clock's own turns are immediates.
    if (kind === 'Immediate') continue
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  return counts
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
  /** The place of the first sleeper that wakes after this time. */
  const placeAfter = (at: number): number => {
    let low = 0
    let high = sleepers.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((sleepers[middle]?.at ?? 0) <= at) low = middle + 1
      else high = middle
    }
    return low
  }
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
      sleepers.splice(placeAfter(at), 0, sleeper)
      changes++
      return () => {
        const place = sleepers.lastIndexOf(sleeper, placeAfter(at))
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
