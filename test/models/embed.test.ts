import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { onTelemetry } from '../../src/core/base/on-telemetry.ts'
import type { TelemetryEvent } from '../../src/core/base/telemetry.ts'
import type { EmbeddingAdapter } from '../../src/core/contracts/adapter.ts'
import { AdapterError, isAllmError } from '../../src/core/errors/errors.ts'
import type { EmbeddingRequest, EmbeddingResponse } from '../../src/core/types/models.ts'
import {
  cosineSimilarity,
  createEngine,
  embed,
  type EmbeddingBatch,
  type PartialEmbeddings,
} from '../../src/index.ts'
import { fakeEmbeddings, virtualClock } from '../../src/testing.ts'

/** An adapter that does what it is told. */
function adapterOf(
  answer: EmbeddingAdapter['embed'],
  more: Partial<EmbeddingAdapter> = {},
): EmbeddingAdapter {
  return { provider: 'test', limits: { maxTexts: 2 }, embed: answer, ...more }
}

/** The vectors of texts that are numbers: each is its number, and how many there were in its batch. */
function counted({ texts, metadata }: EmbeddingRequest): EmbeddingResponse {
  const embeddings = texts.map((text) => [Number(text), texts.length])
  return { requestId: 'r', provider: 'test', embeddings, usage: {}, warnings: [], metadata }
}

