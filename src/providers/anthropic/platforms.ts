import type { Written } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { HttpCall, HttpFailure, Refusal } from '../http/call.ts'
import { eventStreamSplitter, type StreamMessage } from '../http/event-stream.ts'
import type { BodySplitter, OnEvent } from '../http/sse.ts'
import type { CallHeaders, headersOf, UnsentCall } from '../shared/call.ts'

/** What a platform needs to know of the options of an adapter. */
export interface PlatformOptions {
  readonly platform?: 'vertex' | 'bedrock' | undefined
  readonly version?: string | undefined
  readonly sign?: SignRequest | undefined
}

/** Returns the headers that a signature adds to a request. One that is `undefined` is not sent. */
export type SignRequest = (request: UnsignedRequest) => MadeHeaders | Promise<MadeHeaders>

type MadeHeaders = Readonly<Record<string, string | undefined>>

/** A request as it is sent, without its signature. */
export interface UnsignedRequest {
  readonly method: 'POST'
  readonly url: string
  /** All headers that are sent, except those of the runtime (`host`, `content-length`). Names are in lower case. */
  readonly headers: CallHeaders
  /** The text of the body. */
  readonly body: string
}

/** What the adapter has already. This file is loaded only when a platform is used, and must not bring it once more. */
interface AdapterParts {
  readonly headersOf: typeof headersOf
  readonly sniffedBody: (limit?: number) => BodySplitter
  readonly parseFailure: (refusal: Refusal) => HttpFailure
}

/**
 * A call of the Messages API as a platform takes it: at another path, without the model and with the version in its body.
 *
 * On Bedrock the beta features are in the body too, and the stream has the binary framing of AWS. `sign` gets what is sent.
 */
export function toPlatform(
  call: UnsentCall,
  options: PlatformOptions,
  parts: AdapterParts,
): HttpCall | Promise<HttpCall> {
  const { model, stream, cache_control, ...rest } = objectOf(call.json)
  const { 'anthropic-version': _inBody, ...headers } = call.headers ?? {}
  const pieces = {
    name: encodeURIComponent(textOf(model)),
    isStream: stream === true,
    body: withCacheMark(rest, cache_control),
    headers,
  }
  const change = options.platform === 'vertex' ? vertexCall : bedrockCall
  const sent = { ...call, ...change(call, pieces, options, parts) }
  return options.sign === undefined ? sent : signed(sent, options.sign, parts)
}

/** A request, taken to pieces. */
interface Pieces {
  /** The model, encoded for a path. */
  readonly name: string
  readonly isStream: boolean
  readonly body: JsonObject
  readonly headers: CallHeaders
}

/** What a platform changes in a call. */
type PlacedCall = Required<Pick<HttpCall, 'url' | 'headers' | 'json' | 'splitter' | 'parseFailure'>>

function vertexCall(
  { url }: UnsentCall,
  { name, isStream, body, headers }: Pieces,
  { version = 'vertex-2023-10-16' }: PlatformOptions,
  { sniffedBody, parseFailure }: AdapterParts,
): PlacedCall {
  const method = isStream ? 'streamRawPredict' : 'rawPredict'
  return {
    // A version of a model is written with an @, which is legal in a path.
    url: atPath(url, `/models/${name.replaceAll('%40', '@')}:${method}`),
    headers,
    json: { anthropic_version: version, ...body, stream: isStream },
    splitter: (limit) => withGoogleErrors(sniffedBody(limit)),
    parseFailure: (refusal) => vertexFailure(refusal, parseFailure),
  }
}

function bedrockCall(
  { url }: UnsentCall,
  { name, isStream, body, headers }: Pieces,
  { version = 'bedrock-2023-05-31' }: PlatformOptions,
  { sniffedBody, parseFailure }: AdapterParts,
): PlacedCall {
  const { 'anthropic-beta': beta, accept = '', ...rest } = headers
  return {
    url: atPath(url, `/${name}/invoke${isStream ? '-with-response-stream' : ''}`),
    // The type of what is inside of the framing.
    headers: { ...rest, accept: accept.replace('text/event-stream', 'application/json') },
    json: { anthropic_version: version, ...withBetas(body, beta) },
    splitter: (limit) =>
      isStream ? eventStreamSplitter(limit, readMessage, sniffedBody(limit)) : sniffedBody(limit),
    parseFailure: (refusal) => bedrockFailure(refusal, parseFailure),
  }
}

