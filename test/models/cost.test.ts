import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  AdapterError,
  agentTool,
  budget,
  chat,
  cost,
  costOf,
  createEngine,
  embed,
  extendEngine,
  generate,
  isAllmError,
  priceOf,
  Session,
  step,
  tool,
  ValidationError,
  type BudgetOptions,
  type Cost,
  type PriceTable,
  type RunUsage,
} from '../../src/index.ts'
import { fallback } from '../../src/middleware.ts'
import { fake, fakeEmbeddings, type ScriptEntry } from '../../src/testing.ts'

test('tokens cost what their kind costs, and as much as others where it has no price', () => {
  const usage = {
    inputTokens: 1_000_000,
    cachedInputTokens: 400_000,
    cacheWriteInputTokens: 100_000,
    outputTokens: 200_000,
    reasoningTokens: 50_000,
  }
  expect(cost(usage, { input: 2, output: 10 })).toBe(4)
  const apart = { input: 2, output: 10, cachedInput: 0.5, cacheWriteInput: 4, reasoning: 20 }
  expect(cost(usage, apart)).toBeCloseTo(0.5 * 2 + 0.4 * 0.5 + 0.1 * 4 + 0.15 * 10 + 0.05 * 20, 12)
  expect(cost({ inputTokens: 0, outputTokens: 0 }, { input: 2, output: 10 })).toBe(0)
})

test('what is not known is not free', () => {
  expect(cost({ inputTokens: 1, outputTokens: 1 }, undefined)).toBeUndefined()
  expect(cost({}, { input: 1, output: 1 })).toBeUndefined()
  expect(cost({ inputTokens: 5 }, { input: 1, output: 1 })).toBeUndefined()
})

test('a model without output tokens needs no price for them', () => {
  expect(cost({ inputTokens: 1_000_000 }, { input: 0.02 })).toBe(0.02)
  expect(cost({ inputTokens: 1_000_000 }, { input: 0.02, output: 0 })).toBe(0.02)
  expect(cost({ inputTokens: 1_000_000, outputTokens: 0 }, { input: 0.02 })).toBe(0.02)
  expect(cost({ outputTokens: 5 }, { input: 0 })).toBeUndefined()
  // What a chat model said has no price here.
  expect(cost({ inputTokens: 5, outputTokens: 5 }, { input: 1 })).toBeUndefined()
  expect(cost({ inputTokens: 5, outputTokens: 5 }, { input: 1, output: 0 })).toBe(0.000005)
})

test('embeddings cost what they used, also those that came before a failure', async () => {
  const tables: PriceTable = { 'fake/small': { input: 2 } }
  const usage = { inputTokens: 500_000 }
  const embeddingAdapter = fakeEmbeddings({
    limits: { maxTexts: 1 },
    script: [
      ['ok', [[1]], { usage }],
      ['ok', [[2]], { usage }],
      ['ok', [[1]], { usage }],
      ['error', new AdapterError('invalid_request', 'No.')],
    ],
  })
  const engine = createEngine({ embeddingAdapter, embeddingModel: 'small' })
  const whole = await embed(engine, ['a', 'b'], { maxConcurrency: 1 })
  expect(costOf(whole, tables)).toEqual({ total: 2, unknown: [] })
  const failed = embed(engine, ['a', 'b'], { maxConcurrency: 1 })
  expect(await failedCost(failed, tables)).toEqual({ total: 1, unknown: [] })
})

test.each<[unknown, RegExp]>([
  [{ 'gpt-5': { output: 1 } }, /prices\["gpt-5"\]\.input/],
  [{ 'gpt-5': { input: -1, output: 1 } }, /prices\["gpt-5"\]\.input must be a number from 0/],
  [{ 'gpt-5': { input: 1, output: '1' } }, /prices\["gpt-5"\]\.output must be a number/],
  [{ 'gpt-5': { input: 1, ouput: 1 } }, /prices\["gpt-5"\].*ouput/],
  [null, /prices must be an object, not null/],
])('a price table %j is refused', (table, problem) => {
  const refused = () => costOf([], table as PriceTable)
  expect(refused).toThrow(ValidationError)
  expect(refused).toThrow(problem)
})

