import type { AdapterErrorReason } from '../../core/errors/errors.ts'
import { assertNever, defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import { validateScript } from '../fakes/check-script.ts'
import {
  createScriptCursor,
  toScript,
  type Script,
  type ScriptCursor,
  type ScriptInput,
} from '../fakes/script.ts'
import type { RequestProblem } from './check-params.ts'
import { applyFault, type Fault } from './faults.ts'
import { serveModel, type ModelScripts } from './models.ts'
import { refusedPlan, type PlanFailure } from './plan.ts'
import type { Origin, Provider, ServedRequest } from './request.ts'
import { prepareAnswer, type PreparedAnswer } from './send-answer.ts'
import type { ServedKind, ServedModel } from './served-model.ts'
import {
  wireEpoch,
  type WireAnswer,
  type WireChunking,
  type WireFormat,
  type WirePlatform,
} from './wire-format.ts'
import { rechunk, renderPlan, renderWire } from './wire.ts'

/** The request's wishes about its answer. */
interface ChatAsk {
  readonly format: WireFormat
  readonly stream: boolean
  readonly framing: 'sse' | 'json_array'
  readonly platform: WirePlatform | undefined
  readonly includeUsage: boolean
  readonly model: string
  readonly requestId: string
}

/** Renders scripts, once for each combination of format, model and options. */
export interface ChatAnswers {
  answer(taken: TakenScript, ask: ChatAsk, fault: Fault | undefined): PreparedAnswer
}

/** The cache is emptied at this size, so that a client with ever new model names does not fill the memory. */
const maxKept = 4096

/** Makes a renderer with a cache. Answers with a fault, and refusals, are not cached. */
export function chatAnswers(chunking: WireChunking | undefined): ChatAnswers {
  const kept = new Map<string, PreparedAnswer>()
  const places = new WeakMap<Script, number>()
  return {
    answer({ script, index }, ask, fault) {
      const { format, stream, framing, platform, includeUsage, model } = ask
      // A script that is in the list several times is rendered once, with the ids of its first place.
      const place = places.get(script) ?? index
      places.set(script, place)
      const taken = { script, index: place }
      const key = `${place} ${format} ${stream} ${framing} ${platform} ${includeUsage} ${model}`
      const known = fault === undefined ? kept.get(key) : undefined
      if (known !== undefined) return known
      const answer = applyFault(render(taken, ask), fault)
      const frames = chunking === undefined ? answer.frames : rechunk(answer.frames, chunking)
      const prepared = prepareAnswer({ ...answer, frames }, chunking !== undefined)
      if (fault !== undefined || answer.status !== 200) return prepared
      if (kept.size >= maxKept) kept.clear()
      kept.set(key, prepared)
      return prepared
    },
  }
}

function render({ script, index }: TakenScript, ask: ChatAsk): WireAnswer {
  const { format, ...options } = ask
  return renderWire(format, script, { ...options, id: String(index + 1) })
}

/**
 * Makes the script of a call from its request, so that calls that come at the same time get their own answers. `call` counts
 * from 1.
 */
export type ServerScriptFunction = (
  request: ServedRequest,
  facts: { readonly call: number },
) => ScriptInput

/** A script and its index in the list. */
interface TakenScript {
  readonly script: Script
  readonly index: number
}

/** The scripts of a server and the position of each caller in them. */
export interface ScriptSource {
  /** Takes the script of the next call. Returns `undefined` when all were played. */
  take(key: string | undefined, request: () => ServedRequest): TakenScript | undefined
  /** The model of a kind that plays its script for a caller. */
  modelOf(kind: ServedKind, key: string | undefined): ServedModel
  /** The number of scripts for each caller. */
  readonly size: number
  /** The number of scripts that were not played: by any caller, or by the caller with the most left. */
  readonly remaining: number
}

interface SourceOptions {
  /** One script per call, or a function that makes the script of each. */
  readonly scripts: readonly ScriptInput[] | ServerScriptFunction
  readonly models: ModelScripts
  readonly repeat: boolean
  readonly perKey: boolean
}

/** Makes a source with one position in the scripts for all callers, or with one per API key. */
export function scriptSource({
  scripts: given,
  models,
  repeat,
  perKey,
}: SourceOptions): ScriptSource {
  const make = typeof given === 'function' ? given : undefined
  const scripts = typeof given === 'function' ? [] : given.map(toScript)
  let made = 0
  const cursors = new Map<string, ScriptCursor>()
  const served = new Map<string, ServedModel>()
  const nameOf = (key: string | undefined): string => (perKey ? (key ?? '') : '')
  return {
    size: scripts.length,
    take(key, request) {
      if (make !== undefined) {
        const index = made++
        const script = make(request(), { call: index + 1 })
        validateScript({ script })
        return { script: toScript(script), index }
      }
      const cursor = valueOf(cursors, nameOf(key), createScriptCursor)
      const index = repeat && scripts.length > 0 ? cursor.index % scripts.length : cursor.index
      cursor.advance()
      const script = scripts[index]
      return script === undefined ? undefined : { script, index }
    },
    modelOf: (kind, key) =>
      valueOf(served, `${kind} ${nameOf(key)}`, () => serveModel[kind](models)),
    get remaining() {
      const played = Array.from(cursors.values(), ({ index }) => index)
      const least = played.length === 0 ? 0 : Math.min(...played)
      return Math.max(0, scripts.length - least)
    },
  }
}

/** The value of a name, made on first use. */
function valueOf<Value>(values: Map<string, Value>, name: string, make: () => Value): Value {
  const value = values.get(name) ?? make()
  values.set(name, value)
  return value
}

const formats: Readonly<Record<Provider, WireFormat>> = {
  openai: 'openai_chat',
  anthropic: 'anthropic',
  gemini: 'gemini',
}

/** A refusal in the provider's own shape. */
export function refuse(
  { provider, platform }: Origin,
  failure: PlanFailure,
  requestId: string,
): WireAnswer {
  return renderPlan(formats[provider], refusedPlan(failure), {
    id: '',
    model: '',
    created: 0,
    requestId,
    stream: false,
    includeUsage: false,
    framing: 'sse',
    platform,
  })
}

/** The refusal of an invalid request. OpenAI also names the parameter and a code. */
export function refuseRequest(
  origin: Origin,
  { message, param, code }: RequestProblem,
  requestId: string,
): WireAnswer {
  const answer = refuse(origin, { reason: 'invalid_request', message, status: 400 }, requestId)
  if (origin.provider !== 'openai') return answer
  const error = { message, type: 'invalid_request_error', param: param ?? null, code: code ?? null }
  return { ...answer, frames: [{ bytes: jsonBytes({ error }) }] }
}

/** The refusal of a request without a key. */
export function refuseWithoutKey(origin: Origin, requestId: string): WireAnswer {
  const message = {
    openai:
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    anthropic: 'x-api-key header is required',
    gemini: 'Request is missing required authentication credential.',
  }[origin.platform === undefined ? origin.provider : 'gemini']
  return refuse(origin, { reason: 'authentication_failed', message, status: 401 }, requestId)
}

/** The refusal of an unknown path, or of a method that the path does not allow. */
export function refuseAddress(
  origin: Origin,
  status: 404 | 405,
  address: string,
  requestId: string,
): WireAnswer {
  const message =
    status === 404 ? `Invalid URL (${address})` : `Method not allowed for this URL (${address})`
  return refuse(origin, { reason: 'invalid_request', message, status }, requestId)
}

/** The refusal of a call after the last script. Its message begins with the error reason of this library. */
export function refuseExhausted(
  origin: Origin,
  scriptCount: number,
  requestId: string,
): WireAnswer {
  const scripts = scriptCount === 1 ? '1 script' : `${scriptCount} scripts`
  const message = `no_scripted_response: no scripted response is left; the server has ${scripts} and all were played`
  return refuse(origin, { reason: 'no_scripted_response', message }, requestId)
}

/** The refusal of an injected fault. */
export function refuseByFault(
  origin: Origin,
  fault: { status: number; message?: string | undefined; retryAfterMs?: number | undefined },
  requestId: string,
): WireAnswer {
  const { status, message, retryAfterMs } = fault
  const reason = reasonOf(status)
  const failure = defined<PlanFailure>({ reason, status, message, retryAfterMs })
  return refuse(origin, failure, requestId)
}

function reasonOf(status: number): AdapterErrorReason {
  if (status === 401 || status === 403) return 'authentication_failed'
  if (status === 429) return 'rate_limited'
  return status >= 500 ? 'provider_unavailable' : 'invalid_request'
}

function jsonBytes(body: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(body))
}

