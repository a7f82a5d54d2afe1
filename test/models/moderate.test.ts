import { describe, expect, test } from 'vitest'
import {
  AdapterError,
  createEngine,
  errorToJSON,
  moderate,
  user,
  ValidationError,
  type Message,
  type ModerationAdapter,
  type ModerationInput,
  type ModerationResponse,
} from '../../src/index.ts'
import { onTelemetry, type TelemetryEvent } from '../../src/index.ts'
import {
  fake,
  fakeModeration,
  moderationResult,
  virtualClock,
  type FakeModerationOptions,
} from '../../src/testing.ts'
import { cat, dog } from './support.ts'

function judge(options: FakeModerationOptions = {}) {
  const adapter = fakeModeration(options)
  const engine = createEngine({ moderationAdapter: adapter, clock: virtualClock() })
  return { adapter, engine }
}

const text = (words: string) => ({ type: 'text', text: words }) as const
const image = (of: typeof cat) => ({ type: 'image', image: of }) as const
const rude = (words: string) => (words.includes('rude') ? ['harassment'] : [])

describe('the verdict', () => {
  test('about a text is one result', async () => {
    const { engine, adapter } = judge({ flag: rude })
    const { flagged, results } = await moderate(engine, 'a rude word')
    expect(flagged).toBe(true)
    expect(results).toEqual([moderationResult('harassment')])
    expect(adapter.calls[0]?.request).toEqual({
      input: ['a rude word'],
      providerOptions: {},
      metadata: {},
    })
  })

  test('about several texts is one each, and flagged if any is', async () => {
    const { engine } = judge({ flag: rude })
    const { flagged, results } = await moderate(engine, ['kind', 'rude', 'kind'])
    expect([flagged, results.map((result) => result.flagged)]).toEqual([true, [false, true, false]])
  })

  test('about the parts of a message is one for all', async () => {
    const seen: unknown[] = []
    const { engine } = judge({
      flag: (words, images) => {
        seen.push([words, images])
        return []
      },
    })
    const parts = [text('look at '), text('this'), image(cat)]
    expect((await moderate(engine, parts)).results).toHaveLength(1)
    expect((await moderate(engine, user(parts))).results).toHaveLength(1)
    expect((await moderate(engine, user('look'))).results).toHaveLength(1)
    expect(seen).toEqual([
      ['look at this', [cat]],
      ['look at this', [cat]],
      ['look', []],
    ])
  })
})

describe('more than one call takes', () => {
  test('texts are split, and the results stay in order', async () => {
    const { engine, adapter } = judge({ flag: rude, maxTexts: 2 })
    const { results, flagged } = await moderate(engine, ['a', 'b', 'rude c', 'd', 'rude e'])
    expect(results.map((result) => result.flagged)).toEqual([false, false, true, false, true])
    expect(flagged).toBe(true)
    expect(adapter.calls.map(({ request }) => request.input)).toEqual([
      ['a', 'b'],
      ['rude c', 'd'],
      ['rude e'],
    ])
  })

  test('each call is retried by itself', async () => {
    const { engine, adapter } = judge({
      maxTexts: 1,
      script: [
        ['ok', [moderationResult()], { id: 'one', usage: { inputTokens: 2 } }],
        ['retry_until_call', 2],
        ['ok', [moderationResult('hate')], { id: 'two', usage: { inputTokens: 3 } }],
      ],
    })
    const response = await moderate(engine, ['a', 'b'])
    expect(response.results.map(({ flagged }) => flagged)).toEqual([false, true])
    expect(response.usage).toEqual({ inputTokens: 5 })
    // Each call has an id of its own.
    expect(response).not.toHaveProperty('id')
    expect(adapter.calls).toHaveLength(3)
  })

  test('images are judged one by one, each with all of the text', async () => {
    const { engine, adapter } = judge({
      script: [
        ['ok', [moderationResult()]],
        ['ok', [moderationResult('violence')]],
        ['ok', [{ flagged: false, categories: { hate: false }, scores: { hate: 0.4 } }]],
      ],
    })
    const input = [text('a'), image(cat), text('b'), image(dog), image(cat)]
    const { flagged, results } = await moderate(engine, input)
    expect(flagged).toBe(true)
    expect(results).toHaveLength(1)
    expect(results[0]?.categories).toEqual(moderationResult('violence').categories)
    expect(results[0]?.scores).toMatchObject({ violence: 1, hate: 0.4, sexual: 0 })
    expect(adapter.calls.map(({ request }) => request.input)).toEqual([
      [text('a'), image(cat), text('b')],
      [text('a'), text('b'), image(dog)],
      [text('a'), text('b'), image(cat)],
    ])
  })

  test('a failure of one call fails all', async () => {
    const { engine } = judge({
      maxTexts: 1,
      script: [
        ['ok', [moderationResult()]],
        ['error', new AdapterError('invalid_request', 'no')],
      ],
    })
    await expect(moderate(engine, ['a', 'b'])).rejects.toMatchObject({ reason: 'invalid_request' })
  })
})