const prices: PriceTable = {
  'gpt-5': { input: 1, output: 10 },
  'gpt-5-mini': { input: 0.1, output: 1 },
  'azure/gpt-5': { input: 2, output: 20 },
  'claude-sonnet-4': { input: 3, output: 15 },
}

test.each<[string | undefined, string | undefined, number | undefined]>([
  ['openai', 'gpt-5', 1],
  ['openai', 'gpt-5-2025-08-07', 1],
  ['openai', 'gpt-5-mini-2025-08-07', 0.1],
  [undefined, 'gpt-5-mini', 0.1],
  ['azure', 'gpt-5', 2],
  ['azure', 'gpt-5-2025-08-07', 2],
  ['anthropic', 'claude-sonnet-4-20250514', 3],
  ['vertex', 'claude-sonnet-4@20250514', 3],
  ['anthropic', 'claude-sonnet-4-latest', 3],
  ['anthropic', 'claude-sonnet-4-5', undefined],
  ['openai', 'gpt-5-codex', undefined],
  ['openai', 'gpt-55', undefined],
  ['openai', undefined, undefined],
  ['openai', 'constructor', undefined],
])(
  'the price of %s %s: its own, or that of the longest name it is a version of',
  (provider, model, input) => {
    expect(priceOf(prices, { provider, model })?.input).toBe(input)
  },
)

const used = { inputTokens: 1_000_000, outputTokens: 100_000 }

test('a list of answers costs what each of its models costs; what has no price is told, not counted as free', () => {
  const answers = [
    { provider: 'openai', model: 'gpt-5', usage: used },
    { provider: 'azure', model: 'gpt-5', usage: used },
    { provider: 'groq', model: 'llama', usage: used },
    { provider: 'groq', model: 'llama', usage: used },
    { provider: 'openai', model: 'gpt-5', usage: {} },
  ]
  expect(costOf(answers, prices)).toEqual({
    total: 2 + 4,
    unknown: [
      {
        provider: 'groq',
        model: 'llama',
        usage: { inputTokens: 2_000_000, outputTokens: 200_000 },
      },
      { provider: 'openai', model: 'gpt-5', usage: {} },
    ],
  })
  expect(costOf([], prices)).toEqual({ total: 0, unknown: [] })
})

/** An answer of the fake that a model gave. */
const said = (text: string, usage = used): readonly ScriptEntry[] => [
  ['text', text],
  ['usage', usage],
]

/** A session as another process reads it. */
const saved = (session: Session): Session => Session.parse(Session.stringify(session))

const look = tool({ name: 'look', description: 'Looks.', schema: {}, handler: () => 'seen' })

const calls = (id: string, name = 'look', args = {}): readonly ScriptEntry[] => [
  ['tool_call', { id, name, arguments: args }],
  ['usage', used],
]

test('a run costs what its steps cost, with the agents inside of it, each at its own price', async () => {
  const inner = createEngine({ adapter: fake({ script: said('inside') }), model: 'gpt-5-mini' })
  const ask = agentTool({ name: 'ask', description: 'Asks.', engine: inner })
  const adapter = fake({ scripts: [calls('a', 'ask', { prompt: 'go' }), said('done')] })
  const engine = createEngine({ adapter, model: 'gpt-5', tools: [ask] })
  const result = await chat(engine, 'hi')
  expect(result.innerAnswers).toEqual([{ provider: 'fake', model: 'gpt-5-mini', usage: used }])
  expect(costOf(result, prices)).toEqual({ total: 2 + 2 + 0.2, unknown: [] })
  expect(costOf([result, result], prices).total).toBeCloseTo(8.4, 12)
})

test('an agent that reports nothing, and one that breaks off, has a model and an unknown cost', async () => {
  const silent: readonly ScriptEntry[] = [
    ['text', 'inside'],
    ['usage', {}],
  ]
  const broken: readonly ScriptEntry[] = [
    ['text', 'ins'],
    ['failure', 'provider_unavailable', {}],
  ]
  for (const script of [silent, broken]) {
    const inner = createEngine({ adapter: fake({ script }), model: 'gpt-5-mini', retry: false })
    const ask = agentTool({ name: 'ask', description: 'Asks.', engine: inner })
    const adapter = fake({ scripts: [calls('a', 'ask', { prompt: 'go' }), said('done')] })
    const engine = createEngine({ adapter, model: 'gpt-5', tools: [ask] })
    expect(costOf(await chat(engine, 'hi'), prices)).toEqual({
      total: 4,
      unknown: [{ provider: 'fake', model: 'gpt-5-mini', usage: {} }],
    })
  }
})

