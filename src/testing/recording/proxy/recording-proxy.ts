/// <reference lib="esnext.disposable" preserve="true" />

import { once, setMaxListeners } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../../core/base/clock.ts'
import { defaultMaxResponseBytes, isAllmError } from '../../../core/errors/errors.ts'
import { thrownText } from '../../../core/errors/to-json-value.ts'
import {
  anyFunction,
  assertValid,
  between,
  fine,
  flag,
  must,
  oneOf,
  optionsOf,
  positiveInteger,
  type Check,
} from '../../../core/schema/checks.ts'
import { isObject } from '../../../core/types/guards.ts'
import type { JsonObject } from '../../../core/types/json.ts'
import { cassetteVersion, type Cassette, type CassetteCall } from '../../fakes/cassette.ts'
import { refuse, refuseAddress, refuseRequest } from '../../server/answers.ts'
import { checkRequest, unreadable } from '../../server/check-request.ts'
import {
  apiKeyOf,
  parseJson,
  readBody,
  routeOf,
  type Provider,
  type Route,
} from '../../server/request.ts'
import { prepareAnswer, sendAnswer } from '../../server/send-answer.ts'
import type { WireAnswer } from '../../server/wire-format.ts'
import { record, redactionRules } from '../record.ts'
import type { RedactionRules } from '../redaction.ts'
import { decodedBody, exchangeAdapter, type Exchange, type ExchangeAnswer } from './exchange.ts'
import { readRequest } from './read-request.ts'

/** Options of `createRecordingProxy`. */
export interface RecordingProxyOptions {
  /**
   * The base URL of each provider, with its version path, as the adapters take it. A provider that is not named here is not
   * passed on to. Without it: OpenAI, Anthropic and Gemini themselves.
   */
  readonly upstream?: Readonly<Partial<Record<Provider, string | undefined>>> | undefined
  /** Refuse the calls that the provider would refuse, as the fake server does (true). */
  readonly validateRequests?: boolean | undefined
  /** What the recording leaves out, beside the keys. */
  readonly redact?: RedactionRules | undefined
  /**
   * What becomes of something else that looks like a secret: the cassette is not written (`refuse`, the default; `stringifyCassette` throws), or
   * it is left out, too (`mask`).
   */
  readonly secrets?: 'refuse' | 'mask' | undefined
  /** The port on 127.0.0.1; 0, the default, is any free port. */
  readonly port?: number | undefined
  /** The longest answer in bytes that is recorded (64 MiB). A longer one is passed on and not recorded. */
  readonly maxRecordedBytes?: number | undefined
  /** How many calls are recorded at most (10 000). Later ones are passed on and not recorded. */
  readonly maxCalls?: number | undefined
  /** Told of each call when it has been recorded. */
  readonly onCall?: ((call: CassetteCall) => void) | undefined
  /** Told of each request that is not in the recording as it was. */
  readonly onNote?: ((note: RequestNote) => void) | undefined
}

/** What became of a request that is not simply passed on and recorded. */
export interface RequestNote {
  /**
   * `not_recorded`: it was passed on, and is not in the recording. `refused`: it was answered here, with a refusal; a call of a model is
   * recorded as refused. `inexact`: it is in the recording, but not all of it.
   */
  readonly type: 'not_recorded' | 'refused' | 'inexact'
  readonly method: string
  /** Without its query, which may hold a key. */
  readonly path: string
  readonly reason: string
}

/** A server on loopback that passes calls on to a provider and records them. */
export interface RecordingProxy {
  /** `http://127.0.0.1:port`, without a path. */
  readonly url: string
  readonly port: number
  /** For OpenAI clients: with `/v1`. */
  readonly openaiBaseUrl: string
  /** For the Anthropic adapter of this library: with `/v1`. Anthropic's own package takes `url`. */
  readonly anthropicBaseUrl: string
  /** For the Gemini adapter of this library: with `/v1beta`. Google's own package takes `url`. */
  readonly geminiBaseUrl: string
  /** The variables of the environment by which the providers' own packages and the adapters of this library find the proxy. */
  readonly environment: Readonly<Record<string, string>>
  /** The calls that have ended so far, in the order in which they began. */
  cassette(): Cassette
  /** Waits until no answer is being passed on or recorded. */
  idle(): Promise<void>
  /** Stops listening, and closes all connections on both sides. Later calls return the same promise. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** The addresses of the providers. */
const providerUrls: Readonly<Record<Provider, string>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta',
}

/**
 * Starts a server on 127.0.0.1 that passes requests on to the providers, in the formats of OpenAI, Anthropic and Gemini, and records the
 * calls of models as a cassette. Any program in any language can point its base URL to it.
 *
 * Bytes, status and headers pass unchanged, each piece as it arrives, in both directions; redirects are not followed. A client that leaves
 * is noticed by the provider, and a connection that breaks on one side breaks on the other. Keys pass through, and are in no recording. Other requests than
 * calls of chat models are passed on, and not recorded.
 */
