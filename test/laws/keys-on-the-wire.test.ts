import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini, geminiImages } from '../../src/gemini.ts'
import {
  createEngine,
  generate,
  generateImage,
  onTelemetry,
  streamGenerate,
  user,
} from '../../src/index.ts'
import { openai, openaiImages } from '../../src/openai.ts'
import { collectEvents } from '../../src/testing.ts'

/** Keys that look like keys, and keys that look like nothing. */
const keys = [
  'sk-test-0123456789abcdefghij',
  'AIzaSyA-0123456789abcdefghijklmnop',
  'hunter2veryplainvalue77',
  'two words and "quotes"/slashes\\',
  'hunter2plain',
  'abc123',
]

const sse = (...events: readonly (object | string)[]): string =>
  events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('')

/** How each wire begins an answer, ends it, and reports an error in its middle. `key` is what it repeats. */
const wires = {
  openai_chat: {
    adapter: (fetch: typeof globalThis.fetch) => openai({ baseUrl, fetch, api: 'chat' }),
    start: sse({ id: 'a', choices: [{ index: 0, delta: { content: 'Hi' } }] }),
    end: (key: string) =>
      sse(
        {
          id: 'a',
          choices: [{ index: 0, delta: {}, finish_reason: key }],
          system_fingerprint: key,
          usage: { prompt_tokens: 1, [key]: 1 },
        },
        '[DONE]',
      ),
    error: (key: string) =>
      sse({ error: { message: `bad ${key}`, type: key, code: key, param: key } }),
  },
  openai_responses: {
    adapter: (fetch: typeof globalThis.fetch) => openai({ baseUrl, fetch, api: 'responses' }),
    start: sse(
      { type: 'response.created', response: { id: 'a' } },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi' },
    ),
    end: (key: string) =>
      sse({
        type: 'response.incomplete',
        response: { id: 'a', status: 'incomplete', incomplete_details: { reason: key } },
      }),
    error: (key: string) => sse({ type: 'error', message: `bad ${key}`, code: key, param: key }),
  },
  anthropic: {
    adapter: (fetch: typeof globalThis.fetch) => anthropic({ baseUrl, fetch }),
    start: sse(
      { type: 'message_start', message: { id: 'a', model: 'm', usage: {} } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
    ),
    end: (key: string) =>
      sse(
        {
          type: 'message_delta',
          delta: { stop_reason: key, stop_details: { why: key, [key]: 1 } },
          usage: { service_tier: key },
        },
        { type: 'message_stop' },
      ),
    error: (key: string) =>
      sse({ type: 'error', error: { type: key, message: `bad ${key}` }, request_id: key }),
  },
  gemini: {
    adapter: (fetch: typeof globalThis.fetch) => gemini({ baseUrl, fetch }),
    start: sse({ candidates: [{ content: { parts: [{ text: 'Hi' }] } }] }),
    end: (key: string) => sse({ candidates: [{ finishReason: key, finishMessage: key }] }),
    error: (key: string) =>
      sse({
        error: {
          code: 400,
          message: `bad ${key}`,
          status: key,
          details: [{ note: key, [key]: 1 }],
        },
      }),
  },
} as const

const baseUrl = 'https://wire.test/v1'

type Wire = (typeof wires)[keyof typeof wires]

/** What a provider may do with the key of a call. */
const echoes: Readonly<Record<string, (wire: Wire, key: string) => Response>> = {
  'a refusal': (_wire, key) =>
    Response.json({ error: { message: `bad ${key}`, type: key, code: key } }, head(401, key)),
  'a refusal that is not JSON': (_wire, key) => new Response(`<p>no: ${key}</p>`, head(403, key)),
  'a body that is not JSON': (_wire, key) => new Response(`oops ${key}`, head(200, key)),
  'a malformed line': (_wire, key) => new Response(`data: {"x": ${key}\n\n`, head(200, key)),
  'a malformed line in the middle': ({ start }, key) =>
    new Response(`${start}data: {"x": ${key}\n\n`, head(200, key)),
  'an error in the middle': ({ start, error }, key) =>
    new Response(start + error(key), head(200, key)),
  'an error at the start': ({ error }, key) => new Response(error(key), head(200, key)),
  'the end of an answer': ({ start, end }, key) => new Response(start + end(key), head(200, key)),
}

function head(status: number, key: string): ResponseInit {
  const legal = /^[\w-]+$/.test(key) ? key : 'req_1'
  return { status, headers: { 'x-request-id': legal, 'request-id': legal } }
}

/** Everything that can be seen of a value: as JSON, and as it is printed. */
function shown(value: unknown): string {
  return `${JSON.stringify(value)}\n${inspect(value, { depth: 20, showHidden: true })}`
}

/** The spellings of a key that must not be seen, also pieces of it. */
function spellings(key: string): readonly string[] {
  return [key, JSON.stringify(key).slice(1, -1), ...(key.length > 12 ? [key.slice(0, 10)] : [])]
}

describe.each(Object.entries(wires))('%s', (_name, wire) => {
  describe.each(keys)('the key %j', (key) => {
    test.each(Object.entries(echoes))('is not in what is made of %s', async (_place, echo) => {
      const seen: unknown[] = []
      const off = onTelemetry((event) => seen.push(event), { content: true })
      const adapter = wire.adapter(async () => echo(wire, key))
      const engine = createEngine({ adapter, model: 'm', retry: false })
      const options = { apiKey: key, includeRawChunks: key.length >= 16 }
      try {
        const stream = streamGenerate(engine, [user('go')], options)
        seen.push(await collectEvents(stream).catch((error: unknown) => error))
        seen.push(
          await generate(engine, [user('go')], options).catch((error: unknown) => error),
          await adapter
            .generate?.(
              { model: 'm', messages: [user('go')], tools: [], providerOptions: {}, metadata: {} },
              options,
            )
            .catch((error: unknown) => error),
        )
      } finally {
        off()
      }
      expect(seen.length).toBeGreaterThan(4)
      const all = shown(seen)
      for (const spelling of spellings(key)) expect(all).not.toContain(spelling)
    })
  })
})

test('a header of the adapter that carries a credential is as secret as a key', async () => {
  const token = 'an-expiring-token-of-a-gateway'
  const adapter = openai({
    baseUrl: `${baseUrl}?sig=abcd-efgh-ijkl`,
    headers: { 'cf-aig-authorization': `Bearer ${token}`, 'x-title': 'my-application' },
    fetch: async () => new Response(`${token} abcd-efgh-ijkl my-application`, { status: 418 }),
  })
  const engine = createEngine({ adapter, model: 'm', retry: false })
  const error: unknown = await generate(engine, [user('go')]).catch((thrown: unknown) => thrown)
  expect(shown(error)).not.toMatch(/an-expiring-token|abcd-efgh/)
})

test.each<readonly [string, (headers: Record<string, string>) => unknown]>([
  ['an object', (headers) => ({ headers })],
  ['Headers', (headers) => new Headers(headers)],
  ['a Request', (headers) => new Request('https://wire.test', { method: 'POST', headers })],
  ['a Map', (headers) => new Map(Object.entries(headers))],
  ['a list under a symbol', (headers) => ({ [Symbol('kept')]: Object.entries(headers) })],
])(
  'an error of fetch that holds the headers of the call as %s is described without them',
  async (_name, kept) => {
    const key = 'hunter2veryplainvalue77'
    const adapter = anthropic({
      baseUrl,
      fetch: async (_url, init) => {
        throw Object.assign(new Error('no route'), {
          request: kept({ ...(init?.headers as object) }),
        })
      },
    })
    const engine = createEngine({ adapter, model: 'm', retry: false })
    const error: unknown = await generate(engine, [user('go')], { apiKey: key }).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({ reason: 'network_error' })
    expect(shown(error)).toContain('no route')
    expect(shown(error)).not.toContain(key)
  },
)

test.each([
  ['openai', openaiImages],
  ['gemini', geminiImages],
] as const)('a key that is echoed by the images of %s is removed', async (_name, images) => {
  const key = 'hunter2veryplainvalue77'
  for (const answer of [
    new Response(`no: ${key}`, { status: 401 }),
    new Response(`oops ${key}`),
    Response.json({ error: { message: `bad ${key}`, code: 400, status: key } }),
  ]) {
    const imageAdapter = images({ baseUrl, fetch: async () => answer })
    const engine = createEngine({ imageAdapter, imageModel: 'gpt-image-1', retry: false })
    const error: unknown = await generateImage(engine, 'a cat', { apiKey: key }).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({ kind: 'image_adapter' })
    expect(shown(error)).not.toContain('hunter2')
  }
})

test('a long key is removed from the words of an answer, wherever the bytes are cut; a short one may be a word', async () => {
  const key = 'hunter2veryplainvalue77'
  const answer = (words: string): string =>
    wires.openai_chat.start +
    sse({ choices: [{ delta: { content: words } }] }) +
    wires.openai_chat.end('stop')
  const bytes = new TextEncoder().encode(answer(`it is ${key}, friend`))
  for (const size of [1, 7, 20, 64, 4096]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.slice(index * size, (index + 1) * size),
    )
    const adapter = openai({
      baseUrl,
      fetch: async () => new Response(ReadableStream.from(pieces)),
    })
    const engine = createEngine({ adapter, model: 'm' })
    const { outputText } = await generate(engine, [user('go')], { apiKey: key })
    expect(outputText).toBe('Hiit is [redacted], friend')
  }
  const local = openai({ baseUrl, fetch: async () => new Response(answer('I am ollama')) })
  const { outputText } = await generate(
    createEngine({ adapter: local, model: 'm' }),
    [user('go')],
    {
      apiKey: 'ollama',
    },
  )
  expect(outputText).toBe('HiI am ollama')
})

test('an engine and its adapter show nothing of what they were made with', () => {
  const secret = 'hunter2veryplainvalue77'
  class Custom {
    readonly provider = 'custom'
    readonly apiKey = secret
    async *stream() {
      yield []
    }
  }
  const adapters = [
    openai({ apiKey: secret, headers: { 'x-token': secret }, organization: secret }),
    anthropic({ apiKey: secret, headers: { 'x-token': secret } }),
    gemini({ apiKey: secret, headers: { 'x-token': secret } }),
  ]
  for (const adapter of adapters) expect(shown(adapter)).not.toContain(secret)
  for (const adapter of [...adapters, new Custom()]) {
    const engine = createEngine({
      adapter,
      model: 'm',
      imageAdapter: openaiImages({ apiKey: secret }),
      keys: { custom: secret },
      context: { secret },
    })
    expect(shown(engine)).not.toContain(secret)
    expect(JSON.parse(JSON.stringify(engine))).toEqual({ provider: adapter.provider, model: 'm' })
    expect(inspect({ engine })).toContain(adapter.provider)
  }
})