test('a first answer without tokens is not free because later ones have some', async () => {
  const silent: readonly ScriptEntry[] = [
    ['tool_call', { id: 'a', name: 'look', arguments: {} }],
    ['usage', {}],
  ]
  const adapter = fake({ scripts: [silent, said('done')] })
  const engine = createEngine({ adapter, model: 'gpt-5', tools: [look] })
  expect(costOf(await chat(engine, 'hi'), prices)).toEqual({
    total: 2,
    unknown: [{ provider: 'fake', model: 'gpt-5', usage: {} }],
  })
})

test('a session costs what its results cost, each answer once, also over an approval', async () => {
  const adapter = fake({ scripts: [calls('a'), said('done')] })
  const tools = [{ ...look, needsApproval: true }]
  const engine = createEngine({ adapter, model: 'gpt-5', tools })
  const first = await Session.start(engine, 'hi')
  const second = await Session.resume(engine, Session.approve(first.session, 'a'))
  expect(costOf([first, second], prices)).toEqual({ total: 4, unknown: [] })
})

/** What a failed call costs, also once it was saved. */
const failedCost = async (run: Promise<unknown>, table = prices): Promise<Cost> => {
  const error = await run.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!isAllmError(error) || error.partial === undefined) throw new Error('no partial result')
  const found = costOf(error.partial, table)
  expect(costOf(JSON.parse(JSON.stringify(error.partial)), table)).toEqual(found)
  return found
}

test('an answer that broke off has a model and an unknown cost', async () => {
  const broken: readonly ScriptEntry[] = [
    ['text', 'half of'],
    ['failure', 'provider_unavailable', {}],
  ]
  const engineOf = (scripts: readonly (readonly ScriptEntry[])[]) =>
    createEngine({ adapter: fake({ scripts }), model: 'gpt-5', tools: [look], retry: false })
  const unknown = [{ provider: 'fake', model: 'gpt-5', usage: {} }]
  expect(await failedCost(chat(engineOf([calls('a'), broken]), 'hi'))).toEqual({
    total: 2,
    unknown,
  })
  expect(await failedCost(chat(engineOf([broken]), 'hi'))).toEqual({ total: 0, unknown })
  expect(await failedCost(generate(engineOf([broken]), 'hi'))).toEqual({ total: 0, unknown })
  const engine = engineOf([calls('a'), broken, said('done')])
  const first = await Session.start(engine, 'hi')
  const second = await Session.resume(engine, saved(first.session))
  expect(second.session.status).toBe('completed')
  expect(costOf([first, second], prices)).toEqual({ total: 4, unknown })
})

test('a call that failed before its answer began costs nothing', async () => {
  const refused: readonly ScriptEntry[] = [['preflight_error', 'provider_unavailable', {}]]
  const adapter = fake({ scripts: [calls('a'), refused] })
  const engine = createEngine({ adapter, model: 'gpt-5', tools: [look], retry: false })
  expect(await failedCost(chat(engine, 'hi'))).toEqual({ total: 2, unknown: [] })
})

test('a step that failed after its answer is priced by its model', async () => {
  const engineOf = () =>
    createEngine({
      adapter: fake({ scripts: [calls('a'), calls('b'), said('no JSON')] }),
      model: 'gpt-5',
      tools: [look],
    })
  const responseFormat = z.object({ a: z.number() })
  const wrong = chat(engineOf(), 'hi', { responseFormat })
  expect(await failedCost(wrong)).toEqual({ total: 6, unknown: [] })
  const haltWhen = (_step: unknown, run: RunUsage): boolean => {
    if (run.answers.length === 2) throw new Error('no')
    return false
  }
  expect(await failedCost(chat(engineOf(), 'hi', { haltWhen }))).toEqual({ total: 4, unknown: [] })
  const first = await Session.start(engineOf(), 'hi', {
    haltWhen: budget({ maxCost: 1, prices: {} }),
  })
  expect(costOf(first, prices)).toEqual({ total: 2, unknown: [] })
  // It goes on with the answer that was told.
  const failing = () => Promise.reject(new Error('down'))
  const again = await Session.resume(engineOf(), first.session, { haltWhen: failing })
  expect(again.session.status).toBe('error')
  expect(costOf([first, again], prices)).toEqual({ total: 2, unknown: [] })
})

