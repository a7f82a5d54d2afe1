import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  AdapterError,
  chat,
  createEngine,
  generate,
  generateImage,
  onTelemetry,
  runToolCalls,
  Session,
  step,
  streamChat,
  streamGenerate,
  streamStep,
  streamToolCalls,
  tool,
  user,
  type ChatAdapter,
  type Engine,
  type TelemetryEvent,
} from '../../../src/index.ts'
import { fallback } from '../../../src/middleware.ts'
import { openai } from '../../../src/openai.ts'
import { collectEvents, fake, fakeImages, virtualClock, type Script } from '../../../src/testing.ts'

const messages = [user('a secret question')]

const slow: Script = [
  ['text', 'a secret answer'],
  ['delay', 40],
  ['usage', { outputTokens: 2 }],
  ['finish', 'stop'],
]

let events: TelemetryEvent[]

let off: () => void

beforeEach(() => {
  events = []
  off = onTelemetry((event) => events.push(event))
})

afterEach(() => off())

const engine = (...scripts: Script[]) =>
  createEngine({ adapter: fake({ scripts }), clock: virtualClock(), model: 'm' })

const spans = () =>
  events.map((event) => `${event.name} ${'phase' in event ? event.phase : ''}`.trim())

describe('spans', () => {
  test('a generate call is a span around its stream, and both last as long as the answer', async () => {
    await generate(engine(slow), messages, { requestId: 'r' })
    expect(spans()).toEqual(['generate start', 'stream start', 'stream stop', 'generate stop'])
    expect(events.at(-1)).toMatchObject({
      requestId: 'r',
      provider: 'fake',
      durationMs: 40,
      finishReason: 'stop',
      usage: { outputTokens: 2 },
    })
    expect(events[2]).toMatchObject({
      requestId: 'r',
      provider: 'fake',
      model: 'm',
      durationMs: 40,
    })
  })

  test('a stream that is left early ends its span', async () => {
    for await (const event of streamGenerate(engine(slow), messages))
      if (event.type === 'text_delta') break
    expect(spans()).toEqual(['generate start', 'stream start', 'stream stop', 'generate stop'])
    expect(events.slice(2)).toMatchObject([
      { haltedReason: 'cancelled' },
      { haltedReason: 'cancelled' },
    ])
    expect(events[2]).not.toHaveProperty('finishReason')
  })

  test('a chat is a span around its steps, and each step is a span around its stream and its tools', async () => {
    const echo = tool({
      name: 'echo',
      description: 'e',
      schema: { type: 'object' },
      handler: (args) => args,
    })
    const calls: Script = [['tool_call', { id: 'c1', name: 'echo' }]]
    const adapter = fake({ scripts: [calls, slow] })
    await chat(createEngine({ adapter, tools: [echo], clock: virtualClock() }), messages)
    expect(spans()).toEqual([
      'chat start',
      'step start',
      'stream start',
      'stream stop',
      'tool start',
      'tool stop',
      'step stop',
      'step start',
      'stream start',
      'stream stop',
      'step stop',
      'chat stop',
    ])
    expect(events.at(-1)).toMatchObject({ haltedReason: 'completed' })
    expect(events[4]).toMatchObject({ toolName: 'echo', toolCallId: 'c1' })
    expect(events[10]).toMatchObject({ finishReason: 'stop', usage: { outputTokens: 2 } })
  })

  test('a failure before the first event is an error, and its retries are reported', async () => {
    const failing: Script = [['preflight_error', 'timeout', {}]]
    await generate(engine(failing, failing, failing), messages).catch(() => undefined)
    expect(spans()).toEqual([
      'generate start',
      'stream start',
      'retry',
      'retry',
      'stream error',
      'generate error',
    ])
    expect(events.at(-1)).toMatchObject({ error: { kind: 'adapter', reason: 'timeout' } })
  })

  test('a failure in the middle is an error of every span around it', async () => {
    const failing: Script = [
      ['text', 'half'],
      ['error', 'content_filter'],
    ]
    await chat(engine(failing), messages).catch(() => undefined)
    expect(spans()).toEqual([
      'chat start',
      'step start',
      'stream start',
      'stream error',
      'step error',
      'chat error',
    ])
    expect(events.slice(3)).toMatchObject([
      { error: { kind: 'adapter', reason: 'content_filter' } },
      { error: { kind: 'adapter', reason: 'content_filter' } },
      { error: { kind: 'adapter', reason: 'content_filter' } },
    ])
  })
})

