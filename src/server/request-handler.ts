import type { Clock } from '../core/clock.ts'
import { applyFault, faultOf, type SeededFailures, type Fault } from './faults.ts'
import { wireEpoch, type WireChunking, type WireFormat } from './wire-format.ts'
import type { ImageScriptEntry } from '../testing/fake-images.ts'
import type { Script } from '../testing/script.ts'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import {
  imageAnswer,
  prepareAnswer,
  sendAnswer,
  type ChatAnswers,
  type PreparedAnswer,
  type ScriptSource,
  type SendOptions,
} from './answers.ts'
import { kindOf, objectOf } from './param-checks.ts'
import {
  jsonAnswer,
  refuse,
  refuseAddress,
  refuseByFault,
  refuseExhausted,
  refuseRequest,
  refuseWithoutKey,
} from './refuse.ts'
import { checkImages, checkRequest, unreadable } from './request-checks.ts'
import {
  apiKeyOf,
  headersWithoutKeys,
  parseForm,
  parseJson,
  pathWithoutKey,
  readBody,
  routeOf,
  type Provider,
  type RecordedRequest,
  type RequestLog,
  type Route,
} from './request.ts'
import { assertNever, defined } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'

/** Takes requests, records them and answers them. */
export interface RequestHandler {
  handle(request: IncomingMessage, response: ServerResponse): void
  /** The answers that are being written; each is fulfilled when it is over. */
  readonly open: ReadonlySet<Promise<void>>
}

/** Makes the handler of a server. A request is on record before the first byte of its answer is sent. */
export function requestHandler(
  state: ServerState,
  log: RequestLog,
  sending: SendOptions,
): RequestHandler {
  let count = 0
  const open = new Set<Promise<void>>()
  const settle = (incoming: Incoming, decision: Decision, response: ServerResponse): void => {
    log.add(recorded(incoming, decision))
    const sent = sendAnswer(response, decision.answer, sending)
    if (sent === undefined) return
    const over = sent.then(() => {
      open.delete(over)
    })
    open.add(over)
  }
  return {
    open,
    handle(request, response) {
      const number = ++count
      const { method = 'GET', url = '/', headers } = request
      const route = routeOf(method, url, headers)
      const key = apiKeyOf(route.provider, headers, url)
      const requestId = `req_fake_${number}`
      readBody(request, (bytes) => {
        const incoming = { number, method, url, headers, bytes, key, requestId }
        const decision = decide(state, route, incoming)
        if (!(decision instanceof Promise)) {
          settle(incoming, decision, response)
          return
        }
        decision.then(
          (later) => settle(incoming, later, response),
          (error: unknown) => settle(incoming, broken(route.provider, error, requestId), response),
        )
      })
    },
  }
}

function decide(
  state: ServerState,
  route: Route,
  incoming: Incoming,
): Decision | Promise<Decision> {
  try {
    return answerRequest(state, route, incoming)
  } catch (error) {
    return broken(route.provider, error, incoming.requestId)
  }
}

/** A mistake of ours is told to the client, so that a test does not wait for an answer that never comes. */
function broken(provider: Provider, error: unknown, requestId: string): Decision {
  const message = `the fake server failed: ${error instanceof Error ? error.message : String(error)}`
  const failure = { reason: 'no_scripted_response', status: 500, message } as const
  return { answer: prepareAnswer(refuse(provider, failure, requestId)) }
}

function recorded(incoming: Incoming, { answer, body, format }: Decision): RecordedRequest {
  const { number, method, url, headers } = incoming
  return defined<RecordedRequest>({
    number,
    method,
    path: pathWithoutKey(url),
    headers: headersWithoutKeys(headers),
    body,
    format,
    status: answer.status,
  })
}

/** Decides what a request is answered with. Only a form with files takes time to read. */
function answerRequest(
  state: ServerState,
  route: Route,
  incoming: Incoming,
): Decision | Promise<Decision> {
  const { key, requestId, method, url } = incoming
  const { provider } = route
  if (route.type === 'unknown') {
    const path = url.replace(/\?.*$/, '')
    const answer = refuseAddress(provider, route.status, `${method} ${path}`, requestId)
    return { answer: prepareAnswer(answer) }
  }
  if (key === undefined && state.options.requireKey !== false)
    return { answer: prepareAnswer(refuseWithoutKey(provider, requestId)) }
  if (incoming.bytes === undefined) {
    const failure = {
      reason: 'invalid_request',
      status: 413,
      message: 'Request too large',
    } as const
    return { answer: prepareAnswer(refuse(provider, failure, requestId)) }
  }
  switch (route.type) {
    case 'chat':
      return answerChat(state, route, incoming)
    case 'images':
      return answerImages(state, route, incoming)
    case 'models':
      return { answer: prepareAnswer(answerModels(state, route, requestId)) }
    default:
      return assertNever(route)
  }
}