export async function createRecordingProxy(
  options: RecordingProxyOptions = {},
): Promise<RecordingProxy> {
  assertValid('invalid_options', checkOptions(options))
  const proxy = proxyState(options)
  const server = createServer((request, response) => {
    const over = handle(proxy, request, response)
      .catch(() => void response.destroy())
      .then(() => void proxy.open.delete(over))
    proxy.open.add(over)
  })
  // Idle connections stay open until the proxy closes, so that clients can reuse them.
  server.keepAliveTimeout = 0
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  return recordingProxy(server, proxy)
}

/** A proxy under way. */
interface ProxyState {
  readonly options: RecordingProxyOptions
  readonly upstream: Readonly<Partial<Record<Provider, string | undefined>>>
  /** One for each call that began; its call once it was recorded. */
  readonly slots: { call?: CassetteCall | undefined }[]
  /** What is being passed on or recorded. */
  readonly open: Set<Promise<void>>
  readonly closing: AbortController
}

function proxyState(options: RecordingProxyOptions): ProxyState {
  const closing = new AbortController()
  // Every request that is being passed on listens to it.
  setMaxListeners(0, closing.signal)
  const { upstream = providerUrls } = options
  return { options, upstream, slots: [], open: new Set(), closing }
}

function recordingProxy(server: Server, proxy: ProxyState): RecordingProxy {
  const { upstream, slots, open, closing } = proxy
  // A server that listens on a port has an address with a port.
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => (closed ??= shutDown(server, closing, open))
  return {
    url,
    port,
    openaiBaseUrl: `${url}/v1`,
    anthropicBaseUrl: `${url}/v1`,
    geminiBaseUrl: `${url}/v1beta`,
    environment: baseUrlVariables(url, upstream),
    cassette: () => ({
      version: cassetteVersion,
      calls: slots.flatMap(({ call }) => (call === undefined ? [] : [call])),
    }),
    async idle() {
      while (open.size > 0) await Promise.all(open)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function shutDown(
  server: Server,
  closing: AbortController,
  open: ReadonlySet<Promise<void>>,
): Promise<void> {
  const over = once(server, 'close')
  server.close()
  closing.abort()
  server.closeAllConnections()
  await Promise.all(open)
  await over
}

/**
 * The variables that name the base URL of each provider, as its own package reads them: OpenAI's with the version path, the others without.
 */
export function baseUrlVariables(
  url: string,
  providers: Readonly<Partial<Record<Provider, unknown>>>,
): Readonly<Record<string, string>> {
  return {
    ...(providers.openai === undefined ? {} : { OPENAI_BASE_URL: `${url}/v1` }),
    ...(providers.anthropic === undefined ? {} : { ANTHROPIC_BASE_URL: url }),
    ...(providers.gemini === undefined ? {} : { GOOGLE_GEMINI_BASE_URL: url }),
  }
}

/** Tells the caller of a request. */
type Note = (type: RequestNote['type'], reason: string) => void

/** A request on its way: where it goes, and what is answered. */
interface Passing {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly method: string
  readonly target: URL
}

async function handle(
  proxy: ProxyState,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/' } = request
  const path = url.replace(/\?.*$/s, '')
  const note: Note = (type, reason) => proxy.options.onNote?.({ type, method, path, reason })
  const route = routeOf(method, versioned(url), request.headers)
  // The credentials of a platform must not reach the provider itself.
  const platform = 'platform' in route ? route.platform : undefined
  const base = platform === undefined ? proxy.upstream[route.provider] : undefined
  // A target that is no path, as a proxy of the network is sent, would name another host.
  if (base === undefined || !url.startsWith('/')) {
    note(
      'refused',
      `nothing is passed on to ${url.startsWith('/') ? (platform ?? route.provider) : 'another host'}`,
    )
    request.resume()
    await send(proxy, response, refuseAddress(route, 404, `${method} ${path}`, 'proxy'))
    return
  }
  const passing = { request, response, method, target: targetOf(base, url) }
  if (route.type === 'chat') await passChat(proxy, passing, route, note)
  else {
    note('not_recorded', 'it is no call of a chat model')
    await passOn(proxy, passing, request)
  }
}

/** Clients that expect the version in their base URL may leave it out: `/messages` is `/v1/messages`. */
function versioned(url: string): string {
  return /^\/(?:messages|responses|chat\/completions)(?:$|\?)/.test(url) ? `/v1${url}` : url
}

const versionPath = /^\/v\d+(?:alpha|beta)?(?=\/|$)/

/** The address at the provider: its base URL, and the path after the version. Another version than that of the base URL is kept. */
function targetOf(base: string, url: string): URL {
  const root = base.replace(/\/+$/, '')
  const [version] = versionPath.exec(url) ?? []
  const [ownVersion] = /\/v\d+(?:alpha|beta)?$/.exec(root) ?? []
  if (version === undefined) return new URL(root + url)
  if (ownVersion === undefined) return new URL(root + url.slice(version.length))
  return new URL(root.slice(0, -ownVersion.length) + url)
}

type ChatRoute = Extract<Route, { type: 'chat' }>

/** Passes a call of a model on, and records it. The body is read first, to be checked. */
async function passChat(
  proxy: ProxyState,
  passing: Passing,
  route: ChatRoute,
  note: Note,
): Promise<void> {
  const { request, response, target } = passing
  const { provider, format, model } = route
  const { validateRequests = true, maxCalls = 10_000, maxRecordedBytes } = proxy.options
  const slot: ProxyState['slots'][number] = {}
  const isKept = proxy.slots.length < maxCalls
  if (isKept) proxy.slots.push(slot)
  const bytes = await bodyOf(request, provider)
  if (bytes === undefined) {
    note('refused', 'it is larger than the provider takes')
    const failure = {
      reason: 'invalid_request',
      status: 413,
      message: 'Request too large',
    } as const
    await send(proxy, response, refuse(route, failure, 'proxy'))
    return
  }
  const limit = maxRecordedBytes ?? defaultMaxResponseBytes
  const body = await jsonOf(bytes, request.headers, limit)
  const asked = model === undefined || provider !== 'openai' ? body : { ...body, model }
  const problem =
    asked === undefined ? unreadable(format) : checkRequest(route, asked, request.headers)
  let answer: PassedAnswer
  if (validateRequests && problem !== undefined) {
    note('refused', `${provider} would refuse it: ${problem.message}`)
    const refusal = refuseRequest(route, problem, 'proxy')
    answer = refusedAnswer(refusal)
    await send(proxy, response, refusal)
  } else {
    answer = await passOn(proxy, passing, bytes, limit)
  }
  const skip = (reason: string): void => note('not_recorded', reason)
  if (!isKept) return skip(`more than ${maxCalls} calls were made`)
  if (body === undefined) return skip('its body is not a JSON object')
  if (answer.isTooLong) return skip('its answer is too long to be recorded')
  const decoded = await decodedAnswer(answer, limit)
  if (decoded === undefined) {
    return skip(`its answer is encoded as ${answer.headers['content-encoding']}`)
  }
  const exchange: Exchange = {
    provider,
    format,
    request: readRequest(format, body, model),
    url: target.href,
    headers: textHeaders(request.headers),
    answer: decoded,
  }
  try {
    slot.call = await recordedCall(exchange, proxy.options, note)
  } catch (error) {
    return skip(`it could not be recorded: ${thrownText(error)}`)
  }
  if (slot.call !== undefined) proxy.options.onCall?.(slot.call)
}

function bodyOf(request: IncomingMessage, provider: Provider): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    request.once('error', reject)
    readBody(request, provider, resolve)
  })
}

