import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AlwaysOffSampler, BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { describe, expect, test } from 'vitest'
import {
  AdapterError,
  agentTool,
  askUser,
  chat,
  createEngine,
  extendEngine,
  generate,
  generateImage,
  Session,
  step,
  streamChat,
  streamGenerate,
  tool,
  user,
  type ChatAdapter,
  type EngineOptions,
  type Tool,
} from '../../../src/index.ts'
import { fallback } from '../../../src/middleware.ts'
import { otel, type OtelMeter, type OtelTracer } from '../../../src/otel.ts'
import { fake, fakeImages, virtualClock, type Script } from '../../../src/testing.ts'
import { activeId, namesOf, otelBench } from './support.ts'

const bench = otelBench()
const messages = [user('go')]
const done: Script = [['text', 'done']]

const call = (id: string, name: string = 'look'): Script[number] => [
  'tool_call',
  { id, name, arguments: { q: id } },
]

const look = tool({
  name: 'look',
  description: 'Looks something up.',
  schema: { type: 'object' },
  handler: () => 'found',
})

const engineOf = (
  scripts: readonly Script[],
  tools: readonly Tool[] = [look],
  more: EngineOptions = {},
) => createEngine({ adapter: fake({ scripts }), tools, model: 'm', clock: virtualClock(), ...more })

/** An adapter that says all that can be said about an answer. */
const complete: ChatAdapter = {
  provider: 'gemini',
  server: 'https://models.example',
  async *stream(_request, options) {
    await options?.clock?.sleep(250)
    yield [
      { type: 'message_started', requestId: 'r', provider: 'gemini', id: 'msg_1', model: 'm-001' },
      { type: 'text_delta', delta: 'hi' },
    ]
    await options?.clock?.sleep(750)
    yield [
      {
        type: 'message_completed',
        message: { role: 'assistant', content: 'hi' },
        finishReason: 'stop',
        usage: {
          inputTokens: 100,
          outputTokens: 30,
          cachedInputTokens: 60,
          cacheWriteInputTokens: 20,
          reasoningTokens: 10,
        },
      },
    ]
  },
}

