import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../core/base/clock.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { ScriptInput } from '../fakes/script.ts'
import {
  jsonAnswer,
  modelsAnswer,
  refuse,
  refuseAddress,
  refuseByFault,
  refuseExhausted,
  refuseRequest,
  refuseWithoutKey,
  type ChatAnswers,
  type ListedModel,
  type ScriptSource,
  type ServerScriptFunction,
} from './answers.ts'
import { objectOf } from './check-params.ts'
import { checkRequest, unreadable } from './check-request.ts'
import { checkCount, countAnswer, type CountRoute } from './count-tokens.ts'
import { applyFault, faultOf, type Fault, type SeededFailures } from './faults.ts'
import type { ModelScripts } from './models.ts'
import {
  apiKeyOf,
  headersWithoutKeys,
  parseForm,
  parseJson,
  pathWithoutKey,
  readBody,
  routeOf,
  type RecordedRequest,
  type RequestLog,
  type Route,
  type ServedRequest,
} from './request.ts'
import { prepareAnswer, sendAnswer, type PreparedAnswer, type SendOptions } from './send-answer.ts'
import type { ModelRoute } from './served-model.ts'
import type { WireAnswer, WireChunking, WireFormat } from './wire-format.ts'

/** Records and answers requests. */
export interface RequestHandler {
  handle(request: IncomingMessage, response: ServerResponse): void
  /** The answers that are being written. Each promise is fulfilled when its answer ends. */
  readonly open: ReadonlySet<Promise<void>>
}

/** Makes the handler of a server. A request is recorded before the first byte of its answer is sent. */
export function requestHandler(
  state: ServerState,
  log: RequestLog,
  sending: SendOptions,
): RequestHandler {
  let count = 0
  const open = new Set<Promise<void>>()
  const send = (answer: Answer, response: ServerResponse): void => {
    const prepared = 'writes' in answer ? answer : prepareAnswer(answer)
    const sent = sendAnswer(response, prepared, sending)
    if (sent === undefined) return
    const over = sent.then(() => void open.delete(over))
    open.add(over)
  }
  const answer = async (
    route: Route,
    incoming: Incoming,
    response: ServerResponse,
  ): Promise<void> => {
    const decision = await decide(state, route, incoming)
    log.add(recorded(incoming, decision))
    send(decision.answer, response)
  }
  return {
    open,
    handle(request, response) {
      const number = ++count
      const { method = 'GET', url = '/', headers } = request
      const route = routeOf(method, url, headers)
      const key = apiKeyOf(route, headers, url)
      const requestId = `req_fake_${number}`
      readBody(request, route.provider, (bytes) => {
        const incoming = { number, method, url, headers, bytes, key, requestId }
        answer(route, incoming, response).catch(() => response.destroy())
      })
    },
  }
}

function recorded(incoming: Incoming, { answer, body, format }: Decision): RecordedRequest {
  return defined<RecordedRequest>({ ...shown(incoming), body, format, status: answer.status })
}

/** What a request shows without its body. */
function shown({ number, method, url, headers }: Incoming): Omit<ServedRequest, 'body' | 'format'> {
  return { number, method, path: pathWithoutKey(url), headers: headersWithoutKeys(headers) }
}

/** Decides about a request. A bug of the server is reported to the client, so that a test does not wait for ever. */
async function decide(state: ServerState, route: Route, incoming: Incoming): Promise<Decision> {
  try {
    return await answerRequest(state, route, incoming)
  } catch (error) {
    const message = `the fake server failed: ${error instanceof Error ? error.message : String(error)}`
    const failure = { reason: 'no_scripted_response', status: 500, message } as const
    return { answer: refuse(route, failure, incoming.requestId) }
  }
}