function answerModels(
  { options }: ServerState,
  { provider, model }: Extract<Route, { type: 'models' }>,
  requestId: string,
): ReturnType<typeof jsonAnswer> {
  const names = options.models ?? defaultModels[provider]
  if (model === undefined) return jsonAnswer(modelsList(provider, names))
  if (options.models === undefined || names.includes(model))
    return jsonAnswer(modelEntry(provider, model))
  const message =
    provider === 'anthropic' ? `model: ${model}` : `The model '${model}' does not exist`
  return refuse(provider, { reason: 'invalid_request', status: 404, message }, requestId)
}

type ChatRoute = Extract<Route, { type: 'chat' }>

/** Answers a call of a chat model: checks it, lets its fault happen, and plays the next script. */
function answerChat(
  state: ServerState,
  route: ChatRoute,
  incoming: Incoming,
): Decision | Promise<Decision> {
  const { format, provider } = route
  const { requestId } = incoming
  const parsed = parseJson(incoming.bytes ?? Buffer.alloc(0))
  if (kindOf(parsed) !== 'object') {
    const answer = prepareAnswer(refuseRequest(provider, unreadable(format), requestId))
    return parsed === undefined ? { answer, format } : { answer, format, body: parsed }
  }
  const body = objectOf(parsed)
  const problem =
    state.options.validateRequests === false
      ? undefined
      : checkRequest(format, body, incoming.headers)
  const answer =
    problem === undefined
      ? playChat(state, route, incoming, body)
      : prepareAnswer(refuseRequest(provider, problem, requestId))
  return answer instanceof Promise
    ? answer.then((drawn) => ({ answer: drawn, format, body }))
    : { answer, format, body }
}

function playChat(
  state: ServerState,
  route: ChatRoute,
  { key, requestId }: Incoming,
  body: JsonObject,
): PreparedAnswer | Promise<PreparedAnswer> {
  const { format, provider, framing } = route
  const fault = nextFault(state)
  const { status } = fault ?? {}
  if (status !== undefined)
    return prepareAnswer(refuseByFault(provider, { ...fault, status }, requestId))
  const model = route.model ?? text(body['model'])
  if (drawsImages(route, body) && state.options.images !== undefined) {
    const drawn = imageAnswer('gemini', state.source.imagesOf(key), { model, requestId })
    return drawn.then((answer) => prepareAnswer(applyFault(answer, fault)))
  }
  const taken = state.source.take(key)
  if (taken === undefined)
    return prepareAnswer(refuseExhausted(provider, state.source.size, requestId))
  const ask = {
    format,
    framing,
    model,
    requestId,
    stream: route.stream ?? body['stream'] === true,
    includeUsage: objectOf(body['stream_options'])['include_usage'] === true,
  }
  return state.answers.answer(taken, ask, fault)
}