/** The answer of the models endpoints: all models, or one. Without a list every model exists. */
export function modelsAnswer(
  provider: Provider,
  model: string | undefined,
  listed: readonly (string | ListedModel)[] | undefined,
  requestId: string,
): WireAnswer {
  const models = listed?.map((one) => (typeof one === 'string' ? { id: one } : one))
  if (model === undefined)
    return jsonAnswer(modelsList(provider, models ?? defaultModels[provider].map((id) => ({ id }))))
  const entry = models === undefined ? { id: model } : models.find(({ id }) => id === model)
  if (entry !== undefined) return jsonAnswer(modelEntry(provider, entry))
  const message =
    provider === 'anthropic' ? `model: ${model}` : `The model '${model}' does not exist`
  return refuse({ provider }, { reason: 'invalid_request', status: 404, message }, requestId)
}

/** A model that is listed with more than its name. Each provider says it in its own words; OpenAI has no limits and no names. */
export interface ListedModel {
  readonly id: string
  /** Its name for people. */
  readonly name?: string | undefined
  /** The longest input, in tokens. */
  readonly inputTokenLimit?: number | undefined
  /** The longest answer, in tokens. */
  readonly outputTokenLimit?: number | undefined
}

/** A whole answer. */
export function jsonAnswer(body: JsonObject): WireAnswer {
  const headers = { 'content-type': 'application/json' }
  return { status: 200, headers, frames: [{ bytes: jsonBytes(body) }], end: 'normal' }
}