test('content is reported only to listeners that request it', async () => {
  await generate(engine(slow), messages)
  await generate(
    engine([
      ['text', 'a secret half'],
      ['error', 'timeout'],
    ]),
    messages,
  ).catch(() => undefined)
  expect(JSON.stringify(events)).not.toContain('secret')
  const open: TelemetryEvent[] = []
  const close = onTelemetry((event) => open.push(event), { content: true })
  await generate(engine(slow), messages)
  close()
  expect(JSON.stringify(open)).toContain('a secret answer')
})

test('a listener that was removed gets no events', async () => {
  off()
  await collectEvents(streamGenerate(engine(slow), messages))
  expect(events).toEqual([])
})

/** A handler that gives back its arguments. */
const echo = tool({
  name: 'echo',
  description: 'Echoes.',
  schema: { type: 'object' },
  handler: (args) => args,
})

const calls = (...ids: readonly string[]): Script =>
  ids.map((id) => ['tool_call', { id, name: 'echo', arguments: {} }] as const)

/** The spans as a tree of names, in the order of their starts, and what happened in them. */
function trees(): readonly unknown[] {
  const under = (parent: string | undefined): readonly unknown[] =>
    events.flatMap((event) => {
      if (!('phase' in event)) return []
      if (event.phase !== 'start' || event.parentSpanId !== parent) return []
      const { name, toolCallId, spanId } = event
      const happened = events
        .filter((other) => other.spanId === spanId && !('phase' in other))
        .map((other) => other.name)
      return [[toolCallId ?? name, ...happened, ...under(spanId)]]
    })
  return under(undefined)
}

/** Every span has ended once, after its start and before its parent. */
function expectNested(): void {
  const open: string[] = []
  const ended = new Set<string>()
  for (const event of events) {
    if (!('phase' in event)) continue
    if (event.phase === 'start') {
      if (event.parentSpanId !== undefined) expect(open).toContain(event.parentSpanId)
      open.push(event.spanId)
    } else {
      expect(open).toContain(event.spanId)
      const child = events.find(
        (other) =>
          'phase' in other &&
          other.phase === 'start' &&
          other.parentSpanId === event.spanId &&
          open.includes(other.spanId),
      )
      expect(child).toBeUndefined()
      open.splice(open.indexOf(event.spanId), 1)
      expect(ended.has(event.spanId)).toBe(false)
      ended.add(event.spanId)
    }
  }
  expect(open).toEqual([])
}

