import type { AdapterOptions, ChatAdapter } from '../../contracts/adapter.ts'
import { randomId, type NewId } from '../../core/ids.ts'
import type { KeyNeed } from '../../core/keys.ts'
import { AdapterError, EngineError, isAllmError } from '../../errors/errors.ts'
import { thrownText } from '../../errors/to-json-value.ts'
import type { Fetch, HttpCall } from '../../http/call.ts'
import { secretsOf } from '../../http/secrets.ts'
import type { SseDecoder } from '../../http/sse.ts'
import { streamSse } from '../../http/stream-http.ts'
import type { AnswerForms } from '../../make/answer-text.ts'
import { eventGate } from '../../make/gate.ts'
import { collectEventsSync } from '../../run/read-stream.ts'
import { anyFunction, fine, recordOf, someText, text, type Check } from '../../schema/checks.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ModelRequest } from '../../types/request.ts'
import type { Warn, Warning } from '../../types/warning.ts'
import { hasMedia, resolveMedia, type MediaLimits } from '../../vision/resolve-images.ts'

/** The options that every provider adapter takes. */
export interface ConnectionOptions {
  /** The address of the API, with its version path. */
  readonly baseUrl?: string | undefined
  /** The adapter's own key. The key of a call or an engine takes precedence. It is sent in a header only. */
  readonly apiKey?: string | undefined
  /**
   * Sent with every call. They override the adapter's own headers. A function is called for each call, so that a token that
   * expires can be renewed; it may return a promise.
   */
  readonly headers?: CallHeaders | (() => CallHeaders | Promise<CallHeaders>) | undefined
  /** The model of an engine or a request that names none. */
  readonly model?: string | undefined
  /** Replaces the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  /** The name of the provider in events, errors and key look-ups. */
  readonly provider?: string | undefined
}

/** Names and values of headers. */
export type CallHeaders = Readonly<Record<string, string>>

/** The checks of the common options, for `optionsOf`. */
export const connectionChecks: Readonly<Record<keyof ConnectionOptions, Check>> = {
  // The values are never shown.
  baseUrl: (value) =>
    typeof value === 'string' && URL.canParse(value) && /^https?:\/\/[^/?#@]+([/?#]|$)/i.test(value)
      ? fine
      : [{ path: '', problem: 'must be an http or https URL without a password' }],
  apiKey: (value) =>
    typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }],
  headers: (value) => (typeof value === 'function' ? fine : recordOf(text)(value)),
  model: someText,
  fetch: anyFunction,
  provider: someText,
}

/** How a provider is reached: its options, settled. */
export interface Connection {
  readonly provider: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** The headers of a call. Names are in lower case. */
  readonly headers: (requestId: string) => Promise<CallHeaders>
  readonly model: string | undefined
  readonly fetch: Fetch | undefined
  readonly key: KeyNeed
  /** A function, so that a printed connection does not show the key. */
  readonly ownKey: () => string | undefined
}

/** What a provider uses when its options are silent. */
export interface ConnectionDefaults {
  readonly provider: string
  /** A key is required at this address only. */
  readonly baseUrl: string
  /** The headers that carry a key. A caller's own header of that name replaces the key. */
  readonly keyHeaders: readonly string[]
}

/** Settles the common options. */
export function settleConnection(
  options: ConnectionOptions,
  defaults: ConnectionDefaults,
): Connection {
  const baseUrl = (options.baseUrl ?? defaults.baseUrl).replace(/\/+$/, '')
  const { headers = {}, model } = options
  const provider = options.provider ?? defaults.provider
  const own = options.apiKey?.trim() === '' ? undefined : options.apiKey
  // A function may bring the credentials.
  const credentials =
    typeof headers === 'function' ||
    Object.keys(headers).some((name) => defaults.keyHeaders.includes(name.toLowerCase()))
  return {
    provider,
    baseUrl,
    model,
    headers: (requestId) => headersOf(headers, { provider, requestId }, defaults.keyHeaders),
    fetch: options.fetch,
    key: { required: baseUrl === defaults.baseUrl && !credentials, own: own !== undefined },
    ownKey: () => own,
  }
}

/**
 * The headers of one call. A function that fails is a failed authentication: it brings a token. So is a header for a key
 * that has none, as `Bearer ${token}` of a token that is not there.
 */