async function answerRequest(
  state: ServerState,
  route: Route,
  incoming: Incoming,
): Promise<Decision> {
  const { key, requestId, method, url, bytes } = incoming
  const { provider } = route
  if (route.type === 'unknown') {
    const path = url.replace(/\?.*$/, '')
    return { answer: refuseAddress(route, route.status, `${method} ${path}`, requestId) }
  }
  if (key === undefined && state.options.requireKey !== false)
    return { answer: refuseWithoutKey(route, requestId) }
  if (bytes === undefined) {
    const message = 'Request too large'
    const failure = { reason: 'invalid_request', status: 413, message } as const
    return { answer: refuse(route, failure, requestId) }
  }
  switch (route.type) {
    case 'chat':
      return answerChat(state, route, incoming, bytes)
    case 'model':
      return answerModel(state, route, incoming, bytes)
    case 'count':
      return answerCount(state, route, incoming, bytes)
    case 'models':
      return { answer: modelsAnswer(provider, route.model, state.options.models, requestId) }
    default:
      return assertNever(route)
  }
}

type ChatRoute = Extract<Route, { type: 'chat' }>

/** Answers a call of a chat model: checks it, applies its fault, and plays the next script. */
async function answerChat(
  state: ServerState,
  route: ChatRoute,
  incoming: Incoming,
  bytes: Buffer,
): Promise<Decision> {
  const { format, provider } = route
  const { requestId, headers } = incoming
  const body = parseJson(bytes)
  if (!isObject(body)) {
    const answer = refuseRequest(route, unreadable(format), requestId)
    return defined<Decision>({ answer, format, body })
  }
  // A deployment in the path is the model of the request, whatever the body says.
  const asked =
    provider === 'openai' && route.model !== undefined ? { ...body, model: route.model } : body
  const problem =
    state.options.validateRequests === false ? undefined : checkRequest(route, asked, headers)
  const answer =
    problem === undefined
      ? await playChat(state, route, incoming, body)
      : refuseRequest(route, problem, requestId)
  return { answer, format, body }
}

async function playChat(
  state: ServerState,
  route: ChatRoute,
  incoming: Incoming,
  body: JsonObject,
): Promise<Answer> {
  const { key, requestId } = incoming
  const { format, framing } = route
  const fault = nextFault(state)
  const { status } = fault ?? {}
  if (status !== undefined) return refuseByFault(route, { ...fault, status }, requestId)
  const model = route.model ?? text(body['model'])
  const kind = otherKind(route, body)
  if (kind !== undefined && state.options[kind] !== undefined) {
    const asked = { type: 'model', provider: 'gemini', kind } as const
    const answered = state.source.modelOf(kind, key).answer(asked, { model, requestId, body })
    return applyFault(await answered, fault)
  }
  const taken = state.source.take(key, () => ({ ...shown(incoming), body, format }))
  if (taken === undefined) return refuseExhausted(route, state.source.size, requestId)
  const ask = {
    format,
    framing,
    platform: route.platform,
    model,
    requestId,
    stream: route.stream ?? body['stream'] === true,
    includeUsage: objectOf(body['stream_options'])['include_usage'] === true,
  }
  return state.answers.answer(taken, ask, fault)
}

