import { GoogleGenAI } from '@google/genai'
import OpenAI, { AzureOpenAI } from 'openai'
import { describe, expect, test } from 'vitest'
import { createEngine, embed, type Embedding } from '../../../src/index.ts'
import { openaiEmbeddings } from '../../../src/openai.ts'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'
import { hasOracles, loadOracle } from './wire/shared.ts'

function openai(server: FakeServer): OpenAI {
  return new OpenAI({ baseURL: server.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0 })
}

function google(server: FakeServer): GoogleGenAI {
  return new GoogleGenAI({ apiKey: 'AIza-test', httpOptions: { baseUrl: server.url } })
}

describe('the official OpenAI package', () => {
  const vectors = [
    [0.5, -0.25],
    [1, 0],
  ]

  test('reads vectors as base64, which it asks for, and as numbers', async () => {
    const usage = { inputTokens: 5 }
    await using server = await createFakeServer({
      embeddings: [
        ['ok', vectors, { usage }],
        ['ok', vectors, { usage }],
      ],
    })
    const asked = { model: 'text-embedding-3-small', input: ['a', 'b'] }
    const plain = await openai(server).embeddings.create(asked)
    expect(plain.data.map(({ embedding }) => Array.from(embedding))).toEqual(vectors)
    expect(plain.usage).toEqual({ prompt_tokens: 5, total_tokens: 5 })
    expect(server.requests[0]).toMatchObject({ body: { encoding_format: 'base64' } })
    const numbers = await openai(server).embeddings.create({ ...asked, encoding_format: 'float' })
    expect(numbers.data).toEqual(
      vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    )
  })

  test('gets vectors of its words without a script', async () => {
    await using server = await createFakeServer()
    const { data, model } = await openai(server).embeddings.create({
      model: 'm',
      input: 'a kestrel',
      dimensions: 16,
    })
    expect(data[0]?.embedding).toHaveLength(16)
    expect(model).toBe('m')
  })

  test('gets the tokens of an answer whose script does not count them', async () => {
    await using server = await createFakeServer({
      embeddings: [
        ['ok', vectors],
        ['ok', vectors, { model: 'm-2' }],
        ['ok', vectors, { usage: { totalTokens: 9 } }],
        ['ok', vectors, { usage: {} }],
      ],
    })
    const asked = { model: 'm', input: ['a kestrel', 'two small herons'] }
    const create = async (): Promise<unknown> =>
      (await openai(server).embeddings.create(asked)).usage
    expect(await create()).toEqual({ prompt_tokens: 5, total_tokens: 5 })
    expect(await create()).toEqual({ prompt_tokens: 5, total_tokens: 5 })
    expect(await create()).toEqual({ prompt_tokens: 9, total_tokens: 9 })
    // Some servers that speak this format count nothing. A script that says so is sent as it is.
    expect(await create()).toBeUndefined()
  })

  test('gets the refusals of a script', async () => {
    await using server = await createFakeServer({
      embeddings: [
        ['error', { kind: 'adapter', reason: 'context_length_exceeded', message: 'Too long.' }],
      ],
    })
    const create = () => openai(server).embeddings.create({ model: 'm', input: 'x' })
    await expect(create()).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' })
    await expect(create()).rejects.toMatchObject({ status: 501, code: 'no_scripted_response' })
  })

  test('finds a deployment of Azure', async () => {
    await using server = await createFakeServer()
    const apiVersion = '2024-10-21'
    const azure = new AzureOpenAI({ endpoint: server.url, apiKey: 'k', apiVersion, maxRetries: 0 })
    const { data } = await azure.embeddings.create({ model: 'my-embedder', input: 'x' })
    expect(data).toHaveLength(1)
    expect(server.requests[0]?.path).toBe(
      '/openai/deployments/my-embedder/embeddings?api-version=2024-10-21',
    )
  })

  test.each<[object, string]>([
    [{ model: 'm' }, 'input'],
    [{ input: 'x' }, 'model'],
    [{ model: 'm', input: '' }, 'input'],
    [{ model: 'm', input: [] }, 'input'],
    [{ model: 'm', input: Array.from({ length: 2049 }, () => 'x') }, 'input'],
    [{ model: 'm', input: [true] }, 'input[0]'],
    [{ model: 'm', input: 'x', encoding_format: 'int8' }, 'encoding_format'],
    [{ model: 'm', input: 'x', dimensions: 'many' }, 'dimensions'],
    [{ model: 'm', input: 'x', task: 'y' }, 'task'],
  ])('a request is refused for its parameter', async (body, param) => {
    await using server = await createFakeServer()
    const response = await post(`${server.openaiBaseUrl}/embeddings`, body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { param } })
  })
})

