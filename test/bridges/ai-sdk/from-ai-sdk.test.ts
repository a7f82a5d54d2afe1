import { inspect } from 'node:util'
import { createOpenAI } from '@ai-sdk/openai'
import { wrapLanguageModel } from 'ai'
import { createOpenAI as createOpenAI2 } from 'ai-sdk-openai-2'
import { MockLanguageModelV3 } from 'ai/test'
import { describe, expect, test } from 'vitest'
import { fromAiSdk, type AiSdkModel } from '../../../src/ai-sdk.ts'
import {
  chat,
  createEngine,
  extendEngine,
  generate,
  Session,
  streamGenerate,
  tool,
  user,
  ValidationError,
} from '../../../src/index.ts'
import { createFakeServer } from '../../../src/server.ts'
import { virtualClock } from '../../../src/testing.ts'
import { finish, playedModel, responseOf, said } from './model.ts'

describe('what is taken for a model', () => {
  test('models of V2 and V3, mocks and wrapped models are, and give the adapter its names', () => {
    const openai = createOpenAI({ apiKey: 'none' })
    const wrapped = wrapLanguageModel({ model: openai('gpt-5'), middleware: [] })
    const models: readonly AiSdkModel[] = [
      openai('gpt-5'),
      openai.chat('gpt-5'),
      createOpenAI2({ apiKey: 'none' })('gpt-5'),
      wrapped,
      new MockLanguageModelV3({ provider: 'mock', modelId: 'mock-1' }),
    ]
    expect(
      models.map((model) => fromAiSdk(model)).map(({ provider, model }) => [provider, model]),
    ).toEqual([
      ['openai.responses', 'gpt-5'],
      ['openai.chat', 'gpt-5'],
      ['openai.responses', 'gpt-5'],
      ['openai.responses', 'gpt-5'],
      ['mock', 'mock-1'],
    ])
  })

  test.each<[string, unknown, string]>([
    ['a name', 'openai/gpt-5', 'not string'],
    ['a provider', createOpenAI({ apiKey: 'none' }), 'not function'],
    ['nothing', undefined, 'not undefined'],
    ['a model of V1', { specificationVersion: 'v1', doStream: () => undefined }, 'not v1'],
    [
      'a model of a later version',
      { specificationVersion: 'v5', doStream: () => undefined },
      'not v5',
    ],
  ])('%s is refused', (_what, model, problem) => {
    const make = (): unknown => fromAiSdk(model as AiSdkModel)
    expect(make).toThrow(ValidationError)
    expect(make).toThrow(`model must be a language model of the AI SDK (v2, v3 or v4), ${problem}`)
  })

  test('an unknown option is refused by name, with the one that was meant', () => {
    const options = { providerOption: {} } as object
    expect(() => fromAiSdk(playedModel([]), options)).toThrow(
      'unknown key providerOption; did you mean providerOptions?',
    )
    expect(() => fromAiSdk(playedModel([]), { providerTools: { search: {} } })).toThrow(
      /providerTools\.search must be a tool of a provider/,
    )
  })

  test('a model whose provider has the name of one of this package gets another name', () => {
    expect(fromAiSdk(playedModel([], { provider: 'openai' })).provider).toBe('ai-sdk.openai')
    expect(fromAiSdk(playedModel([], { provider: 'openrouter' })).provider).toBe('openrouter')
    expect(fromAiSdk(playedModel([]), { provider: 'mine' }).provider).toBe('mine')
  })
})