describe('spans', () => {
  test('a chat is invoke_agent, with a chat for each model call and an execute_tool for each handler', async () => {
    bench.listen()
    await chat(engineOf([[call('a'), call('b')], done]), messages)
    expect(bench.trees()).toEqual([
      ['invoke_agent', 'chat m', 'execute_tool look', 'execute_tool look', 'chat m'],
    ])
    const { kind, attributes, status } = bench.span('invoke_agent')
    expect({ kind, status }).toEqual({
      kind: SpanKind.INTERNAL,
      status: { code: SpanStatusCode.UNSET },
    })
    expect(attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'fake',
      'gen_ai.request.model': 'm',
    })
    const handler = bench.span('execute_tool look')
    expect(handler.kind).toBe(SpanKind.INTERNAL)
    expect(handler.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.call.id': 'a',
      'gen_ai.tool.description': 'Looks something up.',
      'gen_ai.tool.type': 'function',
    })
  })

  test('a model call has the settings of its request and what is known of its answer', async () => {
    bench.listen()
    const engine = createEngine({ adapter: complete, model: 'm', clock: virtualClock() })
    await Session.start(engine, messages, {
      id: 'conversation-1',
      maxTokens: 64,
      temperature: 0.2,
      topP: 0.9,
      topK: 40,
      seed: 7,
      stopSequences: ['END'],
      presencePenalty: 0.1,
      frequencyPenalty: 0.3,
      responseFormat: { type: 'json_object' },
    })
    const { kind, attributes } = bench.span('chat m')
    expect(kind).toBe(SpanKind.CLIENT)
    expect(attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'm',
      'gen_ai.request.stream': true,
      'gen_ai.request.max_tokens': 64,
      'gen_ai.request.temperature': 0.2,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.top_k': 40,
      'gen_ai.request.seed': 7,
      'gen_ai.request.stop_sequences': ['END'],
      'gen_ai.request.presence_penalty': 0.1,
      'gen_ai.request.frequency_penalty': 0.3,
      'gen_ai.output.type': 'json',
      'gen_ai.conversation.id': 'conversation-1',
      'gen_ai.response.id': 'msg_1',
      'gen_ai.response.model': 'm-001',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.response.time_to_first_chunk': 0.25,
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 30,
      'gen_ai.usage.cache_read.input_tokens': 60,
      'gen_ai.usage.cache_creation.input_tokens': 20,
      'gen_ai.usage.reasoning.output_tokens': 10,
      'server.address': 'models.example',
      'server.port': 443,
    })
    expect(bench.span('invoke_agent').attributes).toMatchObject({
      'gen_ai.conversation.id': 'conversation-1',
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 30,
    })
  })

  test('a single call is a chat, a step is invoke_agent, and an image is generate_content', async () => {
    bench.listen()
    const imageAdapter = fakeImages({ script: [['ok', []]] })
    const engine = engineOf([done, done, [call('a')]], [look], { imageAdapter, imageModel: 'draw' })
    await generate(engine, messages)
    await streamGenerate(engine, messages).result
    await step(engine, messages)
    await generateImage(engine, 'a cat')
    expect(bench.trees()).toEqual([
      'chat m',
      'chat m',
      ['invoke_agent', 'chat m', 'execute_tool look'],
      'generate_content draw',
    ])
    const { kind, attributes } = bench.span('generate_content draw')
    expect(kind).toBe(SpanKind.CLIENT)
    expect(attributes).toMatchObject({
      'gen_ai.operation.name': 'generate_content',
      'gen_ai.output.type': 'image',
    })
  })

  test('a tool that the model invented does not make a name of a span', async () => {
    bench.listen()
    await chat(engineOf([[call('a', 'no_such_tool')], done]), messages)
    const { attributes, status } = bench.span('execute_tool')
    expect(attributes).toMatchObject({
      'gen_ai.tool.name': 'no_such_tool',
      'error.type': 'not_found',
    })
    expect(status.code).toBe(SpanStatusCode.ERROR)
  })

  test('an engine with a name names its agent, and that of an agent inside', async () => {
    bench.listen()
    const inner = extendEngine(engineOf([done]), { name: 'Researcher' })
    const research = agentTool({ name: 'research', description: 'Finds.', engine: inner })
    const outer = engineOf([
      [['tool_call', { id: 'c', name: 'research', arguments: { prompt: 'x' } }]],
      done,
    ])
    await chat(extendEngine(outer, { name: 'Desk', tools: [research] }), messages)
    expect(bench.trees()).toEqual([
      [
        'invoke_agent Desk',
        'chat m',
        ['execute_tool research', ['invoke_agent Researcher', 'chat m']],
        'chat m',
      ],
    ])
    const { attributes } = bench.span('invoke_agent Desk')
    expect(attributes['gen_ai.agent.name']).toBe('Desk')
    // The conventions name no agent on a model call.
    expect(bench.span('chat m').attributes).not.toHaveProperty('gen_ai.agent.name')
  })

  test('an application can add attributes from its metadata, and name its agent', async () => {
    bench.listen({
      attributes: ({ metadata }) =>
        metadata === undefined
          ? {}
          : { 'user.id': JSON.stringify(metadata['user']), 'gen_ai.agent.name': 'Clerk' },
    })
    await chat(engineOf([done]), messages, { metadata: { user: 'u1' } })
    expect(bench.trees()).toEqual([['invoke_agent Clerk', 'chat m']])
    for (const { attributes } of bench.spans()) {
      expect(attributes).toMatchObject({ 'user.id': '"u1"', 'gen_ai.agent.name': 'Clerk' })
    }
  })
})