describe('the tree', () => {
  test('two concurrent chats with one requestId are two trees', async () => {
    const run = (id: string): Promise<unknown> => {
      const adapter = fake({ scripts: [calls(`${id}1`, `${id}2`), slow] })
      const own = createEngine({ adapter, tools: [echo], clock: virtualClock() })
      return chat(own, messages, { requestId: 'http-1' })
    }
    await Promise.all([run('a'), run('b')])
    expect(trees()).toEqual(
      ['a', 'b'].map((id) => [
        'chat',
        ['step', ['stream'], [`${id}1`], [`${id}2`]],
        ['step', ['stream']],
      ]),
    )
    expectNested()
    expect(new Set(events.map(({ requestId }) => requestId))).toEqual(new Set(['http-1']))
  })

  test('a retry belongs to its call', async () => {
    const failing: Script = [['preflight_error', 'timeout', {}]]
    await chat(engine(failing, slow), messages)
    expect(trees()).toEqual([['chat', ['step', ['stream', 'retry']]]])
  })

  test('a step, a single call and a batch of tools are trees too', async () => {
    const adapter = fake({ scripts: [calls('c1'), slow] })
    const own = createEngine({ adapter, tools: [echo], clock: virtualClock() })
    await step(own, messages)
    await generate(own, messages)
    await runToolCalls([{ id: 'c2', name: 'echo', arguments: {} }], [echo])
    expect(trees()).toEqual([['step', ['stream'], ['c1']], ['generate', ['stream']], ['c2']])
    expectNested()
  })

  test('an answer that is repaired is one call with two streams', async () => {
    const responseFormat = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          value === 2 ? { value } : { issues: [{ message: 'must be two' }] },
        jsonSchema: { input: () => ({ type: 'number' }), output: () => ({ type: 'number' }) },
      },
    }
    const own = engine([['text', '1']], [['text', '2']], [['text', '3']])
    await generate(own, messages, { responseFormat, repair: 1 })
    expect(trees()).toEqual([['generate', ['stream'], ['stream']]])
    events = []
    await generate(own, messages, { responseFormat }).catch(() => undefined)
    expect(events.slice(2)).toMatchObject([
      { name: 'stream', phase: 'stop' },
      { name: 'generate', phase: 'error', error: { reason: 'invalid_output' } },
    ])
    expectNested()
  })

  test('a run that a handler starts on the engine that it was given is part of its span', async () => {
    const agent = tool({
      name: 'echo',
      description: 'Asks another.',
      schema: { type: 'object' },
      handler: async (_args, { engine }) => {
        if (engine === undefined) return undefined
        await generate(engine, 'inner')
        return runToolCalls([{ id: 'deep', name: 'noop', arguments: {} }], [noop], { engine })
      },
    })
    const noop = tool({ name: 'noop', description: 'n', schema: {}, handler: () => 1 })
    const adapter = fake({ scripts: [calls('c1'), slow, slow] })
    await chat(createEngine({ adapter, tools: [agent], clock: virtualClock() }), messages)
    expect(trees()).toEqual([
      [
        'chat',
        ['step', ['stream'], ['c1', ['generate', ['stream']], ['deep']]],
        ['step', ['stream']],
      ],
    ])
    expectNested()
  })

  test('a call that was interrupted is told in its step', async () => {
    const adapter = fake({ scripts: [calls('c1'), slow] })
    const own = createEngine({ adapter, tools: [echo], clock: virtualClock() })
    const stream = Session.streamStart(own, messages)
    for await (const event of stream) if (event.type === 'tool_execution_started') break
    events = []
    await Session.resume(own, JSON.parse(JSON.stringify(stream.session)) as Session)
    expect(trees()).toEqual([['chat', ['step', 'tool.interrupted'], ['step', ['stream']]]])
    expect(events.find(({ name }) => name === 'tool.interrupted')).toMatchObject({
      toolName: 'echo',
      toolCallId: 'c1',
      sessionId: stream.session.id,
    })
  })
})

describe('a stream that is left after any number of events', () => {
  const own = (): Engine => {
    const adapter = fake({ scripts: [calls('c1', 'c2'), slow] })
    return createEngine({ adapter, tools: [echo], clock: virtualClock() })
  }
  test.each([
    ['streamGenerate', () => streamGenerate(own(), messages)],
    ['streamStep', () => streamStep(own(), messages)],
    ['streamChat', () => streamChat(own(), messages)],
    ['Session.streamStart', () => Session.streamStart(own(), messages)],
    ['streamToolCalls', () => streamToolCalls([{ id: 'c1', name: 'echo', arguments: {} }], [echo])],
  ])(
    'ends each span of %s once, and only one that was complete is not cancelled',
    async (_, open) => {
      const sizes: number[] = []
      for await (const batch of open().batches()) sizes.push(batch.length)
      const before = sizes.slice(0, -1).reduce((sum, size) => sum + size, 0)
      for (let cut = 0; cut <= before + (sizes.at(-1) ?? 0); cut++) {
        events = []
        const stream = open()
        const iterator = stream[Symbol.asyncIterator]()
        for (let read = 0; read < cut; read++) await iterator.next()
        await stream.return()
        expectNested()
        const root = events.at(-1)
        if (root === undefined || root.name === 'tool') continue
        // Events that come together were all made when the first is read.
        if (cut > before) expect(root).not.toMatchObject({ haltedReason: 'cancelled' })
        else expect(root).toMatchObject({ phase: 'stop', haltedReason: 'cancelled' })
      }
    },
  )

  test('while a read is pending ends its spans as cancelled', async () => {
    for (const open of [streamGenerate, streamChat]) {
      events = []
      const silent: Script = [
        ['text', 'a'],
        ['delay', 1_000_000],
        ['finish', 'stop'],
      ]
      const clock = virtualClock({ auto: false })
      const stream = open(createEngine({ adapter: fake({ script: silent }), clock }), messages)
      const iterator = stream[Symbol.asyncIterator]()
      await iterator.next()
      await iterator.next()
      const pending = iterator.next().catch(() => undefined)
      await stream.return()
      await pending
      expectNested()
      expect(events.filter((event) => 'phase' in event && event.phase === 'error')).toEqual([])
      expect(events.at(-1)).toMatchObject({ haltedReason: 'cancelled' })
    }
  })
})

