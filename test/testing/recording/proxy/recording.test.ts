import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../../src/anthropic.ts'
import { gemini } from '../../../../src/gemini.ts'
import {
  assistant,
  errorToJSON,
  modelRequest,
  system,
  toolResult,
  user,
  type ChatAdapter,
  type ModelRequest,
} from '../../../../src/index.ts'
import { replay, stringifyCassette, type CassetteCall } from '../../../../src/middleware.ts'
import { openaiChat, openaiResponses } from '../../../../src/openai.ts'
import {
  createFakeServer,
  createRecordingProxy,
  type RecordingProxy,
  type RecordingProxyOptions,
  type RequestNote,
} from '../../../../src/server.ts'
import { trajectory, type Script } from '../../../../src/testing.ts'
import type { WireFormat } from '../../../../src/testing/server/wire-format.ts'
import { serve, type Handler } from '../../../support/http-server.ts'
import { greeting, parallelCalls, thinking } from '../../server/scripts.ts'
import { rawCall } from './raw.ts'

const key = 'sk-secret-of-the-test-0123456789'

const adapters: Readonly<Record<WireFormat, (proxy: RecordingProxy) => ChatAdapter>> = {
  openai_chat: ({ openaiBaseUrl: baseUrl }) => openaiChat({ baseUrl, apiKey: key }),
  openai_responses: ({ openaiBaseUrl: baseUrl }) => openaiResponses({ baseUrl, apiKey: key }),
  anthropic: ({ anthropicBaseUrl: baseUrl }) => anthropic({ baseUrl, apiKey: key }),
  gemini: ({ geminiBaseUrl: baseUrl }) => gemini({ baseUrl, apiKey: key }),
}

const request: ModelRequest = modelRequest(
  [
    system('Be brief.'),
    user('How warm is Ghent?'),
    assistant('Let me see.', {
      toolCalls: [{ id: 'call_1', name: 'weather', arguments: { city: 'Ghent' } }],
    }),
    toolResult('call_1', '{"celsius":21}'),
  ],
  {
    model: 'some-model',
    temperature: 0.5,
    tools: [
      {
        name: 'weather',
        description: 'The weather.',
        schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ],
  },
)

/** What an adapter emits, or throws, with the same id for every run. */
async function outcomeOf(adapter: ChatAdapter, asked: ModelRequest = request): Promise<unknown> {
  const events: unknown[] = []
  try {
    for await (const batch of adapter.stream(asked, { requestId: 'run', apiKey: key })) {
      events.push(...batch)
    }
  } catch (error) {
    const { kind, reason, status, retryAfterMs, message } = errorToJSON(error)
    return [...events, { kind, reason, status, retryAfterMs, message }]
  }
  return events
}

/** A proxy before a server, whose script or handler decides. */
async function recorded(
  given: Script | Handler,
  use: (proxy: RecordingProxy, url: string) => Promise<unknown>,
  options: RecordingProxyOptions = {},
): Promise<{ readonly proxy: RecordingProxy; readonly calls: readonly CassetteCall[] }> {
  await using server =
    typeof given === 'function' ? await serve(given) : await createFakeServer({ script: given })
  const { url } = server
  const upstream = { openai: `${url}/v1`, anthropic: `${url}/v1`, gemini: `${url}/v1beta` }
  const proxy = await createRecordingProxy({ upstream, ...options })
  await use(proxy, url)
  await proxy.idle()
  await proxy.close()
  return { proxy, calls: proxy.cassette().calls }
}

const scripts: Readonly<Record<string, Script>> = {
  text: greeting,
  'two calls': parallelCalls,
  reasoning: thinking('sealed'),
  'an answer that is too long': [
    ['text', 'x'],
    ['finish', 'length'],
  ],
  'a rate limit': [['preflight_error', 'rate_limited', { retryAfterMs: 1500 }]],
  'a wrong key': [['preflight_error', 'authentication_failed', {}]],
  'no connection': [['preflight_error', 'network_error', {}]],
  'a failure in mid-stream': [
    ['text_delta', 'half'],
    ['error_event', 'provider_unavailable', {}],
  ],
  'a cut': [
    ['text_delta', 'half'],
    ['stream_error', 'truncated', { by: 'reset' }],
  ],
  'an end too early': [
    ['text_delta', 'half'],
    ['stream_error', 'truncated', { by: 'end' }],
  ],
}

describe.each(Object.keys(adapters) as WireFormat[])('%s', (format) => {
  test.each(Object.keys(scripts))('%s is replayed with the same events', async (name) => {
    let heard: unknown
    const { proxy, calls } = await recorded(scripts[name] ?? [], async (to) => {
      heard = await outcomeOf(adapters[format](to))
    })
    const played = await outcomeOf(replay(proxy.cassette(), { match: () => true }))
    expect(withoutTransport(played)).toEqual(withoutTransport(heard))
    expect(calls).toMatchObject([{ format, model: 'some-model' }])
    expect(JSON.stringify(calls)).not.toContain(key)
  })

  test('the request is recorded as the library knows it', async () => {
    const { calls } = await recorded(greeting, (to) => outcomeOf(adapters[format](to)))
    const [{ request: read }] = calls as [CassetteCall]
    expect(read).toMatchObject({
      model: 'some-model',
      messages: request.messages,
      tools: [{ name: 'weather', description: 'The weather.' }],
    })
    expect(read.temperature).toBe(0.5)
  })

  test('a client that leaves is recorded as far as it read', async () => {
    const script: Script = [
      ['text', 'one'],
      ['delay', 3_600_000],
      ['text', 'two'],
    ]
    const { calls } = await recorded(script, async (to) => {
      const leave = new AbortController()
      const stream = adapters[format](to).stream(request, { signal: leave.signal })
      for await (const batch of stream) if (batch.some(({ type }) => type === 'text_delta')) break
      leave.abort()
    })
    expect(calls[0]).toMatchObject({ cut: true })
    expect(JSON.stringify(calls[0]?.script)).toContain('one')
  })
})

/** The words about a connection, which the platform chooses. */
function withoutTransport(outcome: unknown): unknown {
  return JSON.parse(
    JSON.stringify(outcome, (name, value: unknown) =>
      (name === 'message' &&
        typeof value === 'string' &&
        /reached|broke|ended early/.test(value)) ||
      name === 'cause' ||
      name === 'code'
        ? undefined
        : value,
    ),
  )
}

const wholeAnswer = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-4o',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: `Your key is ${key}.` },
      finish_reason: 'stop',
    },
  ],
})