describe('a parent', () => {
  test('is the span that is active where the run is started', async () => {
    bench.listen()
    await bench.tracer.startActiveSpan('request', async (request) => {
      await Promise.all([
        chat(engineOf([done]), messages, { requestId: 'http-1' }),
        chat(engineOf([[call('a')], done]), messages, { requestId: 'http-1' }),
        generate(engineOf([done]), messages),
      ])
      request.end()
    })
    expect(bench.trees()).toEqual([
      [
        'request',
        ['invoke_agent', 'chat m'],
        ['invoke_agent', 'chat m', 'execute_tool look', 'chat m'],
        'chat m',
      ],
    ])
  })

  test('of a stream is the span that is active where it is first read', async () => {
    bench.listen()
    const [late, within] = await bench.tracer.startActiveSpan('request', async (request) => {
      const active = context.active()
      const streams = [
        streamChat(engineOf([done]), messages),
        streamChat(engineOf([done]), messages),
      ]
      request.end()
      return [streams[0], context.bind(active, async () => streams[1]?.result)] as const
    })
    await late?.result
    await within()
    expect(bench.trees()).toEqual([
      ['request', ['invoke_agent', 'chat m']],
      ['invoke_agent', 'chat m'],
    ])
  })

  test('of what a handler, an adapter or a hook traces is its own span, also on later reads', async () => {
    bench.listen()
    const traced = async (name: string): Promise<void> => {
      await Promise.resolve()
      bench.tracer.startSpan(name).end()
    }
    const database = tool({
      name: 'look',
      description: 'Looks something up.',
      schema: { type: 'object' },
      handler: async () => {
        await traced('db.query')
        return 'found'
      },
    })
    const late: Script = [
      ['text', 'do'],
      ['delay', 5],
      ['text', 'ne'],
    ]
    const scripts = fake({ scripts: [[call('a')], late] })
    const adapter: ChatAdapter = {
      provider: 'fetching',
      async *stream(request, options) {
        await traced('POST')
        for await (const batch of scripts.stream(request, options)) {
          await traced('read')
          yield batch
        }
        await traced('close')
      },
    }
    const engine = createEngine({ adapter, model: 'm', tools: [database], clock: virtualClock() })
    const stream = streamChat(engine, messages, {
      prepareStep: async () => traced('prepare'),
      approve: async () => {
        await traced('approve')
        return 'run'
      },
    })
    // Each read is made by somebody else.
    const iterator = stream[Symbol.asyncIterator]()
    for (;;) {
      const elsewhere = bench.tracer.startSpan('elsewhere')
      const active = trace.setSpan(context.active(), elsewhere)
      const read = await context.with(active, () => iterator.next())
      if (read.done === true) break
    }
    const agent = bench.trees().find((tree) => Array.isArray(tree))
    expect(agent).toEqual([
      'invoke_agent',
      'prepare',
      ['chat m', 'POST', 'read', 'close'],
      'approve',
      ['execute_tool look', 'db.query'],
      'prepare',
      ['chat m', 'POST', 'read', 'read', 'close'],
    ])
  })

  test('of a run that a handler starts is the span of the handler', async () => {
    bench.listen()
    const inner = engineOf([done])
    const delegate = tool({
      name: 'look',
      description: 'Asks another agent.',
      schema: { type: 'object' },
      handler: async () => (await chat(inner, messages)).outputText,
    })
    await chat(engineOf([[call('a')], done], [delegate]), messages)
    expect(bench.trees()).toEqual([
      ['invoke_agent', 'chat m', ['execute_tool look', ['invoke_agent', 'chat m']], 'chat m'],
    ])
  })

  test('of an agent inside a call is the span of the call, also when it waited and goes on', async () => {
    bench.listen()
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      schema: { type: 'object' },
      needsApproval: true,
      handler: () => 'paid',
    })
    const inner = engineOf([[call('i', 'look')], [call('p', 'pay')], done], [look, pay])
    const help = agentTool({ name: 'help', description: 'Helps.', engine: inner })
    const prompt: Script[number] = [
      'tool_call',
      { id: 'a', name: 'help', arguments: { prompt: 'go' } },
    ]
    const engine = engineOf([[prompt], done], [help])
    const { session } = await Session.start(engine, messages)
    expect(bench.trees()).toEqual([
      [
        'invoke_agent',
        'chat m',
        ['execute_tool help', ['invoke_agent', 'chat m', 'execute_tool look', 'chat m']],
      ],
    ])
    const outer = bench.span('invoke_agent').spanContext().spanId
    bench.reset()
    await Session.resume(engine, Session.approve(session, 'a/p'))
    expect(bench.trees()).toEqual([
      [
        'invoke_agent',
        ['execute_tool help', ['invoke_agent', 'execute_tool pay', 'chat m']],
        'chat m',
      ],
    ])
    // The link of the outer run leads to all of the first part.
    const links = bench.spans().flatMap((each) => each.links.map((link) => [each.name, link]))
    expect(links).toMatchObject([['invoke_agent', { context: { spanId: outer } }]])
  })

  test('is known without a context manager, and handlers then see none', async () => {
    const seen: unknown[] = []
    const noContexts = { active: () => rootContext, with: (_: unknown, work: () => void) => work() }
    const rootContext = context.active()
    bench.listen({ context: noContexts })
    const spying = tool({ ...look, handler: () => void seen.push(activeId()) })
    await chat(engineOf([[call('a')], done], [spying]), messages)
    expect(bench.trees()).toEqual([['invoke_agent', 'chat m', 'execute_tool look', 'chat m']])
    expect(seen).toEqual([undefined])
    bench.reset()
    context.disable()
    await chat(engineOf([[call('a')], done], [spying]), messages)
    expect(bench.trees()).toEqual([['invoke_agent', 'chat m', 'execute_tool look', 'chat m']])
  })
})