function drawsImages({ provider }: ChatRoute, body: JsonObject): boolean {
  if (provider !== 'gemini') return false
  const config = objectOf(body['generationConfig'] ?? body['generation_config'])
  const modalities = config['responseModalities'] ?? config['response_modalities']
  return Array.isArray(modalities) && modalities.includes('IMAGE')
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

type ImagesRoute = Extract<Route, { type: 'images' }>

/** Answers a call of OpenAI's images endpoints: a JSON body, or a form with files. */
async function answerImages(
  state: ServerState,
  route: ImagesRoute,
  incoming: Incoming,
): Promise<Decision> {
  const { requestId } = incoming
  const body = await bodyOf(incoming)
  if (body === undefined) {
    const message = 'We could not parse the body of your request.'
    return { answer: prepareAnswer(refuseRequest('openai', { message }, requestId)) }
  }
  const problem =
    state.options.validateRequests === false ? undefined : checkImages(route.operation, body)
  const answer =
    problem === undefined
      ? await playImages(state, incoming, body)
      : prepareAnswer(refuseRequest('openai', problem, requestId))
  return { answer, body }
}

async function bodyOf({ headers, bytes }: Incoming): Promise<JsonObject | undefined> {
  const contentType = headers['content-type'] ?? ''
  const content = bytes ?? Buffer.alloc(0)
  if (contentType.startsWith('multipart/form-data')) return parseForm(content, contentType)
  const value = parseJson(content)
  return kindOf(value) === 'object' ? objectOf(value) : undefined
}

async function playImages(
  state: ServerState,
  incoming: Incoming,
  body: JsonObject,
): Promise<PreparedAnswer> {
  const { key, requestId } = incoming
  const fault = nextFault(state)
  const { status } = fault ?? {}
  if (status !== undefined)
    return prepareAnswer(refuseByFault('openai', { ...fault, status }, requestId))
  const { model } = body
  const call = { model: typeof model === 'string' ? model : '', requestId }
  const drawn = await imageAnswer('openai', state.source.imagesOf(key), call)
  return prepareAnswer(applyFault(drawn, fault))
}

/** What a server keeps between requests. */
export interface ServerState {
  readonly options: FakeServerOptions
  readonly source: ScriptSource
  readonly answers: ChatAnswers
  /** Calls of models that were not refused for what they said. */
  calls: number
}

/** A request that is whole. */
interface Incoming {
  /** Counts all requests from 1. */
  readonly number: number
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** `undefined` when it was too large to be read. */
  readonly bytes: Buffer | undefined
  readonly key: string | undefined
  readonly requestId: string
}

/** What a request is answered with, and what was read of it. */
interface Decision {
  readonly answer: PreparedAnswer
  readonly body?: JsonValue
  readonly format?: WireFormat
}

/** Counts a call of a model and says what goes wrong with it. */
function nextFault(state: ServerState): Fault | undefined {
  const { faults = [], failures } = state.options
  return faultOf(state.calls++, faults, failures)
}

const createdAt = new Date(wireEpoch * 1000).toISOString()

/** The names that are listed when the options say none. */
const defaultModels: Readonly<Record<Provider, readonly string[]>> = {
  openai: ['gpt-5', 'gpt-4o-mini', 'gpt-image-1'],
  anthropic: ['claude-sonnet-4-5-20250929', 'claude-haiku-4-5-20251001'],
  gemini: ['gemini-2.5-flash', 'gemini-2.5-pro', 'gemini-2.5-flash-image'],
}

/** The list of models in the provider's own shape. */
function modelsList(provider: Provider, names: readonly string[]): JsonObject {
  const models = names.map((name) => modelEntry(provider, name))
  switch (provider) {
    case 'openai':
      return { object: 'list', data: models }
    case 'anthropic':
      return {
        data: models,
        has_more: false,
        first_id: names[0] ?? null,
        last_id: names.at(-1) ?? null,
      }
    case 'gemini':
      return { models }
    default:
      return assertNever(provider)
  }
}

/** One model in the provider's own shape. */
function modelEntry(provider: Provider, name: string): JsonObject {
  switch (provider) {
    case 'openai':
      return { id: name, object: 'model', created: wireEpoch, owned_by: 'allm' }
    case 'anthropic':
      return { type: 'model', id: name, display_name: name, created_at: createdAt }
    case 'gemini':
      return {
        name: `models/${name.replace(/^models\//, '')}`,
        version: '001',
        displayName: name,
        inputTokenLimit: 1_048_576,
        outputTokenLimit: 65_536,
        supportedGenerationMethods: ['generateContent', 'countTokens'],
      }
    default:
      return assertNever(provider)
  }
}

/** What a fake server is made of. Everything but `clock` is JSON, and all of it is checked when the server is made. */
export interface FakeServerOptions {
  /** What one call does. */
  readonly script?: Script | undefined
  /** What each call does, one list a call. */
  readonly scripts?: readonly Script[] | undefined
  /** What image calls do, one entry a call. */
  readonly images?: readonly ImageScriptEntry[] | undefined
  /** Begin again after the last script instead of failing (false). */
  readonly repeat?: boolean | undefined
  /** One place in the scripts for all (`shared`), or one for each API key, so that parallel tests do not disturb each other. */
  readonly cursor?: 'shared' | 'per_key' | undefined
  /** Refuse requests without a key (true). Any key will do. */
  readonly requireKey?: boolean | undefined
  /** Refuse requests that the provider would refuse (true). */
  readonly validateRequests?: boolean | undefined
  /** The names that the models endpoints list. */
  readonly models?: readonly string[] | undefined
  /** Cut what is sent into other pieces. */
  readonly chunking?: WireChunking | undefined
  /** What goes wrong by chance. */
  readonly failures?: SeededFailures | undefined
  /** What goes wrong with the first calls, one item a call; `null` for nothing. */
  readonly faults?: readonly (Fault | null)[] | undefined
  /** 0, the default, is any free port. */
  readonly port?: number | undefined
  /** The address to listen on (`127.0.0.1`). */
  readonly host?: string | undefined
  /** How many of the last requests are kept at least (10 000). */
  readonly requestLimit?: number | undefined
  /** Delays go through it. */
  readonly clock?: Clock | undefined
}
