import type { JsonObject } from '../types/json.ts'

/** Tells an engine from any other object, also across copies of the package. */
export const engineBrand: unique symbol = Symbol.for('allm-ts.engine')

/**
 * A settled engine: frozen, without keys, safe to share between calls. Made by `createEngine`.
 *
 * Its other fields are internal. `extendEngine` makes a changed copy.
 */
export interface Engine {
  readonly [engineBrand]: true
  readonly model: string | undefined
  readonly imageModel: string | undefined
  readonly context: JsonObject
}
