import type { AdapterOptions, ChatAdapter } from '../../contracts/adapter.ts'
import { randomId } from '../../core/ids.ts'
import type { KeyNeed } from '../../core/keys.ts'
import { EngineError } from '../../errors/errors.ts'
import type { Fetch, HttpCall } from '../../http/call.ts'
import { postForJson } from '../../http/post.ts'
import { secretFilter } from '../../http/secrets.ts'
import { streamSse } from '../../http/stream-http.ts'
import { answerDecoder, type AnswerDecoder } from './decode.ts'
import { parseFailure, type CallFacts } from './failure.ts'
import { renderRequest } from './render-request.ts'
import { bodySplitter } from './split-body.ts'
import { collectEventsSync } from '../../run/collect.ts'
import {
  anyFunction,
  assertValid,
  fine,
  optionsOf,
  recordOf,
  someText,
  text,
  type Check,
} from '../../schema/checks.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { ModelRequest } from '../../types/request.ts'
import type { ModelResponse } from '../../types/response.ts'
import { hasImages, resolveImages } from '../../vision/resolve-images.ts'

/**
 * A chat adapter for Gemini's `generateContent`.
 *
 * It serves the Gemini API, Vertex AI (with its `baseUrl` and, in `headers`, its token) and everything that speaks like
 * them. Nothing is sent before the stream is read. Messages it made carry Gemini's thought signatures, which go back on the
 * parts that they came with; reasoning of other providers is not sent.
 */
export function gemini(options: GeminiOptions = {}): ChatAdapter {
  const settings = settle(options)
  const { provider, key } = settings
  return {
    provider,
    needsModel: true,
    key,
    stream(request, callOptions = {}) {
      const { call, decoder } = openCall(settings, request, callOptions, 'streamGenerateContent')
      return streamSse(call, decoder)
    },
    generate: (request, callOptions = {}) => generate(settings, request, callOptions),
  }
}

/** The whole answer makes the events of a streamed one, and they are folded. */
async function generate(
  settings: Settings,
  request: ModelRequest,
  options: AdapterOptions,
): Promise<ModelResponse> {
  const { call, decoder } = openCall(settings, request, options, 'generateContent')
  const { value } = await postForJson(await call())
  const events: ModelEvent[] = []
  decoder.decodeWhole(value, events)
  return collectEventsSync(events)
}

/** What a Gemini adapter is made with. Everything is optional. */
export interface GeminiOptions {
  /**
   * Where the API is, its version included: `https://generativelanguage.googleapis.com/v1beta` unless told.
   * With another address a key is sent when there is one, and not asked for.
   */
  readonly baseUrl?: string | undefined
  /** The key, when it does not come from the call or the engine. It is kept out of sight and goes into a header only. */
  readonly apiKey?: string | undefined
  /** Sent with every request; they go before ours. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Used instead of the platform's own. */
  readonly fetch?: Fetch | undefined
  /** The version of the default address: `v1beta` unless told. */
  readonly apiVersion?: string | undefined
  /** The name in events and errors, and of the key: `gemini` unless told. */
  readonly provider?: string | undefined
}

/** The options of an adapter, settled. */
export interface Settings {
  readonly provider: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** With names in small letters. */
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: Fetch | undefined
  readonly key: KeyNeed
  /** The adapter's own key. It is only ever called for, so that printing the settings does not show it. */
  readonly ownKey: () => string | undefined
}

/** Checks the options and settles them. An unknown key is refused by name, with the nearest legal one. */
export function settle(options: GeminiOptions): Settings {
  assertValid('invalid_options', optionIssues(options))
  const { apiVersion = 'v1beta', provider = 'gemini', fetch, apiKey } = options
  const standard = `https://generativelanguage.googleapis.com/${apiVersion}`
  const baseUrl = (options.baseUrl ?? standard).replace(/\/+$/, '')
  const own = apiKey !== undefined && apiKey.trim() !== ''
  return {
    provider,
    baseUrl,
    headers: lowerCased(options.headers ?? {}),
    fetch,
    key: { required: baseUrl === standard, own },
    ownKey: () => (own ? apiKey : undefined),
  }
}