describe('an end', () => {
  test('by a failure has the status, the type of the error and the status of the answer', async () => {
    bench.listen()
    const adapter: ChatAdapter = {
      provider: 'failing',
      stream: () => {
        throw new AdapterError('invalid_request', 'no such model', { status: 404 })
      },
    }
    const engine = createEngine({ adapter, model: 'm' })
    await chat(engine, messages).catch(() => undefined)
    for (const name of ['chat m', 'invoke_agent']) {
      const { status, attributes } = bench.span(name)
      expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'invalid_request' })
      expect(attributes).toMatchObject({
        'error.type': 'invalid_request',
        'http.response.status_code': 404,
      })
    }
  })

  test('by a failure in the middle keeps what was counted', async () => {
    bench.listen()
    const adapter: ChatAdapter = {
      provider: 'failing',
      async *stream() {
        const usage = { inputTokens: 12 }
        yield [
          { type: 'message_started', requestId: 'r', provider: 'failing', id: 'msg_1', usage },
          { type: 'text_delta', delta: 'ha' },
        ]
        throw new AdapterError('provider_unavailable', 'gone', { status: 503 })
      },
    }
    const engine = createEngine({ adapter, model: 'm', clock: virtualClock() })
    await generate(engine, messages).catch(() => undefined)
    expect(bench.span('chat m').attributes).toMatchObject({
      'error.type': 'provider_unavailable',
      'gen_ai.response.id': 'msg_1',
      'gen_ai.usage.input_tokens': 12,
    })
  })

  test('of a handler that failed is an error, and its run goes on', async () => {
    bench.listen()
    const broken = tool({
      ...look,
      handler: () => {
        throw new Error('the database is down')
      },
    })
    await chat(engineOf([[call('a')], done], [broken]), messages)
    const { status, attributes } = bench.span('execute_tool look')
    expect(status.code).toBe(SpanStatusCode.ERROR)
    expect(attributes).toMatchObject({ 'error.type': 'handler_raised' })
    expect(bench.span('invoke_agent').status.code).toBe(SpanStatusCode.UNSET)
  })

  test('of an answer that does not match its schema is an error of its call', async () => {
    bench.listen()
    const responseFormat = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: () => ({ issues: [{ message: 'never' }] }),
        jsonSchema: { input: () => ({ type: 'number' }), output: () => ({ type: 'number' }) },
      },
    }
    const engine = engineOf([[['text', '1']], [['text', '2']]])
    await generate(engine, messages, { responseFormat, repair: 1 }).catch(() => undefined)
    const [first, second] = bench.spans()
    expect(namesOf(bench.spans())).toEqual(['chat m', 'chat m'])
    expect(first?.status.code).toBe(SpanStatusCode.UNSET)
    expect(second?.status.code).toBe(SpanStatusCode.ERROR)
    expect(second?.attributes).toMatchObject({
      'error.type': 'invalid_output',
      'gen_ai.response.finish_reasons': ['stop'],
    })
    for (const span of bench.spans()) {
      expect(span.duration[0] * 1e9 + span.duration[1]).toBeGreaterThanOrEqual(0)
    }
  })

  test.each<readonly [string, (engine: ReturnType<typeof engineOf>) => Promise<unknown>]>([
    [
      'by a break',
      async (engine) => {
        for await (const event of streamChat(engine, messages))
          if (event.type === 'text_delta') break
      },
    ],
    [
      'by a signal',
      async (engine) => {
        const controller = new AbortController()
        const stream = streamChat(engine, messages, { signal: controller.signal })
        for await (const event of stream) if (event.type === 'text_delta') controller.abort()
      },
    ],
  ])('%s is a cancellation, and no failure', async (_name, run) => {
    bench.listen()
    const slow: Script = [
      ['text', 'a'],
      ['delay', 60],
      ['text', 'b'],
    ]
    await run(engineOf([slow]))
    for (const { status, attributes } of bench.spans()) {
      expect(status.code).toBe(SpanStatusCode.UNSET)
      expect(attributes).toMatchObject({ 'error.type': 'cancelled' })
      expect(attributes).not.toHaveProperty('gen_ai.response.finish_reasons')
    }
    expect(bench.trees()).toEqual([['invoke_agent', 'chat m']])
  })

  test('of a run that waits or was limited has an event that says why', async () => {
    bench.listen()
    const asking = tool({ ...look, handler: () => askUser('Which one?') })
    await chat(engineOf([[call('a')]], [asking]), messages)
    await chat(engineOf([[call('a')]]), messages, { maxTurns: 1 })
    const agents = bench.spans().filter(({ name }) => name === 'invoke_agent')
    expect(agents.map(({ events }) => events.map(({ name }) => name))).toEqual([
      ['ask_user'],
      ['max_turns'],
    ])
  })
})

