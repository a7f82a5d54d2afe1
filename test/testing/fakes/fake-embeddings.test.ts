import { describe, expect, test } from 'vitest'
import { AdapterError } from '../../../src/core/errors/errors.ts'
import type { EmbeddingRequest } from '../../../src/core/types/models.ts'
import { cosineSimilarity, createEngine, embed } from '../../../src/index.ts'
import {
  createScriptCursor,
  fakeEmbeddings,
  fakeImages,
  fakeRerank,
  virtualClock,
} from '../../../src/testing.ts'

function request(fields: Partial<EmbeddingRequest> = {}): EmbeddingRequest {
  return { texts: ['a'], providerOptions: {}, metadata: {}, ...fields }
}

/** How near the fake finds two texts. */
async function nearness(one: string, other: string): Promise<number> {
  const { embeddings } = await fakeEmbeddings().embed(request({ texts: [one, other] }))
  return cosineSimilarity(embeddings[0] ?? [], embeddings[1] ?? [])
}

describe('without a script', () => {
  test('a text has the same vector every time, of 256 numbers and the length 1', async () => {
    const texts = ['Refunds take ten days.', '', '!?', 'one', '你好', '🦊', 'a'.repeat(10_000)]
    const { embeddings } = await fakeEmbeddings().embed(request({ texts }))
    expect((await fakeEmbeddings().embed(request({ texts }))).embeddings).toEqual(embeddings)
    for (const vector of embeddings) {
      expect(vector).toHaveLength(256)
      expect(Math.hypot(...vector)).toBeCloseTo(1, 12)
    }
  })

  test('texts that share words are near one another', async () => {
    const question = 'How long do refunds take?'
    const near = await nearness(question, 'A refund is taken back within ten days.')
    const far = await nearness(question, 'Our office is closed on Sundays.')
    expect(near).toBeGreaterThan(far)
    expect(await nearness('refunded', 'Refunds!')).toBeCloseTo(1, 12)
    expect(await nearness('今天天气', '天气')).toBeGreaterThan(0.5)
  })

  test.each([
    ['contract', 'contrast'],
    ['number1', 'number2'],
    ['number1', 'number11'],
    ['item1s', 'item1'],
    ['7', '8'],
    ['plan', 'plane'],
    ['bus', 'bu'],
    ['string', 'str'],
    ['internal', 'internet'],
  ])('%s and %s are different words', async (one, other) => {
    expect(await nearness(one, other)).toBeLessThan(0.3)
  })

  test.each([
    ['search', 'searches'],
    ['search', 'searching'],
    ['box', 'boxes'],
    ['class', 'classes'],
    ['office', 'offices'],
    ['party', 'parties'],
    ['Parcel', 'PARCELS'],
    ['open', 'opened'],
  ])('%s and %s are the same word', async (one, other) => {
    expect(await nearness(one, other)).toBeCloseTo(1, 12)
  })

  test.each<[string, (number: number) => string]>([
    ['a few words', (number) => `Paragraph about number${number}.`],
    ['a sentence', (number) => `The offices in town number${number} are open from nine to five.`],
    [
      'many',
      (number) => `${'A parcel is sent on the day of the order. '.repeat(20)}number${number}`,
    ],
    ['a number', (number) => `Paragraph ${number} of the handbook says when the office is open.`],
  ])('200 texts of %s that differ in a number are told apart', async (_what, textOf) => {
    const texts = Array.from({ length: 200 }, (_, number) => textOf(number))
    const queries = texts.map((text) => /\w*\d+/.exec(text)?.[0] ?? '')
    const { embeddings } = await fakeEmbeddings().embed(request({ texts: [...texts, ...queries] }))
    const vectors = embeddings.slice(0, 200)
    const found = embeddings.slice(200).map((query) => {
      const scores = vectors.map((vector) => cosineSimilarity(vector, query))
      return scores.indexOf(Math.max(...scores))
    })
    expect(found).toEqual(texts.map((_, number) => number))
  })

  test('the vectors have the dimensions that are asked for', async () => {
    for (const dimensions of [1, 3, 1536]) {
      const { embeddings } = await fakeEmbeddings().embed(request({ dimensions }))
      expect(embeddings[0]).toHaveLength(dimensions)
      expect(Math.hypot(...(embeddings[0] ?? []))).toBeCloseTo(1, 12)
    }
  })

  test('words are counted as tokens', async () => {
    const { usage } = await fakeEmbeddings().embed(request({ texts: ['two words', 'one'] }))
    expect(usage).toEqual({ inputTokens: 3, totalTokens: 3 })
  })
})