async function jsonOf(
  bytes: Buffer,
  headers: IncomingHttpHeaders,
  limit: number,
): Promise<JsonObject | undefined> {
  const plain = await decodedBody(bytes, headers['content-encoding'], limit)
  const body = plain === undefined ? undefined : parseJson(Buffer.from(plain))
  return isObject(body) ? body : undefined
}

/** An answer that was passed on. */
interface PassedAnswer extends ExchangeAnswer {
  /** It is longer than what is recorded, so its chunks are not here. */
  readonly isTooLong: boolean
}

async function decodedAnswer(
  { isTooLong: _short, ...answer }: PassedAnswer,
  limit: number,
): Promise<ExchangeAnswer | undefined> {
  const encoding = answer.headers['content-encoding']
  if (encoding === undefined) return answer
  const plain = await decodedBody(Buffer.concat(answer.chunks), encoding, limit)
  if (plain === undefined) return undefined
  const { 'content-encoding': _done, 'content-length': _other, ...headers } = answer.headers
  return { ...answer, headers, chunks: [plain] }
}

/** What the proxy answers by itself. */
async function send(
  proxy: ProxyState,
  response: ServerResponse,
  answer: WireAnswer,
): Promise<void> {
  const sending = { clock: systemClock, signal: proxy.closing.signal, pieces: false }
  await sendAnswer(response, prepareAnswer(answer), sending)
}

function refusedAnswer({ status, headers, frames }: WireAnswer): PassedAnswer {
  const chunks = frames.map(({ bytes }) => bytes)
  return { status, headers, chunks, end: 'normal', isTooLong: false }
}

/**
 * Passes a request on and its answer back, and keeps the answer if it is not longer than `limit`. The promise is fulfilled when the
 * answer is over, however it ends.
 */