test('a retry is an event of its model call', async () => {
  bench.listen()
  const failing: Script = [['preflight_error', 'rate_limited', { status: 429 }]]
  await chat(engineOf([failing, failing, done]), messages)
  const { events, status, attributes } = bench.span('chat m')
  expect(events.map(({ name, attributes: known }) => [name, known])).toEqual([
    [
      'retry',
      {
        'error.type': 'rate_limited',
        'http.response.status_code': 429,
        'http.request.resend_count': 1,
      },
    ],
    [
      'retry',
      {
        'error.type': 'rate_limited',
        'http.response.status_code': 429,
        'http.request.resend_count': 2,
      },
    ],
  ])
  expect(status.code).toBe(SpanStatusCode.UNSET)
  expect(attributes).not.toHaveProperty('error.type')
  expect(bench.spans()).toHaveLength(2)
})

test('what a middleware does is an event of its model call', async () => {
  bench.listen()
  const failing: Script = [['preflight_error', 'provider_unavailable', { status: 503 }]]
  const adapter = fallback([fake({ scripts: [failing] }), complete])
  await generate(createEngine({ adapter, model: 'm', clock: virtualClock() }), messages)
  const [event, ...rest] = bench.span('chat m').events
  expect(rest).toEqual([])
  expect(event).toMatchObject({
    name: 'fallback gemini',
    attributes: { 'error.type': 'provider_unavailable', 'http.response.status_code': 503 },
  })
})

