import { systemClock } from '../../core/base/clock.ts'
import { randomId } from '../../core/base/ids.ts'
import type { KeySource } from '../../core/base/keys.ts'
import { modelSlots } from '../../core/contracts/adapter.ts'
import {
  engineBrand,
  type Engine,
  type EngineContext,
  type ModelNames,
} from '../../core/contracts/engine.ts'
import type {
  EngineOptions,
  EngineOptionsFor,
  EngineParts,
  FormatOption,
  Merged,
  ModelSlots,
  OverridesFor,
} from '../../core/contracts/options.ts'
import type { NeedsOf, Tool, TypesOf } from '../../core/contracts/tool.ts'
import { assertValid } from '../../core/schema/checks.ts'
import { validateEngineOptions } from '../../core/schema/options.ts'
import { defined } from '../../core/types/guards.ts'
import type { AnyFormat } from '../../core/types/request.ts'
import type { NeedsJsonSchema } from '../../core/types/standard-schema.ts'
import type { ToolTypes, WithTools } from '../../core/types/tool-types.ts'
import { engineParts, mergeByName } from './context.ts'

/**
 * Makes an engine: an adapter, tools, and defaults for any call option. It is frozen and can be shared by any number of calls.
 *
 * What its tools need of the context must be there: an engine that lacks it does not compile. It knows its tools: the events and results
 * of its runs narrow by the names of the tools, and `toolChoice` takes no other name. With a schema as `responseFormat`, results have its typed `output`. Unknown options throw a `ValidationError` that names them. A key is never part of an engine; `keys` says where to find one.
 */
export function createEngine<
  const Tools extends readonly Tool[] = readonly Tool[],
  Context extends object & NeedsOf<Tools> = EngineContext & NeedsOf<Tools>,
  Format extends AnyFormat = undefined,
>(options?: EngineOptionsFor<Tools, Context, Format>): Engine<Context, TypesOf<Tools>, Format>
export function createEngine(options: EngineOptions = {}): Engine {
  assertValid('invalid_options', validateEngineOptions(options))
  const { name, adapter, model, tools, context, keys, clock, newId, ...defaults } = options
  const parts: EngineParts = {
    [engineBrand]: true,
    name,
    provider: adapter?.provider,
    adapter,
    model: model ?? adapter?.model,
    tools: Object.freeze([...(tools ?? [])]),
    ...modelNames(defaults),
    context: { ...context },
    keys: keySource(keys),
    clock: clock ?? systemClock,
    newId: newId ?? randomId,
    defaults: Object.freeze(defaults),
  }
  return Object.freeze(withoutInside(parts))
}

/** The model of each slot: the one that is given, or that its adapter was made with. */
function modelNames(slots: ModelSlots): ModelNames {
  const names: Partial<Record<keyof ModelNames, string | undefined>> = {}
  for (const slot of modelSlots) {
    names[`${slot}Model`] = slots[`${slot}Model`] ?? slots[`${slot}Adapter`]?.model
  }
  // Every slot has been named.
  return names as ModelNames
}

/** What an engine shows when it is printed or serialised: its names. Adapters, tools, context and defaults may hold secrets. */
function withoutInside(parts: EngineParts): EngineParts {
  const { name, provider, model, defaults } = parts
  const toJSON = { value: () => defined({ name, provider, model, ...modelNames(defaults) }) }
  return Object.defineProperties(parts, {
    toJSON,
    [Symbol.for('nodejs.util.inspect.custom')]: toJSON,
    [Symbol.for('Deno.customInspect')]: toJSON,
  })
}

/**
 * A copy of an engine with some options changed. Tools are merged by name and context by key; everything else is replaced.
 *
 * An override of `undefined` removes the option. What added tools need must be in the context of either.
 */
export function extendEngine<
  Has extends object,
  const Tools extends readonly Tool[] = readonly [],
  Context extends object = object,
  Types extends ToolTypes = ToolTypes,
  Format extends AnyFormat = undefined,
>(
  engine: Engine<Has, Types>,
  overrides: OverridesFor<Has, Tools, Context, Types> & {
    readonly responseFormat: Format & NeedsJsonSchema<Format>
  },
): Engine<Merged<Has, Context>, WithTools<Types, TypesOf<Tools>>, Format>
export function extendEngine<
  Has extends object,
  const Tools extends readonly Tool[] = readonly [],
  Context extends object = object,
  Types extends ToolTypes = ToolTypes,
  Format = unknown,
  // Not given, unless the overrides are a value of which the compiler does not know whether they have a format.
  Other extends FormatOption = never,
>(
  engine: Engine<Has, Types, Format>,
  overrides: OverridesFor<Has, Tools, Context, Types> & {
    readonly responseFormat?: Other | undefined
  },
): Engine<Merged<Has, Context>, WithTools<Types, TypesOf<Tools>>, Format | Other>
export function extendEngine(engine: Engine, overrides: EngineOptions): Engine {
  assertValid('invalid_options', validateEngineOptions(overrides))
  const { defaults, parentSpanId, depth, outerMetadata, ...parts } = engineParts(engine)
  const { name, adapter, model, tools, context, keys, clock, newId } = parts
  // A model that came with the adapter goes with it.
  const leaves = overrides.adapter !== undefined && model === adapter?.model
  const extended = createEngine({
    name,
    adapter,
    model: leaves ? undefined : model,
    keys,
    clock,
    newId,
    ...defaults,
    ...overrides,
    tools: overrides.tools === undefined ? tools : mergeByName(tools, overrides.tools),
    context: { ...context, ...overrides.context },
  })
  return depth === undefined && outerMetadata === undefined
    ? withinSpan(extended, parentSpanId)
    : innerEngine(extended, { depth, parentSpanId, outerMetadata, context: {} })
}

/** The engine whose runs are part of a telemetry span: itself if there is none. */
export function withinSpan(engine: Engine, parentSpanId: string | undefined): Engine {
  if (parentSpanId === undefined) return engine
  return Object.freeze(withoutInside({ ...engineParts(engine), parentSpanId }))
}

/** Where a run takes place that is part of another one. */
interface Place extends Pick<EngineParts, 'depth' | 'parentSpanId' | 'outerMetadata'> {
  /** What the context of the engine lacks. */
  readonly context: EngineContext
}

/** The engine of a run that is part of another one: of an agent inside a call, or of one that was handed the conversation. */
export function innerEngine(engine: Engine, { context, ...place }: Place): EngineParts {
  const parts = engineParts(engine)
  const { depth, parentSpanId, outerMetadata } = place
  const inside = { depth, parentSpanId, outerMetadata, context: { ...context, ...parts.context } }
  return Object.freeze(withoutInside({ ...parts, ...inside }))
}

/** A record of keys becomes a function, so that a printed or serialised engine does not show keys. */
function keySource(keys: EngineOptions['keys']): KeySource | undefined {
  if (keys === undefined || typeof keys === 'function') return keys
  const copy = new Map(Object.entries(keys))
  return (provider) => copy.get(provider)
}
