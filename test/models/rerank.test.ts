import { describe, expect, test } from 'vitest'
import { onTelemetry } from '../../src/core/base/on-telemetry.ts'
import type { TelemetryEvent } from '../../src/core/base/telemetry.ts'
import { createEngine, rerank } from '../../src/index.ts'
import { fakeRerank, virtualClock } from '../../src/testing.ts'

const documents = ['The heron fishes.', 'A kestrel hovers over fields.', 'Wrens sing.']

describe('rerank', () => {
  test('gives the documents, the best first, with their places and scores', async () => {
    const engine = createEngine({ rerankAdapter: fakeRerank(), rerankModel: 'm' })
    const { results, model } = await rerank(engine, 'which bird hovers over a field', documents)
    expect(results.map(({ index, document }) => [index, document])).toEqual([
      [1, documents[1]],
      [0, documents[0]],
      [2, documents[2]],
    ])
    expect(results[0]?.score).toBeGreaterThan(results[1]?.score ?? 1)
    expect(model).toBe('m')
  })

  test('gives the best topN', async () => {
    const adapter = fakeRerank()
    const engine = createEngine({ rerankAdapter: adapter })
    const { results } = await rerank(engine, 'a heron', documents, { topN: 1 })
    expect(results).toEqual([{ index: 0, score: 0.5, document: documents[0] }])
    expect(adapter.calls[0]?.request.topN).toBe(1)
  })

  test('sends nothing when there are no documents', async () => {
    const adapter = fakeRerank()
    const engine = createEngine({ rerankAdapter: adapter, rerankModel: 'm' })
    const options = { topN: 3, metadata: { a: 1 }, requestId: 'r1' }
    expect(await rerank(engine, 'q', [], options)).toEqual({
      requestId: 'r1',
      model: 'm',
      provider: 'fake',
      results: [],
      usage: {},
      warnings: [],
      metadata: { a: 1 },
    })
    expect(adapter.calls).toEqual([])
    await expect(rerank(engine, '', [])).rejects.toThrow('query must be a non-empty string')
    const stopped = rerank(engine, 'q', [], { signal: AbortSignal.abort() })
    await expect(stopped).rejects.toMatchObject({ reason: 'cancelled' })
  })

  test.each<[string, unknown, unknown, object, string]>([
    ['no query', '', documents, {}, 'query must be a non-empty string'],
    ['no list', 'q', 'a text', {}, 'documents must be a list, not "a text"'],
    ['an empty document', 'q', ['a', ''], {}, 'documents[1] must be a non-empty string'],
    ['a topN of 0', 'q', documents, { topN: 0 }, 'topN must be a positive integer, not 0'],
    ['an unknown option', 'q', documents, { top: 1 }, 'unknown key top'],
  ])('refuses %s before anything is sent', async (_what, query, list, options, message) => {
    const adapter = fakeRerank()
    const engine = createEngine({ rerankAdapter: adapter })
    const call = rerank(engine, query as string, list as string[], options)
    await expect(call).rejects.toThrow(message)
    await expect(call).rejects.toMatchObject({ name: 'ValidationError' })
    expect(adapter.calls).toEqual([])
  })

  test('needs an adapter', async () => {
    await expect(rerank(createEngine({}), 'q', documents)).rejects.toMatchObject({
      reason: 'missing_adapter',
    })
  })

  test.each<[string, unknown]>([
    ['no list of results', undefined],
    ['1 results instead of 3', [{ index: 0, score: 1 }]],
    ['a result for the document undefined', [null, null, null]],
    [
      'results that are not sorted by their scores',
      [0, 1, 2].map((index) => ({ index, score: index })),
    ],
  ])('refuses an adapter that answers with %s', async (problem, results) => {
    const rerankAdapter = { provider: 'test', rerank: async () => ({ results }) as never }
    const call = rerank(createEngine({ rerankAdapter }), 'q', documents)
    await expect(call).rejects.toThrow(`test answered with ${problem}`)
    await expect(call).rejects.toMatchObject({ reason: 'malformed_response' })
  })

  test('is retried, and told to telemetry', async () => {
    const rerankAdapter = fakeRerank({
      script: [
        ['retry_until_call', 2],
        ['ok', [{ index: 0, score: 1 }], { usage: { inputTokens: 3 } }],
      ],
    })
    const engine = createEngine({ rerankAdapter, rerankModel: 'm', clock: virtualClock() })
    const events: TelemetryEvent[] = []
    const leave = onTelemetry((event) => events.push(event))
    await rerank(engine, 'a secret', ['one']).finally(leave)
    expect(events).toMatchObject([
      { name: 'rerank', phase: 'start', model: 'm' },
      { name: 'retry', attempt: 1 },
      { name: 'rerank', phase: 'stop', usage: { inputTokens: 3 } },
    ])
    expect(JSON.stringify(events)).not.toContain('secret')
  })
})