test.each([
  ['openai.responses', 'openai'],
  ['anthropic.messages', 'anthropic'],
  ['google.generative-ai', 'gcp.gemini'],
  ['google.vertex.chat', 'gcp.vertex_ai'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['mistral.chat', 'mistral_ai'],
  ['xai.chat', 'x_ai'],
  ['my.own', 'my.own'],
])('the provider %s has the name %s of the conventions', async (provider, name) => {
  bench.listen()
  const adapter: ChatAdapter = {
    provider,
    async *stream() {
      const message = { role: 'assistant', content: 'hi' } as const
      yield [
        { type: 'message_started', requestId: 'r', provider },
        { type: 'message_completed', message, finishReason: 'stop' },
      ]
    },
  }
  await generate(createEngine({ adapter }), messages)
  expect(bench.span('chat').attributes['gen_ai.provider.name']).toBe(name)
  const known = Object.entries(conventions).flatMap(([key, value]) =>
    key.startsWith('GEN_AI_PROVIDER_NAME_VALUE_') ? [value] : [],
  )
  if (provider !== name) expect(known).toContain(name)
})

test('the span of a call has the provider that answered', async () => {
  bench.listen()
  const failing: Script = [['preflight_error', 'provider_unavailable', {}]]
  const adapter = fallback([fake({ scripts: [failing] }), complete])
  await generate(createEngine({ adapter, clock: virtualClock() }), messages)
  expect(bench.span('chat').attributes['gen_ai.provider.name']).toBe('gcp.gemini')
})

test('a handler that comes too late is an event of the span that is still open', async () => {
  bench.listen()
  const clock = virtualClock()
  const late = tool({ ...look, timeoutMs: 10, handler: () => clock.sleep(40) })
  const waiting = tool({ ...look, name: 'wait', handler: () => clock.sleep(100) })
  const engine = engineOf([[call('a'), call('b', 'wait')], done], [late, waiting], { clock })
  await chat(engine, messages)
  expect(bench.span('invoke_agent').events.map(({ name }) => name)).toEqual(['tool.unsettled'])
})

describe('metrics', () => {
  test('tokens, duration and first chunk of each model call have the units, bounds and attributes of the conventions', async () => {
    bench.listen({ meter: bench.meter })
    const engine = createEngine({ adapter: complete, model: 'm', clock: virtualClock() })
    await chat(engine, messages)
    await generate(engine, messages)
    const attributes = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'gcp.gemini',
      'gen_ai.request.model': 'm',
      'gen_ai.response.model': 'm-001',
      'server.address': 'models.example',
      'server.port': 443,
    }
    const tokens = {
      name: 'gen_ai.client.token.usage',
      unit: '{token}',
      count: 2,
      bounds: [
        1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216,
        67_108_864,
      ],
    }
    const times = {
      unit: 's',
      count: 2,
      bounds: [
        0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
      ],
      attributes,
    }
    expect(await bench.measured()).toEqual([
      { ...tokens, sum: 200, attributes: { ...attributes, 'gen_ai.token.type': 'input' } },
      { ...tokens, sum: 60, attributes: { ...attributes, 'gen_ai.token.type': 'output' } },
      { ...times, name: 'gen_ai.client.operation.duration', sum: 2 },
      { ...times, name: 'gen_ai.client.operation.time_to_first_chunk', sum: 0.5 },
    ])
  })

  test('a failure and a cancellation have their type, and a handler is not counted', async () => {
    bench.listen({ meter: bench.meter })
    const failing: Script = [['preflight_error', 'invalid_request', {}]]
    await generate(engineOf([failing]), messages).catch(() => undefined)
    for await (const _ of streamGenerate(
      engineOf([
        [
          ['text', 'a'],
          ['delay', 1],
          ['text', 'b'],
        ],
      ]),
      messages,
    ))
      break
    await chat(engineOf([[call('a')], done]), messages)
    const durations = (await bench.measured()).filter(({ name }) => name.endsWith('duration'))
    expect(
      durations.map(({ attributes, count }) => [
        attributes['gen_ai.operation.name'],
        attributes['error.type'],
        count,
      ]),
    ).toEqual([
      ['chat', 'invalid_request', 1],
      ['chat', 'cancelled', 1],
      ['chat', undefined, 2],
    ])
  })
})

