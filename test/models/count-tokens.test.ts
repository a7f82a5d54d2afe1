import { expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import type { JsonObject } from '../../src/core/types/json.ts'
import { gemini } from '../../src/gemini.ts'
import {
  countTokens,
  createEngine,
  generate,
  jsonSchema,
  tool,
  type ChatAdapter,
} from '../../src/index.ts'
import { fallback, limit } from '../../src/middleware.ts'
import { azure, openai, openaiChat } from '../../src/openai.ts'
import { createFakeServer, type FakeServer } from '../../src/server.ts'
import { fake } from '../../src/testing.ts'

const apiKey = 'a-test-key'

const look = tool({ name: 'look', description: 'Looks.', schema: {}, handler: () => 'seen' })

const makers: Readonly<Record<string, (server: FakeServer) => ChatAdapter>> = {
  openai: (server) => openai({ baseUrl: server.openaiBaseUrl, apiKey, model: 'gpt-5' }),
  anthropic: (server) =>
    anthropic({ baseUrl: server.anthropicBaseUrl, apiKey, model: 'claude-sonnet-4-6' }),
  gemini: (server) => gemini({ baseUrl: server.geminiBaseUrl, apiKey, model: 'gemini-2.5-flash' }),
}

test.each(Object.entries(makers))(
  '%s counts what a call would send: messages, instructions, tools and format',
  async (_name, make) => {
    await using server = await createFakeServer({ script: [['text', '{}']] })
    const adapter = make(server)
    const engine = createEngine({
      adapter,
      tools: [look],
      instructions: 'Be brief.',
      temperature: 0.5,
      maxTokens: 100,
      responseFormat: jsonSchema('place', { type: 'object', properties: {} }),
    })
    const { inputTokens } = await countTokens(engine, 'hi')
    const bare = await countTokens(createEngine({ adapter }), 'hi')
    expect(inputTokens).toBeGreaterThan(bare.inputTokens)
    await generate(engine, 'hi')
    const [counted, , sent] = server.requests
    expect([counted?.method, counted?.status]).toEqual(['POST', 200])
    expect(counted?.path).toMatch(/input_tokens$|count_tokens$|:countTokens$/)
    const body = (counted?.body ?? {}) as JsonObject
    const inner = (body['generateContentRequest'] ?? body) as JsonObject
    // Every part of it is as in the call that is answered.
    const { model, ...parts } = inner
    expect(model).toMatch(/^(gpt-5|claude-sonnet-4-6|models\/gemini-2\.5-flash)$/)
    expect(sent?.body).toMatchObject(parts)
    expect(Object.keys(inner)).toContain('tools')
  },
)

test.each<[string, ChatAdapter, RegExp]>([
  ['Chat Completions', openaiChat({ apiKey, model: 'm' }), /openaiResponses/],
  ['a preset', openaiChat({ preset: 'ollama', model: 'm' }), /does not count tokens on ollama/],
  ['azure', azure({ resource: 'r', deployment: 'd', apiKey }), /does not count tokens on azure/],
  ['a stranger', { provider: 'mine', async *stream() {} }, /does not count tokens on mine/],
])('%s cannot, and says so before anything is sent', async (_name, adapter, message) => {
  const call = countTokens(createEngine({ adapter }), 'hi')
  await expect(call).rejects.toMatchObject({ reason: 'unsupported_feature' })
  await expect(call).rejects.toThrow(message)
})

test('a fallback counts by its first adapter, with the key of that one', async () => {
  await using server = await createFakeServer({ script: [['text', 'hi']] })
  const keys: unknown[] = []
  const first = anthropic({
    baseUrl: server.anthropicBaseUrl,
    model: 'claude-sonnet-4-6',
    fetch: (url, init) => {
      keys.push(new Headers(init.headers).get('x-api-key'))
      return fetch(url, init)
    },
  })
  const adapter = limit(fallback([first, fake({ script: [['text', 'never']] })]), {
    concurrency: 1,
  })
  const engine = createEngine({ adapter, keys: { anthropic: apiKey } })
  expect((await countTokens(engine, 'hi')).inputTokens).toBeGreaterThan(0)
  expect(server.requests.map(({ path }) => path)).toEqual(['/v1/messages/count_tokens'])
  expect(keys).toEqual([apiKey])
})

test('a fallback asks the method of its first adapter, with the key of that one', async () => {
  const seen: unknown[] = []
  const mine: ChatAdapter = {
    provider: 'mine',
    key: { required: true, own: false },
    async *stream() {},
    async countTokens(_request, options) {
      seen.push(options?.apiKey)
      return { inputTokens: 7 }
    },
  }
  const adapter = fallback([mine, fake({ script: [['text', 'never']] })])
  const engine = createEngine({ adapter, keys: { mine: apiKey } })
  expect(await countTokens(engine, 'hi')).toEqual({ inputTokens: 7 })
  expect(seen).toEqual([apiKey])
})

test('an adapter may count by itself, also behind a middleware', async () => {
  const own: ChatAdapter = {
    provider: 'mine',
    async *stream() {},
    countTokens: async ({ messages }) => ({ inputTokens: messages.length }),
  }
  expect(await countTokens(createEngine({ adapter: own }), 'hi')).toEqual({ inputTokens: 1 })
  const limited = createEngine({ adapter: limit(own, { concurrency: 1 }) })
  expect(await countTokens(limited, 'hi')).toEqual({ inputTokens: 1 })
})

test('the fake counts a fourth of the characters, and takes no script', async () => {
  const adapter = fake({ script: [['text', 'hi']] })
  const engine = createEngine({ adapter })
  const short = await countTokens(engine, 'hi')
  expect(await countTokens(engine, 'hi')).toEqual(short)
  const long = await countTokens(engine, 'hi'.repeat(201))
  expect(long.inputTokens - short.inputTokens).toBe(100)
  expect(adapter.calls).toEqual([])
})

test('an answer without a count, a refusal and an abort are told', async () => {
  const answering = (response: () => Response) =>
    createEngine({
      adapter: anthropic({ apiKey, model: 'claude-sonnet-4-6', fetch: async () => response() }),
      retry: false,
    })
  await expect(
    countTokens(
      answering(() => new Response('{}')),
      'hi',
    ),
  ).rejects.toMatchObject({
    reason: 'malformed_response',
  })
  const refusing = answering(() => new Response('{"error":{"message":"no"}}', { status: 400 }))
  await expect(countTokens(refusing, 'hi')).rejects.toMatchObject({ reason: 'invalid_request' })
  const signal = AbortSignal.abort()
  await expect(countTokens(refusing, 'hi', { signal })).rejects.toMatchObject({
    reason: 'cancelled',
  })
})