async function headersOf(
  headers: NonNullable<ConnectionOptions['headers']>,
  facts: { readonly provider: string; readonly requestId: string },
  keyHeaders: readonly string[],
): Promise<CallHeaders> {
  try {
    const made = lowerCased(typeof headers === 'function' ? await headers() : headers)
    const isEmpty = (name: string): boolean =>
      name in made && /^(Bearer *)?(undefined|null)?$/i.test(`${made[name]}`)
    if (keyHeaders.some(isEmpty)) throw new Error('a key is empty')
    return made
  } catch (cause) {
    if (isAllmError(cause)) throw cause
    const message = `the headers for ${facts.provider} could not be made: ${thrownText(cause)}`
    throw new AdapterError('authentication_failed', message, { ...facts, cause })
  }
}

/** A path below the base address. A query in the base address, such as Azure's `api-version`, is kept. */
export function urlOf({ baseUrl }: Connection, path: string): string {
  const url = new URL(baseUrl)
  url.pathname = url.pathname.replace(/\/+$/, '') + path
  return url.href
}

/** The key of a call: the call's own, else the adapter's. A missing key that is required is an `EngineError`. */
function keyOf(
  { provider, key, ownKey }: Connection,
  apiKey: string | undefined,
  requestId?: string,
): string | undefined {
  const found = apiKey === undefined || apiKey.trim() === '' ? ownKey() : apiKey
  if (found !== undefined || !key.required) return found
  const message = `no API key for ${provider}: pass apiKey, or call setKey`
  throw new EngineError('missing_key', message, { provider, requestId })
}

/** What is known of one call beside its answer. The mutable fields are filled in while the call is made. */
export interface CallFacts {
  readonly provider: string
  readonly requestId: string
  readonly newId: NewId
  /** Whether `raw_chunk` events are wanted. */
  readonly rawChunks: boolean
  /** The settings of the request that were not sent as they are; `message_started` carries them. */
  readonly warnings: readonly Warning[]
  /** Adds to `warnings`, while the request is rendered. */
  readonly warn: Warn
  /** The forms in which the schemas of the request were sent. */
  forms?: AnswerForms | undefined
  /** The provider's id of the call, from the headers of its answer. */
  providerRequestId: string | undefined
  /** Removes the key of this call from a text. */
  clean: (text: string) => string
}

/** A request, rendered for one API. */
export interface RenderedCall {
  readonly url: string
  readonly body: JsonObject
  /** The forms in which the schemas of the request are sent, to read the answer by. */
  readonly forms: AnswerForms
}

/** One direction of one call: what is sent, and what reads the answer. */
export interface OpenCall {
  /**
   * Renders the request. Images and files are checked by then. Whatever is wrong with the request throws; a setting that is
   * left out is told to `facts.warn`.
   */
  render(request: ModelRequest): RenderedCall
  readonly decoder: SseDecoder<ModelEvent>
}

/** What makes one provider different from the others on the way from a request to HTTP. */
export interface ProviderWire {
  readonly connection: Connection
  readonly media: Omit<MediaLimits, 'provider'>
  /** The headers of every call, without the key; those of the connection override them. */
  readonly headers?: Readonly<Record<string, string>>
  /** The name of a header that is a list: what the adapter, its options and the call put into it is sent together. */
  readonly listHeader?: string
  readonly keyHeader: (key: string) => Readonly<Record<string, string>>
  /** The response header that holds the provider's id of the call. */
  readonly requestIdHeader?: string
  readonly parseFailure: HttpCall['parseFailure']
  readonly splitter: (facts: CallFacts) => HttpCall['splitter']
  open(request: ModelRequest, facts: CallFacts, options: OpenOptions): OpenCall
}

/** What a provider may have to know to render a call. */
export interface OpenOptions {
  /** Whether the provider is asked to stream its answer. */
  readonly stream: boolean
  readonly sessionId: string | undefined
  /** The caller's own maker of ids, if there is one; `facts.newId` falls back to random ids. */
  readonly newId: NewId | undefined
}

/**
 * A chat adapter for one API. `generate` is the fold of what `stream` decodes, asked for as one whole answer.
 *
 * In a call, images and files are checked first, then the request is rendered, and only then the key is looked up: whatever is wrong
 * with a request is reported before a missing key.
 */
export function chatAdapter(wire: ProviderWire): ChatAdapter {
  const { provider, key, model } = wire.connection
  return {
    provider,
    model,
    needsModel: true,
    key,
    stream: (request, options = {}) => decodedStream(wire, request, options, true),
    async generate(request, options = {}) {
      const events: ModelEvent[] = []
      for await (const batch of decodedStream(wire, request, options, false)) events.push(...batch)
      return collectEventsSync(events)
    },
  }
}