const createdAt = new Date(wireEpoch * 1000).toISOString()

/** The models that are listed by default. */
const defaultModels: Readonly<Record<Provider, readonly string[]>> = {
  openai: ['gpt-5', 'gpt-4o-mini', 'gpt-image-1'],
  anthropic: ['claude-sonnet-4-6', 'claude-haiku-4-5-20251001'],
  gemini: ['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-2.5-flash-image'],
}

function modelsList(provider: Provider, listed: readonly ListedModel[]): JsonObject {
  const models = listed.map((model) => modelEntry(provider, model))
  switch (provider) {
    case 'openai':
      return { object: 'list', data: models }
    case 'anthropic':
      return {
        data: models,
        has_more: false,
        first_id: listed[0]?.id ?? null,
        last_id: listed.at(-1)?.id ?? null,
      }
    case 'gemini':
      return { models }
    default:
      return assertNever(provider)
  }
}

function modelEntry(provider: Provider, model: ListedModel): JsonObject {
  const { id, name = id, inputTokenLimit, outputTokenLimit } = model
  switch (provider) {
    case 'openai':
      return { id, object: 'model', created: wireEpoch, owned_by: 'allm' }
    case 'anthropic':
      return defined<JsonObject>({
        type: 'model',
        id,
        display_name: name,
        created_at: createdAt,
        max_input_tokens: inputTokenLimit,
        max_tokens: outputTokenLimit,
      })
    case 'gemini':
      return {
        name: `models/${id.replace(/^models\//, '')}`,
        version: '001',
        displayName: name,
        inputTokenLimit: inputTokenLimit ?? 1_048_576,
        outputTokenLimit: outputTokenLimit ?? 65_536,
        supportedGenerationMethods: ['generateContent', 'countTokens'],
      }
    default:
      return assertNever(provider)
  }
}
