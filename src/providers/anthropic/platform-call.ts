import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { HttpCall, HttpFailure, Refusal } from '../http/call.ts'
import type { BodySplitter } from '../http/sse.ts'
import type { CallHeaders, headersOf, UnsentCall } from '../shared/call.ts'

/** Makes a call of the Messages API the call of a platform. */
export type ToPlatform = (
  call: UnsentCall,
  options: PlatformOptions,
  parts: AdapterParts,
) => HttpCall | Promise<HttpCall>

/** The options of an adapter that a platform needs for a call. */
export interface PlatformOptions {
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

/**
 * The functions of the adapter that a platform needs. They are passed, because the code of a platform may be loaded at the first call: what it
 * imports, a bundler would move out of the file that a program starts with.
 */
export interface AdapterParts {
  readonly headersOf: typeof headersOf
  readonly sniffedBody: (limit?: number) => BodySplitter
  readonly parseFailure: (refusal: Refusal) => HttpFailure
}

/** A request, taken to pieces. */
export interface Pieces {
  /** The model, encoded for a path. */
  readonly name: string
  readonly isStream: boolean
  readonly body: JsonObject
  readonly headers: CallHeaders
}

/** What a platform changes in a call. */
export interface PlacedCall extends Required<
  Pick<HttpCall, 'headers' | 'json' | 'splitter' | 'parseFailure'>
> {
  /** The path in place of `/messages`. */
  readonly path: string
}

/**
 * A call of the Messages API as a platform takes it: at another path, without the model and with the version in its body. `sign` gets what
 * is sent.
 */
export function placed(
  call: UnsentCall,
  { sign }: PlatformOptions,
  parts: AdapterParts,
  change: (pieces: Pieces) => PlacedCall,
): HttpCall | Promise<HttpCall> {
  const { model, stream, cache_control, ...rest } = objectOf(call.json)
  const { 'anthropic-version': _inBody, ...headers } = call.headers ?? {}
  const { path, ...changed } = change({
    name: encodeURIComponent(textOf(model)),
    isStream: stream === true,
    body: withCacheMark(rest, cache_control),
    headers,
  })
  const sent = { ...call, ...changed, url: atPath(call.url, path) }
  return sign === undefined ? sent : signed(sent, sign, parts)
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

/** The value of a JSON text; `undefined` if it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An object as it is. Anything else is an empty one. */
export function objectOf(value: unknown): JsonObject {
  // It was made by JSON.parse, or is a body that is sent as JSON.
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {}
}

/** A list as it is. Anything else is an empty one. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []
}

/** A string as it is. Anything else is an empty one. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
