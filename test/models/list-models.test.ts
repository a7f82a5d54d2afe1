import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import { gemini } from '../../src/gemini.ts'
import { createEngine, listModels, type ChatAdapter } from '../../src/index.ts'
import { limit } from '../../src/middleware.ts'
import { azure, openai, openaiChat, openaiResponses } from '../../src/openai.ts'
import { createFakeServer } from '../../src/server.ts'
import { fake, virtualClock } from '../../src/testing.ts'
import { hasShared, recordedCases } from '../support/recordings.ts'

type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** A provider that answers with these pages in turn, and what it was asked. */
function pages(...answers: readonly unknown[]): {
  readonly asked: string[]
  readonly fetch: Fetch
} {
  const asked: string[] = []
  const fetch: Fetch = async (url, { method, body, headers }) => {
    asked.push(`${method} ${url}`)
    expect(body).toBeUndefined()
    expect(JSON.stringify(headers)).toContain('a-test-key')
    const answer = answers[asked.length - 1]
    return answer instanceof Response ? answer : new Response(JSON.stringify(answer))
  }
  return { asked, fetch }
}

const apiKey = 'a-test-key'

test('a list of OpenAI is one page', async () => {
  const { asked, fetch } = pages({
    object: 'list',
    data: [{ id: 'gpt-5', object: 'model', created: 1_700_000_000, owned_by: 'openai' }, 7, {}],
  })
  const [model, ...others] = await listModels(openai({ apiKey, fetch }))
  expect(others).toEqual([])
  expect(model).toEqual({
    id: 'gpt-5',
    created: 1_700_000_000_000,
    metadata: { id: 'gpt-5', object: 'model', created: 1_700_000_000, owned_by: 'openai' },
  })
  expect(asked).toEqual(['GET https://api.openai.com/v1/models'])
})

test('the pages of Anthropic are read to the last', async () => {
  const entry = (id: string) => ({
    type: 'model',
    id,
    display_name: id.toUpperCase(),
    created_at: '2025-05-22T00:00:00Z',
    max_input_tokens: 200_000,
    max_tokens: 64_000,
  })
  const { asked, fetch } = pages(
    { data: [entry('a'), entry('b')], has_more: true, first_id: 'a', last_id: 'b' },
    { data: [entry('c')], has_more: false, first_id: 'c', last_id: 'c' },
  )
  const models = await listModels(anthropic({ apiKey, fetch }))
  expect(models.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  expect(models[0]).toMatchObject({
    name: 'A',
    created: Date.parse('2025-05-22T00:00:00Z'),
    inputTokenLimit: 200_000,
    outputTokenLimit: 64_000,
  })
  const base = 'GET https://api.anthropic.com/v1/models'
  expect(asked).toEqual([base, `${base}?after_id=b`])
})

test('the pages of Gemini are read to the last, and names are what a request takes', async () => {
  const entry = {
    name: 'models/gemini-x',
    displayName: 'X',
    inputTokenLimit: 8,
    outputTokenLimit: 4,
  }
  const { asked, fetch } = pages({ models: [entry], nextPageToken: 'p2' }, { models: [] })
  const models = await listModels(gemini({ apiKey, fetch }))
  expect(models).toEqual([
    { id: 'gemini-x', name: 'X', inputTokenLimit: 8, outputTokenLimit: 4, metadata: entry },
  ])
  expect(asked.map((url) => new URL(url.slice(4)).search)).toEqual(['', '?pageToken=p2'])
})

test.each([
  [
    'OpenRouter',
    {
      data: [{ id: 'a', name: 'A', context_length: 9, top_provider: { max_completion_tokens: 4 } }],
    },
  ],
  ['Groq', { data: [{ id: 'a', context_window: 9, max_completion_tokens: 4 }] }],
  [
    'Together, whose answer is the list',
    [{ id: 'a', display_name: 'A', context_length: 9, max_tokens: 4 }],
  ],
  ['Mistral and vLLM', { data: [{ id: 'a', max_context_length: 9, max_output_tokens: 4 }] }],
])('the words of compatible servers are known: %s', async (_name, answer) => {
  const { fetch } = pages(answer)
  const [model] = await listModels(openaiChat({ preset: 'groq', apiKey, fetch }))
  expect(model).toMatchObject({ id: 'a', inputTokenLimit: 9, outputTokenLimit: 4 })
})

test('a server that names the same page for ever is left', async () => {
  const page = { models: [{ name: 'models/a' }], nextPageToken: 'again' }
  const { asked, fetch } = pages(...Array.from({ length: 200 }, () => page))
  expect(await listModels(gemini({ apiKey, fetch }))).toHaveLength(2)
  expect(asked).toHaveLength(2)
})

test.each([[{}], ['text'], [{ data: 'no list' }], [null]])(
  '%j is no list of models',
  async (answer) => {
    const { fetch } = pages(answer)
    await expect(listModels(openai({ apiKey, fetch }))).rejects.toMatchObject({
      reason: 'malformed_response',
      provider: 'openai',
    })
  },
)

test('a refusal that passes is tried again by the clock of the engine, and one that does not is told', async () => {
  const busy = (): Response => new Response('{}', { status: 429, headers: { 'retry-after': '20' } })
  const clock = virtualClock()
  const { asked, fetch } = pages(busy(), { data: [{ id: 'a' }] })
  const adapter = openai({ fetch })
  const models = await listModels(createEngine({ adapter, keys: { openai: apiKey }, clock }))
  expect(clock.now()).toBeGreaterThanOrEqual(20_000)
  expect(models).toHaveLength(1)
  expect(asked).toHaveLength(2)
  const refused = pages(new Response('{"error":{"message":"no"}}', { status: 401 }))
  await expect(listModels(openai({ apiKey, fetch: refused.fetch }))).rejects.toMatchObject({
    reason: 'authentication_failed',
    message: 'no',
  })
})

test('an abort ends it, and nothing is sent after one', async () => {
  const controller = new AbortController()
  const hanging: Fetch = (_url, { signal }) =>
    new Promise((_, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('aborted')))
      controller.abort()
    })
  const call = listModels(openai({ apiKey, fetch: hanging }), { signal: controller.signal })
  await expect(call).rejects.toMatchObject({ reason: 'cancelled' })
  const { asked, fetch } = pages({ data: [] })
  const late = listModels(openai({ apiKey, fetch }), { signal: controller.signal })
  await expect(late).rejects.toMatchObject({ reason: 'cancelled' })
  expect(asked).toEqual([])
})

