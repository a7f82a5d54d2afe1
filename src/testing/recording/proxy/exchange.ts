import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import type { ChatAdapter } from '../../../core/contracts/adapter.ts'
import type { ModelRequest } from '../../../core/types/request.ts'
import { messageDecoder } from '../../../providers/anthropic/decode.ts'
import { parseFailure as anthropicFailure } from '../../../providers/anthropic/failure.ts'
import { answerDecoder } from '../../../providers/gemini/decode.ts'
import { parseFailure as geminiFailure } from '../../../providers/gemini/failure.ts'
import { bodySplitter } from '../../../providers/gemini/split-body.ts'
import type { HttpCall } from '../../../providers/http/call.ts'
import { streamHttp, type MakeDecoder } from '../../../providers/http/stream-http.ts'
import { sniffedBody } from '../../../providers/http/whole-body.ts'
import { chatDecoder } from '../../../providers/openai/decode-chat.ts'
import { responsesDecoder } from '../../../providers/openai/decode-responses.ts'
import { failureParser } from '../../../providers/shared/reported-failure.ts'
import type { Provider } from '../../server/request.ts'
import type { WireFormat } from '../../server/wire-format.ts'
import { numberedCall } from './read-request.ts'

/** What passed for one call of a model, byte for byte. */
export interface Exchange {
  readonly provider: Provider
  readonly format: WireFormat
  /** The request that was passed on. */
  readonly request: ModelRequest
  /** Where it was passed on to, and with what headers: their values are the secrets of the call. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly answer: ExchangeAnswer
}

/** What the provider answered. */
export interface ExchangeAnswer {
  /** The status; 0 if the provider was not reached. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body, its content encoding undone. */
  readonly chunks: readonly Uint8Array[]
  /** How it ended: completely, with a connection that broke, or by the client, which left. */
  readonly end: 'normal' | 'cut' | 'left'
}

/** An adapter that makes one call: it emits what the decoder of the provider's adapter reads in an exchange. */
export function exchangeAdapter(exchange: Exchange): ChatAdapter {
  const { provider, format, url, headers, answer } = exchange
  const whole = answer.headers['content-type']?.includes('event-stream') !== true
  const { parseFailure, splitter, decoder } = wires[format](exchange.request, whole)
  return {
    provider,
    stream(request, options = {}) {
      const left = new AbortController()
      const call: HttpCall = {
        ...options,
        provider,
        url,
        headers,
        parseFailure,
        splitter,
        history: request.messages,
        newId: numberedCalls(request),
        signal: left.signal,
        fetch: () => responseOf(answer, () => left.abort()),
      }
      return streamHttp(call, decoder)
    },
  }
}

type Wire = Pick<HttpCall, 'parseFailure' | 'splitter'> & { readonly decoder: MakeDecoder }

const wires: Readonly<Record<WireFormat, (request: ModelRequest, whole: boolean) => Wire>> = {
  openai_chat: () => ({
    parseFailure: failureParser('openai'),
    splitter: sniffedBody,
    decoder: (sink) => chatDecoder(sink),
  }),
  openai_responses: ({ tools }) => ({
    parseFailure: failureParser('openai'),
    splitter: sniffedBody,
    decoder: (sink) => responsesDecoder(sink, tools),
  }),
  anthropic: () => ({
    parseFailure: anthropicFailure,
    splitter: sniffedBody,
    decoder: messageDecoder,
  }),
  gemini: (request, whole) => ({
    parseFailure: geminiFailure,
    splitter: bodySplitter,
    decoder: answerDecoder({
      history: request.messages,
      whole,
      newId: numberedCalls(request),
    }),
  }),
}

/** Makes ids for calls that have none: their number in the conversation, as the next request will be read. */
function numberedCalls({ messages }: ModelRequest): () => string {
  let count = messages.reduce((sum, { toolCalls = [] }) => sum + toolCalls.length, 0)
  return () => numberedCall(++count)
}

/** The answer as `fetch` would give it. A client that left is told by `leave` when everything was read that came before. */
async function responseOf(
  { status, headers, chunks, end }: ExchangeAnswer,
  leave: () => void,
): Promise<Response> {
  if (status === 0 && end === 'left') leave()
  if (status === 0) throw new TypeError('fetch failed')
  const rest = [...chunks]
  const source = {
    pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      const chunk = rest.shift()
      if (chunk !== undefined) controller.enqueue(chunk)
      else if (end === 'normal') controller.close()
      else if (end === 'cut') controller.error(new TypeError('terminated'))
      else leave()
    },
  }
  // Nothing is pulled before it is read, so that everything was read when the client leaves.
  const body = new ReadableStream(source, { highWaterMark: 0 })
  const bodiless = status === 204 || status === 205 || status === 304
  return new Response(bodiless ? null : body, { status, headers: { ...headers } })
}

type Decompress = (bytes: Uint8Array, limits: { maxOutputLength: number }) => Promise<Uint8Array>

// A body that was cut is decoded as far as it came.
const gunzip = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.unzip)
const unbrotli = promisify<Buffer, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress)

const decompressors: Readonly<Record<string, Decompress>> = {
  gzip: (bytes, limits) =>
    gunzip(Buffer.from(bytes), { ...limits, finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  deflate: (bytes, limits) =>
    gunzip(Buffer.from(bytes), { ...limits, finishFlush: zlib.constants.Z_SYNC_FLUSH }),
  br: (bytes, limits) =>
    unbrotli(Buffer.from(bytes), { ...limits, finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH }),
}

/**
 * Undoes the content encoding of a body. Returns `undefined` if the encoding is not known, the bytes are not in it, or the result is
 * longer than `limit`.
 */
export async function decodedBody(
  bytes: Uint8Array,
  encoding: string | undefined,
  limit: number,
): Promise<Uint8Array | undefined> {
  const names = (encoding ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim().replace(/^x-/, ''))
  let body: Uint8Array = bytes
  for (const name of names.toReversed()) {
    if (name === '' || name === 'identity') continue
    const decompress = Object.hasOwn(decompressors, name) ? decompressors[name] : undefined
    if (decompress === undefined) return undefined
    try {
      body = await decompress(body, { maxOutputLength: limit })
    } catch {
      return undefined
    }
  }
  return body.length > limit ? undefined : body
}
