import type { AdapterOptions, ChatAdapter } from '../../contracts/adapter.ts'
import { randomId } from '../../core/ids.ts'
import { AdapterError, EngineError } from '../../errors/errors.ts'
import type { Fetch, HttpCall } from '../../http/call.ts'
import { postForJson } from '../../http/post.ts'
import { secretFilter } from '../../http/secrets.ts'
import { streamSse } from '../../http/stream-http.ts'
import { sniffedBody } from '../../http/whole-body.ts'
import { eventsOfMessage, messageDecoder, type DecodedCall } from './decode.ts'
import { parseFailure } from './failure.ts'
import { renderRequest } from './render-request.ts'
import { collectEventsSync } from '../../run/collect.ts'
import {
  anyFunction,
  assertValid,
  fine,
  listOf,
  optionsOf,
  recordOf,
  someText,
  text,
  type Check,
} from '../../schema/checks.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { ModelRequest } from '../../types/request.ts'
import type { ModelResponse } from '../../types/response.ts'
import type { ImageLimits } from '../../vision/fetch-image.ts'
import { hasImages, resolveImages } from '../../vision/resolve-images.ts'

/**
 * An adapter for Anthropic's Messages API, and for servers that speak it.
 *
 * The request's `maxTokens`, which the API wants, is the model's largest answer unless it is set. What a model does not take
 * as it was asked for (a temperature, a forced tool, a kind of thinking) is left out or sent as what comes nearest, and named in
 * the response's `metadata.adjusted`. Reasoning is echoed with its signatures; reasoning of other providers is not sent.
 */
export function anthropic(options: AnthropicOptions = {}): ChatAdapter {
  const settings = anthropicSettings(options)
  const { provider, keyRequired } = settings
  const { apiKey: ownKey } = options
  return {
    provider,
    needsModel: true,
    key: { required: keyRequired, own: ownKey !== undefined && ownKey !== '' },
    stream(request, callOptions = {}) {
      const answer = expectedAnswer(provider, callOptions)
      const plan = { settings, request, options: { ...callOptions, ownKey }, answer }
      return streamSse(() => callFor(plan, true), messageDecoder(answer))
    },
    async generate(request, callOptions = {}) {
      const answer = expectedAnswer(provider, callOptions)
      const plan = { settings, request, options: { ...callOptions, ownKey }, answer }
      const { value, status } = await postForJson(await callFor(plan, false))
      return responseOf(value, status, answer)
    },
  }
}

function expectedAnswer(provider: string, options: AdapterOptions): DecodedCall {
  return {
    provider,
    requestId: options.requestId ?? (options.newId ?? randomId)('request'),
    includeRawChunks: options.includeRawChunks === true,
    adjusted: [],
    clean: (text) => text,
  }
}

/** What an Anthropic adapter is made of. Everything has a default. */
export interface AnthropicOptions {
  /** With the version path: `https://api.anthropic.com/v1`. A key is required at this default only, unless `headers` bring one. */
  readonly baseUrl?: string | undefined
  /** Used unless a call or an engine brings its own. It is never shown again. */
  readonly apiKey?: string | undefined
  /** Sent with every call; they go before the adapter's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly fetch?: Fetch | undefined
  /**
   * The `anthropic-version` (`2023-06-01`). From `2026-10-21` on the API takes no `temperature`, and none is sent.
   */
  readonly version?: string | undefined
  /** Features to turn on, for the `anthropic-beta` header. */
  readonly beta?: readonly string[] | undefined
  /** The name of the provider in keys, events and errors, for a server that merely speaks the protocol (`anthropic`). */
  readonly provider?: string | undefined
}

/** The options with their defaults filled in; the key is apart. */
interface AnthropicSettings {
  readonly provider: string
  readonly url: string
  readonly version: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: Fetch | undefined
  /** The API itself is called, which answers nobody without a key. */
  readonly keyRequired: boolean
}

const defaultBaseUrl = 'https://api.anthropic.com/v1'

