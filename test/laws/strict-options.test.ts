import { describe, expect, test } from 'vitest'
import {
  chat,
  createEngine,
  extendEngine,
  generate,
  modelRequest,
  Session,
  step,
  streamGenerate,
  tool,
  user,
  ValidationError,
  type CallOptions,
  type EngineOptions,
  type JsonObject,
  type ModelRequest,
} from '../../src/index.ts'
import { fake, type Script } from '../../src/testing.ts'

const messages = [user('go')]
const script: Script = [
  ['text', 'ok'],
  ['finish', 'stop'],
]

describe('an unknown option is refused by name, with the nearest legal one', () => {
  test.each<[string, JsonObject, string]>([
    ['maxTurn', { maxTurn: 3 }, 'maxTurns'],
    ['tempreature', { tempreature: 1 }, 'temperature'],
    ['abortSignal', { abortSignal: 1 }, 'signal'],
    ['toolTimeout', { toolTimeout: 1 }, 'toolTimeoutMs'],
    ['response_format', { response_format: {} }, 'responseFormat'],
  ])('%s', async (key, options, nearest) => {
    const engine = createEngine({ adapter: fake({ script }) })
    for (const call of [generate, step, chat]) {
      const error: unknown = await call(engine, messages, options).catch(
        (reason: unknown) => reason,
      )
      expect(error).toBeInstanceOf(ValidationError)
      expect(String(error)).toContain(key)
    }
    expect(() => streamGenerate(engine, messages, options)).toThrow(key)
    await expect(Session.start(engine, messages, options)).rejects.toThrow(key)
    expect(() => createEngine({ adapter: fake({ script }), ...options })).toThrow(key)
    if (key !== 'abortSignal')
      expect(() => streamGenerate(engine, messages, options)).toThrow(nearest)
  })
})

test.each<[string, CallOptions]>([
  ['maxTurns', { maxTurns: 0 }],
  ['maxTurns', { maxTurns: 1.5 }],
  ['temperature', { temperature: Number.NaN }],
  ['onToolError', { onToolError: 'ignore' as never }],
  ['mode', { mode: 'semi' as never }],
  ['toolTimeoutMs', { toolTimeoutMs: -1 }],
  ['haltWhen', { haltWhen: 'yes' as never }],
  ['signal', { signal: {} as never }],
  ['retry', { retry: { maxAttempt: 3 } as never }],
])('an invalid value for %s is refused before anything is sent', async (key, options) => {
  const adapter = fake({ script })
  const call = generate(createEngine({ adapter }), messages, options)
  await expect(call).rejects.toMatchObject({ kind: 'validation', reason: 'invalid_options' })
  await expect(generate(createEngine({ adapter }), messages, options)).rejects.toThrow(key)
  expect(adapter.calls).toHaveLength(0)
})

/** For every option that becomes part of the request: a value for the call, for the request, and for the engine. */
const layers: Readonly<Record<LayeredField, readonly [unknown, unknown, unknown]>> = {
  model: ['call', 'request', 'engine'],
  temperature: [0.1, 0.2, 0.3],
  topP: [0.1, 0.2, 0.3],
  topK: [1, 2, 3],
  stopSequences: [['a'], ['b'], ['c']],
  seed: [1, 2, 3],
  presencePenalty: [1, 2, -1],
  frequencyPenalty: [1, 2, -1],
  parallelToolCalls: [true, false, true],
  maxTokens: [1, 2, 3],
  toolChoice: ['none', 'auto', 'required'],
  responseFormat: [{ type: 'json_object' }, { type: 'text' }, { type: 'json_object' }],
  reasoning: [{ effort: 'low' }, { effort: 'high' }, { effort: 'none' }],
  promptCache: [true, { retention: 'long' }, { retention: 'short' }],
}

/** The fields of a request that are replaced as a whole. Tools, provider options and metadata are merged; messages are the input. */
type LayeredField = Exclude<
  keyof ModelRequest,
  'messages' | 'tools' | 'providerOptions' | 'metadata'
>
const a = tool({ name: 'a', description: 'a', schema: { type: 'object' } })