test('a signal stops the spans: that is not a failure', async () => {
  const controller = new AbortController()
  const waiting = tool({
    name: 'echo',
    description: 'Waits.',
    schema: { type: 'object' },
    handler: () => {
      controller.abort(new Error('enough'))
      return new Promise(() => undefined)
    },
  })
  const adapter = fake({ scripts: [[['usage', { inputTokens: 7 }], ...calls('c1')]] })
  const own = createEngine({ adapter, tools: [waiting] })
  await chat(own, messages, { signal: controller.signal }).catch(() => undefined)
  expectNested()
  expect(events.filter((event) => 'phase' in event && event.phase !== 'start')).toMatchObject([
    { name: 'stream', phase: 'stop', finishReason: 'tool_calls' },
    { name: 'tool', phase: 'stop', haltedReason: 'cancelled' },
    { name: 'step', phase: 'stop', haltedReason: 'cancelled', usage: { inputTokens: 7 } },
    { name: 'chat', phase: 'stop', haltedReason: 'cancelled', usage: { inputTokens: 7 } },
  ])
})

describe('an event has', () => {
  const answered: ChatAdapter = {
    provider: 'local',
    server: 'http://127.0.0.1:8080',
    async *stream(_request, options) {
      await options?.clock?.sleep(30)
      yield [
        { type: 'message_started', requestId: 'r', provider: 'local', id: 'msg_1', model: 'm-2' },
        { type: 'text_delta', delta: 'hi' },
      ]
      await options?.clock?.sleep(12)
      yield [
        {
          type: 'message_completed',
          message: { role: 'assistant', content: 'hi' },
          finishReason: 'stop',
          usage: { inputTokens: 3, outputTokens: 1 },
        },
      ]
    },
  }

  test('the metadata of the call, its session, its settings and its server; the end also the id and model of the answer, its usage and the time to its first chunk', async () => {
    const own = createEngine({
      adapter: answered,
      model: 'm',
      clock: virtualClock(),
      metadata: { team: 'a' },
      temperature: 0.5,
    })
    const options = { metadata: { user: 'u1' }, maxTokens: 9, seed: 4, stopSequences: ['x'] }
    await Session.start(own, messages, { id: 's-1', ...options })
    for (const event of events) {
      expect(event).toMatchObject({
        metadata: { team: 'a', user: 'u1' },
        sessionId: 's-1',
        provider: 'local',
        model: 'm',
      })
    }
    expect(events.filter(({ name }) => name === 'stream')).toMatchObject([
      {
        phase: 'start',
        server: 'http://127.0.0.1:8080',
        settings: { maxTokens: 9, temperature: 0.5, seed: 4, stopSequences: ['x'] },
      },
      {
        phase: 'stop',
        settings: { maxTokens: 9 },
        responseId: 'msg_1',
        responseModel: 'm-2',
        usage: { inputTokens: 3, outputTokens: 1 },
        timeToFirstChunkMs: 30,
        durationMs: 42,
        finishReason: 'stop',
      },
    ])
  })

  test('the time to the first chunk of the attempt that answered', async () => {
    let attempts = 0
    const adapter: ChatAdapter = {
      provider: 'local',
      async *stream(request, options) {
        await options?.clock?.sleep(1000)
        if (attempts++ === 0) throw new AdapterError('timeout', 'too slow')
        yield* answered.stream(request, options)
      },
    }
    const retry = { jitterMs: 0 }
    await generate(createEngine({ adapter, clock: virtualClock(), retry }), messages)
    const ended = { phase: 'stop', timeToFirstChunkMs: 1030, durationMs: 2542 }
    expect(events).toMatchObject([{}, {}, { name: 'retry' }, { name: 'stream', ...ended }, {}])
  })

  test('its usage also when it ends in an error or is left', async () => {
    const usage = { inputTokens: 5 }
    const adapter: ChatAdapter = {
      provider: 'counting',
      async *stream() {
        yield [
          { type: 'message_started', requestId: 'r', provider: 'counting', usage },
          { type: 'text_delta', delta: 'half' },
        ]
        throw new AdapterError('timeout', 'too slow')
      },
    }
    await chat(createEngine({ adapter }), messages).catch(() => undefined)
    expect(events.filter((event) => 'phase' in event && event.phase === 'error')).toMatchObject([
      { name: 'stream', usage: { inputTokens: 5 } },
      { name: 'step', usage: { inputTokens: 5 } },
      { name: 'chat', usage: { inputTokens: 5 } },
    ])
    events = []
    for await (const event of streamGenerate(createEngine({ adapter }), messages))
      if (event.type === 'text_delta') break
    expect(events.slice(2)).toMatchObject([
      { name: 'stream', phase: 'stop', usage },
      { name: 'generate', phase: 'stop', usage },
    ])
  })

  test('of an adapter only the scheme, the host and the port of its address', async () => {
    const adapter = openai({
      baseUrl: 'https://gateway.example:8443/v1/secret-path?key=secret',
      apiKey: 'secret-key',
      model: 'gpt-5',
      fetch: () => Promise.reject(new Error('offline')),
    })
    await generate(createEngine({ adapter, retry: false }), messages).catch(() => undefined)
    expect(events[1]).toMatchObject({ name: 'stream', server: 'https://gateway.example:8443' })
    expect(JSON.stringify(events)).not.toContain('secret')
  })

  test('of an image the id, the model and the usage of the answer', async () => {
    const imageAdapter = fakeImages({ script: [['ok', [], { usage: { inputTokens: 2 } }]] })
    const own = createEngine({ imageAdapter, imageModel: 'm' })
    await generateImage(own, 'a cat', { metadata: { user: 'u1' } })
    expect(events).toMatchObject([
      { name: 'image', phase: 'start', metadata: { user: 'u1' } },
      { name: 'image', phase: 'stop', usage: { inputTokens: 2 } },
    ])
  })
})

