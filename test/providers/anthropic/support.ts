import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { anthropic, type AnthropicOptions } from '../../../src/anthropic.ts'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { AdapterOptions, ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import type { ModelResponse } from '../../../src/core/types/response.ts'
import { recordedCases } from '../../support/recordings.ts'

/** A file of `../shared`, beside the repository, when it is there. */
export function shared(path: string): string {
  return fileURLToPath(new URL(`../../../../shared/${path}`, import.meta.url))
}

/** A request with its defaults. */
export function request(fields: Partial<ModelRequest> = {}): ModelRequest {
  const messages = [{ role: 'user', content: 'Hi' } as const]
  return {
    model: 'claude-haiku-4-5',
    messages,
    tools: [],
    providerOptions: {},
    metadata: {},
    ...fields,
  }
}

/** An answer of the stub, and how it is cut into pieces. */
export interface StubAnswer {
  readonly body: string
  readonly status?: number
  readonly headers?: Record<string, string>
  /** The lengths of the pieces in bytes; the rest is one piece. */
  readonly cuts?: readonly number[]
}

/** A `fetch` that returns one answer after the other and records the calls. */
export function stubFetch(...answers: readonly StubAnswer[]) {
  const calls: { readonly url: string; readonly headers: Headers; readonly body: JsonObject }[] = []
  const fetch = (url: string, init: RequestInit): Promise<Response> => {
    const {
      body,
      status = 200,
      headers,
      cuts = [],
    } = answers[calls.length] ?? answers.at(-1) ?? { body: '' }
    calls.push({
      url,
      headers: new Headers(init.headers),
      body: JSON.parse(init.body as string) as JsonObject,
    })
    const type = body.startsWith('{') ? 'application/json' : 'text/event-stream'
    const response = new Response(pieces(new TextEncoder().encode(body), cuts), {
      status,
      headers: { 'content-type': type, ...headers },
    })
    return Promise.resolve(response)
  }
  return { fetch, calls }
}

function pieces(bytes: Uint8Array, cuts: readonly number[]): ReadableStream<Uint8Array> {
  let from = 0
  const ends = cuts.map((length) => (from += length))
  from = 0
  return new ReadableStream({
    pull(controller) {
      const to = ends.shift() ?? bytes.length
      if (from < to) controller.enqueue(bytes.subarray(from, to))
      from = Math.max(from, to)
      if (from >= bytes.length) controller.close()
    },
  })
}

/** An adapter with a key and a stubbed `fetch`. */
export function stubbed(answer: StubAnswer, options: AnthropicOptions = {}) {
  const { fetch, calls } = stubFetch(answer)
  return { adapter: anthropic({ apiKey: 'sk-ant-test-key', fetch, ...options }), calls }
}

/** All events of a stream. */
export async function eventsOf(
  adapter: ChatAdapter,
  asked: ModelRequest = request(),
  options: AdapterOptions = {},
): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const batch of adapter.stream(asked, { requestId: 'run', ...options }))
    events.push(...batch)
  return events
}

/** The events that a body decodes to. */
export function decode(
  body: string,
  asked?: ModelRequest,
  options?: AdapterOptions,
): Promise<readonly ModelEvent[]> {
  return eventsOf(stubbed({ body }).adapter, asked, options)
}

/** The fold of a body's events. */
export async function fold(body: string, asked?: ModelRequest): Promise<ModelResponse> {
  return collectEventsSync(await decode(body, asked))
}

/** The body of a rendered request. */
export async function bodyOf(
  fields: Partial<ModelRequest>,
  options: AnthropicOptions = {},
): Promise<JsonObject> {
  const { adapter, calls } = stubbed({ body: stream() }, options)
  await eventsOf(adapter, request(fields))
  return calls[0]?.body ?? {}
}

/** Named server-sent events, as the API writes them. */
export function named(...events: readonly JsonObject[]): string {
  return events
    .map((event) => `event: ${event['type'] as string}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('')
}

/** The beginning of a streamed message. */
export function head(usage: JsonObject = { input_tokens: 3, output_tokens: 1 }): JsonObject {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-haiku-4-5',
    content: [],
    usage,
  }
  return { type: 'message_start', message }
}

/** A content block of a stream: its beginning, its deltas, its end. */
export function block(
  index: number,
  content_block: JsonObject,
  ...deltas: readonly JsonObject[]
): JsonObject[] {
  return [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

/** A text block in pieces. */
export function text(index: number, ...deltas: readonly string[]): JsonObject[] {
  return block(
    index,
    { type: 'text', text: '' },
    ...deltas.map((delta) => ({ type: 'text_delta', text: delta })),
  )
}

/** A tool call in pieces of JSON. */
export function toolUse(
  index: number,
  id: string,
  name: string,
  ...deltas: readonly string[]
): JsonObject[] {
  return block(
    index,
    { type: 'tool_use', id, name, input: {} },
    ...deltas.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  )
}

/** The end of a streamed message. */
export function tail(
  stop_reason = 'end_turn',
  delta: JsonObject = {},
  usage: JsonObject = { output_tokens: 9 },
): JsonObject[] {
  return [
    { type: 'message_delta', delta: { stop_reason, ...delta }, usage },
    { type: 'message_stop' },
  ]
}

/** A whole stream of these blocks. */
export function stream(...events: readonly JsonObject[]): string {
  return named(head(), ...events, ...tail())
}

/** A recorded case: its name, and its files. */
export interface Recording {
  readonly id: string
  readonly read: (file: string) => string
  readonly has: (file: string) => boolean
}

/** The recorded answers of the API. */
export function recordings(): readonly Recording[] {
  return recordedCases()
    .filter(({ provider }) => provider === 'anthropic')
    .map(({ id, folder }) => ({
      id,
      read: (file) => readFileSync(`${folder}/${file}`, 'utf8'),
      has: (file) => existsSync(`${folder}/${file}`),
    }))
}
