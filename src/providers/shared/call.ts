import type { AnswerForms } from '../../core/answer/answer-text.ts'
import { collectEventsSync } from '../../core/answer/fold-answer.ts'
import { randomId, type NewId } from '../../core/base/ids.ts'
import { fromEnvironment, isKey, type KeyNeed } from '../../core/base/keys.ts'
import type { AdapterOptions, ChatAdapter } from '../../core/contracts/adapter.ts'
import { AdapterError, EngineError, isAllmError } from '../../core/errors/errors.ts'
import { mapTexts, redactThrown } from '../../core/errors/redact.ts'
import { thrownText, toJsonValue } from '../../core/errors/to-json-value.ts'
import { asCallerCounts } from '../../core/messages/instructions.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import {
  anyFunction,
  assertValid,
  fine,
  optionsOf,
  recordOf,
  secretText,
  someText,
  text,
  within,
  type Check,
  type Checks,
} from '../../core/schema/checks.ts'
import type { Issue } from '../../core/types/error-data.ts'
import type { ModelEvent } from '../../core/types/events.ts'
import { defined, merged } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { Warn, Warning } from '../../core/types/warning.ts'
import { attributed } from '../http/answer.ts'
import type { Fetch, HttpCall } from '../http/call.ts'
import { streamHttp, type MakeDecoder } from '../http/stream-http.ts'
import { resolveMedia, type MediaLimits } from '../vision/resolve-images.ts'
import { located, refuseMedia } from './files.ts'
import { requestSchemas, type RequestSchemas } from './schemas.ts'

/** The options that every provider adapter takes. */
export interface ConnectionOptions {
  /** The address of the API, with its version path. */
  readonly baseUrl?: string | undefined
  /** The adapter's own key. The key of a call or an engine takes precedence. It is sent in a header only. */
  readonly apiKey?: string | undefined
  /**
   * Sent with every call. They override the adapter's own headers. A function is called for each call, so that a token that
   * expires can be renewed; it may return a promise. What it returns as `undefined` is not sent.
   */
  readonly headers?: CallHeaders | (() => MadeHeaders | Promise<MadeHeaders>) | undefined
  /** The model of an engine or a request that names none. */
  readonly model?: string | undefined
  /** Replaces the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  /** The name of the provider in events, errors and key look-ups. */
  readonly provider?: string | undefined
}

/** Names and values of headers. */
export type CallHeaders = Readonly<Record<string, string>>

/** Headers as a function of the caller makes them. */
type MadeHeaders = Readonly<Record<string, string | undefined>>