describe('call > request > engine > default', () => {
  test.each(
    Object.entries(layers).map(([name, values]) => [name as LayeredField, ...values] as const),
  )('%s', async (name, call, request, engine) => {
    const sent = async (fromCall: boolean, fromRequest: boolean, fromEngine: boolean) => {
      const adapter = fake({ script })
      const options: EngineOptions = {
        adapter,
        tools: [a],
        ...(fromEngine ? { [name]: engine } : {}),
      }
      await generate(
        createEngine(options),
        modelRequest(messages, fromRequest ? { [name]: request } : {}),
        fromCall ? { [name]: call } : {},
      )
      return adapter.calls[0]?.request[name]
    }
    expect(await sent(true, true, true)).toEqual(call)
    expect(await sent(false, true, true)).toEqual(request)
    expect(await sent(false, false, true)).toEqual(engine)
    expect(await sent(false, false, false)).toBeUndefined()
  })

  test('providerOptions and metadata are merged key by key', async () => {
    const adapter = fake({ script })
    const engine = createEngine({
      adapter,
      providerOptions: { openai: { a: 1, b: 1, c: 1 } },
      metadata: { a: 1, b: 1 },
    })
    const request = modelRequest(messages, {
      providerOptions: { openai: { b: 2, c: 2 } },
      metadata: { b: 2 },
    })
    await generate(engine, request, { providerOptions: { openai: { c: 3 }, gemini: { x: 1 } } })
    expect(adapter.calls[0]?.request).toMatchObject({
      providerOptions: { openai: { a: 1, b: 2, c: 3 }, gemini: { x: 1 } },
      metadata: { a: 1, b: 2 },
    })
  })

  test('tools are merged by name', async () => {
    const named = (name: string, description: string) =>
      tool({ name, description, schema: { type: 'object' } })
    const adapter = fake({ script })
    const engine = createEngine({ adapter, tools: [named('a', 'engine'), named('b', 'engine')] })
    const request = modelRequest(messages, {
      tools: [named('b', 'request'), named('c', 'request')],
    })
    await generate(engine, request, { tools: [named('c', 'call')] })
    const tools = adapter.calls[0]?.request.tools.map(({ name, description }) => [
      name,
      description,
    ])
    expect(tools).toEqual([
      ['a', 'engine'],
      ['b', 'request'],
      ['c', 'call'],
    ])
  })

  test('options of the loop come from the call, then from the engine', async () => {
    const calls: Script = [['tool_call', { id: 'c', name: 'a' }]]
    const run = (engine: EngineOptions, call: CallOptions) =>
      chat(
        createEngine({
          adapter: fake({ scripts: [calls, calls, calls, script] }),
          tools: [{ ...a, handler: () => 'done' }],
          ...engine,
        }),
        messages,
        call,
      )
    expect((await run({ maxTurns: 2 }, {})).steps).toHaveLength(2)
    expect((await run({ maxTurns: 2 }, { maxTurns: 1 })).steps).toHaveLength(1)
    expect((await run({}, {})).steps).toHaveLength(4)
    expect((await run({ mode: 'manual' }, {})).haltedReason).toBe('manual_tool_calls')
    expect((await run({ mode: 'manual' }, { mode: 'auto' })).haltedReason).toBe('completed')
  })
})

describe('extendEngine', () => {
  test('returns a copy: tools are merged by name, context by key, and everything else is replaced', async () => {
    const base = createEngine({
      adapter: fake({ script }),
      model: 'm1',
      tools: [a],
      context: { x: 1, y: 1 },
      maxTokens: 5,
    })
    const adapter = fake({ script })
    const next = extendEngine(base, { adapter, model: 'm2', context: { y: 2 }, temperature: 1 })
    expect(base.model).toBe('m1')
    expect(next).toMatchObject({ model: 'm2', context: { x: 1, y: 2 } })
    await generate(next, messages)
    expect(adapter.calls[0]?.request).toMatchObject({
      model: 'm2',
      maxTokens: 5,
      temperature: 1,
      tools: [{ name: 'a' }],
    })
  })

  test('refuses a value that is not an engine, and unknown options', () => {
    expect(() => extendEngine({} as never, {})).toThrow('createEngine')
    expect(() => extendEngine(createEngine(), { modell: 'x' } as never)).toThrow(
      'did you mean model',
    )
  })
})

test('an engine is frozen, and a duplicate tool name is refused', () => {
  const engine = createEngine({ adapter: fake({ script }), tools: [a] })
  expect(Object.isFrozen(engine)).toBe(true)
  expect(() => createEngine({ tools: [a, a] })).toThrow('used twice')
})

test.each([
  ['missing_adapter', createEngine(), {}],
  [
    'missing_model',
    createEngine({
      adapter: {
        provider: 'p',
        needsModel: true,
        stream: () => fake({ script }).stream(modelRequest(messages)),
      },
    }),
    {},
  ],
])('%s is raised before anything is sent', async (reason, engine, options) => {
  await expect(generate(engine, messages, options)).rejects.toMatchObject({
    kind: 'engine',
    reason,
  })
})

test('a request with an unknown field is refused, and the error names the field', async () => {
  const engine = createEngine({ adapter: fake({ script }) })
  const request = { messages, max_tokens: 5 } as never
  await expect(generate(engine, request)).rejects.toThrow(
    'unknown key max_tokens; did you mean maxTokens?',
  )
})