/** A call with the headers of its signature. The text that is signed is the text that is sent. */
async function signed(
  call: HttpCall,
  sign: SignRequest,
  { headersOf }: AdapterParts,
): Promise<HttpCall> {
  const { provider, requestId = '', url, headers = {} } = call
  const body = JSON.stringify(call.json)
  const make = (): ReturnType<SignRequest> => sign({ method: 'POST', url, headers, body })
  const added = await headersOf(make, { provider, requestId }, ['authorization'])
  return { ...call, json: undefined, body, headers: { ...headers, ...added } }
}

/** The address with another path in place of that of the Messages API. */
function atPath(address: string, path: string): string {
  const url = new URL(address)
  url.pathname = url.pathname.replace(/\/messages$/, () => path)
  return url.href
}

/** The platforms do not find the place for a mark by themselves: the last block that can be cached gets it. */
function withCacheMark(body: JsonObject, mark: JsonValue | undefined): JsonObject {
  if (mark === undefined) return body
  const messages = listOf(body['messages']).map(objectOf)
  for (let at = messages.length - 1; at >= 0; at--) {
    const { content } = messages[at] ?? {}
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    const marked = withMark(listOf(blocks), mark)
    if (marked !== undefined) {
      return { ...body, messages: messages.with(at, { ...messages[at], content: marked }) }
    }
  }
  return body
}

/** `undefined` when none of the blocks can be cached. A block with a mark of its own keeps it. */
function withMark(blocks: readonly JsonValue[], mark: JsonValue): readonly JsonValue[] | undefined {
  const at = blocks.findLastIndex((block) => {
    const { type, text } = objectOf(block)
    return text !== '' && type !== 'thinking' && type !== 'redacted_thinking'
  })
  return at === -1 ? undefined : blocks.with(at, { cache_control: mark, ...objectOf(blocks[at]) })
}

/** Bedrock takes the beta features in the body. Those of `providerOptions` are kept. */
function withBetas(body: JsonObject, header = ''): JsonObject {
  const { anthropic_beta, ...rest } = body
  const betas = [...listOf(anthropic_beta), ...header.split(',').map((beta) => beta.trim())]
  const used = [...new Set(betas)].filter((beta) => beta !== '')
  return used.length === 0 ? rest : { ...rest, anthropic_beta: used }
}

/** Vertex AI answers with Anthropic's errors, or with those of Google, which may be in a list. */
function vertexFailure(refusal: Refusal, parseFailure: AdapterParts['parseFailure']): HttpFailure {
  const json: unknown = Array.isArray(refusal.json) ? refusal.json[0] : refusal.json
  const read = parseFailure({ ...refusal, json })
  const { status, details } = objectOf(objectOf(json)['error'])
  if (typeof status !== 'string') return read
  const delays = listOf(details).map((detail) => textOf(objectOf(detail)['retryDelay']))
  const delay = Number.parseFloat(delays.find((text) => /^[\d.]+s$/.test(text)) ?? '')
  return {
    ...read,
    metadata: { ...read.metadata, googleStatus: status },
    ...(Number.isNaN(delay) ? {} : { retryAfterMs: Math.ceil(delay * 1000) }),
  }
}

/** The types of Anthropic's errors by the status of Google's: an error inside a stream has no other. */
const typesOfGoogle: Readonly<Record<string, string>> = {
  INVALID_ARGUMENT: 'invalid_request_error',
  FAILED_PRECONDITION: 'invalid_request_error',
  UNAUTHENTICATED: 'authentication_error',
  PERMISSION_DENIED: 'permission_error',
  RESOURCE_EXHAUSTED: 'rate_limit_error',
  DEADLINE_EXCEEDED: 'timeout_error',
  INTERNAL: 'api_error',
  UNAVAILABLE: 'overloaded_error',
}

/** Reads an error of Google inside a stream as one of Anthropic. */
function withGoogleErrors(splitter: BodySplitter): BodySplitter {
  const own: Written<BodySplitter> = {
    isDocument: false,
    feed(chunk, onEvent) {
      splitter.feed(chunk, translated(onEvent))
      own.isDocument = splitter.isDocument === true
    },
    end: (onEvent) => splitter.end(translated(onEvent)),
  }
  return own
}