const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at}`)

/** What `embed` rejects with. */
async function failureOf(embedding: Promise<unknown>) {
  const error: unknown = await embedding.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!isAllmError(error)) throw new Error('it did not fail with an error of the library')
  return { error, partial: error.partial as PartialEmbeddings | undefined }
}

describe('embed', () => {
  test('gives a vector for each text, in their order', async () => {
    const engine = createEngine({ embeddingAdapter: adapterOf(async (asked) => counted(asked)) })
    const { embeddings } = await embed(engine, numbers(5))
    expect(embeddings).toEqual([
      [0, 2],
      [1, 2],
      [2, 2],
      [3, 2],
      [4, 1],
    ])
  })

  test('takes a single text as a list of one', async () => {
    const engine = createEngine({ embeddingAdapter: fakeEmbeddings() })
    expect((await embed(engine, 'a text')).embeddings).toHaveLength(1)
  })

  test('sends nothing when there are no texts', async () => {
    const adapter = fakeEmbeddings()
    const engine = createEngine({ embeddingAdapter: adapter, embeddingModel: 'm' })
    expect(await embed(engine, [], { metadata: { a: 1 } })).toMatchObject({
      embeddings: [],
      usage: {},
      warnings: [],
      model: 'm',
      provider: 'fake',
      metadata: { a: 1 },
    })
    expect(adapter.calls).toEqual([])
  })

  test('passes its options on', async () => {
    const adapter = fakeEmbeddings()
    const engine = createEngine({ embeddingAdapter: adapter, embeddingModel: 'm' })
    const providerOptions = { openai: { user: 'u' } }
    const options = {
      dimensions: 8,
      task: 'search_query',
      providerOptions,
      requestId: 'r1',
    } as const
    const response = await embed(engine, 'a text', options)
    expect(response.requestId).toBe('r1')
    expect(response.embeddings[0]).toHaveLength(8)
    expect(adapter.calls[0]?.request).toEqual({
      model: 'm',
      texts: ['a text'],
      dimensions: 8,
      task: 'search_query',
      providerOptions,
      metadata: {},
    })
  })

  test.each<[string, unknown, object, string]>([
    ['an empty text', ['a', ''], {}, 'texts[1] must be a non-empty string, not ""'],
    ['a text that is none', ['a', 7], {}, 'texts[1] must be a non-empty string, not 7'],
    ['no list', 7, {}, 'texts must be a list, not 7'],
    ['dimensions', 'a', { dimensions: 0 }, 'dimensions must be a positive integer, not 0'],
    ['a task', 'a', { task: 'search' }, 'task must be one of search_document, search_query'],
    ['no workers', 'a', { maxConcurrency: 0 }, 'maxConcurrency must be a positive integer'],
    ['a hook that is none', 'a', { onBatch: 1 }, 'onBatch must be a function, not 1'],
    ['an unknown option', 'a', { dimension: 1 }, 'unknown key dimension; did you mean dimensions'],
  ])('refuses %s before anything is sent', async (_what, texts, options, message) => {
    const adapter = fakeEmbeddings()
    const engine = createEngine({ embeddingAdapter: adapter })
    const call = embed(engine, texts as string, options)
    await expect(call).rejects.toThrow(message)
    await expect(call).rejects.toMatchObject({ name: 'ValidationError' })
    expect(adapter.calls).toEqual([])
  })

  test('needs an adapter', async () => {
    await expect(embed(createEngine({}), 'a')).rejects.toMatchObject({
      reason: 'missing_adapter',
      message: 'the engine has no adapter for embedding: pass createEngine({ embeddingAdapter })',
    })
  })

  test('does not see what becomes of the list after the call', async () => {
    const engine = createEngine({ embeddingAdapter: adapterOf(async (asked) => counted(asked)) })
    const texts = numbers(6)
    const all = embed(engine, texts, { maxConcurrency: 1 })
    texts.length = 1
    expect((await all).embeddings.map(([number]) => number)).toEqual([0, 1, 2, 3, 4, 5])
  })
})

describe('batches', () => {
  /** The sizes of the batches that texts are sent in. */
  async function sizes(texts: readonly string[], limits: EmbeddingAdapter['limits']) {
    const adapter = fakeEmbeddings({ limits })
    await embed(createEngine({ embeddingAdapter: adapter }), texts, { maxConcurrency: 1 })
    return adapter.calls.map(({ request }) => request.texts.length)
  }

  test('have no more texts than the provider takes', async () => {
    expect(await sizes(numbers(7), { maxTexts: 3 })).toEqual([3, 3, 1])
    expect(await sizes(numbers(6), { maxTexts: 3 })).toEqual([3, 3])
  })

  test.each<[string, string, number]>([
    ['English', 'hello', 5],
    ['accents', 'ééééé', 10],
    ['Chinese', '你好你好你', 15],
    ['emoji', '🦊🦊', 8],
    ['half a pair', '\ud83e\ud83e', 6],
    ['the other half', '\udd8a', 3],
  ])('count a token for each byte of %s, which is never too few', async (_what, text, bytes) => {
    const encoded = new TextEncoder().encode(text).length
    expect(encoded).toBe(bytes)
    expect(await sizes([text, text], { maxTexts: 9, maxTokens: bytes * 2 })).toEqual([2])
    expect(await sizes([text, text], { maxTexts: 9, maxTokens: bytes * 2 - 1 })).toEqual([1, 1])
  })

  test('leave a text that is too long alone to the provider', async () => {
    const texts = ['a', 'x'.repeat(100), 'b', 'c']
    expect(await sizes(texts, { maxTexts: 9, maxTokens: 10 })).toEqual([1, 1, 2])
  })

  test('keep the limits and the order, whatever the texts are, and are full', async () => {
    const texts = fc.array(fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }), {
      minLength: 1,
      maxLength: 40,
    })
    const limits = fc.record({
      maxTexts: fc.integer({ min: 1, max: 9 }),
      maxTokens: fc.integer({ min: 1, max: 60 }),
    })
    const bytesOf = (list: readonly string[]): number =>
      list.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0)
    await fc.assert(
      fc.asyncProperty(
        texts,
        limits,
        fc.integer({ min: 1, max: 5 }),
        async (list, most, workers) => {
          const adapter = fakeEmbeddings({ limits: most })
          const engine = createEngine({ embeddingAdapter: adapter })
          await embed(engine, list, { maxConcurrency: workers })
          const batches = adapter.calls.map(({ request }) => request.texts)
          expect(batches.flat()).toEqual(list)
          for (const [at, batch] of batches.entries()) {
            expect(batch.length).toBeLessThanOrEqual(most.maxTexts)
            if (batch.length > 1) expect(bytesOf(batch)).toBeLessThanOrEqual(most.maxTokens)
            const more = [...batch, ...(batches[at + 1]?.slice(0, 1) ?? [])]
            const isLast = at === batches.length - 1
            const isFull = more.length > most.maxTexts || bytesOf(more) > most.maxTokens
            expect(isLast || isFull).toBe(true)
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  test('are sent side by side, as many as maxConcurrency says, and the order stays', async () => {
    let running = 0
    let most = 0
    const waiting: (() => void)[] = []
    const adapter = adapterOf(async (asked) => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => waiting.push(resolve))
      running--
      return counted(asked)
    })
    const all = embed(createEngine({ embeddingAdapter: adapter }), numbers(40), {
      maxConcurrency: 3,
    })
    // The last one that was asked is answered first.
    let answered = 0
    while (answered < 20) {
      await new Promise((resolve) => setImmediate(resolve))
      const next = waiting.pop()
      if (next !== undefined) answered++
      next?.()
    }
    expect((await all).embeddings.map(([number]) => number)).toEqual(numbers(40).map(Number))
    expect(most).toBe(3)
  })

  test('of a hundred thousand texts are made one by one: nothing is done for all of them again and again', async () => {
    let running = 0
    let most = 0
    const sizes: number[] = []
    const adapter = adapterOf(
      async (asked) => {
        most = Math.max(most, ++running)
        sizes.push(asked.texts.length)
        await Promise.resolve()
        running--
        return { ...counted(asked), usage: { inputTokens: 1 }, warnings: [warning] }
      },
      { limits: { maxTexts: 10, maxTokens: 300_000 } },
    )
    const warning = { setting: 'task', problem: 'not known' }
    const engine = createEngine({ embeddingAdapter: adapter })
    const { embeddings, usage, warnings } = await embed(engine, numbers(100_000))
    expect(embeddings.every(([number], at) => number === at)).toBe(true)
    expect(sizes).toHaveLength(10_000)
    expect({ most, usage, warnings }).toEqual({
      most: 4,
      usage: { inputTokens: 10_000 },
      warnings: [warning],
    })
  })

  test('have one answer: usage is added up, and a warning is told once', async () => {
    const warning = { setting: 'task', problem: 'not known' }
    const usages = [{ inputTokens: 3 }, {}, { inputTokens: 4, totalTokens: 9 }]
    const adapter = adapterOf(async (asked) => ({
      ...counted(asked),
      id: 'one',
      model: 'm-1',
      usage: usages[Number(asked.texts[0]) / 2] ?? {},
      warnings: [warning],
      metadata: { ...asked.metadata, providerRequestId: asked.texts[0] ?? '' },
    }))
    const engine = createEngine({ embeddingAdapter: adapter })
    const {
      embeddings: _vectors,
      requestId: _id,
      ...response
    } = await embed(engine, numbers(6), {
      metadata: { mine: true },
    })
    expect(response).toEqual({
      provider: 'test',
      model: 'm-1',
      usage: { inputTokens: 7, totalTokens: 9 },
      warnings: [warning],
      metadata: { mine: true },
    })
    const single = await embed(engine, numbers(2))
    expect(single).toMatchObject({ id: 'one', metadata: { providerRequestId: '0' } })
  })
})

describe('a failure', () => {
  const limited = new AdapterError('rate_limited', 'Slow down.', { retryAfterMs: 0 })

  test('that may go away is retried for its batch alone', async () => {
    const asked: string[] = []
    const adapter = adapterOf(async (request) => {
      asked.push(request.texts.join())
      if (asked.filter((texts) => texts === '2,3').length === 1 && request.texts[0] === '2') {
        throw limited
      }
      return counted(request)
    })
    const engine = createEngine({ embeddingAdapter: adapter, clock: virtualClock() })
    const { embeddings } = await embed(engine, numbers(6), { maxConcurrency: 1 })
    expect(embeddings).toHaveLength(6)
    expect(asked).toEqual(['0,1', '2,3', '2,3', '4,5'])
  })

  test('says which texts are done, so that the rest can be embedded', async () => {
    let isBroken = true
    const adapter = adapterOf(async (request) => {
      if (isBroken && request.texts.includes('4')) throw new AdapterError('invalid_request', 'No.')
      return { ...counted(request), usage: { inputTokens: 2 } }
    })
    const engine = createEngine({ embeddingAdapter: adapter })
    const texts = numbers(8)
    const { error, partial } = await failureOf(embed(engine, texts, { maxConcurrency: 1 }))
    expect(error).toMatchObject({ name: 'AdapterError', reason: 'invalid_request' })
    expect(partial).toEqual({
      embeddings: [[0, 2], [1, 2], [2, 2], [3, 2], null, null, null, null],
      usage: { inputTokens: 4 },
      provider: 'test',
    })
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ partial })
    isBroken = false
    const left = texts.filter((_, at) => partial?.embeddings[at] === null)
    expect((await embed(engine, left)).embeddings.map(([number]) => number)).toEqual([4, 5, 6, 7])
  })

  /** An adapter whose batch `2,3` fails at once. The others are answered by `answer`, and note it when they are aborted. */
  function failingAtTwo(answer: 'later' | 'never') {
    const asked: string[] = []
    const stopped: string[] = []
    const waiting: (() => void)[] = []
    const adapter = adapterOf(async (request, options) => {
      const { texts } = request
      asked.push(texts.join())
      if (texts[0] === '2') throw new AdapterError('authentication_failed', 'No key.')
      options?.signal?.addEventListener('abort', () => stopped.push(texts.join()))
      await new Promise<void>((resolve) => waiting.push(resolve))
      if (answer === 'never') await new Promise(() => undefined)
      return { ...counted(request), usage: { inputTokens: 2 } }
    })
    return { adapter, asked, stopped, waiting }
  }

  test('lets the batches under way finish and keeps them, and no further one is sent', async () => {
    const { adapter, asked, stopped, waiting } = failingAtTwo('later')
    const engine = createEngine({ embeddingAdapter: adapter })
    let isOver = false
    const ended = failureOf(embed(engine, numbers(20), { maxConcurrency: 3 })).finally(() => {
      isOver = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect({ isOver, asked }).toEqual({ isOver: false, asked: ['0,1', '2,3', '4,5'] })
    for (const answer of waiting) answer()
    const { error, partial } = await ended
    expect(error).toMatchObject({ reason: 'authentication_failed', message: 'No key.' })
    expect(partial?.embeddings.slice(0, 7)).toEqual([
      [0, 2],
      [1, 2],
      null,
      null,
      [4, 2],
      [5, 2],
      null,
    ])
    expect(partial?.usage).toEqual({ inputTokens: 4 })
    expect({ asked: asked.length, stopped }).toEqual({ asked: 3, stopped: [] })
  })

  test('does not wait for them when the caller stops the call', async () => {
    const { adapter, asked, stopped } = failingAtTwo('never')
    const engine = createEngine({ embeddingAdapter: adapter })
    const stop = new AbortController()
    const options = { maxConcurrency: 3, signal: stop.signal }
    const ended = failureOf(embed(engine, numbers(20), options))
    await new Promise((resolve) => setImmediate(resolve))
    stop.abort()
    const { error, partial } = await ended
    // It had failed before.
    expect(error).toMatchObject({ reason: 'authentication_failed' })
    expect(partial?.embeddings).toEqual(Array(20).fill(null))
    expect({ asked: asked.length, stopped }).toEqual({ asked: 3, stopped: ['0,1', '4,5'] })
  })

  test('ends the waits of the others, and what fails after it is not retried', async () => {
    const asked: string[] = []
    const settle: Record<string, (error: AdapterError) => void> = {}
    const adapter = adapterOf(({ texts }) => {
      asked.push(texts.join())
      if (texts[0] === '0') return Promise.reject(new AdapterError('rate_limited', 'Busy.'))
      return new Promise((_resolve, reject) => {
        settle[texts.join()] = reject
      })
    })
    const waits: (AbortSignal | undefined)[] = []
    const clock = {
      now: () => 0,
      sleep: (_ms: number, signal?: AbortSignal) =>
        new Promise<void>((_resolve, reject) => {
          waits.push(signal)
          signal?.addEventListener('abort', () => reject(signal.reason as Error))
        }),
    }
    const engine = createEngine({ embeddingAdapter: adapter, clock })
    const ended = failureOf(embed(engine, numbers(20), { maxConcurrency: 3 }))
    await new Promise((resolve) => setImmediate(resolve))
    expect(waits.map((signal) => signal?.aborted)).toEqual([false])
    settle['2,3']?.(new AdapterError('invalid_request', 'No.'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(waits.map((signal) => signal?.aborted)).toEqual([true])
    settle['4,5']?.(new AdapterError('rate_limited', 'Busy.'))
    expect((await ended).error).toMatchObject({ reason: 'invalid_request' })
    expect(asked).toEqual(['0,1', '2,3', '4,5'])
    expect(waits).toHaveLength(1)
  })

  test('of an answer that is not one is malformed_response, and no vector is shifted', async () => {
    const odd: [string, unknown][] = [
      ['no list of vectors', undefined],
      ['1 vectors for 2 texts', [[1]]],
      ['3 vectors for 2 texts', [[1], [1], [1]]],
      ['vectors of different lengths: 1 (text 0) and 2 (text 1)', [[1], [1, 2]]],
      ['a vector that is empty (text 0)', [[], []]],
      [
        'a vector that has null at 1, which is not a finite number',
        [
          [1, null],
          [1, 1],
        ],
      ],
      ['a vector that has NaN at 0', [[Number.NaN], [1]]],
      ['a vector that has Infinity at 0', [[Infinity], [1]]],
      ['a vector that has "1" at 0', [['1'], [1]]],
      ['a vector that has a list for each token', [[[1]], [[1]]]],
      ['a vector that is null', [null, [1]]],
    ]
    for (const [problem, embeddings] of odd) {
      const adapter = adapterOf(async (asked) => ({ ...counted(asked), embeddings }) as never)
      const engine = createEngine({ embeddingAdapter: adapter, retry: false })
      const { error } = await failureOf(embed(engine, ['a', 'b']))
      expect(error.message).toContain(`test answered with ${problem}`)
      expect(error).toMatchObject({ reason: 'malformed_response', provider: 'test' })
    }
    const nothing = createEngine({ embeddingAdapter: adapterOf(async () => undefined as never) })
    await expect(embed(nothing, 'a')).rejects.toMatchObject({ reason: 'malformed_response' })
  })

  test('of batches whose vectors have different lengths is malformed_response', async () => {
    const adapter = adapterOf(async (asked) => ({
      ...counted(asked),
      embeddings: asked.texts.map(() => (asked.texts[0] === '2' ? [1, 2, 3] : [1, 2])),
    }))
    const engine = createEngine({ embeddingAdapter: adapter })
    const { error, partial } = await failureOf(embed(engine, numbers(4), { maxConcurrency: 1 }))
    expect(error.message).toBe(
      'test answered with vectors of different lengths: 3 (text 2), 2 in another batch',
    )
    expect(partial?.embeddings).toEqual([[1, 2], [1, 2], null, null])
  })

  test('of something else is unknown', async () => {
    const adapter = adapterOf(() => Promise.reject(new TypeError('oops')))
    await expect(embed(createEngine({ embeddingAdapter: adapter }), 'a')).rejects.toMatchObject({
      name: 'AdapterError',
      reason: 'unknown',
      message: 'test failed: oops',
    })
  })
})

describe('onBatch', () => {
  const engineOf = (answer: EmbeddingAdapter['embed']) =>
    createEngine({ embeddingAdapter: adapterOf(answer), embeddingModel: 'm' })

  test('gets each batch with its place, its model and its usage', async () => {
    const engine = engineOf(async (asked) => ({ ...counted(asked), usage: { inputTokens: 2 } }))
    const seen: EmbeddingBatch[] = []
    const onBatch = (batch: EmbeddingBatch): void => void seen.push(batch)
    await embed(engine, numbers(3), { onBatch, maxConcurrency: 1 })
    const facts = { provider: 'test', model: 'm', usage: { inputTokens: 2 } }
    expect(seen).toEqual([
      {
        from: 0,
        embeddings: [
          [0, 2],
          [1, 2],
        ],
        ...facts,
      },
      { from: 2, embeddings: [[2, 1]], ...facts },
    ])
    await embed(engine, [], { onBatch })
    expect(seen).toHaveLength(2)
  })

  test('is waited for before the next batch is sent, and before the call ends', async () => {
    const done: string[] = []
    const engine = engineOf(async (asked) => {
      done.push(`sent ${asked.texts.join()}`)
      return counted(asked)
    })
    const onBatch = async ({ from }: EmbeddingBatch): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      done.push(`saved ${from}`)
    }
    await embed(engine, numbers(4), { onBatch, maxConcurrency: 1 })
    expect(done).toEqual(['sent 0,1', 'saved 0', 'sent 2,3', 'saved 2'])
  })

  test.each<[string, () => void | Promise<void>]>([
    [
      'throws',
      () => {
        throw new TypeError('disk full')
      },
    ],
    ['rejects', () => Promise.reject(new TypeError('disk full'))],
  ])('that %s fails the call, which keeps what came', async (_what, onBatch) => {
    const asked: string[] = []
    const engine = engineOf(async (request) => {
      asked.push(request.texts.join())
      return counted(request)
    })
    const call = embed(engine, numbers(6), { onBatch, maxConcurrency: 1 })
    const { error, partial } = await failureOf(call)
    expect(error).toMatchObject({
      name: 'StreamError',
      reason: 'unknown',
      message: 'onBatch threw: disk full',
    })
    expect(error.cause).toBeInstanceOf(TypeError)
    expect(partial?.embeddings).toEqual([[0, 2], [1, 2], null, null, null, null])
    expect(asked).toEqual(['0,1'])
  })

  test('gets the batches that come after a failure', async () => {
    const engine = engineOf(async (request) => {
      if (request.texts[0] === '2') throw new AdapterError('invalid_request', 'No.')
      await new Promise((resolve) => setImmediate(resolve))
      return counted(request)
    })
    const saved: number[] = []
    const onBatch = ({ from }: EmbeddingBatch): void => void saved.push(from)
    const { error } = await failureOf(embed(engine, numbers(9), { onBatch, maxConcurrency: 3 }))
    expect(error).toMatchObject({ reason: 'invalid_request' })
    expect(saved).toEqual([0, 4])
  })

  test('is not waited for when the call is stopped', async () => {
    const stop = new AbortController()
    const engine = engineOf(async (asked) => counted(asked))
    const onBatch = (): Promise<void> => {
      stop.abort()
      return new Promise(() => undefined)
    }
    const options = { onBatch, signal: stop.signal, maxConcurrency: 1 }
    const { error, partial } = await failureOf(embed(engine, numbers(4), options))
    expect(error).toMatchObject({ name: 'StreamError', reason: 'cancelled' })
    expect(partial?.embeddings).toEqual([[0, 2], [1, 2], null, null])
  })
})

describe('a call that is stopped', () => {
  test('keeps what had come by then', async () => {
    const stop = new AbortController()
    const adapter = adapterOf(async (request) => {
      if (request.texts[0] === '4') stop.abort('enough')
      if (Number(request.texts[0]) >= 4) return new Promise(() => undefined)
      return counted(request)
    })
    const engine = createEngine({ embeddingAdapter: adapter })
    const options = { signal: stop.signal, maxConcurrency: 1 }
    const { error, partial } = await failureOf(embed(engine, numbers(10), options))
    expect(error).toMatchObject({ name: 'StreamError', reason: 'cancelled', cause: 'enough' })
    expect(partial?.embeddings.filter((vector) => vector !== null)).toHaveLength(4)
  })

  test('is not begun when it was stopped before', async () => {
    const adapter = fakeEmbeddings()
    const engine = createEngine({ embeddingAdapter: adapter })
    const call = embed(engine, ['a'], { signal: AbortSignal.abort() })
    await expect(call).rejects.toMatchObject({ reason: 'cancelled' })
    expect(adapter.calls).toEqual([])
  })

  test('ends the wait between two attempts', async () => {
    const stop = new AbortController()
    const clock = {
      now: () => 0,
      sleep: (_ms: number, signal?: AbortSignal) => {
        stop.abort('enough')
        return Promise.reject(signal?.reason as Error)
      },
    }
    const adapter = fakeEmbeddings({ script: [['retry_until_call', 3]] })
    const engine = createEngine({ embeddingAdapter: adapter, clock })
    const call = embed(engine, ['a'], { signal: stop.signal })
    await expect(call).rejects.toMatchObject({ name: 'StreamError', reason: 'cancelled' })
    expect(adapter.calls).toHaveLength(1)
  })
})

describe('telemetry', () => {
  async function told(call: () => Promise<unknown>): Promise<readonly TelemetryEvent[]> {
    const events: TelemetryEvent[] = []
    const leave = onTelemetry((event) => events.push(event))
    try {
      await call().catch(() => undefined)
    } finally {
      leave()
    }
    return events
  }

  test('tells the vectors, the batches and the usage of a call, without the texts', async () => {
    const embeddingAdapter = fakeEmbeddings({ limits: { maxTexts: 2 } })
    const engine = createEngine({ embeddingAdapter, embeddingModel: 'm', clock: virtualClock() })
    const events = await told(() => embed(engine, ['a secret', 'two', 'three']))
    expect(events).toMatchObject([
      { name: 'embed', phase: 'start', provider: 'fake', model: 'm' },
      { name: 'embed', phase: 'stop', embeddings: 3, batches: 2, usage: { inputTokens: 4 } },
    ])
    expect(JSON.stringify(events)).not.toContain('secret')
  })

  test('tells the retries of the batch that failed, and none of those that fail after it', async () => {
    const limited = new AdapterError('rate_limited', 'Slow down.', { retryAfterMs: 0 })
    let calls = 0
    const failAll: (() => void)[] = []
    const embeddingAdapter = adapterOf(({ texts }) => {
      if (texts[0] !== '2') {
        return new Promise((_resolve, reject) => failAll.push(() => reject(limited)))
      }
      if (++calls === 3) setImmediate(() => failAll.forEach((fail) => fail()))
      return Promise.reject(limited)
    })
    const engine = createEngine({ embeddingAdapter, clock: virtualClock() })
    const events = await told(() => embed(engine, numbers(8)))
    expect(events.map(({ name }) => name)).toEqual(['embed', 'retry', 'retry', 'embed'])
    expect(events.at(-1)).toMatchObject({ phase: 'error', error: { reason: 'rate_limited' } })
  })

  test('tells what had come when a call fails', async () => {
    const embeddingAdapter = fakeEmbeddings({
      limits: { maxTexts: 1 },
      script: [['ok', [[1]], { usage: { inputTokens: 5 } }]],
    })
    const engine = createEngine({ embeddingAdapter, retry: false })
    const events = await told(() => embed(engine, ['a', 'b'], { maxConcurrency: 1 }))
    expect(events.at(-1)).toMatchObject({
      name: 'embed',
      phase: 'error',
      embeddings: 1,
      batches: 1,
      usage: { inputTokens: 5 },
      error: { reason: 'no_scripted_response' },
    })
    expect(events.at(-1)).not.toHaveProperty('error.partial')
  })
})

describe('cosineSimilarity', () => {
  test.each<[string, readonly number[], readonly number[], number]>([
    ['the same', [1, 2, 3], [1, 2, 3], 1],
    ['the same direction', [1, 2, 3], [10, 20, 30], 1],
    ['nothing in common', [1, 0], [0, 1], 0],
    ['the opposite', [1, 2], [-1, -2], -1],
    ['zeros', [0, 0], [1, 2], 0],
    ['two of zeros', [0, 0], [0, 0], 0],
    ['large values', [1e308, 1e308], [1e308, 0], Math.SQRT1_2],
    ['small values', [1e-320, 1e-320], [1e-320, 0], Math.SQRT1_2],
    ['large and small ones', [1e308, 1e308], [1e-300, 0], Math.SQRT1_2],
  ])('of %s', (_what, a, b, expected) => {
    expect(cosineSimilarity(a, b)).toBeCloseTo(expected, 3)
    expect(Math.abs(cosineSimilarity(a, b))).toBeLessThanOrEqual(1)
  })

  test('takes typed arrays', () => {
    expect(cosineSimilarity(new Float32Array([1, 0]), [1, 0])).toBe(1)
  })

  test.each<[readonly number[], readonly number[], string]>([
    [[1], [1, 2], 'b must have as many numbers as a, 1, not 2'],
    [[1, Number.NaN], [1, 2], 'a[1] must be a finite number'],
    [[1, 2], [Infinity, 2], 'b[0] must be a finite number'],
  ])('refuses %j and %j', (a, b, message) => {
    expect(() => cosineSimilarity(a, b)).toThrow(message)
    expect(() => cosineSimilarity(a, b)).toThrow(
      expect.objectContaining({ name: 'ValidationError' }) as Error,
    )
  })
})
