import type { FormatOption } from '../contracts/options.ts'
import { toResponseFormat } from '../make/requests.ts'
import { toToolSpec } from '../make/tools.ts'
import { mergeByName, type RunScene } from './run-scene.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject, JsonValue, ProviderOptions } from '../types/json.ts'
import type { Message } from '../types/message.ts'
import type { ModelRequest, ToolChoice, ToolSpec } from '../types/request.ts'

/** What a call is about: a request, or the parts of one that the loop decides for each turn. */
export interface RequestDraft extends Partial<ModelRequest> {
  readonly messages: readonly Message[]
}

/** What the loop sends instead of what the options say. */
export interface TurnOverrides {
  readonly tools: readonly ToolSpec[]
  readonly toolChoice?: ToolChoice | undefined
  readonly responseFormat?: FormatOption | undefined
}

/**
 * The request that goes to the adapter. Every field comes from the call, then from the draft, then from the engine.
 *
 * With `turn`, its fields stand for what the call and the engine say about them.
 */
export function buildRequest(
  scene: RunScene,
  draft: RequestDraft,
  turn?: TurnOverrides,
): ModelRequest {
  const { call, engine } = scene
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
    tools: turn?.tools ?? mergeTools(scene, draft.tools),
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
  })
}

function mergeTools(
  { engine, call }: RunScene,
  requested: readonly ToolSpec[] | undefined,
): readonly ToolSpec[] {
  const own = mergeByName(engine.tools.map(toToolSpec), requested ?? [])
  return call.tools === undefined ? own : mergeByName(own, call.tools.map(toToolSpec))
}

const none: ProviderOptions = {}

/** Each provider's parameters, key by key: the call's over the request's over the engine's. */
function mergeProviderOptions(
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
