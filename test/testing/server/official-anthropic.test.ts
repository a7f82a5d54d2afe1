import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { providerItem, textPart } from '../../../src/index.ts'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'
import type { Script } from '../../../src/testing.ts'
import { drain } from './drain.ts'
import { cited, greeting, parallelCalls, thinking } from './scripts.ts'

function client(server: FakeServer, options: object = {}): Anthropic {
  return new Anthropic({ baseURL: server.url, apiKey: 'sk-ant-test', maxRetries: 0, ...options })
}

const ask = {
  model: 'claude-test',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'hi' }],
}

/** The answer to a script, once as a body and once as a stream that the package folds. */
async function bothWays(script: Script): Promise<readonly Anthropic.Message[]> {
  await using server = await createFakeServer({ scripts: [script, script] })
  return [
    await client(server).messages.create(ask),
    await client(server).messages.stream(ask).finalMessage(),
  ]
}

test('text and usage arrive, streamed and not', async () => {
  for (const message of await bothWays(greeting)) {
    expect(message.content).toMatchObject([{ type: 'text', text: 'Hello, wörld 🦊' }])
    expect(message).toMatchObject({ role: 'assistant', stop_reason: 'end_turn' })
    // Cached reads are counted apart here.
    expect(message.usage).toMatchObject({
      input_tokens: 12,
      cache_read_input_tokens: 8,
      output_tokens: 12,
      output_tokens_details: { thinking_tokens: 5 },
    })
  }
})

test('a server tool and a citation arrive as the package knows them', async () => {
  const use = {
    type: 'server_tool_use',
    id: 'srvtoolu_1',
    name: 'web_search',
    input: { query: 'x' },
  }
  for (const message of await bothWays(cited('anthropic', use))) {
    const citation = { type: 'web_search_result_location', url: 'https://example.com' }
    expect(message.content).toMatchObject([use, { type: 'text', citations: [citation] }])
  }
})

test('the server tools and citations of an answer are taken back as they came', async () => {
  const use = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} }
  const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
  const content = [use, found].map((item) => providerItem('anthropic', item))
  const url = 'https://example.com'
  const citation = { type: 'web_search_result_location', url, title: 'Paris', cited_text: 'Paris' }
  const source = { type: 'url', url, title: 'Paris', text: 'Paris', start: 0, end: 13 } as const
  const message = {
    role: 'assistant',
    content: [...content, textPart('Paris is big.')],
    sources: [source],
  } as const
  await using server = await createFakeServer({ scripts: [[['ok', { message }]], greeting] })
  const first = await client(server).messages.create(ask)
  expect(first.content).toMatchObject([use, found, { type: 'text', citations: [citation] }])
  const { content: blocks } = first
  await client(server).messages.create({
    ...ask,
    messages: [
      ...ask.messages,
      { role: 'assistant', content: blocks },
      { role: 'user', content: 'And?' },
    ],
  })
  expect(server.requests[1]?.body).toMatchObject({ messages: [{}, { content: blocks }, {}] })
})

test('the deltas of a stream are those of the script', async () => {
  await using server = await createFakeServer({ script: greeting })
  const deltas: string[] = []
  await client(server)
    .messages.stream(ask)
    .on('text', (delta) => deltas.push(delta))
    .finalMessage()

  expect(deltas).toEqual(['Hello', ', wörld 🦊'])
})

test('parallel calls arrive whole, streamed and not', async () => {
  for (const message of await bothWays(parallelCalls)) {
    expect(message.stop_reason).toBe('tool_use')
    expect(message.content).toMatchObject([
      { type: 'tool_use', id: 'call_a', name: 'get_weather', input: { city: 'Paris' } },
      { type: 'tool_use', id: 'call_b', name: 'get_time', input: { zone: 'CET' } },
    ])
  }
})

test('thinking has its signature', async () => {
  for (const message of await bothWays(thinking({ signature: 'EqQB' }))) {
    expect(message.content).toMatchObject([
      { type: 'thinking', thinking: 'Let me see.', signature: 'EqQB' },
      { type: 'text', text: '42' },
    ])
  }
})

test('redacted thinking is a block of its own', async () => {
  const script: Script = [
    ['reasoning', '', { opaque: { redacted: 'EmwK' } }],
    ['text', 'ok'],
  ]
  for (const message of await bothWays(script)) {
    expect(message.content[0]).toEqual({ type: 'redacted_thinking', data: 'EmwK' })
  }
})

test.each([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
  ['content_filter', 'refusal'],
  ['other', 'other'],
] as const)('the finish reason %s is %s', async (reason, word) => {
  for (const message of await bothWays([['finish', reason]])) expect(message.stop_reason).toBe(word)
})