test('without a key nothing is sent, and the key of the call goes before that of the adapter', async () => {
  const { asked, fetch } = pages({ data: [] })
  await expect(
    listModels(openaiChat({ preset: 'groq', fetch }), { apiKey: ' ' }),
  ).rejects.toMatchObject({ reason: 'missing_key' })
  expect(asked).toEqual([])
  await listModels(openai({ apiKey: 'other', fetch }), { apiKey })
  expect(asked).toHaveLength(1)
})

test.each<[string, ChatAdapter]>([
  ['azure', azure({ resource: 'mine', deployment: 'd', apiKey })],
  ['fake', fake({ script: [['text', 'hi']] })],
])('%s has none, and says so', async (provider, adapter) => {
  await expect(listModels(adapter)).rejects.toMatchObject({
    reason: 'unsupported_feature',
    message: `allm-ts does not list the models of ${provider}`,
  })
})

test('an adapter may have a list of its own, also behind a middleware', async () => {
  const own: ChatAdapter = {
    provider: 'mine',
    async *stream() {},
    listModels: async (options) => [{ id: `of ${options?.requestId}`, metadata: {} }],
  }
  expect(await listModels(own, { requestId: 'r' })).toEqual([{ id: 'of r', metadata: {} }])
  const limited = limit(own, { concurrency: 1 })
  expect(await listModels(limited, { requestId: 'r' })).toHaveLength(1)
  const { fetch } = pages({ data: [{ id: 'a' }] })
  expect(await listModels(limit(openai({ apiKey, fetch }), { concurrency: 1 }))).toHaveLength(1)
})

test('wrong options are refused by name', async () => {
  await expect(listModels(openai(), { timeout: 5 } as object)).rejects.toThrow(/timeout/)
})

test('the fake server lists its models over all three wires', async () => {
  await using server = await createFakeServer({ script: [['text', 'hi']], models: ['a', 'b'] })
  for (const adapter of [
    openaiResponses({ baseUrl: server.openaiBaseUrl, apiKey }),
    anthropic({ baseUrl: server.anthropicBaseUrl, apiKey }),
    gemini({ baseUrl: server.geminiBaseUrl, apiKey }),
  ]) {
    expect((await listModels(adapter)).map(({ id }) => id)).toEqual(['a', 'b'])
  }
})

test('the model with the largest context can be chosen, where the provider tells limits', async () => {
  const models = [
    { id: 'small', inputTokenLimit: 8192, outputTokenLimit: 1024 },
    { id: 'large', name: 'The large one', inputTokenLimit: 500_000, outputTokenLimit: 32_000 },
  ]
  await using server = await createFakeServer({ models })
  for (const adapter of [
    anthropic({ baseUrl: server.anthropicBaseUrl, apiKey }),
    gemini({ baseUrl: server.geminiBaseUrl, apiKey }),
  ]) {
    const listed = await listModels(adapter)
    const [largest] = listed.toSorted(
      (one, other) => (other.inputTokenLimit ?? 0) - (one.inputTokenLimit ?? 0),
    )
    expect(largest).toMatchObject(models[1] ?? {})
    expect(listed[0]).toMatchObject(models[0] ?? {})
  }
})

test.skipIf(!hasShared).each(['openai-models-list-01', 'anthropic-models-01'])(
  'a recorded list is read: %s (../shared/fixtures)',
  async (id) => {
    const folder = recordedCases().find((one) => one.id === id)?.folder ?? ''
    const body = readFileSync(join(folder, 'response.json'), 'utf8')
    const make = id.startsWith('openai') ? openai : anthropic
    const { data } = JSON.parse(body) as { data: readonly { id: string }[] }
    let page = 0
    const models = await listModels(
      make({
        apiKey,
        fetch: async () => new Response(page++ === 0 ? body : '{"data":[],"has_more":false}'),
      }),
    )
    expect(models.map((model) => model.id)).toEqual(data.map((model) => model.id))
    for (const { created } of models) expect(created).toBeGreaterThan(1.5e12)
  },
)