test('a fallback is priced by the model that answered', async () => {
  const broken = fake({ script: [['preflight_error', 'provider_unavailable', {}]] })
  const adapter = fallback([
    broken,
    { adapter: fake({ script: said('yes') }), model: 'gpt-5-mini' },
  ])
  const response = await generate(createEngine({ adapter, model: 'gpt-5', retry: false }), 'hi')
  expect(costOf(response, prices)).toEqual({ total: 0.2, unknown: [] })
})

/** An engine whose first model fails once before it answers, so that two models answer in turn. */
const inTurn = (...scripts: readonly (readonly ScriptEntry[])[]) => {
  const [first = [], ...rest] = scripts
  const down: readonly ScriptEntry[] = [['preflight_error', 'provider_unavailable', {}]]
  const adapter = fallback([
    { adapter: fake({ scripts: [down, ...rest] }), model: 'gpt-5' },
    { adapter: fake({ scripts: [first] }), model: 'gpt-5-mini' },
  ])
  return createEngine({ adapter, retry: false })
}

describe('a repaired answer', () => {
  const options = { responseFormat: z.object({ n: z.number() }), repair: 2 } as const
  const wrong = '{"n":"x"}'
  const right = '{"n":1}'

  test('costs what each answer costs at its own model, as in a chat', async () => {
    const scripts = [said(wrong), said(right)]
    const response = await generate(inTurn(...scripts), 'hi', options)
    expect(response.usage).toEqual({ inputTokens: 2_000_000, outputTokens: 200_000 })
    expect(response.metadata).toMatchObject({
      repairs: 1,
      answers: [
        { provider: 'fake', model: 'gpt-5-mini', usage: used },
        { provider: 'fake', model: 'gpt-5', usage: used },
      ],
    })
    expect(costOf(response, prices)).toEqual({ total: 0.2 + 2, unknown: [] })
    expect(costOf(JSON.parse(JSON.stringify(response)), prices).total).toBe(2.2)
    const run = await chat(inTurn(...scripts), 'hi', options)
    expect(costOf(run, prices)).toEqual({ total: 0.2 + 2, unknown: [] })
  })

  test('is not free because the answer after it has tokens', async () => {
    const adapter = fake({ scripts: [[['text', wrong]], said(right)] })
    const response = await generate(createEngine({ adapter, model: 'gpt-5' }), 'hi', options)
    const silent = { provider: 'fake', model: 'gpt-5', usage: {} }
    expect(costOf(response, prices)).toEqual({ total: 2, unknown: [silent] })
  })

  test.each<[string, readonly ScriptEntry[], number]>([
    ['never matches', said(wrong), 4.2],
    ['fails before its answer', [['preflight_error', 'invalid_request', {}]], 2.2],
    [
      'breaks off',
      [
        ['start', { model: 'gpt-5', usage: used }],
        ['text', '{'],
        ['error', 'timeout'],
      ],
      4.2,
    ],
  ])('is paid for also when the last repair %s', async (_name, last, total) => {
    const run = generate(inTurn(said(wrong), said(wrong), last), 'hi', options)
    const found = await failedCost(run)
    expect(found.total).toBeCloseTo(total, 10)
    expect(found.unknown).toEqual([])
  })
})

