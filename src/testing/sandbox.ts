import type { Engine } from '../contracts/engine.ts'
import { EngineError } from '../errors/errors.ts'

/**
 * Runs `work` with `engine` as the current engine and gives what it gives; everything that it starts, also later, sees it.
 *
 * Concurrent tests are kept apart where the runtime has `AsyncLocalStorage` (Node, Bun, Deno, workerd). Elsewhere there is one
 * current engine at a time, so asynchronous work has to be awaited before the next `withEngine`.
 */
export function withEngine<T>(engine: Engine, work: () => T): T {
  return scope.run(engine, work)
}

/** The engine of the innermost `withEngine` around this call. Outside of any it throws an `EngineError`. */
export function currentEngine(): Engine {
  const engine = scope.current()
  if (engine !== undefined) return engine
  throw new EngineError(
    'invalid_engine',
    'there is no current engine: call this inside withEngine(engine, work), or pass the engine as an argument',
  )
}

const scope: EngineScope = findScope()

/** The part of Node's globals that is looked for. */
interface Runtime {
  readonly process?: {
    readonly getBuiltinModule?: (
      name: 'node:async_hooks',
    ) => { readonly AsyncLocalStorage?: new () => AsyncStorage } | undefined
  }
}

function findScope(): EngineScope {
  // The globals of a runtime that may or may not be Node's.
  const runtime = globalThis as Runtime
  const Storage = runtime.process?.getBuiltinModule?.('node:async_hooks')?.AsyncLocalStorage
  return Storage === undefined ? stackScope() : asyncScope(new Storage())
}

/** Holds the engine that a piece of code was given without a parameter. */
interface EngineScope {
  /** Runs `work` with `engine` as the current one, and gives what it gives. */
  run<T>(engine: Engine, work: () => T): T
  /** The innermost engine; `undefined` outside. */
  current(): Engine | undefined
}

/** What is used of `AsyncLocalStorage`. */
interface AsyncStorage {
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