function passOn(
  { closing }: ProxyState,
  { request, response, method, target }: Passing,
  body: Buffer | IncomingMessage,
  limit: number = 0,
): Promise<PassedAnswer> {
  return new Promise((resolve) => {
    let status = 0
    let headers: Readonly<Record<string, string>> = {}
    let chunks: Buffer[] = []
    let size = 0
    const finish = (end: ExchangeAnswer['end']): void => {
      closing.signal.removeEventListener('abort', leave)
      resolve({ status, headers, chunks, end, isTooLong: size > limit })
    }
    const outgoing = (target.protocol === 'https:' ? httpsRequest : httpRequest)(target, {
      method,
      headers: passedHeaders(request.rawHeaders, target.host, body),
      agent: false,
    })
    const breakOff = (): void => {
      response.destroy()
      finish('cut')
    }
    const leave = (): void => {
      outgoing.destroy()
      finish('left')
    }
    closing.signal.addEventListener('abort', leave, { once: true })
    response.once('close', () => {
      if (!response.writableFinished) leave()
    })
    outgoing.once('error', breakOff)
    outgoing.once('response', (incoming) => {
      status = incoming.statusCode ?? 0
      headers = textHeaders(incoming.headers)
      // The date is the provider's.
      response.sendDate = false
      response.writeHead(status, incoming.statusMessage, passedHeaders(incoming.rawHeaders))
      response.flushHeaders()
      response.on('drain', () => incoming.resume())
      incoming.on('data', (chunk: Buffer) => {
        size += chunk.length
        if (size <= limit) chunks.push(chunk)
        else chunks = []
        if (!response.write(chunk)) incoming.pause()
      })
      incoming.once('error', breakOff)
      incoming.once('end', () => {
        response.end()
        finish('normal')
      })
    })
    if (Buffer.isBuffer(body)) outgoing.end(body)
    else body.pipe(outgoing)
  })
}

/** The headers that are about one connection, and not about what passes. */
const connectionHeaders =
  /^(?:connection|keep-alive|proxy-connection|proxy-authenticate|proxy-authorization|te|trailer|transfer-encoding|upgrade|expect)$/i

/**
 * The headers that pass, as they were written and in their order. Left out are those of the connection. A request that is passed on
 * to `host` has that as its own, and the length of its body.
 */
function passedHeaders(
  raw: readonly string[],
  host?: string,
  body?: Buffer | IncomingMessage,
): string[] {
  const named = new Set<string>()
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at]?.toLowerCase() !== 'connection') continue
    for (const name of raw[at + 1]?.split(',') ?? []) named.add(name.trim().toLowerCase())
  }
  const length = Buffer.isBuffer(body) ? String(body.length) : undefined
  const passed: string[] = []
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2)
    const word = name.toLowerCase()
    if (connectionHeaders.test(word) || named.has(word)) continue
    if (word === 'content-length' && length !== undefined) continue
    passed.push(name, word === 'host' && host !== undefined ? host : value)
  }
  return length === undefined ? passed : [...passed, 'content-length', length]
}

function textHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'string' ? value : value.join(', ')]],
    ),
  )
}

/** The call of a cassette that was made of an exchange, by the recorder and the decoders of the adapters. */
async function recordedCall(
  exchange: Exchange,
  { redact, secrets }: RecordingProxyOptions,
  note: Note,
): Promise<CassetteCall | undefined> {
  const { provider, format, request, headers, url } = exchange
  const recorder = record(exchangeAdapter(exchange), {
    format,
    redact,
    secrets,
    // What looks like a secret is reported when the cassette is written.
    onProblem: ({ kind, message }) => {
      if (kind !== 'validation') note('inexact', message)
    },
  })
  const apiKey = apiKeyOf({ provider }, headers, url)
  try {
    for await (const batch of recorder.stream(request, { headers, apiKey })) void batch
  } catch (error) {
    // The failure of the call is a part of the recording.
    if (!isAllmError(error)) throw error
  }
  return recorder.cassette.calls[0]
}

const baseUrl: Check = must(
  'an http or https URL with its version path',
  (value) => typeof value === 'string' && URL.canParse(value) && /^https?:/i.test(value),
)

const checkOptions: Check = optionsOf({
  upstream: optionsOf({ openai: baseUrl, anthropic: baseUrl, gemini: baseUrl } satisfies Record<
    Provider,
    Check
  >),
  validateRequests: flag,
  redact: redactionRules,
  secrets: oneOf(['refuse', 'mask']),
  port: must('a port', (value) => Number.isInteger(value) && between(0, 65_535)(value) === fine),
  maxRecordedBytes: positiveInteger,
  maxCalls: positiveInteger,
  onCall: anyFunction,
  onNote: anyFunction,
} satisfies Readonly<Record<keyof RecordingProxyOptions, Check>>)