/** What a call of Gemini asks for beside text: images or speech. */
function otherKind({ provider }: ChatRoute, body: JsonObject): 'images' | 'speech' | undefined {
  if (provider !== 'gemini') return undefined
  const config = objectOf(body['generationConfig'] ?? body['generation_config'])
  const modalities = config['responseModalities'] ?? config['response_modalities']
  if (!Array.isArray(modalities)) return undefined
  if (modalities.includes('IMAGE')) return 'images'
  return modalities.includes('AUDIO') ? 'speech' : undefined
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Answers a request to count tokens. It takes no script. */
function answerCount(
  state: ServerState,
  route: CountRoute,
  { requestId, headers }: Incoming,
  bytes: Buffer,
): Decision {
  const { format } = route
  const body = parseJson(bytes)
  const problem = !isObject(body)
    ? unreadable(format)
    : state.options.validateRequests === false
      ? undefined
      : checkCount(route, body, headers)
  if (!isObject(body) || problem !== undefined) {
    const answer = refuseRequest(route, problem ?? unreadable(format), requestId)
    return defined<Decision>({ answer, body })
  }
  return { answer: jsonAnswer(countAnswer(route, body)), body }
}

/** Answers a call of a model that is not chat: a JSON body, or a form with files. */
async function answerModel(
  state: ServerState,
  route: ModelRoute,
  incoming: Incoming,
  bytes: Buffer,
): Promise<Decision> {
  const { requestId, headers, key } = incoming
  const contentType = headers['content-type'] ?? ''
  const body = contentType.startsWith('multipart/form-data')
    ? await parseForm(bytes, contentType)
    : parseJson(bytes)
  if (!isObject(body)) {
    const message = 'We could not parse the body of your request.'
    return { answer: refuseRequest(route, { message }, requestId) }
  }
  const model = state.source.modelOf(route.kind, key)
  const problem = state.options.validateRequests === false ? undefined : model.check(route, body)
  const answer =
    problem === undefined
      ? await playModel(state, route, incoming, body)
      : refuseRequest(route, problem, requestId)
  return { answer, body }
}

async function playModel(
  state: ServerState,
  route: ModelRoute,
  { key, requestId, bytes, headers }: Incoming,
  body: JsonObject,
): Promise<Answer> {
  const fault = nextFault(state)
  const { status } = fault ?? {}
  if (status !== undefined) return refuseByFault(route, { ...fault, status }, requestId)
  const contentType = headers['content-type'] ?? ''
  const sent = bytes === undefined ? {} : { sent: { bytes, contentType } }
  const call = { model: route.model ?? text(body['model']), requestId, body, ...sent }
  return applyFault(await state.source.modelOf(route.kind, key).answer(route, call), fault)
}

/** The state of a server between requests. */
export interface ServerState {
  readonly options: FakeServerOptions
  readonly source: ScriptSource
  readonly answers: ChatAnswers
  /** The number of model calls that passed the checks. */
  calls: number
}

/** A request with its body. */
interface Incoming {
  /** The number of the request, from 1. */
  readonly number: number
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** `undefined` when the body was too large. */
  readonly bytes: Buffer | undefined
  readonly key: string | undefined
  readonly requestId: string
}

/** Answers from the cache are prepared already. */
type Answer = WireAnswer | PreparedAnswer

/** The answer of a request, and the parts of the request for the record. */
interface Decision {
  readonly answer: Answer
  readonly body?: JsonValue
  readonly format?: WireFormat
}

/** Counts a call of a model and returns its fault. */
function nextFault(state: ServerState): Fault | undefined {
  const { faults = [], failures } = state.options
  return faultOf(state.calls++, faults, failures)
}

/** Options of `createFakeServer`. Everything but functions and `clock` is JSON, and all of it is checked when the server is made. */
export interface FakeServerOptions extends ModelScripts {
  /** The script of a single call, as that of `fake`, or a function that makes the script of each call from its request. */
  readonly script?: ScriptInput | ServerScriptFunction | undefined
  /** One script per call. */
  readonly scripts?: readonly ScriptInput[] | undefined
  /** Start again after the last script instead of failing (false). */
  readonly repeat?: boolean | undefined
  /** One position in the scripts for all (`shared`), or one per API key, so that parallel tests do not affect each other. */
  readonly cursor?: 'shared' | 'per_key' | undefined
  /** Refuse requests without a key (true). Every key is accepted. */
  readonly requireKey?: boolean | undefined
  /** Refuse requests that the provider would refuse (true). */
  readonly validateRequests?: boolean | undefined
  /** What the models endpoints list: names, or names with limits, as `{ id, inputTokenLimit, outputTokenLimit, name }`. */
  readonly models?: readonly (string | ListedModel)[] | undefined
  /** Cut the bytes of answers into other pieces. */
  readonly chunking?: WireChunking | undefined
  /** Random failures. */
  readonly failures?: SeededFailures | undefined
  /** Faults of the first calls, one item per call; `null` for none. */
  readonly faults?: readonly (Fault | null)[] | undefined
  /** The port; 0, the default, is any free port. */
  readonly port?: number | undefined
  /** The address to listen on (`127.0.0.1`). */
  readonly host?: string | undefined
  /** The server keeps at least this many of the last requests (10 000). */
  readonly requestLimit?: number | undefined
  /** The clock of all delays. */
  readonly clock?: Clock | undefined
}
