import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { assertNever } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { ImageOperation } from '../../core/types/media.ts'
import { countRoute, type CountRoute } from './count-tokens.ts'
import type { ModelRoute } from './served-model.ts'
import type { WireFormat, WirePlatform } from './wire-format.ts'

/** The provider whose API a request is for. */
export type Provider = 'openai' | 'anthropic' | 'gemini'

/** Whose answer a request gets: that of a provider, or of a platform on which its models run. */
export interface Origin {
  readonly provider: Provider
  readonly platform?: WirePlatform
}

/** The kind of a request, by its method and path. */
export type Route =
  | {
      readonly type: 'chat'
      readonly provider: Provider
      readonly platform?: WirePlatform
      readonly format: WireFormat
      /** Gemini has the model and the kind of answer in the path, and Azure may have the deployment there. */
      readonly model?: string
      readonly stream?: boolean
      readonly framing: 'sse' | 'json_array'
    }
  | ModelRoute
  | { readonly type: 'models'; readonly provider: Provider; readonly model?: string }
  | CountRoute
  | {
      readonly type: 'unknown'
      readonly provider: Provider
      readonly platform?: WirePlatform
      readonly status: 404 | 405
    }

const posts: Readonly<Record<string, Route>> = {
  '/v1/chat/completions': {
    type: 'chat',
    provider: 'openai',
    format: 'openai_chat',
    framing: 'sse',
  },
  '/v1/responses': {
    type: 'chat',
    provider: 'openai',
    format: 'openai_responses',
    framing: 'sse',
  },
  '/v1/messages': { type: 'chat', provider: 'anthropic', format: 'anthropic', framing: 'sse' },
  '/v1/images/generations': images('generate'),
  '/v1/images/edits': images('edit'),
  '/v1/images/variations': images('variation'),
  '/v1/moderations': { type: 'model', provider: 'openai', kind: 'moderation' },
  '/v1/embeddings': { type: 'model', provider: 'openai', kind: 'embeddings' },
  '/v1/rerank': { type: 'model', provider: 'openai', kind: 'rerank' },
  '/v2/rerank': { type: 'model', provider: 'openai', kind: 'rerank' },
  '/v1/audio/speech': { type: 'model', provider: 'openai', kind: 'speech' },
  '/v1/audio/transcriptions': { type: 'model', provider: 'openai', kind: 'transcriptions' },
}

function images(operation: ImageOperation): ModelRoute {
  return { type: 'model', provider: 'openai', kind: 'images', operation }
}

/** Finds the route of a request. A path or method that no provider has is `unknown`, with the status of the refusal. */
export function routeOf(method: string, url: string, headers: IncomingHttpHeaders): Route {
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  if (path.startsWith('/openai/')) {
    return azureRoute(method, path, query === -1 ? '' : url.slice(query), headers)
  }
  const known = Object.hasOwn(posts, path) ? posts[path] : countRoute(path)
  if (known !== undefined) return method === 'POST' ? known : refusedMethod(known.provider)
  return (
    platformRoute(method, path, query === -1 ? '' : url.slice(query)) ??
    geminiRoute(method, path, query === -1 ? '' : url.slice(query)) ??
    geminiEmbeddings(method, path) ??
    modelsRoute(method, path, headers) ?? {
      type: 'unknown',
      provider: providerOf(path, headers),
      status: 404,
    }
  )
}

const azure = /^\/openai\/(?:(v1)\/|deployments\/([^/]+)\/)?(.+)$/

/**
 * A path of Azure: those of OpenAI below `/openai/v1`, or the older ones, which need an `api-version`. Of these, the one of
 * Chat Completions and those of images, audio and embeddings name the deployment, and the others do not.
 */
function azureRoute(
  method: string,
  path: string,
  query: string,
  headers: IncomingHttpHeaders,
): Route {
  const [, version, deployment, rest = ''] = azure.exec(path) ?? []
  const dated = /[?&]api-version=[^&]/.test(query)
  const inDeployment =
    /^(?:chat\/|images\/|audio\/|embeddings$)/.test(rest) === (deployment !== undefined)
  const isKnown = version !== undefined || (dated && inDeployment)
  if (!isKnown) return { type: 'unknown', provider: 'openai', status: 404 }
  const route = routeOf(method, `/v1/${rest}`, headers)
  if (route.provider !== 'openai') return { type: 'unknown', provider: 'openai', status: 404 }
  return route.type === 'chat' && deployment !== undefined
    ? { ...route, model: decode(deployment) }
    : route
}

