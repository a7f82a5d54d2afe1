import { engineBrand, type Engine } from '../contracts/engine.ts'
import type { EngineParts } from '../contracts/options.ts'
import { EngineError } from '../errors/errors.ts'

/** What an engine holds. A value that `createEngine` did not make is refused. */
export function partsOf(engine: Engine): EngineParts {
  if (isEngine(engine)) return engine
  throw new EngineError(
    'invalid_engine',
    'the first argument is not an engine; make one with createEngine',
  )
}

function isEngine(value: unknown): value is EngineParts {
  return typeof value === 'object' && value !== null && engineBrand in value
}
