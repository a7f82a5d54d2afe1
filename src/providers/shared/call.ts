import type { AdapterOptions, ChatAdapter } from '../../contracts/adapter.ts'
import { randomId, type NewId } from '../../core/ids.ts'
import type { KeyNeed } from '../../core/keys.ts'
import { EngineError } from '../../errors/errors.ts'
import type { Fetch, HttpCall } from '../../http/call.ts'
import { secretFilter } from '../../http/secrets.ts'
import type { SseDecoder } from '../../http/sse.ts'
import { streamSse } from '../../http/stream-http.ts'
import { collectEventsSync } from '../../run/read-stream.ts'
import { anyFunction, fine, recordOf, someText, text, type Check } from '../../schema/checks.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { JsonObject } from '../../types/json.ts'
import type { ModelRequest } from '../../types/request.ts'
import type { ImageLimits } from '../../vision/fetch-image.ts'
import { hasImages, resolveImages } from '../../vision/resolve-images.ts'

/** The options that every provider adapter takes. */
export interface ConnectionOptions {
  /** The address of the API, with its version path. */
  readonly baseUrl?: string | undefined
  /** The adapter's own key. The key of a call or an engine takes precedence. It is sent in a header only. */
  readonly apiKey?: string | undefined
  /** Sent with every call. They override the adapter's own headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Replaces the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  /** The name of the provider in events, errors and key look-ups. */
  readonly provider?: string | undefined
}

/** The checks of the common options, for `optionsOf`. */
export const connectionChecks: Readonly<Record<keyof ConnectionOptions, Check>> = {
  baseUrl: (value) =>
    typeof value === 'string' && URL.canParse(value)
      ? fine
      : [{ path: '', problem: 'must be a valid URL' }],
  // The value is never shown.
  apiKey: (value) =>
    typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }],
  headers: recordOf(text),
  fetch: anyFunction,
  provider: someText,
}

/** How a provider is reached: its options, settled. */
export interface Connection {
  readonly provider: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** Names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
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
  const headers = lowerCased(options.headers ?? {})
  const own = options.apiKey?.trim() === '' ? undefined : options.apiKey
  const credentials = defaults.keyHeaders.some((name) => name in headers)
  return {
    provider: options.provider ?? defaults.provider,
    baseUrl,
    headers,
    fetch: options.fetch,
    key: { required: baseUrl === defaults.baseUrl && !credentials, own: own !== undefined },
    ownKey: () => own,
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
  const message = `no API key for ${provider}: pass apiKey to the call, the engine or the adapter, or call setKey`
  throw new EngineError('missing_key', message, { provider, requestId })
}

/** What is known of one call beside its answer. The mutable fields are filled in while the call is made. */
export interface CallFacts {
  readonly provider: string
  readonly requestId: string
  readonly newId: NewId
  /** Whether `raw_chunk` events are wanted. */
  readonly rawChunks: boolean
  /** The settings of the request that the model does not take and that were left out, in the request's own names. */
  leftOut: readonly string[]
  /** The provider's id of the call, from the headers of its answer. */
  providerRequestId: string | undefined
  /** Removes the key of this call from a text. */
  clean: (text: string) => string
}

/** A request, rendered for one wire. */
export interface RenderedCall {
  readonly url: string
  readonly body: JsonObject
  /** Settings that the model does not take. */
  readonly leftOut?: readonly string[]
}

/** One direction of one call: what is sent, and what reads the answer. */
export interface OpenCall {
  /** Renders the request. Images are resolved by then. Whatever is wrong with the request throws. */
  render(request: ModelRequest): RenderedCall
  readonly decoder: SseDecoder<ModelEvent>
}

/** What makes one provider different from the others on the way from a request to HTTP. */
export interface ProviderWire {
  readonly connection: Connection
  readonly images: Omit<ImageLimits, 'provider'>
  /** The headers of every call, without the key; those of the connection override them. */
  readonly headers?: Readonly<Record<string, string>>
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
 * A chat adapter for one wire. `generate` is the fold of what `stream` decodes, asked for as one whole answer.
 *
 * In a call, images are resolved first, then the request is rendered, and only then the key is looked up: whatever is wrong
 * with a request is reported before a missing key.
 */
export function chatAdapter(wire: ProviderWire): ChatAdapter {
  const { provider, key } = wire.connection
  return {
    provider,
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
  request: ModelRequest,
  options: AdapterOptions,
  stream: boolean,
): AsyncGenerator<readonly ModelEvent[], void> {
  const facts = callFacts(wire.connection.provider, options)
  const { sessionId, newId } = options
  const open = wire.open(request, facts, { stream, sessionId, newId })
  return streamSse(() => httpCall(wire, open, request, { options, facts, stream }), open.decoder)
}

function callFacts(provider: string, options: AdapterOptions): CallFacts {
  const newId = options.newId ?? randomId
  return {
    provider,
    requestId: options.requestId ?? newId('request'),
    newId,
    rawChunks: options.includeRawChunks === true,
    leftOut: [],
    providerRequestId: undefined,
    clean: (text) => text,
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
  const sendable = hasImages(request)
    ? await resolveImages(request, { provider, ...wire.images })
    : request
  const { url, body, leftOut = [] } = open.render(sendable)
  const call = unsentCall(wire, url, { ...options, requestId, stream })
  facts.leftOut = leftOut
  facts.clean = secretFilter(call.headers)
  return {
    ...call,
    body: JSON.stringify(body),
    splitter: wire.splitter(facts),
    onResponse: (response) => {
      if (requestIdHeader === undefined) return
      facts.providerRequestId = response.headers.get(requestIdHeader) ?? undefined
    },
  }
}

/** An HTTP call without its body. */
export type UnsentCall = Omit<HttpCall, 'body'> & { readonly requestId: string }

/** The call to an address: its headers with the key, its limits, and how its failures are read. */
export function unsentCall(
  wire: Pick<ProviderWire, 'connection' | 'headers' | 'keyHeader' | 'parseFailure'>,
  url: string,
  options: AdapterOptions & { readonly requestId: string; readonly stream: boolean },
): UnsentCall {
  const { connection, parseFailure } = wire
  const { requestId, stream, signal, clock, requestTimeoutMs, streamTimeoutMs } = options
  const key = keyOf(connection, options.apiKey, requestId)
  return {
    provider: connection.provider,
    requestId,
    url,
    headers: {
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      ...wire.headers,
      ...(key === undefined ? {} : wire.keyHeader(key)),
      ...connection.headers,
    },
    parseFailure,
    fetch: connection.fetch,
    signal,
    clock,
    requestTimeoutMs,
    streamTimeoutMs,
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