function decodedStream(
  wire: ProviderWire,
  asked: ModelRequest,
  options: AdapterOptions,
  stream: boolean,
): AsyncGenerator<readonly ModelEvent[], void> {
  const facts = callFacts(wire.connection.provider, options)
  const { sessionId, newId } = options
  const { model } = wire.connection
  const named = asked.model === undefined && model !== undefined ? { ...asked, model } : asked
  const request = withoutEmpty(named)
  const open = wire.open(request, facts, { stream, sessionId, newId })
  const source = (): Promise<HttpCall> => httpCall(wire, open, request, { options, facts, stream })
  const gate = eventGate({
    ...facts,
    history: request.messages,
    maxResponseBytes: options.maxResponseBytes,
  })
  // An adapter that is called directly is as safe as one behind an engine, which has such a gate for every adapter.
  return streamSse(source, open.decoder, (out) => {
    const events = gate.settle(out)
    if (events !== out) out.splice(0, out.length, ...events)
    if (gate.problem !== undefined) throw gate.problem
  })
}

/** An empty list of stop sequences says nothing, and some APIs refuse it. */
function withoutEmpty(request: ModelRequest): ModelRequest {
  if (request.stopSequences?.length !== 0) return request
  const { stopSequences: _none, ...rest } = request
  return rest
}

function callFacts(provider: string, options: AdapterOptions): CallFacts {
  const newId = options.newId ?? randomId
  return {
    provider,
    requestId: options.requestId ?? newId('request'),
    newId,
    rawChunks: options.includeRawChunks === true,
    ...warningList(),
    providerRequestId: undefined,
    clean: (text) => text,
  }
}

/** The warnings of one call, and the function that adds one. The same warning is kept once. */
export function warningList(): Pick<CallFacts, 'warnings' | 'warn'> {
  const warnings: Warning[] = []
  return {
    warnings,
    warn(setting, problem) {
      const known = warnings.some((one) => one.setting === setting && one.problem === problem)
      if (!known) warnings.push({ setting, problem })
    },
  }
}

interface CallContext {
  readonly options: AdapterOptions
  readonly facts: CallFacts
  readonly stream: boolean
}

async function httpCall(
  wire: ProviderWire,
  open: OpenCall,
  request: ModelRequest,
  { options, facts, stream }: CallContext,
): Promise<HttpCall> {
  const { requestIdHeader } = wire
  const { provider, requestId } = facts
  const sendable = hasMedia(request) ? resolveMedia(request, { provider, ...wire.media }) : request
  const { url, body, forms } = open.render(sendable)
  const call = await unsentCall(wire, url, { ...options, requestId, stream })
  facts.forms = forms
  facts.clean = secretsOf(call).clean
  return {
    ...call,
    body: JSON.stringify(body),
    splitter: wire.splitter(facts),
    maxResponseBytes: options.maxResponseBytes,
    onActivity: options.onActivity,
    onResponse: (response) => {
      if (requestIdHeader === undefined) return
      facts.providerRequestId = response.headers.get(requestIdHeader) ?? undefined
    },
  }
}

/** An HTTP call without its body. */
export type UnsentCall = Omit<HttpCall, 'body'> & { readonly requestId: string }

/** The call to an address: its headers with the key, its limits, and how its failures are read. */
export async function unsentCall(
  wire: Pick<ProviderWire, 'connection' | 'headers' | 'listHeader' | 'keyHeader' | 'parseFailure'>,
  url: string,
  options: AdapterOptions & { readonly requestId: string; readonly stream: boolean },
): Promise<UnsentCall> {
  const { connection, parseFailure } = wire
  const { requestId, stream, signal, clock, requestTimeoutMs, streamTimeoutMs } = options
  const key = keyOf(connection, options.apiKey, requestId)
  const { headers: own = {}, listHeader } = wire
  const layers = [
    own,
    key === undefined ? {} : wire.keyHeader(key),
    await connection.headers(requestId),
    lowerCased(options.headers ?? {}),
  ]
  return {
    provider: connection.provider,
    requestId,
    url,
    headers: {
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      ...Object.fromEntries(layers.flatMap((layer) => Object.entries(layer))),
      ...(listHeader === undefined ? {} : joined(listHeader, layers)),
    },
    parseFailure,
    fetch: connection.fetch,
    signal,
    clock,
    requestTimeoutMs,
    streamTimeoutMs,
  }
}

/** A header with the values of all layers, each once. */
function joined(name: string, layers: readonly CallHeaders[]): CallHeaders {
  const values = layers.flatMap((headers) => headers[name]?.split(',') ?? [])
  const used = new Set(values.map((value) => value.trim()).filter((value) => value !== ''))
  return used.size === 0 ? {} : { [name]: [...used].join(',') }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
