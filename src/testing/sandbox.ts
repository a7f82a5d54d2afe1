import type { Engine } from '../contracts/engine.ts'
import { EngineError } from '../errors/errors.ts'
import { asyncScope, stackScope, type AsyncStorage, type EngineScope } from './engine-scope.ts'

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