describe('what a model has of its own', () => {
  test('a request for another model is refused before anything is asked', async () => {
    const model = playedModel([])
    const engine = createEngine({ adapter: fromAiSdk(model) })
    expect(engine.model).toBe('parrot-1')
    const other = extendEngine(engine, { model: 'parrot-2' })
    await expect(generate(other, 'hi')).rejects.toMatchObject({
      reason: 'unsupported_feature',
      message: 'the adapter is of parrot-1: make another of parrot-2',
      provider: 'parrot.chat',
    })
    expect(model.calls).toEqual([])
  })

  test('a key of the call or of the engine is refused, because the model would use another', async () => {
    const model = playedModel([])
    const adapter = fromAiSdk(model)
    const engines = [createEngine({ adapter }), createEngine({ adapter, keys: () => 'their-key' })]
    const [plain, keyed] = engines as [(typeof engines)[0], (typeof engines)[0]]
    for (const call of [generate(plain, 'hi', { apiKey: 'their-key' }), generate(keyed, 'hi')]) {
      await expect(call).rejects.toMatchObject({
        reason: 'unsupported_feature',
        message: 'the model has its own key: an apiKey needs withKey',
      })
    }
    expect(model.calls).toEqual([])
  })

  test('withKey makes the model of a call that has a key', async () => {
    const keys: string[] = []
    const answer = [...said('ok'), finish()]
    const adapter = fromAiSdk(playedModel([answer]), {
      withKey(key) {
        keys.push(key)
        return playedModel([answer])
      },
    })
    const engine = createEngine({ adapter })
    await generate(engine, 'hi')
    await generate(engine, 'hi', { apiKey: 'their-key' })
    expect(keys).toEqual(['their-key'])
  })

  test('a missing key is an EngineError in the words of the provider', async () => {
    const model = createOpenAI({ baseURL: 'http://127.0.0.1:9' })('gpt-5')
    await expect(generate(createEngine({ adapter: fromAiSdk(model) }), 'hi')).rejects.toMatchObject(
      {
        kind: 'engine',
        reason: 'missing_key',
        message: expect.stringContaining('OpenAI API key is missing') as string,
      },
    )
  })
})

describe('stopping', () => {
  /** A model that never answers, or never ends its answer, and does not listen to its signal. */
  const stuck = (parts: readonly unknown[] | undefined): AiSdkModel & { cancelled: number } => {
    const model = playedModel([])
    return Object.assign(model, {
      doStream: () =>
        parts === undefined
          ? new Promise<never>(() => undefined)
          : Promise.resolve({
              stream: new ReadableStream({
                start(controller) {
                  for (const part of parts) controller.enqueue(part)
                },
                cancel() {
                  model.cancelled++
                },
              }),
            }),
    })
  }

  test('an abort ends a call to a model that does not listen, before its answer', async () => {
    const abort = new AbortController()
    const engine = createEngine({ adapter: fromAiSdk(stuck(undefined)) })
    const stream = streamGenerate(engine, 'hi', { signal: abort.signal })
    const first = stream[Symbol.asyncIterator]().next()
    abort.abort()
    await expect(first).rejects.toMatchObject({ reason: 'cancelled' })
  })

  test('an abort ends a call to a model that does not listen, and cancels its stream', async () => {
    const model = stuck(said('so far'))
    const abort = new AbortController()
    const engine = createEngine({ adapter: fromAiSdk(model) })
    const stream = streamGenerate(engine, 'hi', { signal: abort.signal })
    for await (const event of stream) if (event.type === 'text_delta') abort.abort()
    await expect(stream.result).rejects.toMatchObject({
      reason: 'cancelled',
      partial: { outputText: 'so far' },
    })
    expect(model.cancelled).toBe(1)
  })

  test('leaving a stream cancels that of the model, and its end does too', async () => {
    const model = playedModel([
      [...said('one'), ...said('two'), finish()],
      [...said('one'), finish(), { type: 'late' }],
    ])
    const engine = createEngine({ adapter: fromAiSdk(model) })
    for await (const event of streamGenerate(engine, 'hi')) {
      if (event.type === 'text_delta') break
    }
    expect(model.cancelled).toBe(1)
    await generate(engine, 'hi')
    expect(model.cancelled).toBe(2)
    expect(model.calls.map(({ abortSignal }) => abortSignal.aborted)).toEqual([true, true])
  })

  test('silence beyond streamTimeoutMs ends the answer, by the clock of the engine', async () => {
    const adapter = fromAiSdk(stuck(said('so far')))
    const engine = createEngine({ adapter, clock: virtualClock(), streamTimeoutMs: 5000 })
    await expect(generate(engine, 'hi')).rejects.toMatchObject({
      reason: 'timeout',
      partial: { outputText: 'so far' },
    })
  })
})

