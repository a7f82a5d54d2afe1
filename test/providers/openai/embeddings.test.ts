import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { EmbeddingRequest } from '../../../src/core/types/models.ts'
import { createEngine, embed } from '../../../src/index.ts'
import { openaiEmbeddings } from '../../../src/openai.ts'
import { createFakeServer } from '../../../src/server.ts'
import { json, sentJson, stubFetch } from '../../models/support.ts'

function request(fields: Partial<EmbeddingRequest> = {}): EmbeddingRequest {
  return { model: 'm', texts: ['a', 'b'], providerOptions: {}, metadata: {}, ...fields }
}

/** An answer with these items. */
function answer(data: unknown, more: object = {}): () => Response {
  return () => json({ object: 'list', model: 'm-1', data, ...more })
}

const item = (index: unknown, embedding: unknown) => ({ object: 'embedding', index, embedding })

/** The bytes that are in use once the rest was collected. */
function heapAfterGc(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
  return process.memoryUsage().heapUsed
}

/** Numbers as base64 of 32-bit floats. */
function base64(...numbers: readonly number[]): string {
  return Buffer.from(new Float32Array(numbers).buffer).toString('base64')
}

test('a text is the name of the model', () => {
  expect(openaiEmbeddings('text-embedding-3-small')).toMatchObject({
    provider: 'openai',
    model: 'text-embedding-3-small',
    needsModel: true,
    key: { required: true, own: false },
    server: 'https://api.openai.com',
  })
})

describe('a request', () => {
  test('goes to OpenAI, and asks for base64 there', async () => {
    const { fetch, calls } = stubFetch(answer([item(0, [1]), item(1, [2])]))
    await openaiEmbeddings({ apiKey: 'k', fetch }).embed(request({ dimensions: 1 }))
    expect(calls[0]?.url).toBe('https://api.openai.com/v1/embeddings')
    expect(calls[0]?.headers.get('authorization')).toBe('Bearer k')
    expect(sentJson(calls[0])).toEqual({
      model: 'm',
      input: ['a', 'b'],
      encoding_format: 'base64',
      dimensions: 1,
    })
  })

  test.each<[string, 'base64' | undefined]>([
    ['https://eu.api.openai.com/v1', 'base64'],
    ['https://mine.openai.azure.com/openai/v1', 'base64'],
    ['http://127.0.0.1:8080/v1', undefined],
    ['https://notopenai.com/v1', undefined],
  ])('to %s asks for %s', async (baseUrl, form) => {
    const { fetch, calls } = stubFetch(answer([item(0, [1]), item(1, [2])]))
    await openaiEmbeddings({ baseUrl, fetch }).embed(request())
    expect(sentJson(calls[0])['encoding_format']).toBe(form)
  })

  test('has the options of the provider, which go before', async () => {
    const { fetch, calls } = stubFetch(answer([item(0, [1]), item(1, [2])]))
    const adapter = openaiEmbeddings({ apiKey: 'k', fetch, provider: 'mine' })
    const providerOptions = {
      openai: { encoding_format: 'float', user: 'u' },
      mine: { input_type: 'query' },
      gemini: { title: 't' },
    }
    await adapter.embed(request({ providerOptions }))
    expect(sentJson(calls[0])).toEqual({
      model: 'm',
      input: ['a', 'b'],
      encoding_format: 'float',
      user: 'u',
      input_type: 'query',
    })
  })

  test('without a parameter for the task says so', async () => {
    const { fetch, calls } = stubFetch(answer([item(0, [1]), item(1, [2])]))
    const adapter = openaiEmbeddings({ apiKey: 'k', fetch })
    const { warnings } = await adapter.embed(request({ task: 'search_query' }))
    expect(warnings).toEqual([{ setting: 'task', problem: 'openai has no parameter for it' }])
    expect(JSON.stringify(sentJson(calls[0]))).not.toContain('query')
  })

  test('beyond the limits is refused, before a key is looked up', async () => {
    const { fetch, calls } = stubFetch()
    const adapter = openaiEmbeddings({ fetch, limits: { maxTexts: 1 } })
    expect(adapter.limits).toEqual({ maxTexts: 1, maxTokens: 300_000 })
    await expect(adapter.embed(request())).rejects.toMatchObject({
      reason: 'invalid_request',
      message: 'one call to openai embeds 1 to 1 texts, not 2; embed() splits them',
    })
    expect(calls).toEqual([])
  })

  test.each([{ maxTexts: 0 }, { maxTokens: 1.5 }, { maxText: 1 }, 7])(
    'is not made with the limits %j',
    (limits) => {
      const make = () => openaiEmbeddings({ limits: limits as object })
      expect(make).toThrow(/invalid options: limits/)
    },
  )
})