describe('an answer that broke off before a fallback went on', () => {
  const half = (...start: readonly ScriptEntry[]): readonly ScriptEntry[] => [
    ...start,
    ['text', 'It is'],
    ['error', 'provider_unavailable'],
  ]
  const goingOn = (broken: readonly ScriptEntry[], answer = said('It is 42.')) =>
    fallback(
      [
        { adapter: fake({ script: broken }), model: 'gpt-5' },
        { adapter: fake({ script: answer }), model: 'gpt-5-mini' },
      ],
      { afterFirstEvent: true },
    )
  const known = half(['start', { usage: used }])

  test('is paid for at the price of its model', async () => {
    const engine = createEngine({ adapter: goingOn(known) })
    const response = await generate(engine, 'hi')
    expect(response.metadata['fallback']).toMatchObject({
      failed: [{ provider: 'fake', model: 'gpt-5', usage: used }],
    })
    expect(costOf(response, prices)).toEqual({ total: 2.2, unknown: [] })
    expect(costOf(await chat(createEngine({ adapter: goingOn(known) }), 'hi'), prices)).toEqual({
      total: 2.2,
      unknown: [],
    })
  })

  test.each<[string, readonly ScriptEntry[], object]>([
    ['nothing', half(), {}],
    ['its input', half(['start', { usage: { inputTokens: 7 } }]), { inputTokens: 7 }],
  ])('is not free when it reported %s', async (_what, broken, usage) => {
    const response = await generate(createEngine({ adapter: goingOn(broken) }), 'hi')
    const unknown = [{ provider: 'fake', model: 'gpt-5', usage }]
    expect(costOf(response, prices)).toEqual({ total: 0.2, unknown })
  })

  test('is paid for in an agent inside a call, too', async () => {
    const agent = createEngine({ adapter: goingOn(known) })
    const ask = agentTool({ name: 'ask', description: 'Asks.', engine: agent })
    const outer = fake({ scripts: [calls('a', 'ask', { prompt: 'hi' }), said('Done.')] })
    const run = await chat(createEngine({ adapter: outer, model: 'gpt-5', tools: [ask] }), 'hi')
    expect(costOf(run, prices).total).toBeCloseTo(2 + 2.2 + 2, 10)
    expect(costOf(run, prices).unknown).toEqual([])
  })

  test('counts for a budget as far as it is known', async () => {
    const halted = async (broken: readonly ScriptEntry[], options: BudgetOptions) => {
      const adapter = goingOn(broken, calls('a'))
      const engine = createEngine({ adapter, tools: [look] })
      const run = await chat(engine, 'hi', { haltWhen: budget(options), maxTurns: 1 })
      return run.haltedReason
    }
    expect(await halted(known, { maxCost: 2.1, prices })).toBe('halt_when')
    expect(await halted(known, { maxTokens: 2_000_000 })).toBe('halt_when')
    expect(await halted(half(), { maxCost: 2.1, prices })).toBe('max_turns')
    expect(await halted(half(), { maxTokens: 2_000_000 })).toBe('max_turns')
  })
})

