import { describe, expect, test } from 'vitest'
import { embeddingTasks, type EmbeddingRequest } from '../../../src/core/types/models.ts'
import { geminiEmbeddings } from '../../../src/gemini.ts'
import { json, sentJson, stubFetch } from '../../models/support.ts'

function request(fields: Partial<EmbeddingRequest> = {}): EmbeddingRequest {
  const model = 'gemini-embedding-001'
  return { model, texts: ['a', 'b'], providerOptions: {}, metadata: {}, ...fields }
}

const two = { embeddings: [{ values: [3, 4] }, { values: [0, 1] }] }

test('a text is the name of the model', () => {
  expect(geminiEmbeddings('gemini-embedding-001').model).toBe('gemini-embedding-001')
})

describe('a request', () => {
  test('has a request for each text', async () => {
    const { fetch, calls } = stubFetch(() => json(two))
    const adapter = geminiEmbeddings({ apiKey: 'k', fetch })
    expect(adapter.limits).toEqual({ maxTexts: 100 })
    await adapter.embed(request({ dimensions: 2, providerOptions: { gemini: { title: 't' } } }))
    expect(calls[0]?.url).toBe(
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-embedding-001:batchEmbedContents',
    )
    expect(calls[0]?.headers.get('x-goog-api-key')).toBe('k')
    const shared = { model: 'models/gemini-embedding-001', outputDimensionality: 2, title: 't' }
    expect(sentJson(calls[0])).toEqual({
      requests: [
        { ...shared, content: { parts: [{ text: 'a' }] } },
        { ...shared, content: { parts: [{ text: 'b' }] } },
      ],
    })
  })

  test('names its task', async () => {
    const { fetch, calls } = stubFetch(() => json(two))
    const adapter = geminiEmbeddings({ apiKey: 'k', fetch })
    for (const task of embeddingTasks) await adapter.embed(request({ task }))
    const sent = calls.map((call) => sentJson(call)['requests'] as { taskType: string }[])
    expect(sent.map(([first]) => first?.taskType)).toEqual([
      'RETRIEVAL_DOCUMENT',
      'RETRIEVAL_QUERY',
      'CLASSIFICATION',
      'CLUSTERING',
      'SEMANTIC_SIMILARITY',
    ])
  })

  test('to a model without tasks leaves it out, and says so', async () => {
    const { fetch, calls } = stubFetch(() => json(two))
    const adapter = geminiEmbeddings({ apiKey: 'k', fetch })
    const asked = request({ model: 'models/gemini-embedding-2', task: 'clustering' })
    expect((await adapter.embed(asked)).warnings).toEqual([
      {
        setting: 'task',
        problem: 'models/gemini-embedding-2 has no parameter for it: name the task in the text',
      },
    ])
    expect(calls[0]?.url).toContain('/models/gemini-embedding-2:batchEmbedContents')
    expect(JSON.stringify(sentJson(calls[0]))).not.toContain('taskType')
  })

  test('of more than 100 texts is refused', async () => {
    const { fetch, calls } = stubFetch(() => json(two))
    const texts = Array.from({ length: 101 }, () => 'a')
    const call = geminiEmbeddings({ apiKey: 'k', fetch }).embed(request({ texts }))
    await expect(call).rejects.toMatchObject({ reason: 'invalid_request' })
    expect(calls).toEqual([])
  })

  test('needs a model', async () => {
    const { fetch } = stubFetch(() => json(two))
    const { model: _model, ...asked } = request()
    await expect(geminiEmbeddings({ apiKey: 'k', fetch }).embed(asked)).rejects.toMatchObject({
      reason: 'missing_model',
    })
  })
})

describe('an answer', () => {
  const embed = (body: unknown, fields: Partial<EmbeddingRequest> = {}) =>
    geminiEmbeddings({ apiKey: 'k', fetch: stubFetch(() => json(body)).fetch }).embed(
      request(fields),
      { requestId: 'r1' },
    )

  test('has its vectors as they came', async () => {
    expect(await embed(two, { metadata: { a: 1 } })).toEqual({
      requestId: 'r1',
      model: 'gemini-embedding-001',
      provider: 'gemini',
      embeddings: [
        [3, 4],
        [0, 1],
      ],
      usage: {},
      warnings: [],
      metadata: { a: 1 },
    })
  })

  test('with dimensions has vectors of the length 1', async () => {
    const { embeddings } = await embed(two, { dimensions: 2 })
    expect(embeddings[0]?.[0]).toBeCloseTo(0.6, 12)
    expect(embeddings[0]?.[1]).toBeCloseTo(0.8, 12)
    expect(embeddings[1]).toEqual([0, 1])
  })

  test.each<[string, readonly number[], readonly number[]]>([
    ['zeros', [0, 0], [0, 0]],
    ['the length 1', [0.6000001, 0.8], [0.6000001, 0.8]],
    ['large numbers', [1e308, 0], [1, 0]],
    ['small numbers', [0, 1e-320], [0, 1]],
  ])('with dimensions and a vector of %s', async (_what, values, expected) => {
    const body = { embeddings: [{ values }] }
    const { embeddings } = await embed(body, { texts: ['a'], dimensions: 2 })
    expect(embeddings[0]).toEqual(expected)
  })

  test('has the usage that is reported', async () => {
    const usageMetadata = { promptTokenCount: 7, totalTokenCount: 7 }
    expect((await embed({ ...two, usageMetadata })).usage).toEqual({
      inputTokens: 7,
      totalTokens: 7,
    })
  })

  test.each<[string, unknown]>([
    ['no list of vectors', {}],
    ['no list of vectors', []],
    ['1 vectors for 2 texts', { embeddings: [{ values: [1] }] }],
    ['a vector that is undefined', { embeddings: [{}, { values: [1] }] }],
    ['a vector that has "NaN" at 0', { embeddings: [{ values: ['NaN'] }, { values: [1] }] }],
    ['vectors of different lengths', { embeddings: [{ values: [1] }, { values: [1, 2] }] }],
  ])('with %s is malformed_response', async (problem, body) => {
    const call = embed(body)
    await expect(call).rejects.toThrow(`gemini answered with ${problem}`)
    await expect(call).rejects.toMatchObject({ reason: 'malformed_response', requestId: 'r1' })
  })

  test('of a vector with a million numbers is read', async () => {
    const values = Array.from({ length: 1_000_000 }, () => 1)
    const { embeddings } = await embed(
      { embeddings: [{ values }] },
      { texts: ['a'], dimensions: 2 },
    )
    expect(embeddings[0]).toHaveLength(1_000_000)
  })
})