test('an answer that gives the provider’s own word for its end ends with it', async () => {
  const paused = { finishReason: 'other', rawFinishReason: 'pause_turn' } as const
  for (const message of await bothWays([['ok', paused]])) {
    expect(message.stop_reason).toBe('pause_turn')
  }
})

describe('errors', () => {
  test.each([
    ['authentication_failed', Anthropic.AuthenticationError, 'authentication_error'],
    ['rate_limited', Anthropic.RateLimitError, 'rate_limit_error'],
    ['invalid_request', Anthropic.BadRequestError, 'invalid_request_error'],
    ['provider_unavailable', Anthropic.InternalServerError, 'overloaded_error'],
  ] as const)('%s is the error that the package has for it', async (reason, type, word) => {
    await using server = await createFakeServer({ script: [['preflight_error', reason, {}]] })
    const error = await client(server)
      .messages.create(ask)
      .catch((thrown: unknown) => thrown)

    expect(error).toBeInstanceOf(type)
    expect(error).toMatchObject({
      type: word,
      requestID: 'req_fake_1',
      error: { type: 'error', request_id: 'req_fake_1' },
    })
  })

  test('a failure inside a stream is thrown in its midst', async () => {
    await using server = await createFakeServer({
      script: [
        ['text', 'Once upon'],
        ['error', 'provider_unavailable'],
      ],
    })
    const stream = client(server).messages.stream(ask)

    await expect(stream.finalMessage()).rejects.toMatchObject({ type: 'overloaded_error' })
    expect(stream.currentMessage?.content).toMatchObject([{ type: 'text', text: 'Once upon' }])
  })

  test('the package waits as a refusal asks, and tries again', async () => {
    await using server = await createFakeServer({
      script: greeting,
      faults: [{ status: 529, retryAfterMs: 1 }],
    })
    const message = await client(server, { maxRetries: 1 }).messages.create(ask)

    expect(message.content).toHaveLength(1)
    expect(server.requests.map(({ status }) => status)).toEqual([529, 200])
  })

  test('a call beyond the last script says so, and is not tried again', async () => {
    await using server = await createFakeServer({ scripts: [] })
    const call = client(server, { maxRetries: 2 }).messages.create(ask)

    await expect(call).rejects.toThrow('no_scripted_response')
    expect(server.requests).toHaveLength(1)
  })
})

test('the models are listed', async () => {
  await using server = await createFakeServer({ models: ['claude-x', 'claude-y'] })
  const models = await drain(client(server).models.list())

  expect(models.map(({ id }) => id)).toEqual(['claude-x', 'claude-y'])
})

test('the models are listed with their names and limits', async () => {
  const large = { id: 'claude-x', name: 'X', inputTokenLimit: 1_000_000, outputTokenLimit: 64_000 }
  await using server = await createFakeServer({ models: [large, 'claude-y'] })
  const [x, y] = await drain(client(server).models.list())
  const told = { display_name: 'X', max_input_tokens: 1_000_000, max_tokens: 64_000 }

  expect(x).toMatchObject(told)
  expect(await client(server).models.retrieve('claude-x')).toMatchObject(told)
  expect(y).not.toHaveProperty('max_input_tokens')
})

test('documents and images arrive from the user and in a tool result, and what the API refuses is refused', async () => {
  await using server = await createFakeServer({ scripts: [greeting, greeting] })
  const pdf: Anthropic.DocumentBlockParam = {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjc=' },
    title: 'a.pdf',
  }
  const image: Anthropic.ImageBlockParam = {
    type: 'image',
    source: { type: 'url', url: 'https://example.com/a.png' },
  }
  await client(server).messages.create({
    ...ask,
    messages: [
      { role: 'user', content: [pdf, image] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'scan', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'a', content: [pdf, image] }],
      },
    ],
  })
  const wav = { type: 'base64', media_type: 'audio/wav', data: 'UklGRg==' }
  const wrong = { type: 'document', source: wav } as unknown as Anthropic.DocumentBlockParam
  await expect(
    client(server).messages.create({ ...ask, messages: [{ role: 'user', content: [wrong] }] }),
  ).rejects.toThrow("Input should be 'application/pdf'")
})

test('tokens are counted, and what an answer would need is refused', async () => {
  await using server = await createFakeServer({ script: greeting })
  const { max_tokens: _length, ...counted } = ask
  const { input_tokens: tokens } = await client(server).messages.countTokens({
    ...counted,
    system: 'Be brief.',
  })
  expect(tokens).toBeGreaterThan(5)
  const again = await client(server).messages.countTokens({ ...counted, system: 'Be brief.' })
  expect(again.input_tokens).toBe(tokens)
  await expect(client(server).messages.countTokens(ask)).rejects.toThrow(/max_tokens/)
  await expect(client(server).messages.countTokens({ ...counted, messages: [] })).rejects.toThrow()
})