describe('what is empty is clean, and is not sent:', () => {
  const clean = { flagged: false, categories: {}, scores: {} }

  test.each<[string, ModerationInput, readonly unknown[]]>([
    ['a text', '', [clean]],
    ['all texts', ['', ''], [clean, clean]],
    ['a text part', [text('')], [clean]],
    ['a message', { role: 'assistant', content: '' }, [clean]],
  ])('%s', async (_name, input, results) => {
    const { engine, adapter } = judge({ flag: () => ['hate'] })
    expect(await moderate(engine, input, { requestId: 'r1', metadata: { a: 1 } })).toEqual({
      requestId: 'r1',
      provider: 'fake',
      flagged: false,
      results,
      usage: {},
      warnings: [],
      metadata: { a: 1 },
    })
    expect(adapter.calls).toEqual([])
  })

  test('one of several, with the results of the others in their places', async () => {
    const { engine, adapter } = judge({ flag: rude, maxTexts: 1 })
    const { flagged, results } = await moderate(engine, ['', 'rude', '', 'kind', ''])
    expect([flagged, results.map((result) => result.flagged)]).toEqual([
      true,
      [false, true, false, false, false],
    ])
    expect(results[0]).toEqual(clean)
    expect(adapter.calls.map(({ request }) => request.input)).toEqual([['rude'], ['kind']])
  })

  test('a part beside others', async () => {
    const { engine, adapter } = judge()
    expect((await moderate(engine, [text(''), image(cat)])).results).toHaveLength(1)
    expect(adapter.calls[0]?.request.input).toEqual([image(cat)])
  })
})

describe('before anything is sent', () => {
  const file = { type: 'file', file: { type: 'url', url: 'https://example.com/a.pdf' } } as const

  test.each<[string, unknown, string]>([
    ['nothing', [], 'input'],
    ['texts and parts together', ['a', text('b')], 'input[1]'],
    ['parts and texts together', [text('b'), 'a'], 'input[1]'],
    ['a file', [text('b'), file], 'input[1].type'],
    ['a message with a file', user([text('b'), file]), 'input[1].type'],
    ['a message without parts', { role: 'assistant', content: [] } satisfies Message, 'input'],
    ['a number', 7, 'input'],
    ['null', null, 'input'],
  ])('%s is refused', async (_name, input, path) => {
    const { engine, adapter } = judge()
    const error: unknown = await moderate(engine, input as ModerationInput).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(ValidationError)
    expect(errorToJSON(error)).toMatchObject({ reason: 'invalid_request', issues: [{ path }] })
    expect(adapter.calls).toEqual([])
  })

  test('an engine without such an adapter, an unknown option and a needed model are refused', async () => {
    await expect(moderate(createEngine({ adapter: fake() }), 'a')).rejects.toMatchObject({
      reason: 'missing_adapter',
      message: expect.stringContaining('moderationAdapter') as string,
    })
    const { engine, adapter } = judge()
    const options = { threshold: 1 } as object
    await expect(moderate(engine, 'a', options)).rejects.toMatchObject({
      reason: 'invalid_options',
    })
    const picky = createEngine({ moderationAdapter: { ...adapter, needsModel: true } })
    await expect(moderate(picky, 'a')).rejects.toMatchObject({ reason: 'missing_model' })
    expect(adapter.calls).toEqual([])
  })
})