describe('a budget', () => {
  /** A loop that calls its tool until it is stopped. */
  const turns = [0, 1, 2, 3, 4, 5, 6]
  const endless = (model = 'gpt-5') =>
    createEngine({
      adapter: fake({ scripts: turns.map((at) => calls(`${at}`)) }),
      model,
      tools: [look],
      maxTurns: 6,
    })

  test.each<[BudgetOptions, number, string]>([
    [{ maxTokens: 1_100_000 }, 1, 'halt_when'],
    [{ maxTokens: 2_000_000 }, 2, 'halt_when'],
    [{ maxTokens: 2_000_000, spent: 1_000_000 }, 1, 'halt_when'],
    [{ maxTokens: 1e9 }, 6, 'max_turns'],
    [{ maxCost: 5, prices }, 3, 'halt_when'],
    [{ maxCost: 5, prices, spent: () => Promise.resolve(4) }, 1, 'halt_when'],
  ])('%j ends the loop after %i steps', async (options, steps, reason) => {
    const result = await chat(endless(), 'hi', { haltWhen: budget(options) })
    expect([result.steps.length, result.haltedReason]).toEqual([steps, reason])
  })

  test('counts each run by itself', async () => {
    const engine = extendEngine(endless(), { haltWhen: budget({ maxTokens: 2_000_000 }) })
    const runs = await Promise.all([chat(engine, 'a'), chat(engine, 'b')])
    expect(runs.map(({ steps }) => steps.length)).toEqual([2, 2])
  })

  test('counts the agents inside of a run, at their own prices', async () => {
    const inside = fake({ scripts: turns.map(() => said('inside')) })
    const inner = createEngine({ adapter: inside, model: 'azure/gpt-5' })
    const ask = agentTool({ name: 'ask', description: 'Asks.', engine: inner })
    const scripts = turns.map((at) => calls(`${at}`, 'ask', { prompt: 'go' }))
    const engine = createEngine({ adapter: fake({ scripts }), model: 'gpt-5', tools: [ask] })
    const byCost = await chat(engine, 'hi', { haltWhen: budget({ maxCost: 6, prices }) })
    expect(byCost.steps).toHaveLength(1)
    const byTokens = await chat(engine, 'hi', { haltWhen: budget({ maxTokens: 2_200_000 }) })
    expect(byTokens.steps).toHaveLength(1)
  })

  const limits = [
    ['maxTokens', { maxTokens: 2_200_000 }],
    ['maxCost', { maxCost: 4, prices }],
  ] as const
  const guarded = { ...look, needsApproval: true }

  test.each(limits)('%s counts on over an approval, as maxTurns does', async (_name, options) => {
    const adapter = fake({ scripts: turns.map((at) => calls(`${at}`)) })
    const haltWhen = budget(options)
    const engine = createEngine({ adapter, model: 'gpt-5', tools: [guarded], haltWhen })
    const first = await Session.start(engine, 'hi')
    const second = await Session.resume(engine, saved(Session.approve(first.session, '0')))
    expect(second.session.error).toBeUndefined()
    expect(second.session.status).toBe('awaiting_approval')
    const third = await Session.resume(engine, saved(Session.deny(second.session, '1')))
    expect([third.session.status, third.result.haltedReason]).toEqual(['halted', 'halt_when'])
    expect(third.result.usage).toEqual({})
    // A run that a limit ended counts anew, and so does a message of the user.
    const fourth = await Session.resume(engine, third.session)
    expect(fourth.session.status).toBe('awaiting_approval')
    expect(adapter.calls).toHaveLength(3)
    expect(costOf([first, second, third, fourth], prices)).toEqual({ total: 6, unknown: [] })
  })

  test.each(limits)('%s lets a thread go on whose call is approved', async (_name, options) => {
    const adapter = fake({ scripts: [calls('a'), calls('b'), said('done')] })
    const engine = createEngine({ adapter, model: 'gpt-5', tools: [guarded] })
    const first = await chat(engine, 'hi')
    const second = await chat(engine, first.thread, {
      approvals: { a: true },
      haltWhen: budget(options),
    })
    expect(second.haltedReason).toBe('approval')
  })

  test('counts what was used before a wait for an agent, too', async () => {
    const inside = fake({ scripts: [calls('i'), said('inside')] })
    const inner = createEngine({ adapter: inside, model: 'gpt-5', tools: [guarded] })
    const ask = agentTool({ name: 'ask', description: 'Asks.', engine: inner })
    const scripts = [calls('a', 'ask', { prompt: 'go' }), said('done')]
    const haltWhen = budget({ maxTokens: 3_300_000 })
    const adapter = fake({ scripts })
    const engine = createEngine({ adapter, model: 'gpt-5', tools: [ask], haltWhen })
    const first = await Session.start(engine, 'hi')
    const second = await Session.resume(engine, saved(Session.approve(first.session, 'a/i')))
    expect(second.session.haltedReason).toBe('halt_when')
    expect(costOf([first, second], prices)).toEqual({ total: 6, unknown: [] })
  })

  test('that failed once does not keep a session from going on', async () => {
    const adapter = fake({ scripts: [calls('a'), said('done')] })
    const engine = createEngine({ adapter, model: 'gpt-5', tools: [look] })
    const first = await Session.start(engine, 'hi', {
      haltWhen: budget({ maxCost: 100, prices: {} }),
    })
    expect(first.session.error?.message).toMatch(/prices\["fake\/gpt-5"\] is needed for maxCost/)
    const failing = budget({ maxCost: 100, prices, spent: () => Promise.reject(new Error('down')) })
    const second = await Session.resume(engine, saved(first.session), { haltWhen: failing })
    expect(second.session.error?.message).toBe('haltWhen threw: down')
    const tight = budget({ maxCost: 2, prices })
    const third = await Session.resume(engine, saved(second.session), { haltWhen: tight })
    expect(third.result.haltedReason).toBe('halt_when')
    const ample = budget({ maxCost: 100, prices })
    const whole = await Session.resume(engine, saved(second.session), { haltWhen: ample })
    expect(whole.session.status).toBe('completed')
  })

  test.each([
    ['maxTokens', { maxTokens: 9e9 }],
    ['maxCost', { maxCost: 9e9, prices }],
  ] as const)('of %s does not count an answer without tokens as free', async (name, options) => {
    const silent: readonly ScriptEntry[] = [
      ['tool_call', { id: 'b', name: 'look', arguments: {} }],
      ['usage', {}],
    ]
    const adapter = fake({ scripts: [calls('a'), silent, said('done')] })
    const engine = createEngine({ adapter, model: 'gpt-5', tools: [look] })
    const run = chat(engine, 'hi', { haltWhen: budget(options) })
    await expect(run).rejects.toThrow(
      new RegExp(`usage was not reported by "fake/gpt-5", and is needed for ${name}`),
    )
  })

  test('that is used up lets no wrong answer be repaired', async () => {
    const adapter = fake({ scripts: [said('wrong'), said('{"a":1}')] })
    const engine = createEngine({ adapter, model: 'gpt-5' })
    const responseFormat = z.object({ a: z.number() })
    const options = { responseFormat, repair: 1, haltWhen: budget({ maxTokens: 1_000_000 }) }
    expect(await failedCost(chat(engine, 'hi', options))).toEqual({ total: 2, unknown: [] })
    expect(adapter.calls).toHaveLength(1)
    const first = await Session.start(engine, 'hi', { ...options, haltWhen: undefined })
    expect(first.result.output).toEqual({ a: 1 })
  })

  test('that is used up ends the loop, and structuredFinalize still makes its call', async () => {
    const adapter = fake({ scripts: [calls('a'), said('{"a":1}')] })
    const engine = createEngine({ adapter, model: 'gpt-5', tools: [look] })
    const result = await chat(engine, 'hi', {
      responseFormat: z.object({ a: z.number() }),
      structuredFinalize: true,
      haltWhen: budget({ maxTokens: 1 }),
    })
    expect([result.output, result.steps.length]).toEqual([{ a: 1 }, 2])
  })

  test('that lacks the price of a model fails the run, and names it', async () => {
    const run = chat(endless('unheard-of'), 'hi', { haltWhen: budget({ maxCost: 5, prices }) })
    await expect(run).rejects.toThrow(/prices\["fake\/unheard-of"\] is needed for maxCost/)
  })

  test.each([undefined, null, NaN, '5', -1, Infinity])(
    'is not told by `spent` that %s was spent',
    async (told) => {
      const spent = () => told as number
      const run = chat(endless(), 'hi', { haltWhen: budget({ maxTokens: 10, spent }) })
      await expect(run).rejects.toThrow(/spent must be a number from 0 to .* returned/)
    },
  )

  test.each<[object, RegExp]>([
    [{}, /either maxTokens or maxCost/],
    [{ maxTokens: 1, maxCost: 1, prices }, /either maxTokens or maxCost/],
    [{ maxCost: 1 }, /prices must be given/],
    [{ maxTokens: -1 }, /maxTokens must be a number from 0/],
    [{ maxTokens: 1, spend: 2 }, /spent/],
    [{ maxCost: 1, prices: { a: { output: 1 } } }, /prices\.a/],
  ])('%j is refused', (options, problem) => {
    expect(() => budget(options as BudgetOptions)).toThrow(problem)
  })
})

test('a call that failed before its answer began has cost nothing, and that is known', async () => {
  const adapter = fake({ script: () => [['preflight_error', 'invalid_request', {}]] })
  const engine = createEngine({ adapter, model: 'm' })
  for (const run of [generate, step, chat]) {
    const error: unknown = await run(engine, 'x').catch((thrown: unknown) => thrown)
    if (!isAllmError(error) || error.partial === undefined) throw new Error('no partial result')
    expect(costOf(error.partial, { m: { input: 1, output: 1 } })).toEqual({ total: 0, unknown: [] })
  }
})

test.each([
  ['a number', 5, 'what must be a response, a result or a list of them'],
  ['nothing', undefined, 'what must be a response, a result or a list of them'],
  ['a list with a text', [{ usage: {} }, 'x'], 'what[1] must be a response'],
  ['a result without usage', { result: {} }, 'what.result must be a response'],
])('%s cannot be priced', (_name, what, message) => {
  // A caller without types may pass anything.
  expect(() => costOf(what as never, {})).toThrow(message)
  expect(() => costOf(what as never, {})).toThrow(ValidationError)
})