describe('an answer', () => {
  const adapterFor = (body: () => Response) =>
    openaiEmbeddings({ apiKey: 'k', fetch: stubFetch(body).fetch })

  test('has its vectors, model, usage and the id of the request', async () => {
    const body = () =>
      json(
        {
          object: 'list',
          model: 'm-1',
          data: [item(0, [1, 2]), item(1, [3, 4])],
          usage: { prompt_tokens: 5, total_tokens: 5 },
        },
        200,
        { 'x-request-id': 'req_1' },
      )
    const asked = request({ metadata: { a: 1 } })
    expect(await adapterFor(body).embed(asked, { requestId: 'r1' })).toEqual({
      requestId: 'r1',
      model: 'm-1',
      provider: 'openai',
      embeddings: [
        [1, 2],
        [3, 4],
      ],
      usage: { inputTokens: 5, totalTokens: 5 },
      warnings: [],
      metadata: { providerRequestId: 'req_1', a: 1 },
    })
  })

  test.each<[string, unknown]>([
    ['as numbers', [item(0, [1, -0.5]), item(1, [0.25, 2])]],
    ['as base64', [item(0, base64(1, -0.5)), item(1, base64(0.25, 2))]],
    ['in another order', [item(1, [0.25, 2]), item(0, [1, -0.5])]],
    ['without indices', [{ embedding: [1, -0.5] }, { embedding: [0.25, 2] }]],
    ['with empty indices', [item(null, [1, -0.5]), item(null, [0.25, 2])]],
  ])('is read %s', async (_how, data) => {
    const { embeddings, usage } = await adapterFor(answer(data)).embed(request())
    expect(embeddings).toEqual([
      [1, -0.5],
      [0.25, 2],
    ])
    expect(usage).toEqual({})
  })

  test('takes no more memory as base64 than its numbers need, which are exact', async () => {
    const count = 1000
    const numbers = Array.from({ length: 1536 }, (_, at) => Math.sin(at) / 20)
    const data = Array.from({ length: count }, (_, at) => item(at, base64(...numbers)))
    const texts = data.map((_, at) => `text ${at}`)
    const adapter = adapterFor(answer(data))
    const before = heapAfterGc()
    const { embeddings } = await adapter.embed(request({ texts }))
    const kept = heapAfterGc() - before
    expect(embeddings.at(-1)).toEqual(numbers.map(Math.fround))
    expect(kept / (count * numbers.length * 8)).toBeLessThan(1.15)
  })

  test.each([null, 7, { prompt_tokens: -1, total_tokens: '3' }, { total_tokens: 1e300 }])(
    'with the usage %j counts nothing',
    async (usage) => {
      const body = answer([item(0, [1]), item(1, [2])], { usage })
      expect((await adapterFor(body).embed(request())).usage).toEqual({})
    },
  )

  test('whose vectors have another length than was asked for says so', async () => {
    const adapter = adapterFor(answer([item(0, [1, 2]), item(1, [3, 4])]))
    const { warnings } = await adapter.embed(request({ dimensions: 1 }))
    expect(warnings).toEqual([
      { setting: 'dimensions', problem: 'the vectors have 2 numbers, not 1' },
    ])
  })

  test.each<[string, unknown]>([
    ['no list of vectors', undefined],
    ['no list of vectors', { 0: item(0, [1]) }],
    ['0 vectors for 2 texts', []],
    ['1 vectors for 2 texts', [item(0, [1])]],
    ['3 vectors for 2 texts', [item(0, [1]), item(1, [1]), item(2, [1])]],
    ['the index 0 in vector 1 of 2', [item(0, [1]), item(0, [1])]],
    ['the index 2 in vector 1 of 2', [item(0, [1]), item(2, [1])]],
    ['the index -1 in vector 0 of 2', [item(-1, [1]), item(0, [1])]],
    ['the index 0.5 in vector 0 of 2', [item(0.5, [1]), item(1, [1])]],
    ['the index "0" in vector 0 of 2', [item('0', [1]), item('1', [1])]],
    ['the index undefined in vector 1 of 2', [item(0, [1]), { embedding: [1] }]],
    ['vectors of different lengths', [item(0, [1]), item(1, [1, 2])]],
    ['a vector that is empty', [item(0, []), item(1, [])]],
    ['a vector that is empty', [item(0, ''), item(1, '')]],
    ['a vector that is "!!"', [item(0, '!!'), item(1, '!!')]],
    ['a vector that is "AAA="', [item(0, 'AAA='), item(1, 'AAA=')]],
    ['a vector that has NaN at 0', [item(0, base64(Number.NaN)), item(1, base64(1))]],
    ['a vector that has Infinity at 0', [item(0, base64(Infinity)), item(1, base64(1))]],
    ['a vector that has null at 1', [item(0, [1, null]), item(1, [1, 1])]],
    ['a vector that has "1" at 0', [item(0, ['1']), item(1, [1])]],
    ['a vector that has a list for each token: the server needs a pooling type', [item(0, [[1]])]],
    ['a vector that is undefined', [item(0, undefined), item(1, [1])]],
    ['a vector that is undefined', ['a', 'b']],
  ])('with %s is malformed_response', async (problem, data) => {
    const texts =
      Array.isArray(data) && data.length === 1 && problem.includes('token') ? ['a'] : ['a', 'b']
    const call = adapterFor(answer(data)).embed(request({ texts }), { requestId: 'r1' })
    await expect(call).rejects.toThrow(`openai answered with ${problem}`)
    await expect(call).rejects.toMatchObject({
      name: 'AdapterError',
      reason: 'malformed_response',
      provider: 'openai',
      requestId: 'r1',
      status: 200,
    })
  })

  test.each(['[]', 'null', '7', '"text"'])('that is %s is malformed_response', async (body) => {
    const call = adapterFor(() => new Response(body)).embed(request())
    await expect(call).rejects.toMatchObject({ reason: 'malformed_response' })
  })

  test('that reports a failure with the status of a success is that failure', async () => {
    const failure = { message: 'Slow down.', code: 'rate_limit_exceeded' }
    const call = adapterFor(() => json({ error: failure })).embed(request())
    await expect(call).rejects.toMatchObject({ reason: 'rate_limited', message: 'Slow down.' })
  })

  test('that is too long is not read to its end', async () => {
    const body = answer([item(0, Array(10_000).fill(1)), item(1, Array(10_000).fill(1))])
    const call = adapterFor(body).embed(request(), { maxResponseBytes: 1000 })
    await expect(call).rejects.toMatchObject({
      reason: 'malformed_response',
      message: 'openai answered 200 with more than 1000 bytes',
    })
  })

  test('of a server that was started without embeddings is not waited for', async () => {
    const body = () =>
      json({ error: { code: 501, message: 'No.', type: 'not_supported_error' } }, 501)
    await expect(adapterFor(body).embed(request())).rejects.toMatchObject({
      reason: 'unsupported_feature',
      retryable: false,
      status: 501,
    })
  })
})

test('ten thousand texts are a few calls side by side, and every vector is in its place', async () => {
  await using server = await createFakeServer()
  let open = 0
  let most = 0
  const counting: typeof globalThis.fetch = async (...given) => {
    most = Math.max(most, ++open)
    try {
      return await globalThis.fetch(...given)
    } finally {
      open--
    }
  }
  const embeddingAdapter = openaiEmbeddings({
    baseUrl: server.openaiBaseUrl,
    apiKey: 'k',
    fetch: (url, init) => counting(url, init),
    limits: { maxTexts: 500 },
  })
  const engine = createEngine({ embeddingAdapter, embeddingModel: 'm' })
  const texts = Array.from({ length: 10_000 }, (_, at) => `number ${at % 97}`)
  const { embeddings, usage } = await embed(engine, texts, { dimensions: 8, maxConcurrency: 3 })
  expect(server.requests).toHaveLength(20)
  expect(most).toBe(3)
  expect(usage).toEqual({ inputTokens: 20_000, totalTokens: 20_000 })
  const first = embeddings.slice(0, 97)
  expect(embeddings.every((vector, at) => vector.join() === first[at % 97]?.join())).toBe(true)
})