const optionIssues = optionsOf({
  baseUrl: someText,
  // The value is not shown, whatever it is.
  apiKey: (value) =>
    typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }],
  headers: recordOf(text),
  fetch: anyFunction,
  apiVersion: someText,
  provider: someText,
} satisfies Readonly<Record<keyof GeminiOptions, Check>>)

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}

/** A call that is not made yet, and what will read its answer. */
interface OpenCall {
  /** Renders the request. Nothing has happened before. */
  readonly call: () => Promise<HttpCall>
  readonly decoder: AnswerDecoder
}

/** Ties a call and its decoder together. The key that the call finds is taken out of errors that echo it. */
function openCall(
  settings: Settings,
  request: ModelRequest,
  given: AdapterOptions,
  method: Method,
): OpenCall {
  const requestId = given.requestId ?? (given.newId ?? randomId)('request')
  const { provider } = settings
  let hide: ((text: string) => string) | undefined
  const facts: CallFacts = { provider, requestId, hideKey: (text) => hide?.(text) ?? text }
  const { includeRawChunks, newId } = given
  return {
    decoder: answerDecoder({ ...facts, history: request.messages, includeRawChunks, newId }),
    call: async () => {
      const call = await callFor(settings, request, { ...given, requestId }, method)
      hide = secretFilter(call.headers)
      return call
    },
  }
}

/** Makes the HTTP call of a request. What is wrong with it is told before a key is looked for; the key is in a header only. */
async function callFor(
  settings: Settings,
  request: ModelRequest,
  options: AdapterOptions,
  method: Method,
): Promise<HttpCall> {
  const { provider, headers, fetch } = settings
  const url = methodUrl(settings, request.model, method)
  const body = renderRequest(await loadImages(request, provider), settings)
  const key = callKey(settings, options.apiKey)
  const { requestId, signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  return {
    provider,
    requestId,
    url,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'x-goog-api-key': key }),
      ...headers,
    },
    body: JSON.stringify(body),
    parseFailure: (status, text, answered) =>
      parseFailure(provider, { status, body: text, headers: answered }),
    splitter: () => bodySplitter({ provider, requestId }),
    fetch,
    signal,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}

/** The key of a call: the call's own, else the adapter's. Without one, where one is needed, nothing is sent. */
export function callKey(settings: Settings, apiKey: string | undefined): string | undefined {
  const given = apiKey ?? ''
  const key = given.trim() === '' ? settings.ownKey() : given
  if (key !== undefined || !settings.key.required) return key
  const { provider } = settings
  const message = `no key for ${provider}: give the call or the adapter an apiKey`
  throw new EngineError('missing_key', message, { provider })
}

/** The ways to ask for an answer: whole, or in pieces. */
type Method = 'generateContent' | 'streamGenerateContent'

/**
 * The address of a model's method. A name with a slash (`tunedModels/…`) is a path of its own.
 *
 * A model that is not named is `missing_model`.
 */
export function methodUrl(settings: Settings, model: string | undefined, method: Method): string {
  const { provider, baseUrl } = settings
  if (model === undefined || model === '') {
    throw new EngineError('missing_model', `no model for ${provider}`, { provider })
  }
  const path = model.includes('/') ? model : `models/${model}`
  const query = method === 'streamGenerateContent' ? '?alt=sse' : ''
  return `${baseUrl}/${path.split('/').map(encodeURIComponent).join('/')}:${method}${query}`
}

/** What Gemini takes inside a request: 100 MB, counted as base64. */
const maxBytes = 75 * 1024 * 1024

const mimeTypes: readonly string[] = [
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/heic',
  'image/heif',
]

/** The request with pictures in files read, and all of them checked. */
function loadImages(request: ModelRequest, provider: string): Promise<ModelRequest> {
  if (!hasImages(request)) return Promise.resolve(request)
  return resolveImages(request, { provider, maxBytes, mimeTypes })
}