const ask = (proxy: RecordingProxy, headers: Record<string, string> = {}, body?: string | Buffer) =>
  rawCall(`${proxy.url}/v1/chat/completions`, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body:
      body ??
      JSON.stringify({
        model: 'gpt-4o',
        messages: [{ role: 'user', content: `my key is ${key}` }],
      }),
  })

describe('secrets', () => {
  test('a key that is in the request and in the answer is in no recording', async () => {
    const { proxy, calls } = await recorded(
      (_request, response) => response.end(wholeAnswer),
      (to) => ask(to),
    )
    const text = stringifyCassette(proxy.cassette())
    expect(text).not.toContain(key)
    expect(trajectory(proxy.cassette())[0]).toEqual({
      type: 'text',
      text: 'Your key is [redacted].',
    })
    expect(calls[0]?.request.messages).toEqual([user('my key is [redacted]')])
  })

  test('a key in the address of Gemini is a key too', async () => {
    const secret = 'plain-looking-words-of-a-key'
    const { proxy } = await recorded(greeting, (to) =>
      rawCall(`${to.url}/v1beta/models/m:generateContent?key=${secret}`, {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          contents: [{ role: 'user', parts: [{ text: `it is ${secret}` }] }],
        }),
      }),
    )
    expect(proxy.cassette().calls[0]?.request.messages).toEqual([user('it is [redacted]')])
  })

  test('what redact names is left out, and what looks like a secret is refused, or masked', async () => {
    const github = `ghp_${'a1'.repeat(18)}`
    const body = JSON.stringify({
      model: 'gpt-4o',
      messages: [
        { role: 'user', content: `{"iban":"DE02120300000000202051","token":"${github}"}` },
      ],
    })
    const made = (options: RecordingProxyOptions): Promise<{ readonly proxy: RecordingProxy }> =>
      recorded(
        (_request, response) => response.end(wholeAnswer),
        (to) => ask(to, {}, body),
        options,
      )
    const plain = await made({})
    expect(() => stringifyCassette(plain.proxy.cassette())).toThrow('GitHub token')
    const masked = await made({ secrets: 'mask', redact: { names: ['iban'] } })
    expect(stringifyCassette(masked.proxy.cassette())).not.toMatch(/ghp_|DE02/)
  })
})

