import type { Engine } from '../../core/contracts/engine.ts'
import { EngineError } from '../../core/errors/errors.ts'
import { engineParts } from './context.ts'

/**
 * Runs `work` with `engine` as the current engine and returns its result. All work that it starts, also later, sees the engine.
 *
 * Concurrent tests are independent if the runtime has `AsyncLocalStorage` (Node, Bun, Deno, workerd). Elsewhere there is only one
 * current engine at a time, so asynchronous work must be awaited before the next `withEngine`.
 */
export function withEngine<T>(engine: Engine, work: () => T): T {
  engineParts(engine)
  return scope().run(engine, work)
}

/**
 * Returns the current engine: that of the innermost `withEngine` around this call, else the one of `setEngine`, else the
 * fallback. Application code passes its own engine as the fallback, and a test replaces it. Without any, throws an `EngineError`.
 */
export function currentEngine(fallback?: Engine): Engine {
  const engine = scope().current() ?? holder().engine ?? fallback
  if (engine !== undefined) return engine
  throw new EngineError(
    'invalid_engine',
    'there is no current engine: call this inside withEngine(engine, work), pass a fallback, as in currentEngine(engine), or pass the engine as an argument',
  )
}

/** Makes an engine the current one for the whole process, until `unsetEngine`. For `beforeEach` of a test. */
export function setEngine(engine: Engine): void {
  engineParts(engine)
  holder().engine = engine
}

/** Undoes `setEngine`. */
export function unsetEngine(): void {
  holder().engine = undefined
}

/** What `setEngine` set, and the scope of `withEngine`. */
interface EngineHolder {
  engine: Engine | undefined
  scope: EngineScope | undefined
}

/** There is one for all copies of the package, as a property of the global object under a symbol of this library. */
function holder(): EngineHolder {
  const host = globalThis as { [key: symbol]: EngineHolder | undefined }
  return (host[holderKey] ??= { engine: undefined, scope: undefined })
}

const holderKey = /* @__PURE__ */ Symbol.for('allm-ts.current-engine')

function scope(): EngineScope {
  const held = holder()
  return (held.scope ??= findScope())
}

/** The part of Node's globals that is used. */
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

/** Holds the current engine. */
interface EngineScope {
  /** Runs `work` with `engine` as the current engine, and returns its result. */
  run<T>(engine: Engine, work: () => T): T
  /** The innermost engine; `undefined` outside of `run`. */
  current(): Engine | undefined
}

/** The part of `AsyncLocalStorage` that is used. */
interface AsyncStorage {
  run<T>(engine: Engine, work: () => T): T
  getStore(): Engine | undefined
}

/** A scope that follows asynchronous calls, so that concurrent tests do not see each other's engines. */
export function asyncScope(storage: AsyncStorage): EngineScope {
  return {
    run: (engine, work) => storage.run(engine, work),
    current: () => storage.getStore(),
  }
}

/**
 * A scope for runtimes that cannot follow asynchronous calls: one stack for all.
 *
 * It is correct as long as only one piece of asynchronous work is under way. If there are several, all see the last engine.
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

/** Runs `work`, then `leave`: after it returns or throws, or after its promise settles. */
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
