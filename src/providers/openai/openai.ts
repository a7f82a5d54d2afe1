import type { AdapterOptions, ChatAdapter } from '../../contracts/adapter.ts'
import { EngineError, ValidationError } from '../../errors/errors.ts'
import type { Fetch, HttpCall } from '../../http/call.ts'
import { secretFilter } from '../../http/secrets.ts'
import { streamSse, type CallSource, type SseDecoder } from '../../http/stream-http.ts'
import { sniffedBody } from '../../http/whole-body.ts'
import { chatDecoder } from './decode-chat.ts'
import { responsesDecoder } from './decode-responses.ts'
import { parseFailure } from './failure.ts'
import { decoderOptions, type CallNotes } from './message.ts'
import type { Endpoint } from './model-family.ts'
import { endpointFor, renderRequest, type RenderContext } from './render-request.ts'
import { collectEventsSync } from '../../run/collect.ts'
import { unknownKeys } from '../../schema/checks.ts'
import type { Issue } from '../../types/error-data.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { ModelRequest } from '../../types/request.ts'
import { hasImages, resolveImages } from '../../vision/resolve-images.ts'

/**
 * A chat adapter for OpenAI's Responses and Chat Completions, and for servers that speak the same language.
 *
 * Options that can not be right throw at once; the rest is checked when a call is made. What a model's family is known
 * to refuse is left out of the call and named in the answer's `metadata.droppedParameters`.
 */
export function openai(options: OpenAiOptions = {}): ChatAdapter {
  const settings = settleOptions(options)
  const { provider, official, hasKey } = settings
  return {
    provider,
    needsModel: true,
    key: { required: official, own: hasKey },
    stream(request, callOptions = {}) {
      const { source, decoder } = openCall(settings, request, callOptions, true)
      return streamSse(source, decoder)
    },
    async generate(request, callOptions = {}) {
      const { source, decoder } = openCall(settings, request, callOptions, false)
      const events: ModelEvent[] = []
      for await (const batch of streamSse(source, decoder)) events.push(...batch)
      return collectEventsSync(events)
    },
  }
}

/** How to reach OpenAI, or a server that speaks its language. */
export interface OpenAiOptions {
  /** Which endpoint to use. Unless told, the model decides: the GPT-5 and o families and later ones are asked by `responses`. */
  readonly api?: Endpoint | undefined
  /** With the version path: `https://api.openai.com/v1` unless told. A query, such as Azure's `api-version`, stays. */
  readonly baseUrl?: string | undefined
  /** The adapter's own key; the key of a call goes before it. Needed only for OpenAI itself. */
  readonly apiKey?: string | undefined
  /** Sent with every call; they win over the adapter's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** In place of the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  readonly organization?: string | undefined
  readonly project?: string | undefined
  /**
   * The name of a compatible server, `openai` unless told: it labels events and errors, and keys are looked up under it.
   *
   * `providerOptions` under this name are merged after those under `openai`.
   */
  readonly provider?: string | undefined
}

/** The options, settled. The key is in a function, so that nothing that prints the settings can show it. */
export interface OpenAiSettings {
  readonly provider: string
  readonly api: Endpoint | undefined
  readonly baseUrl: string
  /** Whether the server is OpenAI itself, which answers nobody without a key. */
  readonly official: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: Fetch | undefined
  readonly hasKey: boolean
  readonly ownKey: () => string | undefined
}

const defaultBaseUrl = 'https://api.openai.com/v1'

const legalKeys: Readonly<Record<keyof OpenAiOptions, true>> = {
  api: true,
  baseUrl: true,
  apiKey: true,
  headers: true,
  fetch: true,
  organization: true,
  project: true,
  provider: true,
}

