import { describe, expect, test } from 'vitest'
import { cohereRerank } from '../../../src/cohere.ts'
import type { RerankRequest } from '../../../src/core/types/models.ts'
import { json, sentJson, stubFetch } from '../../models/support.ts'

const documents = ['a heron', 'a kestrel', 'a wren']

function request(fields: Partial<RerankRequest> = {}): RerankRequest {
  return { model: 'm', query: 'a bird', documents, providerOptions: {}, metadata: {}, ...fields }
}

const rank = (index: unknown, relevance_score: unknown) => ({ index, relevance_score })

test('a text is the name of the model', () => {
  expect(cohereRerank('rerank-v3.5')).toMatchObject({ provider: 'cohere', model: 'rerank-v3.5' })
})

test('a request goes to Cohere', async () => {
  const results = [rank(1, 0.9), rank(0, 0.5)]
  const { fetch, calls } = stubFetch(() => json({ id: 'i', results }))
  const asked = request({ topN: 2, providerOptions: { cohere: { max_tokens_per_doc: 9 } } })
  await cohereRerank({ apiKey: 'k', fetch }).rerank(asked)
  expect(calls[0]?.url).toBe('https://api.cohere.com/v2/rerank')
  expect(calls[0]?.headers.get('authorization')).toBe('Bearer k')
  expect(sentJson(calls[0])).toEqual({
    model: 'm',
    query: 'a bird',
    documents,
    top_n: 2,
    max_tokens_per_doc: 9,
  })
})

test('a request goes to a compatible server, which needs no key', async () => {
  const { fetch, calls } = stubFetch(() => json({ results: documents.map((_, at) => rank(at, 1)) }))
  const adapter = cohereRerank({ baseUrl: 'http://127.0.0.1:8080/v1', provider: 'llamacpp', fetch })
  expect((await adapter.rerank(request())).provider).toBe('llamacpp')
  expect(calls[0]?.url).toBe('http://127.0.0.1:8080/v1/rerank')
})

describe('an answer', () => {
  const ranked = (body: unknown, fields: Partial<RerankRequest> = {}) =>
    cohereRerank({ apiKey: 'k', fetch: stubFetch(() => json(body)).fetch }).rerank(
      request(fields),
      { requestId: 'r1' },
    )

  test('of Cohere: billed units are in usage.extra', async () => {
    const results = [rank(1, 0.9), rank(2, 0.5), rank(0, 0.1)]
    const meta = { api_version: { version: '2' }, billed_units: { search_units: 1 } }
    expect(await ranked({ id: 'i', results, meta })).toEqual({
      requestId: 'r1',
      id: 'i',
      model: 'm',
      provider: 'cohere',
      results: [
        { index: 1, score: 0.9 },
        { index: 2, score: 0.5 },
        { index: 0, score: 0.1 },
      ],
      usage: { extra: { search_units: 1 } },
      warnings: [],
      metadata: {},
    })
  })

  test('of llama.cpp: scores below 0, unsorted, all of them, with usage', async () => {
    const results = [rank(0, -3.5), rank(1, 8.6), rank(2, -5.4)]
    const usage = { prompt_tokens: 34, total_tokens: 34 }
    const body = { model: 'tiny', object: 'list', usage, results }
    expect(await ranked(body, { topN: 2 })).toMatchObject({
      model: 'tiny',
      results: [
        { index: 1, score: 8.6 },
        { index: 0, score: -3.5 },
      ],
      usage: { inputTokens: 34, totalTokens: 34 },
    })
  })

  test.each<[string, unknown, number?]>([
    ['no list of results', undefined],
    ['no list of results', {}],
    ['2 results instead of 3', [rank(0, 1), rank(1, 1)]],
    ['1 results instead of 2', [rank(0, 1)], 2],
    ['4 results instead of 3', [rank(0, 1), rank(1, 1), rank(2, 1), rank(2, 1)]],
    ['two results for the document 1', [rank(0, 1), rank(1, 1), rank(1, 1)]],
    ['two results for the document 0', [rank(2, 3), rank(0, 2), rank(0, 1)], 1],
    ['a result for the document 3, which does not exist', [rank(3, 2), rank(1, 1), rank(0, 1)]],
    ['a result for the document -1, which', [rank(-1, 2), rank(1, 1), rank(0, 1)]],
    ['a result for the document 0.5, which', [rank(0.5, 2), rank(1, 1), rank(0, 1)]],
    ['a result for the document "0", which', [rank('0', 2), rank(1, 1), rank(2, 1)]],
    ['a result for the document undefined', [null, rank(1, 1), rank(2, 1)]],
    ['the score "high", which', [rank(0, 'high'), rank(1, 1), rank(2, 1)]],
    ['the score undefined, which', [{ index: 0, score: 1 }, rank(1, 1), rank(2, 1)]],
    ['the score null, which', [rank(0, null), rank(1, 1), rank(2, 1)]],
  ])('with %s is malformed_response', async (problem, results, topN) => {
    const call = ranked({ results }, topN === undefined ? {} : { topN })
    await expect(call).rejects.toThrow(`cohere answered with ${problem}`)
    await expect(call).rejects.toMatchObject({ reason: 'malformed_response', requestId: 'r1' })
  })

  test('of a server without reranking is not asked for again', async () => {
    const error = { code: 501, message: 'Start it with --reranking', type: 'not_supported_error' }
    const { fetch } = stubFetch(() => json({ error }, 501))
    await expect(cohereRerank({ apiKey: 'k', fetch }).rerank(request())).rejects.toMatchObject({
      reason: 'unsupported_feature',
      retryable: false,
      message: 'Start it with --reranking',
    })
  })

  test('of Cohere that refuses: its message is read', async () => {
    const { fetch } = stubFetch(() => json({ message: 'invalid api token' }, 401))
    await expect(cohereRerank({ apiKey: 'k', fetch }).rerank(request())).rejects.toMatchObject({
      reason: 'authentication_failed',
      message: 'invalid api token',
    })
  })
})