describe('with a script', () => {
  test('each call plays an entry, and the last one is the end', async () => {
    const adapter = fakeEmbeddings({
      script: [['ok', [[1, 2]], { id: 'i', model: 'm-1', usage: { inputTokens: 4 } }]],
    })
    expect(adapter.remaining).toBe(1)
    expect(() => adapter.assertDone()).toThrow('1 entry was not played')
    expect(await adapter.embed(request({ metadata: { a: 1 } }), { requestId: 'r' })).toEqual({
      requestId: 'r',
      id: 'i',
      model: 'm-1',
      provider: 'fake',
      embeddings: [[1, 2]],
      usage: { inputTokens: 4 },
      warnings: [],
      metadata: { a: 1 },
    })
    adapter.assertDone()
    await expect(adapter.embed(request())).rejects.toMatchObject({ reason: 'no_scripted_response' })
    expect(adapter.calls).toHaveLength(2)
  })

  test('two fakes may share a cursor, and calls are captured', async () => {
    const scriptCursor = createScriptCursor()
    const seen: string[] = []
    const make = () =>
      fakeEmbeddings({
        script: [
          ['ok', [[1]]],
          ['ok', [[2]]],
        ],
        scriptCursor,
        capture: ({ request: asked }) => seen.push(asked.texts.join()),
      })
    const engines = [make(), make()].map((embeddingAdapter) => createEngine({ embeddingAdapter }))
    for (const [index, engine] of engines.entries()) {
      expect((await embed(engine, `text ${index}`)).embeddings).toEqual([[index + 1]])
    }
    expect(seen).toEqual(['text 0', 'text 1'])
  })

  test.each<[object, string]>([
    [{ script: [['ok', [1]]] }, 'script[0][1][0] must be a list, not 1'],
    [{ script: [['ok', [['1']]]] }, 'script[0][1][0][0] must be a number, not "1"'],
    [
      { script: [['ok', [], { usage: { inputTokens: -1 } }]] },
      'usage.inputTokens must be a number',
    ],
    [{ script: [['vectors', []]] }, 'has the unknown tag "vectors"'],
    [{ limits: { maxTexts: 0 } }, 'limits.maxTexts must be a positive integer, not 0'],
    [{ limit: {} }, 'unknown key limit; did you mean limits?'],
  ])('%j is refused', (options, message) => {
    expect(() => fakeEmbeddings(options)).toThrow(message)
  })
})

describe('with a script that is a function', () => {
  test('a call is answered by its entry, or as without a script', async () => {
    const asked: [string, number][] = []
    const adapter = fakeEmbeddings({
      limits: { maxTexts: 1 },
      script: ({ texts }, { call }) => {
        asked.push([texts.join(), call])
        if (call === 2) return ['ok', [Array<number>(256).fill(1)], { usage: { inputTokens: 7 } }]
        return call === 3 ? ['error', new AdapterError('invalid_request', 'No.')] : undefined
      },
    })
    const engine = createEngine({ embeddingAdapter: adapter })
    const call = embed(engine, ['one', 'two', 'three', 'four'], { maxConcurrency: 1 })
    const plain = await fakeEmbeddings().embed(request({ texts: ['one'] }))
    await expect(call).rejects.toMatchObject({
      reason: 'invalid_request',
      partial: {
        embeddings: [plain.embeddings[0], Array(256).fill(1), null, null],
        usage: { inputTokens: 8, totalTokens: 1 },
      },
    })
    expect(asked).toEqual([
      ['one', 1],
      ['two', 2],
      ['three', 3],
    ])
    expect(adapter.remaining).toBe(0)
    adapter.assertDone()
  })

  test('retry_until_call goes by the number of the call', async () => {
    const adapter = fakeEmbeddings({ script: () => ['retry_until_call', 3] })
    const engine = createEngine({ embeddingAdapter: adapter, clock: virtualClock() })
    expect((await embed(engine, 'one')).embeddings).toHaveLength(1)
    expect(adapter.calls).toHaveLength(3)
  })

  test('an entry that is none is refused when it is made', async () => {
    const adapter = fakeEmbeddings({ script: () => ['okay'] as never })
    const refused = expect.objectContaining({ name: 'ValidationError' }) as Error
    await expect(adapter.embed(request())).rejects.toThrow('script has the unknown tag "okay"')
    await expect(adapter.embed(request())).rejects.toThrow(refused)
  })

  test('a fake that has no answer of its own says which call has no entry', async () => {
    const image = { operation: 'generate', prompt: 'a fox', providerOptions: {}, metadata: {} }
    const adapter = fakeImages({ script: () => undefined })
    const call = adapter.generate(image as never)
    await expect(call).rejects.toThrow('no scripted images: the script has no entry for call 1')
  })
})

test('the rerank fake compares whole words', async () => {
  const documents = ['contrast', 'number2', 'contracts of number1']
  const query = 'contract number1'
  const { results } = await fakeRerank().rerank({
    query,
    documents,
    providerOptions: {},
    metadata: {},
  })
  expect(results.map(({ index, score }) => [index, score])).toEqual([
    [2, 1],
    [0, 0],
    [1, 0],
  ])
})

test('the rerank fake counts the words of the query', async () => {
  const documents = ['nothing here', 'a refund', 'refunds within ten days']
  const { results } = await fakeRerank().rerank({
    query: 'refund within days',
    documents,
    providerOptions: {},
    metadata: {},
  })
  expect(results).toEqual([
    { index: 2, score: 1 },
    { index: 1, score: 1 / 3 },
    { index: 0, score: 0 },
  ])
  expect(() => fakeRerank({ script: [['ok', [{ index: -1, score: 1 }]]] })).toThrow(
    'script[0][1][0].index must be an integer of at least 0',
  )
})
