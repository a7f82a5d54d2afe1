import type { StreamEvent, TypedEvent } from '../types/events.ts'
import type { ToolTypes } from '../types/tool-types.ts'
import type { ModelSlot } from './adapter.ts'

/** Tells an engine from any other object, also across copies of the package. */
export const engineBrand: unique symbol = Symbol.for('allm-ts.engine')

/** What a run carries for handlers and hooks: a record whose members may be anything. */
export type EngineContext = Readonly<Record<string, unknown>>

/** Holds the type of an engine's context. No value has it. */
declare const contextType: unique symbol

/** Holds the type of an engine's own `responseFormat`. No value has it. */
declare const formatType: unique symbol

/** Holds what is known about the calls of a tool, or of an engine's tools. No value has it. */
export declare const toolTypes: unique symbol

/**
 * A settled engine: frozen, without keys, safe to share between calls. Made by `createEngine`.
 *
 * Its other fields are internal. `extendEngine` makes a changed copy. `Context` is what the context is known to have, `Types` what is
 * known about the tools, and `Format` the `responseFormat` of calls that have none; of a plain `Engine` nothing is known, so nothing is checked. Every
 * engine is a plain `Engine`.
 */
export interface Engine<
  Context extends object = object,
  Types extends ToolTypes = ToolTypes,
  Format = unknown,
> extends ModelNames {
  readonly [engineBrand]: true
  readonly [contextType]?: Context
  readonly [toolTypes]?: Types
  readonly [formatType]?: Format
  /** Who speaks when the engine answers, if it was given a name. */
  readonly name: string | undefined
  /** The provider of the adapter, if there is one. */
  readonly provider: string | undefined
  readonly model: string | undefined
  readonly context: EngineContext
}

/** The models of an engine that are not for chat: `imageModel`, `embeddingModel` and so on. */
export type ModelNames = { readonly [Slot in ModelSlot as `${Slot}Model`]: string | undefined }

/**
 * The events of an engine's runs: `function show(event: EventOf<typeof engine>)`. Those about tool calls narrow by the name of the
 * tool. Of a plain `Engine` it is `StreamEvent`.
 */
export type EventOf<From extends Engine> =
  From extends Engine<infer _Context, infer Types> ? TypedEvent<Types> : StreamEvent