const vertex =
  /^\/v1(?:beta1)?\/(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/(anthropic|google)\/models\/([^/]+):(\w+)$/

const bedrock = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream)$/

/** A path of Vertex AI or Bedrock. Claude on Vertex AI is asked for a stream in the body, as well as by the method. */
function platformRoute(method: string, path: string, query: string): Route | undefined {
  const [, publisher, onVertex, action = ''] = vertex.exec(path) ?? []
  if (publisher === 'google') {
    const route = geminiRoute(method, `/v1/models/${onVertex}:${action}`, query)
    return route && { ...route, platform: 'vertex' }
  }
  const isClaude = action === 'rawPredict' || action === 'streamRawPredict'
  const [, onBedrock, invoke] = bedrock.exec(path) ?? []
  const model = isClaude ? onVertex : onBedrock
  if (model === undefined) return undefined
  const platform = isClaude ? 'vertex' : 'bedrock'
  if (method !== 'POST') return { ...refusedMethod('anthropic'), platform }
  return {
    type: 'chat',
    provider: 'anthropic',
    platform,
    format: 'anthropic',
    model: decode(model),
    ...(isClaude ? {} : { stream: invoke !== 'invoke' }),
    framing: 'sse',
  }
}

const generate =
  /^\/v1(?:beta|alpha)?\/(?:models|tunedModels)\/(.+):(generateContent|streamGenerateContent)$/

function geminiRoute(method: string, path: string, query: string): PlacedRoute | undefined {
  const [, model, action] = generate.exec(path) ?? []
  if (model === undefined) return undefined
  if (method !== 'POST') return refusedMethod('gemini')
  return {
    type: 'chat',
    provider: 'gemini',
    format: 'gemini',
    model: decode(model),
    stream: action === 'streamGenerateContent',
    framing: /[?&]alt=sse(?:&|$)/.test(query) ? 'sse' : 'json_array',
  }
}

const embed = /^\/v1(?:beta|alpha)?\/models\/(.+):(embedContent|batchEmbedContents)$/

function geminiEmbeddings(method: string, path: string): Route | undefined {
  const [, model, action] = embed.exec(path) ?? []
  if (model === undefined) return undefined
  if (method !== 'POST') return refusedMethod('gemini')
  const isSingle = action === 'embedContent'
  return { type: 'model', provider: 'gemini', kind: 'embeddings', model: decode(model), isSingle }
}

function modelsRoute(
  method: string,
  path: string,
  headers: IncomingHttpHeaders,
): Route | undefined {
  const [, model] = /^\/v1(?:beta|alpha)?\/models(?:\/(.+))?$/.exec(path) ?? [undefined, null]
  if (model === null) return undefined
  const provider = providerOf(path, headers)
  if (method !== 'GET') return refusedMethod(provider)
  return model === undefined
    ? { type: 'models', provider }
    : { type: 'models', provider, model: decode(model) }
}

/** Two APIs have the same path for their models; the headers distinguish them. */
function providerOf(path: string, headers: IncomingHttpHeaders): Provider {
  if (/^\/v1(?:beta|alpha)\//.test(path) || 'x-goog-api-key' in headers) return 'gemini'
  return 'anthropic-version' in headers || 'x-api-key' in headers ? 'anthropic' : 'openai'
}

/** A route that a platform may have. */
type PlacedRoute = Extract<Route, { type: 'chat' | 'unknown' }>

function refusedMethod(provider: Provider): PlacedRoute {
  return { type: 'unknown', provider, status: 405 }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const megabyte = 1024 * 1024

/** The largest request of each provider. An adapter that checks its files first sends nothing larger than that for one file. */
const maxBodyBytes: Readonly<Record<Provider, number>> = {
  openai: 512 * megabyte,
  anthropic: 32 * megabyte,
  gemini: 100 * megabyte,
}

/** Reads the body of a request and calls back once: with its bytes, or with `undefined` if the provider would not take so many. */
export function readBody(
  request: IncomingMessage,
  provider: Provider,
  onBody: (bytes: Buffer | undefined) => void,
): void {
  const limit = maxBodyBytes[provider]
  const chunks: Buffer[] = []
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= limit) chunks.push(chunk)
  })
  request.on('end', () => {
    const [first, second] = chunks
    if (size > limit) onBody(undefined)
    else onBody(second === undefined && first !== undefined ? first : Buffer.concat(chunks))
  })
}

