import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { AdapterOptions, ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import type { ModelResponse } from '../../../src/core/types/response.ts'
import { gemini, type GeminiOptions } from '../../../src/gemini.ts'
import { answerDecoder } from '../../../src/providers/gemini/decode.ts'
import type { MakeDecoder } from '../../../src/providers/http/stream-http.ts'
import { recordedCases } from '../../support/recordings.ts'

/** A path in `../shared`, seen from the root of the repository. It holds optional test data. */
export function shared(path: string): string {
  return fileURLToPath(new URL(`../../../../shared/${path}`, import.meta.url))
}

/** A request with its defaults. */
export function request(fields: Partial<ModelRequest> = {}): ModelRequest {
  return {
    model: 'gemini-2.5-flash',
    messages: [{ role: 'user', content: 'Hi' }],
    tools: [],
    providerOptions: {},
    metadata: {},
    ...fields,
  }
}

/** A response of the stub, and how its body is cut. */
export interface StubAnswer {
  readonly body: string | Uint8Array
  readonly status?: number
  readonly headers?: Record<string, string>
  /** Where the body is cut, in bytes. */
  readonly cuts?: readonly number[]
}

/** A request that the stub received. */
export interface SentRequest {
  readonly url: string
  readonly headers: Headers
  readonly body: JsonObject
}

/** A `fetch` that gives the same answer to every request and keeps the requests. */
export function stubFetch({ body, status = 200, headers = {}, cuts = [] }: StubAnswer) {
  const sent: SentRequest[] = []
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  const fetch = (url: string, init: RequestInit): Promise<Response> => {
    const text = typeof init.body === 'string' ? init.body : '{}'
    const headersSent = new Headers(init.headers)
    sent.push({ url, headers: headersSent, body: JSON.parse(text) as JsonObject })
    return Promise.resolve(new Response(pieces(bytes, cuts), { status, headers }))
  }
  return { fetch, sent }
}

function pieces(bytes: Uint8Array, cuts: readonly number[]): ReadableStream<Uint8Array> {
  const ends = [...cuts, bytes.length]
  let from = 0
  return new ReadableStream({
    pull(controller) {
      const to = ends.shift()
      if (to === undefined) controller.close()
      else if (to > from) controller.enqueue(bytes.subarray(from, to))
      from = to ?? from
    },
  })
}

/** An adapter with a key and a stubbed `fetch`. */
export function stubbed(answer: StubAnswer, options: GeminiOptions = {}) {
  const { fetch, sent } = stubFetch(answer)
  return { adapter: gemini({ apiKey: 'AIza-test-key-0000', fetch, ...options }), sent }
}

/** All events of a stream. */
export async function eventsOf(
  adapter: ChatAdapter,
  asked: ModelRequest = request(),
  options: AdapterOptions = {},
): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const batch of adapter.stream(asked, { requestId: 'run', ...options })) {
    events.push(...batch)
  }
  return events
}

/** The whole answer to a call without streaming. */
export async function generated(
  adapter: ChatAdapter,
  asked: ModelRequest = request(),
  options: AdapterOptions = {},
): Promise<ModelResponse> {
  const response = await adapter.generate?.(asked, { requestId: 'run', ...options })
  if (response === undefined) throw new Error('the adapter has no generate')
  return response
}

/** A decoder that is fed by hand. */
export const bareDecoder: MakeDecoder = answerDecoder({
  history: [],
  whole: false,
  newId: undefined,
})

/** The events that chunks decode to. */
export function decode(
  chunks: readonly JsonObject[],
  options?: AdapterOptions,
  asked?: ModelRequest,
): Promise<readonly ModelEvent[]> {
  return eventsOf(stubbed({ body: sseBody(chunks) }).adapter, asked, options)
}

/** The fold of what chunks decode to. */
export async function fold(...chunks: readonly JsonObject[]): Promise<ModelResponse> {
  return collectEventsSync(await decode(chunks))
}

/** Chunks as server-sent events, with the line ends of Gemini. */
export function sseBody(chunks: readonly JsonObject[], lineEnd = '\r\n'): string {
  return chunks.map((item) => `data: ${JSON.stringify(item)}${lineEnd}${lineEnd}`).join('')
}

/** A chunk with these parts. */
export function chunk(parts: readonly JsonObject[], candidate: JsonObject = {}): JsonObject {
  return {
    candidates: [{ content: { parts, role: 'model' }, index: 0, ...candidate }],
    modelVersion: 'gemini-2.5-flash',
    responseId: 'answer-1',
  }
}

/** The last chunk of an answer. */
export function lastChunk(parts: readonly JsonObject[] = [], finishReason = 'STOP'): JsonObject {
  return chunk(parts, { finishReason })
}

/** A recorded case: its name, and its files. */
export interface Recording {
  readonly id: string
  readonly read: (file: string) => string
  readonly has: (file: string) => boolean
}

/** The recorded answers of the API and of Vertex. */
export function recordings(): readonly Recording[] {
  return recordedCases()
    .filter(({ provider }) => provider === 'gemini' || provider === 'vertex')
    .map(({ id, folder }) => ({
      id,
      read: (file) => readFileSync(`${folder}/${file}`, 'utf8'),
      has: (file) => existsSync(`${folder}/${file}`),
    }))
}
