/** Tells an engine from any other object, also across copies of the package. */
export const engineBrand: unique symbol = Symbol.for('allm-ts.engine')

/** What a run carries for handlers and hooks: a record whose members may be anything. */
export type EngineContext = Readonly<Record<string, unknown>>

/**
 * A settled engine: frozen, without keys, safe to share between calls. Made by `createEngine`.
 *
 * Its other fields are internal. `extendEngine` makes a changed copy.
 */
export interface Engine {
  readonly [engineBrand]: true
  /** The provider of the adapter, if there is one. */
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly imageModel: string | undefined
  readonly context: EngineContext
}