/** A body as JSON; `undefined` if it is not JSON. */
export function parseJson(bytes: Buffer): JsonValue | undefined {
  try {
    // JSON.parse returns JSON.
    return JSON.parse(bytes.toString('utf8')) as JsonValue
  } catch {
    return undefined
  }
}

/**
 * The fields of a form as JSON: text as it is, a file by its name, type and size, and a list for a repeated field. `undefined` if
 * the form cannot be parsed.
 */
export async function parseForm(
  bytes: Buffer,
  contentType: string,
): Promise<JsonObject | undefined> {
  let form: FormData
  try {
    form = await new Response(bytes, { headers: { 'content-type': contentType } }).formData()
  } catch {
    return undefined
  }
  const fields: Record<string, JsonValue> = {}
  for (const key of new Set(form.keys())) {
    const name = key.replace(/\[\]$/, '')
    const values = form
      .getAll(key)
      .map((value) =>
        typeof value === 'string'
          ? value
          : { filename: value.name, contentType: value.type, size: value.size },
      )
    fields[name] = values.length === 1 && name === key ? (values[0] ?? '') : values
  }
  return fields
}

/** The API key of a request, from the place where its provider expects it. On a platform a signature counts as one. */
export function apiKeyOf(
  { provider, platform }: Origin,
  headers: IncomingHttpHeaders,
  url: string,
): string | undefined {
  const [, bearer] = /^Bearer\s+(\S+)/i.exec(headers.authorization ?? '') ?? []
  if (platform !== undefined && provider === 'anthropic') return bearer ?? headers.authorization
  switch (provider) {
    case 'openai':
      // Azure has its own header.
      return bearer ?? headerText(headers['api-key'])
    case 'anthropic':
      return headerText(headers['x-api-key']) ?? bearer
    case 'gemini': {
      const [, inAddress] = /[?&]key=([^&]+)/.exec(url) ?? []
      return headerText(headers['x-goog-api-key']) ?? inAddress ?? bearer
    }
    default:
      return assertNever(provider)
  }
}

function headerText(value: string | readonly string[] | undefined): string | undefined {
  const text = typeof value === 'string' ? value : value?.[0]
  return text === '' ? undefined : text
}

const keyHeaders = new Set([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'x-goog-api-key',
  'api-key',
  'x-amz-security-token',
  'cookie',
])

/** The headers of a request without those that contain keys. */
export function headersWithoutKeys(headers: IncomingHttpHeaders): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !keyHeaders.has(name))
      kept[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return kept
}

/** A path without the `key` parameter. */
export function pathWithoutKey(url: string): string {
  if (!url.includes('key=')) return url
  return url.replace(/([?&])key=[^&]*(&|$)/, (_, lead: string, tail: string) =>
    tail === '&' ? lead : '',
  )
}

/** A request and the status of its answer. Keys are left out. */
export interface RecordedRequest {
  /** The number of the request, from 1. */
  readonly number: number
  readonly method: string
  /** With the query, without a key in it. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The parsed body: JSON, or the fields of a form. Absent if there was none or it could not be parsed. */
  readonly body?: JsonValue
  /** The format of the answer, for a call of a model. */
  readonly format?: WireFormat
  /** The status of the answer; 0 if the connection was closed or stalled instead. */
  readonly status: number
}

/** A call of a chat model, as the server reads it, before it is answered. Keys are left out. */
export interface ServedRequest extends Omit<RecordedRequest, 'status'> {
  /** The body in the words of the provider. */
  readonly body: JsonObject
  readonly format: WireFormat
}

/** The record of requests, oldest first. */
export interface RequestLog {
  readonly requests: readonly RecordedRequest[]
  add(request: RecordedRequest): void
}

/** A log that keeps at least the last `limit` requests, and at most twice as many. */
export function requestLog(limit: number): RequestLog {
  const requests: RecordedRequest[] = []
  return {
    requests,
    add(request) {
      requests.push(request)
      if (requests.length >= limit * 2) requests.splice(0, requests.length - limit)
    },
  }
}