describe('an adapter that gives no verdict is malformed_response', () => {
  const right: ModerationResponse = {
    requestId: 'r',
    provider: 'test',
    flagged: false,
    results: [moderationResult()],
    usage: {},
    warnings: [],
    metadata: {},
  }
  const { flagged: _missing, ...unflagged } = moderationResult()

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', 'clean'],
    ['no results', { ...right, results: undefined }],
    ['too few results', { ...right, results: [] }],
    ['too many results', { ...right, results: [moderationResult(), moderationResult()] }],
    ['no flag', { ...right, flagged: undefined }],
    ['a flag that is a text', { ...right, flagged: 'false' }],
    ['a result without a flag', { ...right, results: [unflagged] }],
    ['a result with a flag of null', { ...right, results: [{ ...unflagged, flagged: null }] }],
    ['a flag that its results deny', { ...right, results: [moderationResult('hate')] }],
    [
      'a category that is a number',
      { ...right, results: [{ ...right.results[0], categories: { hate: 1 } }] },
    ],
    [
      'a score that is a text',
      { ...right, results: [{ ...right.results[0], scores: { hate: '1' } }] },
    ],
    [
      'a score that is no number',
      { ...right, results: [{ ...right.results[0], scores: { hate: Number.NaN } }] },
    ],
    ...[-0.1, 1.1, 90].map((hate): [string, unknown] => [
      `a score of ${hate}`,
      { ...right, results: [{ ...right.results[0], scores: { hate } }] },
    ]),
  ])('%s', async (_name, answer) => {
    const adapter: ModerationAdapter = {
      provider: 'test',
      maxTexts: 10,
      // An adapter may be written without types.
      moderate: () => Promise.resolve(answer as ModerationResponse),
    }
    const engine = createEngine({ moderationAdapter: adapter })
    await expect(moderate(engine, 'a')).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'malformed_response',
      provider: 'test',
    })
  })
})

test('its model, its key, its signal and its time are those of every call', async () => {
  const clock = virtualClock()
  const seen: unknown[] = []
  const slow: ModerationAdapter = {
    provider: 'slow',
    model: 'own',
    key: { required: true, own: false },
    maxTexts: 10,
    async moderate({ model }, options = {}) {
      seen.push([model, options.apiKey])
      await clock.sleep(5000)
      throw new Error('too late')
    },
  }
  const engine = createEngine({
    moderationAdapter: slow,
    clock,
    keys: { slow: 'k' },
    retry: false,
  })
  await expect(moderate(engine, 'a', { requestTimeoutMs: 100 })).rejects.toMatchObject({
    reason: 'timeout',
  })
  const stopped = AbortSignal.abort()
  await expect(moderate(engine, 'a', { signal: stopped })).rejects.toMatchObject({
    reason: 'cancelled',
  })
  expect(seen).toEqual([['own', 'k']])
  await expect(
    moderate(createEngine({ moderationAdapter: slow, clock, keys: {} }), 'a'),
  ).rejects.toMatchObject({ reason: 'missing_key' })
})

test('a call is a span that tells whether anything was flagged', async () => {
  const events: TelemetryEvent[] = []
  const stop = onTelemetry((event) => events.push(event))
  const { engine } = judge({ flag: rude })
  await moderate(engine, ['a', 'rude'], { metadata: { user: 'u1' } })
  stop()
  expect(events).toMatchObject([
    { name: 'moderate', phase: 'start', provider: 'fake', metadata: { user: 'u1' } },
    { name: 'moderate', phase: 'stop', flagged: true },
  ])
  expect(JSON.stringify(events)).not.toContain('rude')
})