test('an ingest that one refusal interrupts goes on with the rest: no text is served twice', async () => {
  const refused = 6
  const faults = [...Array<null>(refused).fill(null), { status: 400 }]
  await using server = await createFakeServer({ faults })
  const embeddingAdapter = openaiEmbeddings({
    baseUrl: server.openaiBaseUrl,
    apiKey: 'sk-test',
    model: 'm',
    limits: { maxTexts: 10 },
  })
  const engine = createEngine({ embeddingAdapter })
  const texts = Array.from({ length: 200 }, (_, at) => `paragraph number${at}`)
  const stored = new Map<string, Embedding>()
  const ingest = async (): Promise<void> => {
    const left = texts.filter((text) => !stored.has(text))
    await embed(engine, left, {
      onBatch({ from, embeddings }) {
        for (const [at, vector] of embeddings.entries()) stored.set(left[from + at] ?? '', vector)
      },
    })
  }
  await expect(ingest()).rejects.toMatchObject({ status: 400 })
  const sent = server.requests.length
  // All that were sent have come, except the one that was refused.
  expect(stored.size).toBe((sent - 1) * 10)
  await ingest()
  expect(stored.size).toBe(200)
  expect(server.requests).toHaveLength(21)
})

describe('the official Google package', () => {
  test('reads the vectors of several texts', async () => {
    await using server = await createFakeServer({
      embeddings: [
        [
          'ok',
          [
            [1, 2],
            [3, 4],
          ],
        ],
      ],
    })
    const { embeddings } = await google(server).models.embedContent({
      model: 'gemini-embedding-001',
      contents: ['a', 'b'],
      config: { outputDimensionality: 2, taskType: 'RETRIEVAL_QUERY' },
    })
    expect(embeddings).toEqual([{ values: [1, 2] }, { values: [3, 4] }])
    expect(server.requests[0]?.path).toBe('/v1beta/models/gemini-embedding-001:batchEmbedContents')
  })

  test('gets vectors of its words without a script, and refusals in its own words', async () => {
    await using server = await createFakeServer()
    const { embeddings } = await google(server).models.embedContent({
      model: 'm',
      contents: 'a kestrel',
      config: { outputDimensionality: 3 },
    })
    expect(embeddings?.[0]?.values).toHaveLength(3)
    await using failing = await createFakeServer({
      embeddings: [['error', { kind: 'adapter', reason: 'rate_limited', message: 'Slow.' }]],
    })
    const call = google(failing).models.embedContent({ model: 'm', contents: 'x' })
    await expect(call).rejects.toThrow('RESOURCE_EXHAUSTED')
  })

  test('a single text has a path of its own', async () => {
    await using server = await createFakeServer()
    const content = { parts: [{ text: 'a' }, { text: ' kestrel' }] }
    const response = await post(`${server.geminiBaseUrl}/models/m:embedContent`, { content })
    expect(await response.json()).toEqual({ embedding: { values: expect.any(Array) as number[] } })
    const get = await fetch(`${server.geminiBaseUrl}/models/m:embedContent?key=k`)
    expect(get.status).toBe(405)
  })

  const text = { content: { parts: [{ text: 'a' }] } }
  test.each<[object, string]>([
    [{}, 'at least one request'],
    [{ requests: [] }, 'at least one request'],
    [{ requests: [], texts: [] }, 'Unknown name "texts"'],
    [{ requests: Array.from({ length: 101 }, () => text) }, 'at most 100 requests'],
    [{ requests: [{ ...text, model: 'models/other' }] }, 'must match the model in the path'],
    [{ requests: [{ ...text, model: 'models/m', dimensions: 3 }] }, 'Unknown name "dimensions"'],
    [{ requests: [{ model: 'models/m', content: { parts: [] } }] }, 'content is empty'],
  ])('a batch is refused as Gemini does it', async (body, message) => {
    await using server = await createFakeServer()
    const response = await post(`${server.geminiBaseUrl}/models/m:batchEmbedContents`, body)
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(message.replaceAll('"', '\\"'))
  })
})

