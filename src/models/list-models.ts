import type { AdapterOptions, ChatAdapter, ModelInfo } from '../core/contracts/adapter.ts'
import type { Engine } from '../core/contracts/engine.ts'
import type { EngineParts } from '../core/contracts/options.ts'
import { AdapterError, EngineError } from '../core/errors/errors.ts'
import { assertValid, optionsOf, type Check } from '../core/schema/checks.ts'
import { callOptionChecks } from '../core/schema/options.ts'
import { defined, isObject } from '../core/types/guards.ts'
import type { JsonObject } from '../core/types/json.ts'
import { engineParts } from '../engine/model-call/context.ts'
import { createEngine } from '../engine/model-call/engine.ts'
import type { LeanWire } from '../providers/shared/call.ts'
import { asCount, asObject, asText } from '../providers/shared/read-json.ts'
import { askPath, askProvider, unsupported, wireOf } from './ask.ts'
import type { ModelCallOptions } from './call.ts'

/** The options of a call that lists models. */
export interface ListModelsOptions extends Omit<
  ModelCallOptions,
  'model' | 'providerOptions' | 'metadata'
> {}

/**
 * The models that a provider has for this key, as a list. Takes an adapter, or an engine, whose keys, retries and clock it uses.
 *
 * OpenAI and compatible servers, Anthropic and Gemini have such a list, and so has every adapter with a method `listModels`. Others
 * fail with `AdapterError` `unsupported_feature`, before anything is sent: Azure, Bedrock and Vertex, whose deployments are managed elsewhere.
 */
export async function listModels(
  adapterOrEngine: ChatAdapter | Engine,
  options: ListModelsOptions = {},
): Promise<readonly ModelInfo[]> {
  assertValid('invalid_options', optionsCheck(options))
  const engine = partsOf(adapterOrEngine)
  const { adapter } = engine
  if (adapter === undefined) {
    throw new EngineError(
      'missing_adapter',
      'the engine has no adapter: pass createEngine({ adapter })',
    )
  }
  const wire = wireOf(adapter)
  const { models: path = '/models' } = wire ?? {}
  const requestId = options.requestId ?? engine.newId('request')
  const { requestTimeoutMs = engine.defaults.requestTimeoutMs ?? 60_000 } = options
  return askProvider(engine, adapter, { ...options, requestId, requestTimeoutMs }, (call) => {
    if (adapter.listModels !== undefined) return adapter.listModels(call)
    if (wire === undefined || path === '') throw unsupported(adapter, 'list the models of')
    return allPages(wire, path, call)
  })
}

const { signal, retry, requestId, apiKey, headers, requestTimeoutMs } = callOptionChecks

const optionsCheck = /* @__PURE__ */ optionsOf({
  signal,
  retry,
  requestId,
  apiKey,
  headers,
  requestTimeoutMs,
} satisfies Readonly<Record<keyof ListModelsOptions, Check>>)

function partsOf(adapterOrEngine: ChatAdapter | Engine): EngineParts {
  return engineParts(
    isAdapter(adapterOrEngine) ? createEngine({ adapter: adapterOrEngine }) : adapterOrEngine,
  )
}

function isAdapter(value: ChatAdapter | Engine): value is ChatAdapter {
  return isObject(value) && 'stream' in value
}

/** More than this is not a list of models. */
const maxPages = 100

/** All pages of a list. Each API has its own word for the next page; a server that has none sends one page. */
async function allPages(
  wire: LeanWire,
  path: string,
  options: AdapterOptions,
): Promise<readonly ModelInfo[]> {
  const found: ModelInfo[] = []
  let query: Readonly<Record<string, string>> = {}
  for (let page = 0; page < maxPages; page++) {
    const answer = await askPath(wire, path, { ...options, query })
    const { list, next } = readPage(answer)
    if (list === undefined) {
      const message = `${wire.connection.provider} answered with something that is not a list of models`
      throw new AdapterError('malformed_response', message)
    }
    found.push(...list.flatMap((entry) => modelInfo(asObject(entry))))
    if (next === undefined || JSON.stringify(next) === JSON.stringify(query)) break
    query = next
  }
  return found
}

interface Page {
  readonly list?: readonly unknown[]
  /** The query of the next page. */
  readonly next?: Readonly<Record<string, string>> | undefined
}

/** A page: `data` of OpenAI and Anthropic, `models` of Gemini, or the list itself (Together). */
function readPage(answer: unknown): Page {
  if (Array.isArray(answer)) return { list: answer }
  const body = asObject(answer)
  const list = body?.['data'] ?? body?.['models']
  if (!Array.isArray(list)) return {}
  const last = body?.['has_more'] === true ? asText(body['last_id']) : undefined
  const token = asText(body?.['nextPageToken'])
  if (last !== undefined) return { list, next: { after_id: last } }
  return { list, next: token === undefined ? undefined : { pageToken: token } }
}

/** An entry of a list. Servers have many words for a few facts; the first that is there is used. */
function modelInfo(entry: JsonObject | undefined): readonly ModelInfo[] {
  // Gemini's names are paths.
  const id = asText(entry?.['id']) ?? asText(entry?.['name'])?.replace(/^models\//, '')
  if (entry === undefined || id === undefined) return []
  const { top_provider: best, limits } = entry
  const count = (...names: readonly string[]): number | undefined =>
    [entry, asObject(best), asObject(limits)]
      .flatMap((facts) => names.map((name) => asCount(facts?.[name])))
      .find((value) => value !== undefined && value > 0)
  return [
    defined<ModelInfo>({
      id,
      name: asText(entry['display_name'] ?? entry['displayName'] ?? entry['name']),
      created: timeOf(entry['created'] ?? entry['created_at']),
      inputTokenLimit: count(...inputNames),
      outputTokenLimit: count(...outputNames),
      metadata: entry,
    }),
  ]
}

const inputNames = [
  'inputTokenLimit',
  'max_input_tokens',
  'context_length',
  'context_window',
  'max_context_length',
  'max_model_len',
]

const outputNames = ['outputTokenLimit', 'max_completion_tokens', 'max_output_tokens', 'max_tokens']

/** Seconds since 1970, or a date as text. */
function timeOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : (asCount(value) ?? 0) * 1000
  return ms > 0 ? ms : undefined
}