test('a listener that wants content gets the request, the arguments and the answers', async () => {
  const open: TelemetryEvent[] = []
  const close = onTelemetry((event) => open.push(event), { content: true })
  const adapter = fake({
    scripts: [[['tool_call', { id: 'c1', name: 'echo', arguments: { n: 1 } }]], slow],
  })
  await chat(createEngine({ adapter, tools: [echo], clock: virtualClock() }), messages)
  close()
  const request = open.find(({ name }) => name === 'stream')
  expect(request).toMatchObject({ content: { messages, tools: [{ name: 'echo' }] } })
  expect(open.filter(({ name }) => name === 'tool')).toMatchObject([
    { phase: 'start', content: { n: 1 } },
    { phase: 'stop', content: { n: 1 } },
  ])
})

describe('around', () => {
  /** What was the innermost span when something was called. */
  const inner: string[] = []
  const innermost = new AsyncLocalStorage<string>()
  const names = new Map<string, string>()

  beforeEach(() => {
    off()
    inner.length = 0
    off = onTelemetry(
      (event) => {
        events.push(event)
        if ('phase' in event && event.phase === 'start') names.set(event.spanId, event.name)
      },
      {
        around: (spanId, work) => innermost.run(names.get(spanId) ?? '?', work),
      },
    )
  })

  const note = (what: string): void =>
    void inner.push(`${what} in ${innermost.getStore() ?? 'nothing'}`)

  test('every call of an adapter, a handler or a hook is made inside its span', async () => {
    const script = fake({ scripts: [calls('c1'), slow] })
    const adapter: ChatAdapter = {
      provider: 'noting',
      key: { required: false, own: false },
      stream(request, options) {
        note('stream')
        const source = script.stream(request, options)[Symbol.asyncIterator]()
        return {
          [Symbol.asyncIterator]: () => ({
            next: () => {
              note('next')
              return source.next()
            },
          }),
        }
      },
    }
    const noting = tool({
      name: 'echo',
      description: 'Notes.',
      schema: { type: 'object' },
      handler: () => {
        note('handler')
        throw new Error('no')
      },
    })
    const own = createEngine({
      adapter,
      tools: [noting],
      clock: virtualClock(),
      keys: () => (note('key'), 'k'),
    })
    await chat(own, messages, {
      prepareStep: () => note('prepareStep'),
      onToolError: () => (note('onToolError'), { continue: 'so be it' }),
      approve: () => (note('approve'), 'run'),
      onStep: () => note('onStep'),
    })
    expect(new Set(inner)).toEqual(
      new Set([
        'key in stream',
        'stream in stream',
        'next in stream',
        'handler in tool',
        'onToolError in tool',
        'prepareStep in chat',
        'approve in chat',
        'onStep in chat',
      ]),
    )
  })

  test('an image adapter is called inside its span', async () => {
    const imageAdapter = fakeImages({
      script: [['ok', []]],
      capture: () => note('capture'),
    })
    await generateImage(createEngine({ imageAdapter, imageModel: 'm' }), 'a cat')
    expect(inner).toEqual(['capture in image'])
  })
})