/** Checks the options and fills in the defaults. An unknown key is refused by name. */
function anthropicSettings(options: AnthropicOptions): AnthropicSettings {
  assertValid('invalid_options', optionIssues(options))
  const { provider = 'anthropic', version = '2023-06-01', beta = [] } = options
  const baseUrl = (options.baseUrl ?? defaultBaseUrl).replace(/\/+$/, '')
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'anthropic-version': version,
  }
  if (beta.length > 0) headers['anthropic-beta'] = beta.join(',')
  for (const [name, value] of Object.entries(options.headers ?? {}))
    headers[name.toLowerCase()] = value
  return {
    provider,
    url: `${baseUrl}/messages`,
    version,
    headers,
    fetch: options.fetch,
    keyRequired: baseUrl === defaultBaseUrl && !hasCredentials(headers),
  }
}

/** Headers of the caller's own may carry the credentials, as those of a gateway do. */
function hasCredentials(headers: Readonly<Record<string, string>>): boolean {
  return 'authorization' in headers || 'x-api-key' in headers
}

const optionIssues = optionsOf({
  baseUrl: someText,
  // The value is not shown, whatever it is.
  apiKey: (value) =>
    typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }],
  headers: recordOf(text),
  fetch: anyFunction,
  version: someText,
  beta: listOf(someText),
  provider: someText,
} satisfies Readonly<Record<keyof AnthropicOptions, Check>>)

/** A call that is to be made. */
interface CallPlan {
  readonly settings: AnthropicSettings
  readonly request: ModelRequest
  readonly options: KeyedOptions
  /** What the answer's decoder has to know; what only the rendering tells is filled in here. */
  readonly answer: DecodedCall
}

/** The API counts an image's base64, of which it takes 10 MiB. */
const maxImageBytes = (10 * 1024 * 1024 * 3) / 4

const mimeTypes: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** Makes the HTTP call of a request: images are checked and read, the request is rendered, the key is found. */
async function callFor(plan: CallPlan, stream: boolean): Promise<HttpCall> {
  const { settings, options, answer } = plan
  const { provider } = settings
  const limits: ImageLimits = { provider, maxBytes: maxImageBytes, mimeTypes }
  const request = hasImages(plan.request) ? await resolveImages(plan.request, limits) : plan.request
  const { body, answerTool, adjusted } = renderRequest(request, settings)
  answer.answerTool = answerTool
  answer.adjusted = adjusted
  return httpCall(settings, JSON.stringify({ ...body, stream }), options, answer)
}

/** The options of a call, with the adapter's own key. */
interface KeyedOptions extends AdapterOptions {
  readonly ownKey: string | undefined
}

/**
 * The HTTP call of a rendered body.
 *
 * The call's key goes before the adapter's own. The API itself is not called without one: `EngineError` `missing_key`.
 */
function httpCall(
  settings: AnthropicSettings,
  body: string,
  { apiKey, ownKey, ...options }: KeyedOptions,
  answer: DecodedCall,
): HttpCall {
  const { provider, requestId } = answer
  const key = [apiKey, ownKey].find((candidate) => candidate !== undefined && candidate !== '')
  if (key === undefined && settings.keyRequired) {
    const message = `no key for ${provider}: pass apiKey, or set one`
    throw new EngineError('missing_key', message, { provider, requestId })
  }
  const headers = { ...(key === undefined ? {} : { 'x-api-key': key }), ...settings.headers }
  answer.clean = secretFilter(headers)
  const { signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  return {
    provider,
    url: settings.url,
    headers,
    body,
    parseFailure,
    splitter: sniffedBody,
    onResponse: (response) => {
      answer.providerRequestId = response.headers.get('request-id') ?? undefined
    },
    fetch: settings.fetch,
    signal,
    requestId,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}

/** The response that a whole answer stands for: the fold of the events that would have streamed it. */
function responseOf(value: unknown, status: number, answer: DecodedCall): ModelResponse {
  const events = eventsOfMessage(value)
  if (events === undefined) {
    const { provider, requestId } = answer
    const message = `${provider} answered ${status} with something that is no message`
    throw new AdapterError('malformed_response', message, { provider, requestId, status })
  }
  const decoder = messageDecoder(answer)
  const out: ModelEvent[] = []
  for (const event of events) decoder.take(event, out)
  return collectEventsSync(out)
}