/** Settles the options; what can not be right throws a `ValidationError` here, where it was written. */
export function settleOptions(options: OpenAiOptions): OpenAiSettings {
  const { api, baseUrl = defaultBaseUrl, apiKey, organization, project, fetch } = options
  const issues: Issue[] = [...unknownKeys(options, Object.keys(legalKeys))]
  if (!URL.canParse(baseUrl)) issues.push({ path: 'baseUrl', problem: 'is no address' })
  if (api !== undefined && api !== 'chat' && api !== 'responses') {
    issues.push({ path: 'api', problem: 'is neither chat nor responses' })
  }
  if (issues.length > 0) throw new ValidationError('invalid_options', issues)
  const own = apiKey === '' ? undefined : apiKey
  return {
    provider: options.provider ?? 'openai',
    api,
    baseUrl,
    official: baseUrl.replace(/\/+$/, '') === defaultBaseUrl,
    headers: {
      ...(organization === undefined ? {} : { 'openai-organization': organization }),
      ...(project === undefined ? {} : { 'openai-project': project }),
      ...lowerCased(options.headers ?? {}),
    },
    fetch,
    hasKey: own !== undefined,
    ownKey: () => own,
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}

/** A call that is ready to be made, and what reads its answer. */
interface OpenCall {
  readonly source: CallSource
  readonly decoder: SseDecoder<ModelEvent>
}

/** Brings a request and its endpoint's decoder together. Nothing is checked or sent before `source` is called. */
function openCall(
  settings: OpenAiSettings,
  request: ModelRequest,
  options: AdapterOptions,
  stream: boolean,
): OpenCall {
  const { provider } = settings
  const endpoint = endpointFor(settings.api, request.model)
  const decoding = decoderOptions(provider, options)
  const { notes } = decoding
  const context = { provider, endpoint, stream, sessionId: options.sessionId }
  return {
    source: () => prepareCall(settings, request, { ...options, context, notes }),
    decoder: endpoint === 'chat' ? chatDecoder(decoding) : responsesDecoder(decoding),
  }
}

/** The options of a call, and what was settled for it. */
interface PrepareOptions extends AdapterOptions {
  readonly context: RenderContext
  readonly notes: CallNotes
}

/** What OpenAI takes as an image. */
const imageLimits = {
  maxBytes: 20 * 1024 * 1024,
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/gif'],
} as const

/**
 * Makes the call of a request: reads its images, renders it, and only then asks for the key.
 *
 * Throws what is wrong, before anything is sent: `ValidationError`, `EngineError`, or `AdapterError` for what OpenAI can
 * not express.
 */
async function prepareCall(
  settings: OpenAiSettings,
  request: ModelRequest,
  { context, notes, apiKey, ...options }: PrepareOptions,
): Promise<HttpCall> {
  const { provider, stream } = context
  const { requestId } = notes
  const sendable = hasImages(request)
    ? await resolveImages(request, { provider, ...imageLimits })
    : request
  const { path, body, dropped } = renderRequest(sendable, context)
  const { headers, clean } = callHeaders(settings, { apiKey, stream, requestId })
  notes.dropped = dropped
  notes.clean = clean
  return {
    provider,
    requestId,
    url: addressOf(settings.baseUrl, path),
    headers,
    body: JSON.stringify(body),
    parseFailure: (status, text, answered) => parseFailure(provider, status, text, answered),
    splitter: sniffedBody,
    onResponse: (response) => {
      notes.providerRequestId = response.headers.get('x-request-id') ?? undefined
    },
    fetch: settings.fetch,
    signal: options.signal,
    clock: options.clock,
    requestTimeoutMs: options.requestTimeoutMs,
    streamTimeoutMs: options.streamTimeoutMs,
  }
}

function addressOf(baseUrl: string, path: string): string {
  const address = new URL(baseUrl)
  address.pathname = address.pathname.replace(/\/+$/, '') + path
  return address.href
}

/** What the headers of a call depend on. */
interface HeaderContext {
  /** The key of the call; it goes before the adapter's own. */
  readonly apiKey: string | undefined
  readonly stream: boolean
  readonly requestId: string
}

/** The headers of a call, and what takes their key out of a text. */
interface CallHeaders {
  readonly headers: Readonly<Record<string, string>>
  readonly clean: (text: string) => string
}

/** The headers of a call. A missing key is an `EngineError` where the server is OpenAI itself. */
export function callHeaders(
  settings: OpenAiSettings,
  { apiKey, stream, requestId }: HeaderContext,
): CallHeaders {
  const { provider, official } = settings
  const key = apiKey === undefined || apiKey === '' ? settings.ownKey() : apiKey
  if (key === undefined && official && settings.headers['authorization'] === undefined) {
    const message = `no key for ${provider}: neither the call nor the adapter has one`
    throw new EngineError('missing_key', message, { provider, requestId })
  }
  const headers = {
    'content-type': 'application/json',
    accept: stream ? 'text/event-stream' : 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...settings.headers,
  }
  return { headers, clean: secretFilter(headers) }
}