describe('reranking', () => {
  test.each(['/v1/rerank', '/v2/rerank'])('%s ranks by words without a script', async (path) => {
    await using server = await createFakeServer()
    const asked = { model: 'm', query: 'a kestrel', documents: ['a wren', 'a kestrel'], top_n: 1 }
    const response = await post(`${server.url}${path}`, asked)
    expect(await response.json()).toEqual({
      id: 'rerank-req_fake_1',
      object: 'list',
      model: 'm',
      results: [{ index: 1, relevance_score: 1 }],
    })
  })

  test('a script is sent as it is', async () => {
    const results = [
      { index: 0, score: 0.1 },
      { index: 7, score: 0.9 },
    ]
    await using server = await createFakeServer({
      rerank: [['ok', results, { usage: { inputTokens: 3 } }]],
    })
    const response = await post(`${server.url}/v1/rerank`, { query: 'q', documents: ['a'] })
    expect(await response.json()).toMatchObject({
      results: [
        { index: 0, relevance_score: 0.1 },
        { index: 7, relevance_score: 0.9 },
      ],
      usage: { prompt_tokens: 3, total_tokens: 3 },
    })
  })

  test.each<[object, string]>([
    [{ documents: ['a'] }, 'query'],
    [{ query: 'q' }, 'documents'],
    [{ query: 1, documents: ['a'] }, 'query'],
    [{ query: 'q', documents: 'a' }, 'documents'],
    [{ query: 'q', documents: [] }, 'documents'],
    [{ query: 'q', documents: ['a'], top_n: '1' }, 'top_n'],
  ])('%j is refused', async (body, param) => {
    await using server = await createFakeServer()
    const response = await post(`${server.url}/v1/rerank`, body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { param } })
  })
})

test.each(['embeddings', 'rerank'])('an invalid script of %s is refused', async (kind) => {
  await expect(createFakeServer({ [kind]: [['oops']] })).rejects.toThrow('unknown tag "oops"')
})

describe.skipIf(!hasOracles)('by the published descriptions in ../shared/oracles', () => {
  test('the answers of both providers are valid', async () => {
    const validate = await loadOracle('default', true)
    const entry = [
      'ok',
      [
        [1, 0],
        [0, 1],
      ],
    ] as const
    const counted = [...entry, { usage: { inputTokens: 2 } }] as const
    const eight = <T>(one: T): readonly T[] => Array.from({ length: 8 }, () => one)
    for (const embeddings of [undefined, eight(entry), eight(counted)]) {
      await using server = await createFakeServer({ embeddings })
      for (const encoding_format of ['float', 'base64']) {
        for (const input of [['a', 'b'], 'a b', [1, 2], '...']) {
          const asked = { model: 'm', input, encoding_format }
          const response = await post(`${server.openaiBaseUrl}/embeddings`, asked)
          expect(response.status).toBe(200)
          expect(validate('openai.embeddings.response', await response.json())).toEqual([])
        }
      }
    }
    for (const embeddings of [undefined, [entry], [counted]]) {
      await using server = await createFakeServer({ embeddings })
      const requests = ['a', 'b'].map((text) => ({
        model: 'models/m',
        content: { parts: [{ text }] },
      }))
      const path = `${server.geminiBaseUrl}/models/m:batchEmbedContents`
      const body: unknown = await (await post(path, { requests })).json()
      // The published answer has no counts.
      expect(validate('gemini.batchEmbed.response', body)).toEqual([])
    }
  })
})

function post(url: string, body: object): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      authorization: 'Bearer k',
      'x-goog-api-key': 'k',
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  })
}