describe('a run that goes on', () => {
  /** What another process reads. */
  const moved = (session: Session): Session => Session.parse(Session.stringify(session))

  test('links to the span of the first part, however often it is resumed', async () => {
    bench.listen()
    const asking = tool({ ...look, handler: () => askUser('Which one?') })
    const first = await Session.start(engineOf([[call('a')]], [asking]), messages)
    const origin = bench.span('invoke_agent').spanContext()
    expect(first.session.run?.trace).toBe(`00-${origin.traceId}-${origin.spanId}-01`)
    bench.reset()
    const second = await Session.reply(engineOf([[call('b')]], [asking]), moved(first.session), 'x')
    const [link] = bench.span('invoke_agent').links
    expect(link?.context).toEqual({ ...origin, isRemote: true })
    expect(bench.span('invoke_agent').spanContext().traceId).not.toBe(origin.traceId)
    bench.reset()
    const third = await Session.reply(engineOf([done], [asking]), moved(second.session), 'y')
    expect(bench.span('invoke_agent').links[0]?.context.spanId).toBe(origin.spanId)
    expect(third.session.status).toBe('completed')
    expect(third.session).not.toHaveProperty('run')
  })

  test('after a cut links to the part that was cut', async () => {
    const stop = bench.listen()
    const engine = engineOf([[call('a')]])
    const stream = Session.streamStart(engine, messages)
    for await (const event of stream) if (event.type === 'tool_execution_completed') break
    const origin = bench.span('invoke_agent').spanContext()
    stop()
    bench.reset()
    bench.listen()
    await Session.resume(engineOf([done]), moved(stream.session))
    expect(bench.span('invoke_agent').links[0]?.context.spanId).toBe(origin.spanId)
  })

  test.each([
    'nonsense',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more',
    `00-${'4'.repeat(400)}-00f067aa0ba902b7-01`,
  ])('with a text that is no traceparent links to nothing: %s', async (text) => {
    const asking = tool({ ...look, handler: () => askUser('Which one?') })
    const { session } = await Session.start(engineOf([[call('a')]], [asking]), messages)
    const forged = moved({ ...session, run: { ...session.run, trace: text } } as Session)
    bench.listen()
    await Session.reply(engineOf([done]), forged, 'x')
    expect(bench.span('invoke_agent').links).toEqual([])
  })
})

describe('otel()', () => {
  test('returns a function that ends what is open, and nothing is told after it', async () => {
    const stop = bench.listen()
    const stream = streamChat(
      engineOf([
        [
          ['text', 'a'],
          ['delay', 1],
          ['text', 'b'],
        ],
      ]),
      messages,
    )
    for await (const event of stream) if (event.type === 'text_delta') stop()
    expect(namesOf(bench.spans())).toEqual(['invoke_agent', 'chat m'])
    await chat(engineOf([done]), messages)
    expect(bench.spans()).toHaveLength(2)
    stop()
  })

  test('can be listened to twice, by two tracers', async () => {
    bench.listen()
    bench.listen()
    await chat(engineOf([[call('a')], done]), messages)
    expect(bench.spans()).toHaveLength(8)
  })

  test('a tracer or a meter that throws breaks no run', async () => {
    const fail = (): never => {
      throw new Error('broken')
    }
    const warned: unknown[] = []
    const warn = process.emitWarning.bind(process)
    process.emitWarning = (text: unknown) => void warned.push(text)
    const stops = [
      otel({ tracer: { startSpan: fail } }),
      otel({
        tracer: {
          startSpan: () => ({
            spanContext: fail,
            setAttributes: fail,
            addEvent: fail,
            setStatus: fail,
            end: fail,
          }),
        },
      }),
      bench.listen({ attributes: fail }),
      bench.listen({ context: { active: fail, with: fail } }),
    ]
    try {
      const { session } = await Session.start(engineOf([[call('a')], done]), messages)
      expect(session.status).toBe('completed')
    } finally {
      for (const stop of stops) {
        try {
          stop()
        } catch {
          // Its own tracer.
        }
      }
      process.emitWarning = warn
    }
    expect(warned).toHaveLength(4)
  })

  test('a sampler that drops everything costs nothing else', async () => {
    const provider = new BasicTracerProvider({ sampler: new AlwaysOffSampler() })
    bench.listen({ tracer: provider.getTracer('off') })
    const { result } = await Session.start(engineOf([[call('a')], done]), messages)
    expect(result.outputText).toBe('done')
  })

  test('unknown options, and objects of another kind, are refused by name', () => {
    // A caller without types may pass anything.
    const given = (options: unknown) => () => otel(options as Parameters<typeof otel>[0])
    expect(given({})).toThrow('tracer must be a tracer, with startSpan')
    expect(given({ tracer: {} })).toThrow('tracer must be a tracer, with startSpan')
    expect(given({ tracer: bench.tracer, meter: {} })).toThrow('meter must be a meter')
    expect(given({ tracer: bench.tracer, contents: true })).toThrow('content')
    expect(given({ tracer: bench.tracer, content: 'yes' })).toThrow('content must be true or false')
    expect(given(undefined)).toThrow('object')
  })

  test('the shapes are those of the real objects', () => {
    const tracer: OtelTracer = bench.tracer
    const meter: OtelMeter = bench.meter
    otel({ tracer, meter, context, content: undefined })()
  })
})