describe('encodings', () => {
  test.each([
    ['gzip', gzipSync(wholeAnswer)],
    ['deflate', deflateSync(wholeAnswer)],
    ['br', brotliCompressSync(wholeAnswer)],
  ])('an answer in %s is recorded decoded', async (encoding, bytes) => {
    const { calls } = await recorded(
      (_request, response) => {
        response.writeHead(200, {
          'content-encoding': encoding,
          'content-type': 'application/json',
        })
        response.end(bytes)
      },
      (to) => ask(to, { 'accept-encoding': encoding }),
    )
    expect(JSON.stringify(calls[0]?.script)).toContain('Your key is')
  })

  test('a request in gzip is read, and passed on as it came', async () => {
    const body = gzipSync(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] }),
    )
    let length = ''
    const { calls } = await recorded(
      ({ headers }, response) => {
        length = headers['content-length'] ?? ''
        response.end(wholeAnswer)
      },
      (to) => ask(to, { 'content-encoding': 'gzip' }, body),
    )
    expect(length).toBe(String(body.length))
    expect(calls[0]?.request.messages).toEqual([user('hi')])
  })

  test('an answer in an encoding that is not known passes, and is told of', async () => {
    const skipped: RequestNote[] = []
    const { calls } = await recorded(
      (_request, response) => {
        response.writeHead(200, { 'content-encoding': 'rot13' })
        response.end('x')
      },
      async (to) => expect((await ask(to))?.status).toBe(200),
      { onNote: (one) => skipped.push(one) },
    )
    expect(calls).toEqual([])
    expect(skipped).toMatchObject([
      { type: 'not_recorded', reason: 'its answer is encoded as rot13' },
    ])
  })
})

describe('limits', () => {
  test('an answer that is too long passes, and is told of', async () => {
    const skipped: RequestNote[] = []
    const { calls } = await recorded(
      (_request, response) => response.end('x'.repeat(5000)),
      async (to) => expect((await ask(to))?.body).toHaveLength(6668),
      { maxRecordedBytes: 1000, onNote: (one) => skipped.push(one) },
    )
    expect(calls).toEqual([])
    expect(skipped).toMatchObject([
      { type: 'not_recorded', reason: 'its answer is too long to be recorded' },
    ])
  })

  test('a compressed answer that grows beyond the limit is not recorded', async () => {
    const bomb = gzipSync(Buffer.alloc(5_000_000))
    const { calls } = await recorded(
      (_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip' })
        response.end(bomb)
      },
      (to) => ask(to),
      { maxRecordedBytes: 100_000 },
    )
    expect(calls).toEqual([])
  })

  test('calls beyond maxCalls pass, and are told of', async () => {
    const skipped: RequestNote[] = []
    const { calls } = await recorded(
      (_request, response) => response.end(wholeAnswer),
      async (to) => {
        for (let made = 0; made < 3; made++) await ask(to)
      },
      { maxCalls: 2, onNote: (one) => skipped.push(one) },
    )
    expect(calls).toHaveLength(2)
    expect(skipped).toMatchObject([{ type: 'not_recorded', reason: 'more than 2 calls were made' }])
  })
})

test('calls are in the order in which they began, and each is told of when it ends', async () => {
  const told: unknown[] = []
  const waiting: (() => void)[] = []
  const { calls } = await recorded(
    ({ body }, response) => {
      const end = (): void => void response.end(wholeAnswer)
      if (body.includes('slow')) waiting.push(end)
      else end()
    },
    async (to) => {
      const body = (content: string): string =>
        JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })
      const slow = ask(to, {}, body('slow'))
      while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve))
      await ask(to, {}, body('fast'))
      for (const end of waiting) end()
      await slow
    },
    { onCall: ({ request: { messages } }) => told.push(messages[0]?.content) },
  )
  expect(calls.map(({ request: { messages } }) => messages[0]?.content)).toEqual(['slow', 'fast'])
  expect(told).toEqual(['fast', 'slow'])
})

test('a request that was refused here is recorded as refused', async () => {
  const { calls } = await recorded(greeting, (to) => ask(to, {}, '{"model":"m","messages":[]}'))
  expect(calls[0]?.script[0]).toMatchObject(['failure', 'invalid_request', { status: 400 }])
})