describe('a listener whose hooks misbehave breaks no run', () => {
  test.each<readonly [string, (spanId: string, work: () => void) => void]>([
    ['does not call', () => undefined],
    ['calls twice', (_id, work) => (work(), work())],
    ['throws before', () => fail()],
    ['throws after', (_id, work) => (work(), fail())],
    ['calls later', (_id, work) => queueMicrotask(work)],
  ])('%s', async (_name, around) => {
    vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    const close = onTelemetry(() => undefined, { around, traceOf: fail })
    let runs = 0
    const counting = tool({
      name: 'echo',
      description: 'Counts.',
      schema: { type: 'object' },
      handler: () => ++runs,
    })
    try {
      const adapter = fake({ scripts: [calls('c1'), slow] })
      const own = createEngine({ adapter, tools: [counting], clock: virtualClock() })
      const { session, result } = await Session.start(own, messages)
      expect(result).toMatchObject({ outputText: 'a secret answer', haltedReason: 'completed' })
      expect(session.status).toBe('completed')
      expect(runs).toBe(1)
    } finally {
      close()
      vi.restoreAllMocks()
    }
  })

  test('what the work throws reaches its caller', async () => {
    const close = onTelemetry(() => undefined, { around: (_id, work) => work() })
    const adapter: ChatAdapter = {
      provider: 'broken',
      stream: () => {
        throw new TypeError('broken')
      },
    }
    try {
      await expect(generate(createEngine({ adapter }), messages)).rejects.toThrow('broken')
    } finally {
      close()
    }
  })
})

function fail(): never {
  throw new Error('a broken listener')
}

