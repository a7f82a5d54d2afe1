/** Tells an engine from any other object, also across copies of the package. */
export const engineBrand: unique symbol = Symbol.for('allm-ts.engine')

/** What a run carries for handlers and hooks: a record whose members may be anything. */
export type EngineContext = Readonly<Record<string, unknown>>

/** Holds the type of an engine's context. No value has it. */
declare const contextType: unique symbol

/**
 * A settled engine: frozen, without keys, safe to share between calls. Made by `createEngine`.
 *
 * Its other fields are internal. `extendEngine` makes a changed copy. `Context` is what the context is known to have; of a plain
 * `Engine` nothing is known, so nothing is checked.
 */
export interface Engine<Context extends object = object> {
  readonly [engineBrand]: true
  readonly [contextType]?: Context
  /** The provider of the adapter, if there is one. */
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly imageModel: string | undefined
  readonly context: EngineContext
}