function translated(onEvent: OnEvent): OnEvent {
  return (data, event) => onEvent(data.includes('"error"') ? withType(data) : data, event)
}

function withType(data: string): string {
  const event = objectOf(parsed(data))
  const error = objectOf(event['error'])
  const type = typesOfGoogle[textOf(error['status'])]
  if (type === undefined || error['type'] !== undefined) return data
  const details = { error_code: error['status'] }
  return JSON.stringify({ ...event, type: 'error', error: { ...error, type, details } })
}

/** The types of Anthropic's errors by the names of those of AWS, without `Exception` and in lower case. */
const typesOfAws: Readonly<Record<string, string>> = {
  throttling: 'rate_limit_error',
  servicequotaexceeded: 'rate_limit_error',
  validation: 'invalid_request_error',
  accessdenied: 'permission_error',
  expiredtoken: 'authentication_error',
  unrecognizedclient: 'authentication_error',
  invalidsignature: 'authentication_error',
  incompletesignature: 'authentication_error',
  missingauthenticationtoken: 'authentication_error',
  modeltimeout: 'timeout_error',
  modelnotready: 'overloaded_error',
  serviceunavailable: 'overloaded_error',
  internalserver: 'api_error',
  modelerror: 'api_error',
  modelstreamerror: 'api_error',
}

function typeOfAws(name: string): string | undefined {
  const word = name.toLowerCase().replace(/(?:exception|error)$/, '')
  return Object.hasOwn(typesOfAws, word) ? typesOfAws[word] : typesOfAws[`${word}error`]
}

/** A refusal of AWS: its name is in a header, its words are the `message` of the body. The name says more than the status. */
function bedrockFailure(refusal: Refusal, parseFailure: AdapterParts['parseFailure']): HttpFailure {
  const { headers, status } = refusal
  const body = objectOf(refusal.json)
  // `ThrottlingException:http://…` in the header, `com.amazon…#ThrottlingException` in the body.
  const header = headers.get('x-amzn-errortype')?.split(':')[0]
  const name = header ?? textOf(body['__type']).replace(/^.*#/, '')
  const type = typeOfAws(name)
  const message = body['message'] ?? body['Message']
  const read = parseFailure({
    ...refusal,
    // A status that says nothing leaves it to the type. A timeout has a status of its own.
    status: type === undefined || status === 408 ? status : 0,
    ...(type === undefined ? {} : { json: { error: { type, message } } }),
  })
  const requestId = headers.get('x-amzn-requestid')
  return {
    ...read,
    ...(/input is too long/i.test(textOf(message)) && { reason: 'context_length_exceeded' }),
    ...(/quota/i.test(name) && { retryable: false }),
    metadata: {
      ...read.metadata,
      ...(name !== '' && { type: name }),
      ...(requestId !== null && { providerRequestId: requestId }),
    },
  }
}

/** One for all: every text is decoded whole. */
const utf8 = new TextDecoder()

/** One message of Bedrock's stream: a chunk that holds an event of the Messages API as base64, or a failure. */
function readMessage({ headers, payload }: StreamMessage): string | undefined {
  const body = objectOf(parsed(utf8.decode(payload)))
  switch (headers.get(':message-type')) {
    case 'event': {
      if (headers.get(':event-type') !== 'chunk') return undefined
      const { bytes } = body
      if (typeof bytes !== 'string') throw new Error('a chunk has no bytes')
      return fromBase64(bytes)
    }
    case 'exception':
      return failedEvent(headers.get(':exception-type') ?? '', body['message'])
    case 'error':
      return failedEvent(headers.get(':error-code') ?? '', headers.get(':error-message'))
    default:
      throw new Error('a message is neither an event nor an error')
  }
}

function fromBase64(text: string): string {
  let binary: string
  try {
    binary = atob(text)
  } catch {
    throw new Error('the bytes of a chunk are not base64')
  }
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return utf8.decode(bytes)
}

/** A failure inside a stream, as Anthropic writes one. */
function failedEvent(name: string, message: JsonValue | undefined): string {
  const error = { type: typeOfAws(name) ?? name, message, details: { error_code: name } }
  return JSON.stringify({ type: 'error', error })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function objectOf(value: unknown): JsonObject {
  // It was made by JSON.parse, or is a body that is sent as JSON.
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {}
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