describe('in an engine', () => {
  test('the engine retries, and the model does not', async () => {
    const refused = [
      'preflight_error',
      'rate_limited',
      { status: 429, retryAfterMs: 20_000 },
    ] as const
    await using server = await createFakeServer({ scripts: [[refused], [['text', 'Hello']]] })
    const model = createOpenAI({ baseURL: server.openaiBaseUrl, apiKey: 'none' })('gpt-5')
    const clock = virtualClock()
    const engine = createEngine({ adapter: fromAiSdk(model), clock })
    expect((await generate(engine, 'hi')).outputText).toBe('Hello')
    expect(server.requests).toHaveLength(2)
    expect(clock.now()).toBeGreaterThanOrEqual(20_000)
  })

  test('a chat runs its tools, and a session goes on with an adapter of this package', async () => {
    const weather = tool({
      name: 'weather',
      description: 'The weather of a city.',
      schema: { type: 'object', properties: { city: { type: 'string' } } },
      handler: () => ({ celsius: 21 }),
    })
    const model = playedModel([
      [
        { type: 'reasoning-start', id: 'r' },
        { type: 'reasoning-delta', id: 'r', delta: 'I should look.' },
        { type: 'reasoning-end', id: 'r', providerMetadata: { parrot: { signature: 'seal' } } },
        { type: 'tool-input-start', id: 'c1', toolName: 'weather' },
        { type: 'tool-input-delta', id: 'c1', delta: '{"city":' },
        { type: 'tool-input-delta', id: 'c1', delta: '"Ghent"}' },
        { type: 'tool-input-end', id: 'c1' },
        { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"city":"Ghent"}' },
        finish('v3', 'tool-calls'),
      ],
      [...said('21 degrees.'), finish()],
    ])
    const engine = createEngine({ adapter: fromAiSdk(model), tools: [weather] })
    const { session: first } = await Session.start(engine, 'How warm is Ghent?')
    const saved = Session.stringify(first)
    expect(model.calls[1]?.['prompt']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            text: 'I should look.',
            providerOptions: { parrot: { signature: 'seal' } },
          },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: { city: 'Ghent' } },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            toolCallId: 'c1',
            toolName: 'weather',
            output: { type: 'text', value: '{"celsius":21}' },
          },
        ],
      },
    ])
    await using server = await createFakeServer({ script: [['text', 'Still 21.']] })
    const { anthropic } = await import('../../../src/anthropic.ts')
    const other = createEngine({
      adapter: anthropic({ baseUrl: server.anthropicBaseUrl, apiKey: 'none' }),
      model: 'claude-opus-4-5',
      tools: [weather],
    })
    const { session } = await Session.reply(other, Session.parse(saved), 'And now?')
    expect(session.status).toBe('completed')
    expect(JSON.stringify(server.requests)).not.toContain('seal')
  })

  test('the limits that a provider tells in its headers are told', async () => {
    const headers = { 'x-ratelimit-remaining-requests': '7' }
    const model = playedModel([[...said('ok'), finish()]], { headers })
    const limits: unknown[] = []
    const request = { messages: [user('hi')], tools: [], providerOptions: {}, metadata: {} }
    const options = { onRateLimit: (told: unknown) => void limits.push(told) }
    for await (const batch of fromAiSdk(model).stream(request, options))
      expect(batch).not.toEqual([])
    expect(limits).toEqual([{ requests: { remaining: 7 } }])
  })

  test('adapters with other options are told apart, and show nothing of what they were made with', () => {
    const args = { authorization: 'hush-tool' }
    const adapters = [
      {},
      { providerOptions: { gateway: { byok: 'hush-option' } } },
      { providerOptions: { gateway: { byok: 'hush-other' } } },
      { providerTools: { search: { id: 'parrot.search', args } } },
      { secrets: ['hush-secret'] },
    ].map((options) => fromAiSdk(playedModel([]), options))
    expect(new Set(adapters.map(({ identity }) => JSON.stringify(identity?.()))).size).toBe(4)
    for (const adapter of adapters) {
      expect(JSON.stringify(adapter) + inspect(adapter, { depth: 9 })).not.toContain('hush')
    }
  })

  test('a structured answer is checked and typed', async () => {
    const schema = {
      type: 'object',
      properties: { celsius: { type: 'number' } },
      required: ['celsius'],
    }
    const model = playedModel([[...said('{"celsius":21}'), finish()]])
    const engine = createEngine({ adapter: fromAiSdk(model) })
    const { outputText } = await chat(engine, 'How warm?', {
      responseFormat: { type: 'json_schema', name: 'weather', schema, strict: true },
    })
    expect(JSON.parse(outputText)).toEqual({ celsius: 21 })
    expect(model.calls[0]?.['responseFormat']).toEqual({
      type: 'json',
      name: 'weather',
      schema: { ...schema, additionalProperties: false },
    })
  })
})

test('the same parts make the same answer in every version', async () => {
  const answers = await Promise.all(
    (['v2', 'v3', 'v4'] as const).map((version) =>
      responseOf([...said('Hello'), finish(version)], version),
    ),
  )
  for (const { outputText, finishReason } of answers) {
    expect([outputText, finishReason]).toEqual(['Hello', 'stop'])
  }
})
