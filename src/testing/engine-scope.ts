import type { Engine } from '../contracts/engine.ts'

/** Holds the engine that a piece of code was given without a parameter. */
export interface EngineScope {
  /** Runs `work` with `engine` as the current one, and gives what it gives. */
  run<T>(engine: Engine, work: () => T): T
  /** The innermost engine; `undefined` outside. */
  current(): Engine | undefined
}

/** What is used of `AsyncLocalStorage`. */
export interface AsyncStorage {
  run<T>(engine: Engine, work: () => T): T
  getStore(): Engine | undefined
}

/** A scope that follows every asynchronous call, so that concurrent tests do not see each other's engines. */
export function asyncScope(storage: AsyncStorage): EngineScope {
  return {
    run: (engine, work) => storage.run(engine, work),
    current: () => storage.getStore(),
  }
}

/**
 * A scope for runtimes that can not follow asynchronous calls: one stack for all.
 *
 * It is right as long as one piece of asynchronous work is under way; of several, all see the engine that came last.
 */
export function stackScope(): EngineScope {
  const open: Entry[] = []
  return {
    run(engine, work) {
      const entry = { engine }
      open.push(entry)
      return leavingAfter(work, () => {
        open.splice(open.lastIndexOf(entry), 1)
      })
    },
    current: () => open.at(-1)?.engine,
  }
}

interface Entry {
  readonly engine: Engine
}

/** Runs `work`, then `leave`: when it returns, throws, or its promise settles. */
function leavingAfter<T>(work: () => T, leave: () => void): T {
  let later = false
  try {
    const result = work()
    if (result instanceof Promise) {
      later = true
      result.finally(leave).catch(() => undefined)
    }
    return result
  } finally {
    if (!later) leave()
  }
}
