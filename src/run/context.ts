import { engineBrand, type Engine } from '../contracts/engine.ts'
import type { CallDefaults, CallOptions, EngineParts, FormatOption } from '../contracts/options.ts'
import type { Tool } from '../contracts/tool.ts'
import { EngineError } from '../errors/errors.ts'
import { toResponseFormat } from '../make/requests.ts'
import { toToolSpec } from '../make/tools.ts'
import { assertValid } from '../schema/checks.ts'
import { validateCallOptions } from '../schema/options.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject, JsonValue, ProviderOptions } from '../types/json.ts'
import type { Message } from '../types/message.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../types/request.ts'

/** What all model calls of a run share: the engine, the options of the call, ids, tools and context. */
export interface RunContext {
  readonly engine: EngineParts
  readonly call: CallOptions
  readonly requestId: string
  readonly sessionId: string | undefined
  /** The engine's tools, with the call's added; a tool of the same name is replaced. */
  readonly tools: readonly Tool[]
  /** The engine's context, with the session's and the call's merged over it. */
  readonly context: JsonObject
}

/** What a session adds to its runs. */
export interface SessionContext {
  readonly sessionId: string
  readonly context: JsonObject
}

const noOptions: CallOptions = {}

/** Settles what the calls of a run share. Unknown options and options of the wrong type throw a `ValidationError`. */
export function runContext(
  engine: Engine,
  options?: CallOptions,
  session?: SessionContext,
): RunContext {
  const parts = engineParts(engine)
  assertValid('invalid_options', validateCallOptions(options))
  const call = options ?? noOptions
  return {
    engine: parts,
    call,
    requestId: call.requestId ?? parts.newId('request'),
    sessionId: session?.sessionId,
    tools: call.tools === undefined ? parts.tools : mergeByName(parts.tools, call.tools),
    context: mergeContext(parts.context, session?.context, call.context),
  }
}

/** An option of the call, or the engine's default. */
export function optionOf<Name extends keyof CallDefaults>(
  context: RunContext,
  name: Name,
): CallDefaults[Name] {
  return context.call[name] ?? context.engine.defaults[name]
}

/** Merges two lists by name: the first keeps its order, and an item of the second replaces the one of the same name. */
export function mergeByName<T extends { readonly name: string }>(
  first: readonly T[],
  second: readonly T[],
): readonly T[] {
  if (second.length === 0) return first
  if (first.length === 0) return second
  const byName = new Map(first.map((item) => [item.name, item]))
  for (const item of second) byName.set(item.name, item)
  return [...byName.values()]
}

function mergeContext(
  engine: JsonObject,
  session: JsonObject | undefined,
  call: JsonObject | undefined,
): JsonObject {
  return session === undefined && call === undefined ? engine : { ...engine, ...session, ...call }
}

/** A request, or the fields of one that the loop sets for each turn. */
export interface RequestDraft extends Partial<ModelRequest> {
  readonly messages: readonly Message[]
}

/** What the loop sends instead of the options. */
interface TurnOverrides {
  readonly tools: readonly ToolSpec[]
  readonly toolChoice?: ToolChoice | undefined
  readonly responseFormat?: FormatOption | undefined
}

/**
 * The request that goes to the adapter. Every field comes from the call, then from the draft, then from the engine.
 *
 * The fields of `turn` override what the call and the engine say about them.
 */
export function buildRequest(
  context: RunContext,
  draft: RequestDraft,
  turn?: TurnOverrides,
): ModelRequest {
  const { call, engine } = context
  const { defaults } = engine
  const format =
    turn === undefined
      ? (call.responseFormat ?? draft.responseFormat ?? defaults.responseFormat)
      : turn.responseFormat
  const choice =
    turn === undefined
      ? (call.toolChoice ?? draft.toolChoice ?? defaults.toolChoice)
      : turn.toolChoice
  return defined<ModelRequest>({
    model: call.model ?? draft.model ?? engine.model,
    messages: draft.messages,
    tools: turn?.tools ?? mergeTools(context, draft.tools),
    toolChoice: choice,
    temperature: call.temperature ?? draft.temperature ?? defaults.temperature,
    maxTokens: call.maxTokens ?? draft.maxTokens ?? defaults.maxTokens,
    responseFormat: format === undefined ? undefined : toResponseFormat(format),
    reasoning: call.reasoning ?? draft.reasoning ?? defaults.reasoning,
    promptCache: call.promptCache ?? draft.promptCache ?? defaults.promptCache,
    providerOptions: mergeProviderOptions(
      defaults.providerOptions,
      draft.providerOptions,
      call.providerOptions,
    ),
    metadata: mergeMetadata(defaults.metadata, draft.metadata, call.metadata),
    // A new field of a request must be decided about here.
  } satisfies Readonly<Record<keyof ModelRequest, unknown>>)
}

function mergeTools(
  { engine, call }: RunContext,
  requested: readonly ToolSpec[] | undefined,
): readonly ToolSpec[] {
  const own = mergeByName(engine.tools.map(toToolSpec), requested ?? [])
  return call.tools === undefined ? own : mergeByName(own, call.tools.map(toToolSpec))
}

const none: ProviderOptions = {}

/** Each provider's parameters, key by key: the call's over the request's over the engine's. */
export function mergeProviderOptions(
  ...layers: readonly (ProviderOptions | undefined)[]
): ProviderOptions {
  const given = layers.filter((layer) => layer !== undefined)
  if (given.length < 2) return given[0] ?? none
  const merged: Record<string, JsonObject | undefined> = {}
  for (const layer of given) {
    for (const [provider, options] of Object.entries(layer)) {
      merged[provider] = { ...merged[provider], ...options }
    }
  }
  return merged
}

const nothing: JsonObject = {}

function mergeMetadata(...layers: readonly (JsonObject | undefined)[]): JsonObject {
  const given = layers.filter((layer) => layer !== undefined)
  if (given.length < 2) return given[0] ?? nothing
  const merged: Record<string, JsonValue> = {}
  for (const layer of given) Object.assign(merged, layer)
  return merged
}

/** Which events the consumer sees, by the options of the run; `undefined` when it sees all. */
export function keepEvent(context: RunContext): ((event: StreamEvent) => boolean) | undefined {
  const text = optionOf(context, 'emitTextDeltas') ?? true
  const tools = optionOf(context, 'emitToolDeltas') ?? true
  if (text && tools) return undefined
  const hidden = new Set<StreamEvent['type']>()
  if (!text) hidden.add('text_delta').add('reasoning_delta')
  if (!tools) hidden.add('tool_call_delta')
  return (event) => !hidden.has(event.type)
}

/** What an engine holds. A value that `createEngine` did not make is refused. */
export function engineParts(engine: Engine): EngineParts {
  if (isEngine(engine)) return engine
  throw new EngineError(
    'invalid_engine',
    'the first argument must be an engine made by createEngine',
  )
}

function isEngine(value: unknown): value is EngineParts {
  return typeof value === 'object' && value !== null && engineBrand in value
}
