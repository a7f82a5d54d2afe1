/**
 * What an adapter leaves behind outside of its events: lines on the console, timers of the platform, listeners on a signal.
 *
 * The console and the timers are global, so they are watched by counting. Where the runtime can follow asynchronous calls, only what comes from inside a case
 * counts: a timer or a line of the test runner is nobody's fault. While several cases run at once, a finding may be reported by a case that ran beside
 * the one that caused it.
 */
export interface Watch {
  /** The first line that was written to the console, as `console.log: text`. */
  readonly written: string | undefined
  /** The number of timers that were started since and neither fired nor were cleared. */
  readonly timers: number
  /** Does the work of a case. Only what it does counts, and what follows from it. */
  run<T>(work: () => T): T
  stop(): void
}

type Log = (...values: readonly unknown[]) => void
type StartTimer = (
  run: (...values: readonly unknown[]) => void,
  ms?: number,
  ...rest: readonly unknown[]
) => unknown
type StopTimer = (timer?: unknown) => void

/** The globals that are watched. They are the same on every runtime, and their types here are those that all share. */
interface Watched {
  readonly console: Record<string, Log | undefined>
  setTimeout: StartTimer
  setInterval: StartTimer
  clearTimeout: StopTimer
  clearInterval: StopTimer
}

const logs = ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir', 'table'] as const

let watches = 0
let restore: (() => void) | undefined
let lines: string[] = []
const running = new Set<unknown>()
let skipping = false

/** Starts to watch the console and the timers. */
export function watchGlobals(): Watch {
  if (watches++ === 0) restore = install()
  const from = lines.length
  const before = new Set(running)
  let stopped = false
  return {
    get written() {
      return lines[from]
    },
    get timers() {
      return [...running].filter((timer) => !before.has(timer)).length
    },
    run: (work) => (inside === undefined ? work() : inside.run(true, work)),
    stop() {
      if (stopped) return
      stopped = true
      if (--watches > 0) return
      restore?.()
      lines = []
      running.clear()
    },
  }
}

/** The part of `AsyncLocalStorage` that is used: whether code runs inside of a case. */
interface Inside {
  run<T>(value: true, work: () => T): T
  getStore(): true | undefined
}

interface Runtime {
  readonly process?: {
    readonly getBuiltinModule?: (
      name: 'node:async_hooks',
    ) => { readonly AsyncLocalStorage?: new () => Inside } | undefined
  }
}

/** Follows the asynchronous calls of cases, on runtimes that can. */
const inside: Inside | undefined = (() => {
  // The globals of a runtime that may or may not be Node's.
  const { process: host } = globalThis as Runtime
  const Storage = host?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage
  return Storage === undefined ? undefined : new Storage()
})()

/** Whether what happens now is not of a case: the kit does it itself, or somebody outside, such as the test runner. */
function isForeign(): boolean {
  return skipping || (inside !== undefined && inside.getStore() === undefined)
}

/** Does something of the kit itself, whose timers do not count. */
export function unwatched<T>(act: () => T): T {
  const outer = skipping
  skipping = true
  try {
    return act()
  } finally {
    skipping = outer
  }
}

function install(): () => void {
  // The types of a runtime's globals are not available in this folder.
  const globals = globalThis as unknown as Watched
  const { console: output, setTimeout, setInterval, clearTimeout, clearInterval } = globals
  const originals = logs.map((name) => [name, output[name]] as const)
  for (const [name, write] of originals) {
    if (write === undefined) continue
    Reflect.set(output, name, (...values: readonly unknown[]) => {
      if (!isForeign()) lines.push(`console.${name}: ${values.map(String).join(' ')}`)
      Reflect.apply(write, output, values)
    })
  }
  const freeStreams = watchStreams()
  replace(globals, {
    setTimeout: counted(setTimeout, true),
    setInterval: counted(setInterval, false),
    clearTimeout: forgetting(clearTimeout),
    clearInterval: forgetting(clearInterval),
  })
  return () => {
    for (const [name, write] of originals) if (write !== undefined) Reflect.set(output, name, write)
    freeStreams()
    replace(globals, { setTimeout, setInterval, clearTimeout, clearInterval })
  }
}

/** The output of a process, on runtimes that have one. */
interface Output {
  write: (...values: readonly unknown[]) => unknown
}

/** Watches what is written to the output of the process itself. What a test runner of the platform writes does not count. */
function watchStreams(): () => void {
  const { process: host } = globalThis as unknown as {
    readonly process?: Readonly<Record<string, Output | undefined>>
  }
  const undo: (() => void)[] = []
  for (const name of ['stdout', 'stderr']) {
    const output = host?.[name]
    if (output === undefined) continue
    const { write } = output
    const watched: Output['write'] = (...values) => {
      if (!isForeign() && !isCalledByPlatform()) lines.push(`process.${name}: ${String(values[0])}`)
      return Reflect.apply(write, output, values)
    }
    Reflect.set(output, 'write', watched)
    undo.push(() => void Reflect.set(output, 'write', write))
  }
  return () => {
    for (const free of undo) free()
  }
}

/** Replaces members where the runtime allows it. Where it does not, its timers are not watched. */
function replace(target: Watched, members: Partial<Watched>): void {
  for (const [name, member] of Object.entries(members)) Reflect.set(target, name, member)
}

function counted(start: StartTimer, once: boolean): StartTimer {
  const wrapped: StartTimer = (run, ms, ...rest) => {
    if (isForeign() || isCalledByPlatform()) return start(run, ms, ...rest)
    const timer = start(
      (...values) => {
        if (once) running.delete(timer)
        run(...values)
      },
      ms,
      ...rest,
    )
    running.add(timer)
    return timer
  }
  // Node keeps the promise form of a timer on the function.
  return Object.defineProperties(wrapped, Object.getOwnPropertyDescriptors(start))
}

function forgetting(stop: StopTimer): StopTimer {
  return (timer) => {
    running.delete(timer)
    stop(timer)
  }
}

/** Whether the function that called the caller is one of the platform itself: `fetch` of Node has timers and listeners of its own. */
function isCalledByPlatform(): boolean {
  const frames = (new Error().stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))
  return /\b(?:node|bun|ext):/.test(frames[2] ?? '')
}

/** A signal that is never aborted and counts its listeners. */
export interface CountedSignal {
  readonly signal: AbortSignal
  readonly listeners: number
}

/** Makes a signal to hand to a call. Its listeners must be gone when the call is over. */
export function countedSignal(): CountedSignal {
  const { signal } = new AbortController()
  const listeners = new Set<unknown>()
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  const members: Pick<AbortSignal, 'addEventListener' | 'removeEventListener'> = {
    addEventListener(...call: Parameters<AbortSignal['addEventListener']>) {
      if (!isCalledByPlatform()) listeners.add(call[1])
      add(...call)
    },
    removeEventListener(...call: Parameters<AbortSignal['removeEventListener']>) {
      listeners.delete(call[1])
      remove(...call)
    },
  }
  Object.assign(signal, members)
  return {
    signal,
    get listeners() {
      return listeners.size
    },
  }
}