/** The checks of the common options. */
export const connectionChecks: Readonly<Record<keyof ConnectionOptions, Check>> = {
  // The values are never shown.
  baseUrl: (value) =>
    typeof value === 'string' && URL.canParse(value) && /^https?:\/\/[^/?#@]+([/?#]|$)/i.test(value)
      ? fine
      : [{ path: '', problem: 'must be an http or https URL without a password' }],
  apiKey: secretText,
  headers: (value) => (typeof value === 'function' ? fine : recordOf(text)(value)),
  model: someText,
  fetch: anyFunction,
  provider: someText,
}

/** How a provider is reached: its options, settled. */
export interface Connection {
  readonly provider: string
  /** The name of the API, by which `providerOptions` are found whatever the provider is called. */
  readonly api: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** The scheme, host and port of the address. */
  readonly server: string
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
  /**
   * The variable of the environment that names another address, such as `OPENAI_BASE_URL`, as the provider's own package reads it.
   * The option `baseUrl` goes before it.
   */
  readonly baseUrlVariable?: string | undefined
  /** What is added to the address of the variable if it has no version path: `/v1`. */
  readonly versionPath?: string | undefined
  /** The headers that carry a key (`authorization`). A caller's own header of that name replaces the key. */
  readonly keyHeaders?: readonly string[] | undefined
  /** Whether a key is required at the address above (yes). A local server needs none. */
  readonly needsKey?: boolean | undefined
  /** The checks of the options that only this adapter has, such as `{ project: must('a name', isName) }`. */
  readonly checks?: Checks | undefined
}

/**
 * Checks the options of an adapter and settles the common ones. An option that neither this function nor `checks` knows is a
 * `ValidationError` that names the nearest legal one.
 */
export function settleConnection(
  options: ConnectionOptions,
  defaults: ConnectionDefaults,
): Connection {
  const { keyHeaders = ['authorization'], needsKey = true, checks } = defaults
  assertValid('invalid_options', optionsOf({ ...connectionChecks, ...checks })(options))
  const address = options.baseUrl ?? addressInEnvironment(defaults) ?? defaults.baseUrl
  const baseUrl = address.replace(/\/+$/, '')
  const isDefault = baseUrl === defaults.baseUrl
  const { headers = {}, model } = options
  const provider = options.provider ?? defaults.provider
  const own = isKey(options.apiKey) ? options.apiKey : undefined
  // A function may bring the credentials.
  const credentials =
    typeof headers === 'function' || keyHeaders.some((name) => name in lowerCased(headers))
  return {
    provider,
    api: defaults.provider,
    baseUrl,
    server: new URL(baseUrl).origin,
    model,
    headers: (requestId) => headersOf(headers, { provider, requestId }, keyHeaders),
    fetch: options.fetch,
    key: {
      required: needsKey && isDefault && !credentials,
      // What is found under another name may be the key of another server: it is not sent to an address that was not given.
      own: own !== undefined || (isDefault && provider !== defaults.provider),
    },
    ownKey: () => own,
  }
}

/** The address that a variable of the environment names. An empty one names none. */
function addressInEnvironment({
  baseUrlVariable = '',
  versionPath = '',
}: ConnectionDefaults): string | undefined {
  const address = fromEnvironment(baseUrlVariable)?.trim() ?? ''
  if (address === '') return undefined
  assertValid('invalid_options', within(baseUrlVariable, connectionChecks.baseUrl(address)))
  return /\/v\d+[a-z]*\/*$/.test(address) ? address : address.replace(/\/+$/, '') + versionPath
}

/**
 * The headers of one call. A function that fails is a failed authentication: it brings a token. So is a header for a key
 * that has none, as `Bearer ${token}` of a token that is not there. Other headers may be `undefined`: they are not sent.
 *
 * What was thrown may quote a token, so it is described without what looks like one. Such a failure may pass, but is retried
 * only by a policy that names its reason.
 */
export async function headersOf(
  headers: NonNullable<ConnectionOptions['headers']>,
  facts: { readonly provider: string; readonly requestId: string },
  keyHeaders: readonly string[],
): Promise<CallHeaders> {
  try {
    const made = lowerCased(typeof headers === 'function' ? await headers() : headers)
    const isEmpty = (name: string): boolean =>
      name in made && /^(Bearer *)?(undefined|null)?$/i.test(`${made[name]}`)
    if (keyHeaders.some(isEmpty)) throw new Error('a key is empty')
    return defined<CallHeaders>(made)
  } catch (thrown) {
    if (isAllmError(thrown)) throw thrown
    const message = redactThrown(`the headers for ${facts.provider} failed: ${thrownText(thrown)}`)
    const cause = mapTexts(toJsonValue(thrown), redactThrown)
    throw new AdapterError('authentication_failed', message, { ...facts, cause, retryable: true })
  }
}

/** The address of a path below the base address. A query in the base address, such as Azure's `api-version`, is kept. */
export function urlOf(
  { baseUrl }: Pick<Connection, 'baseUrl'>,
  path: string,
  query?: Readonly<Record<string, string>>,
): string {
  // Nothing has to be escaped, and nothing to be kept: every call would parse the same address.
  if (/^[\w:/.-]*$/.test(path) && !/[?#]/.test(baseUrl)) {
    const search = query && String(new URLSearchParams(query))
    return baseUrl + path + (search ? `?${search}` : '')
  }
  const url = new URL(baseUrl)
  url.pathname = url.pathname.replace(/\/+$/, '') + path
  for (const [name, value] of Object.entries(query ?? {})) url.searchParams.set(name, value)
  return url.href
}

/** The key of a call: the call's own, else the adapter's. A missing key that is required is an `EngineError`. */
function keyOf(
  { provider, key, ownKey }: Connection,
  apiKey: string | undefined,
): string | undefined {
  const found = isKey(apiKey) ? apiKey : ownKey()
  if (found !== undefined || !key.required) return found
  const message = `no API key for ${provider}: pass apiKey`
  throw new EngineError('missing_key', message, { provider })
}

/** A request, rendered for one API, and what reads the answer to it. */
export interface RenderedCall {
  /** The path below the base address. */
  readonly path: string
  /** Parameters of the address. */
  readonly query?: Readonly<Record<string, string>> | undefined
  /** The body. The `providerOptions` of the request are merged over it. */
  readonly body: JsonObject
  /** The body has the `providerOptions` already. */
  readonly isMerged?: true | undefined
  /** The forms in which the schemas of the request are sent, to read the answer by: those of `context.schemas` by default. */
  readonly forms?: AnswerForms | undefined
  readonly decoder: MakeDecoder
}

/** A request that names its model. */
export type NamedRequest = ModelRequest & { readonly model: string }

/** What a provider may have to know to render a call. */
export interface RenderContext {
  readonly provider: string
  /** Whether the provider is asked to stream its answer. */
  readonly stream: boolean
  /** Tells about a setting that is left out, or of which the nearest is sent. */
  readonly warn: Warn
  /** Lowers the schemas of the request, and keeps what is needed to read the answer. */
  readonly schemas: RequestSchemas
  readonly sessionId: string | undefined
  /** The caller's own maker of ids, if there is one; the sink of a decoder has one in any case. */
  readonly newId: NewId | undefined
}

/** What makes one provider different from the others on the way from a request to HTTP and back. */
export interface ProviderWire {
  readonly connection: Connection
  /** The images and files that the API takes. Without it, a request that has one is refused. */
  readonly media?: Omit<MediaLimits, 'provider'> | undefined
  /** The headers of every call, without the key; those of the connection override them. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The name of a header that is a list: what the adapter, its options and the call put into it is sent together. */
  readonly listHeader?: string | undefined
  /** The headers that carry the key: `authorization: Bearer …` by default. */
  readonly keyHeader?: ((key: string) => Readonly<Record<string, string>>) | undefined
  /** Reads what only this API says in a refusal. */
  readonly parseFailure?: HttpCall['parseFailure']
  /**
   * How the body is split: server-sent events by default. Its `accept` is sent as that header, unless `headers` has one.
   */
  readonly splitter?: HttpCall['splitter']
  /**
   * Whether a call must name a model: `true` by default. `false` is for an API with one model: `render` gets an empty `model` then,
   * unless the caller named one.
   */
  readonly needsModel?: boolean | undefined
  /**
   * Changes a call before it is sent: it has its address, its headers with the key and its body by then. For a platform that
   * takes the requests of the API in another form, or signs them.
   */
  readonly prepare?: ((call: UnsentCall) => HttpCall | Promise<HttpCall>) | undefined
  /**
   * The path of the list of models, for `listModels`. Without it the adapter can neither list models nor count tokens, unless it
   * has methods of its own for that.
   */
  readonly models?: string | undefined
  /** What makes the answers of two adapters of this API differ, beside their address and `headers`. No key. */
  readonly identity?: JsonObject | undefined
  /** The API gives a whole answer where `stream` is false, and the decoder reads it: `generate` asks for one. */
  readonly whole?: true | undefined
  /**
   * Renders a request. Images and files are checked by then. Whatever is wrong with the request throws; a setting that is left
   * out is told to `context.warn`. It may return a promise, such as one that loads images.
   */
  render(request: NamedRequest, context: RenderContext): RenderedCall | Promise<RenderedCall>
}

/**
 * A chat adapter for one API. `generate` is the fold of what `stream` decodes.
 *
 * In a call, images and files are checked first, then the request is rendered, and only then the key is looked up: whatever is wrong
 * with a request is reported before a missing key.
 */
export function chatAdapter(wire: ProviderWire): ChatAdapter {
  const { connection, media } = wire
  return leanAdapter({
    models: '',
    ...wire,
    join: joined,
    async render(request, context) {
      const { provider, warn } = context
      if (media === undefined) refuseMedia(provider, request)
      const schemas = requestSchemas(provider, warn)
      const rendered = await wire.render(request, { ...context, schemas })
      const over = optionsFor(connection.api, provider, request.providerOptions)
      const { body, isMerged, forms = schemas.forms } = rendered
      return { ...rendered, forms, body: isMerged === true ? body : mergeOptions(body, over) }
    },
  })
}

/** A wire that lowers its schemas and merges the `providerOptions` by itself, takes media, and has a list of `/models` unless it says otherwise. */
export interface LeanWire extends Omit<ProviderWire, 'render'> {
  /** Joins the values of `listHeader`. */
  readonly join?: typeof joined
  render(request: NamedRequest, context: LeanContext): RenderedCall | Promise<RenderedCall>
}

type LeanContext = Omit<RenderContext, 'schemas'>

/** `chatAdapter` without what only some APIs need: a program with no other adapter does not have the code of it. */
export function leanAdapter(wire: LeanWire): ChatAdapter {
  const { provider, key, model, baseUrl, server } = wire.connection
  return {
    provider,
    model,
    identity: () => ({ baseUrl, ...wire.headers, ...wire.identity }),
    needsModel: wire.needsModel ?? true,
    key,
    server,
    wire: () => wire,
    stream: (request, options = {}) => decodedStream(wire, request, options, true),
    async generate(request, options = {}) {
      const events: ModelEvent[] = []
      const answer = decodedStream(wire, request, options, wire.whole !== true)
      for await (const batch of answer) events.push(...batch)
      return collectEventsSync(events)
    },
  }
}

/** Replaced when a call is rendered, which is before an answer can come. */
const notRendered: MakeDecoder = () => ({ push: () => undefined })

function decodedStream(
  wire: LeanWire,
  asked: ModelRequest,
  options: AdapterOptions,
  stream: boolean,
): AsyncGenerator<readonly ModelEvent[], void> {
  const { provider } = wire.connection
  const requestId = options.requestId ?? (options.newId ?? randomId)('request')
  const { warnings, warn } = warningList()
  let decoder = notRendered
  const makeCall = async (): Promise<HttpCall> => {
    const { sessionId, newId } = options
    const context = { provider, stream, warn, sessionId, newId }
    const { path, query, body, forms, ...rendered } = await renderedCall(wire, asked, context)
    decoder = rendered.decoder
    const url = urlOf(wire.connection, path, query)
    const call = await unsentCall(wire, url, merged(options, { requestId, stream }))
    const made = merged(call, { json: body, history: asked.messages, warnings, forms })
    return wire.prepare?.(made) ?? made
  }
  // Whatever is wrong with a request names the provider and the run.
  const named = (error: unknown): never => {
    throw isAllmError(error) ? attributed(error, { provider, requestId }) : error
  }
  return streamHttp(
    () => makeCall().catch(named),
    (sink) => decoder(sink),
  )
}

/** The request with its model, or that of the adapter. */
function namedRequest(
  request: ModelRequest,
  { connection: { provider, model }, needsModel = true }: LeanWire,
): NamedRequest {
  const named = request.model ?? model ?? ''
  if (named !== '' || !needsModel) return { ...request, model: named }
  throw new EngineError('missing_model', `${provider} needs a model`, { provider })
}

function checkedMedia(
  request: ModelRequest,
  { connection: { provider }, media }: LeanWire,
  warn: Warn,
): ModelRequest {
  if (media === undefined) return request
  const left: Issue[] = []
  const checked = resolveMedia(request, { provider, ...media, left })
  for (const { path, problem } of asCallerCounts(request, left)) warn(path, problem)
  return checked
}

/** An empty list of stop sequences says nothing, and some APIs refuse it. */
function withoutEmpty(request: ModelRequest): ModelRequest {
  if (request.stopSequences?.length !== 0) return request
  const { stopSequences: _none, ...rest } = request
  return rest
}

/** The warnings of one call, and the function that adds one. The same warning is kept once. */
export function warningList(): { readonly warnings: readonly Warning[]; readonly warn: Warn } {
  const warnings: Warning[] = []
  return {
    warnings,
    warn(setting, problem) {
      const known = warnings.some((one) => one.setting === setting && one.problem === problem)
      if (!known) warnings.push({ setting, problem })
    },
  }
}

/** A request as its API takes it: its media are checked, and it names its model. */
export async function renderedCall(
  wire: LeanWire,
  asked: ModelRequest,
  context: LeanContext,
): Promise<RenderedCall> {
  const request = namedRequest(checkedMedia(withoutEmpty(asked), wire, context.warn), wire)
  try {
    return await wire.render(request, context)
  } catch (error) {
    throw located(error, request)
  }
}

/** An HTTP call that was not sent. */
export type UnsentCall = HttpCall & { readonly requestId: string }

/** The call to an address: its headers with the key, its limits, and how its failures are read. */
export async function unsentCall(
  wire: Pick<
    LeanWire,
    'connection' | 'headers' | 'listHeader' | 'join' | 'keyHeader' | 'parseFailure' | 'splitter'
  >,
  url: string,
  options: AdapterOptions & { readonly requestId: string; readonly stream: boolean },
): Promise<UnsentCall> {
  const { connection, headers: own = {}, listHeader, keyHeader = bearer } = wire
  const { parseFailure, splitter, join } = wire
  const { headers, apiKey, stream, ...rest } = options
  const key = keyOf(connection, apiKey)
  const keyed = key === undefined ? {} : keyHeader(key)
  const given = await connection.headers(rest.requestId)
  const called = headers === undefined ? {} : lowerCased(headers)
  return merged(rest, {
    provider: connection.provider,
    url,
    secrets: key === undefined ? [] : [key],
    headers: {
      'content-type': 'application/json',
      accept: stream ? (splitter?.(0).accept ?? 'text/event-stream') : 'application/json',
      ...own,
      ...keyed,
      ...given,
      ...called,
      ...(listHeader && join?.(listHeader, [own, keyed, given, called])),
    },
    parseFailure,
    splitter,
    fetch: connection.fetch,
  })
}

function bearer(key: string): CallHeaders {
  return { authorization: `Bearer ${key}` }
}

/** A header with the values of all layers, each once. */
export function joined(name: string, layers: readonly CallHeaders[]): CallHeaders {
  const values = layers.flatMap((headers) => headers[name]?.split(',') ?? [])
  const used = new Set(values.map((value) => value.trim()).filter((value) => value !== ''))
  return used.size === 0 ? {} : { [name]: [...used].join(',') }
}

function lowerCased<Value>(headers: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