describe('a run of a session that goes on', () => {
  const listen = (trace: (spanId: string) => string | undefined): void => {
    off()
    off = onTelemetry((event) => events.push(event), { traceOf: trace })
  }
  const start = (): TelemetryEvent | undefined =>
    events.find(({ name, ...event }) => name === 'chat' && 'phase' in event)

  test('says which one it goes on with, in every part and after every cut', async () => {
    let made = 0
    listen(() => `trace-${++made}`)
    const own = (scripts: readonly Script[]): Engine =>
      createEngine({ adapter: fake({ scripts }), tools: [echo], clock: virtualClock() })
    const all = await collectEvents(Session.streamStart(own([calls('c1'), slow]), messages))
    for (let cut = 1; cut < all.length - 1; cut++) {
      made = 0
      const stream = Session.streamStart(own([calls('c1'), slow]), messages)
      const iterator = stream[Symbol.asyncIterator]()
      for (let read = 0; read < cut; read++) await iterator.next()
      const saved = Session.parse(Session.stringify(stream.session))
      await stream.return()
      expect(saved.run?.trace).toBe('trace-1')
      events = []
      const answered = saved.thread.messages.some(({ role }) => role === 'assistant')
      const left = answered && saved.run?.phase !== 'model' ? [slow] : [calls('c1'), slow]
      const { session } = await Session.resume(own(left), saved)
      expect(start()).toMatchObject({ resumes: 'trace-1' })
      expect(session.status).toBe('completed')
      expect(session).not.toHaveProperty('run')
    }
  })

  test('keeps the first when it goes on twice, and a new message starts anew', async () => {
    let made = 0
    listen(() => `trace-${++made}`)
    const failing: Script = [['preflight_error', 'invalid_request', {}]]
    const own = engine(failing, failing, slow, slow)
    const first = await Session.start(own, messages)
    expect(first.session).toMatchObject({ status: 'error', run: { trace: 'trace-1' } })
    expect(start()).not.toHaveProperty('resumes')
    const second = await Session.resume(own, first.session)
    expect(second.session).toMatchObject({ status: 'error', run: { trace: 'trace-1' } })
    events = []
    const third = await Session.resume(own, second.session)
    expect(start()).toMatchObject({ resumes: 'trace-1' })
    events = []
    await Session.reply(own, third.session, 'more')
    expect(start()).not.toHaveProperty('resumes')
  })

  test('a text that is too long is not saved, and one that was saved is refused', async () => {
    listen(() => 'x'.repeat(600))
    const failing: Script = [['preflight_error', 'invalid_request', {}]]
    const { session } = await Session.start(engine(failing), messages)
    expect(session.run).not.toHaveProperty('trace')
    const forged = { ...session, run: { ...session.run, trace: 'x'.repeat(600) } }
    expect(() => Session.parse(JSON.stringify(forged))).toThrow('run.trace')
  })

  test('nothing is saved when nobody listens', async () => {
    off()
    const failing: Script = [['preflight_error', 'invalid_request', {}]]
    const { session } = await Session.start(engine(failing), messages)
    expect(session.run).not.toHaveProperty('trace')
  })
})

test('a run that is observed gives the same events and the same session as one that is not', async () => {
  off()
  const scripts: readonly Script[] = [[['reasoning', 'hm'], ...calls('c1', 'c2')], slow]
  const run = async (): Promise<unknown> => {
    let made = 0
    const own = createEngine({
      adapter: fake({ scripts }),
      tools: [echo],
      clock: virtualClock(),
      newId: (kind) => (kind === 'span' ? crypto.randomUUID() : `${kind}-${++made}`),
    })
    const stream = Session.streamStart(own, messages, { id: 's' })
    const seen: unknown[] = []
    for await (const event of stream) seen.push(event)
    return [seen, await stream.result]
  }
  const alone = await run()
  const close = onTelemetry(() => undefined, { content: true, around: (_id, work) => work() })
  try {
    expect(await run()).toEqual(alone)
  } finally {
    close()
  }
})

test('what a middleware tells has the place and the facts of its call', async () => {
  const failing: Script = [['preflight_error', 'provider_unavailable', {}]]
  const adapter = fallback([fake({ scripts: [failing] }), fake({ scripts: [slow] })])
  const own = createEngine({ adapter, clock: virtualClock(), model: 'm' })
  await Session.start(own, messages, { id: 's', metadata: { user: 'u1' } })
  const start = events.find(({ name }) => name === 'stream')
  const told = events.filter(({ name }) => name === 'fallback')
  expect(told).toMatchObject([
    {
      spanId: start?.spanId,
      parentSpanId: start?.parentSpanId,
      sessionId: 's',
      metadata: { user: 'u1' },
    },
  ])
})

test('unknown options of a listener are refused by name', () => {
  // A caller without types may pass anything.
  const options = { contents: true } as object
  expect(() => onTelemetry(() => undefined, options)).toThrow('unknown key contents')
})
