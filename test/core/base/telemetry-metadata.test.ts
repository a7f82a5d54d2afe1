import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  agentTool,
  chat,
  createEngine,
  embed,
  extendEngine,
  generate,
  handoff,
  onTelemetry,
  runToolCalls,
  Session,
  tool,
  type Engine,
  type HandlerOptions,
  type TelemetryEvent,
} from '../../../src/index.ts'
import { otel } from '../../../src/otel.ts'
import { createRuns } from '../../../src/runs.ts'
import { memoryStore } from '../../../src/stores.ts'
import { fake, fakeEmbeddings, type Script } from '../../../src/testing.ts'

let events: TelemetryEvent[]
let stop: () => void
beforeEach(() => {
  events = []
  stop = onTelemetry((event) => events.push(event))
})
afterEach(() => stop())

/** The spans in the order of their starts, each with its metadata. */
const started = (): readonly unknown[] =>
  events.flatMap((event) =>
    'phase' in event && event.phase === 'start' ? [[event.name, event.metadata]] : [],
  )
/** The metadata of all events of some spans, each once. */
const metadataOf = (...names: readonly string[]): readonly unknown[] => [
  ...new Set(
    events
      .filter(({ name }) => names.includes(name))
      .map((event) => JSON.stringify(event.metadata)),
  ),
]

const act = tool({ name: 'act', description: 'Acts.', schema: {}, handler: () => 'done' })
const calls = (name: string): Script => [['tool_call', { id: 'c1', name }]]

/** An engine whose model calls a tool once. */
const calling = (name: string, more: object): Engine =>
  createEngine({
    adapter: fake({
      script: ({ messages }) => (messages.at(-1)?.role === 'tool' ? ['done'] : calls(name)),
    }),
    ...more,
  })

describe('the run of a session', () => {
  test('has the metadata of its session in every event: call over session over engine', async () => {
    const engine = calling('act', {
      tools: [act],
      metadata: { team: 'engine', plan: 'engine', region: 'engine' },
    })
    const session = Session.create({
      id: 's',
      messages: [{ role: 'user', content: 'go' }],
      metadata: { team: 'session', plan: 'session', customer: { name: 'ada' } },
    })
    await Session.resume(engine, session, { metadata: { team: 'call' } })
    const metadata = {
      team: 'call',
      plan: 'session',
      region: 'engine',
      customer: { name: 'ada' },
    }
    expect(started()).toEqual([
      ['chat', metadata],
      ['step', metadata],
      ['stream', metadata],
      ['tool', metadata],
      ['step', metadata],
      ['stream', metadata],
    ])
    expect(events.every((event) => JSON.stringify(event.metadata).includes('ada'))).toBe(true)
  })

  test('has it in a step, in a retry and in a failure', async () => {
    const session = Session.create({
      messages: [{ role: 'user', content: 'go' }],
      metadata: { customer: 'ada' },
    })
    const adapter = fake({
      scripts: [
        [['preflight_error', 'rate_limited', {}]],
        [['preflight_error', 'invalid_request', {}]],
      ],
    })
    const engine = createEngine({ adapter, retry: { baseDelayMs: 1, jitterMs: 0 } })
    await Session.step(engine, session)
    expect(events.map(({ name }) => name)).toContain('retry')
    expect(metadataOf('step', 'stream', 'retry')).toEqual(['{"customer":"ada"}'])
  })

  test('does not let a listener change the session', async () => {
    const metadata = { customer: { name: 'ada' } }
    const leave = onTelemetry(({ metadata: told }) => {
      Object.assign(told?.['customer'] ?? {}, { name: 'eve' })
    })
    const messages = [{ role: 'user', content: 'go' }] as const
    const session = Session.create({ messages, metadata })
    const engine = createEngine({ adapter: fake({ script: ['hi'] }) })
    const { session: after } = await Session.resume(engine, session)
    leave()
    expect(after.metadata).toEqual({ customer: { name: 'ada' } })
    expect(metadata).toEqual({ customer: { name: 'ada' } })
  })

  test('has it in the request that its adapter gets', async () => {
    const adapter = fake({ script: ['hi'] })
    const session = Session.create({
      messages: [{ role: 'user', content: 'go' }],
      metadata: { customer: 'ada' },
    })
    await Session.resume(createEngine({ adapter, metadata: { team: 'a' } }), session)
    expect(adapter.calls[0]?.request.metadata).toEqual({ team: 'a', customer: 'ada' })
  })

  test('of createRuns has it too, and the end of advance', async () => {
    const engine = calling('act', { tools: [act] })
    const runs = createRuns({ engine, store: memoryStore() })
    await runs.send('x', 'hi', { metadata: { customer: 'ada' } })
    await runs.wait('x')
    await runs.close()
    expect(metadataOf('chat', 'step', 'stream', 'tool')).toEqual(['{"customer":"ada"}'])
    const ends = events.filter(
      (event) => event.name === 'advance' && 'phase' in event && event.phase === 'stop',
    )
    expect(ends.length).toBeGreaterThan(0)
    for (const { metadata } of ends) expect(metadata).toEqual({ customer: 'ada' })
  })
})

describe('after a handoff', () => {
  const expert = createEngine({
    adapter: fake({ script: ['from the expert'] }),
    model: 'large',
    metadata: { team: 'experts' },
  })
  const first = calling('escalate', {
    tools: [handoff(expert, { name: 'escalate' })],
    model: 'mini',
    metadata: { team: 'first line', service: 'support' },
  })

  test('the metadata of the engine that began stays, under that of the one that goes on', async () => {
    await chat(first, 'go', { metadata: { user: 'u1' } })
    const before = { team: 'first line', service: 'support', user: 'u1' }
    const after = { team: 'experts', service: 'support', user: 'u1' }
    expect(started()).toEqual([
      ['chat', before],
      ['step', before],
      ['stream', before],
      ['tool', before],
      ['step', after],
      ['stream', after],
    ])
  })

  test('a run of createRuns has that of its session, however its engine is made', async () => {
    for (const engine of [
      first,
      ({ metadata }: { metadata: object }) => extendEngine(first, { metadata: { ...metadata } }),
    ]) {
      events = []
      const runs = createRuns({ engine, store: memoryStore() })
      await runs.send('x', 'hi', { metadata: { customer: 'ada' } })
      await runs.wait('x')
      await runs.close()
      const spans = events.filter(({ name }) => name === 'stream')
      expect(spans.map(({ model }) => model)).toContain('large')
      for (const { metadata } of spans) expect(metadata).toMatchObject({ customer: 'ada' })
    }
  })

  test('a conversation that was handed over before still has it', async () => {
    const session = Session.create({ metadata: { customer: 'ada' } })
    const { session: handed } = await Session.reply(first, session, 'go')
    events = []
    await Session.reply(first, handed, 'more')
    const metadata = { team: 'experts', service: 'support', customer: 'ada' }
    expect(started()).toEqual([
      ['chat', metadata],
      ['step', metadata],
      ['stream', metadata],
    ])
  })
})

describe('a run inside another one', () => {
  test('of an agent has the metadata of the outer run, under that of its own engine', async () => {
    const inner = calling('act', { tools: [act], metadata: { team: 'inner', kind: 'agent' } })
    const agent = agentTool({ name: 'agent', description: 'An agent.', engine: inner })
    const outer = createEngine({
      adapter: fake({
        scripts: [
          [['tool_call', { id: 'a1', name: 'agent', arguments: { prompt: 'go' } }]],
          ['done'],
        ],
      }),
      tools: [agent],
      metadata: { team: 'outer', service: 'trips' },
    })
    const session = Session.create({ id: 'trip', metadata: { customer: 'ada', team: 'session' } })
    await Session.reply(outer, session, 'go', { metadata: { user: 'u1' } })
    const outside = { team: 'session', service: 'trips', customer: 'ada', user: 'u1' }
    const inside = { ...outside, team: 'inner', kind: 'agent' }
    expect(started()).toEqual([
      ['chat', outside],
      ['step', outside],
      ['stream', outside],
      ['tool', outside],
      ['chat', inside],
      ['step', inside],
      ['stream', inside],
      ['tool', inside],
      ['step', inside],
      ['stream', inside],
      ['step', outside],
      ['stream', outside],
    ])
  })

  test('of an agent that hands over has that of the engine that goes on', async () => {
    const expert = createEngine({
      adapter: fake({ script: ['expert'] }),
      model: 'large',
      metadata: { team: 'experts' },
    })
    const inner = calling('escalate', {
      tools: [handoff(expert, { name: 'escalate' })],
      metadata: { team: 'inner' },
    })
    const agent = agentTool({ name: 'agent', description: 'An agent.', engine: inner })
    const outer = createEngine({
      adapter: fake({
        scripts: [
          [['tool_call', { id: 'a1', name: 'agent', arguments: { prompt: 'go' } }]],
          ['done'],
        ],
      }),
      tools: [agent],
    })
    await chat(outer, 'go', { metadata: { user: 'u1' } })
    const large = events.find(({ name, model }) => name === 'stream' && model === 'large')
    expect(large?.metadata).toEqual({ team: 'experts', user: 'u1' })
  })

  test('that a handler of an agent makes has that of the outer run too', async () => {
    const thinking = tool({
      name: 'act',
      description: 'Acts.',
      schema: {},
      handler: async (_args: object, { engine }: HandlerOptions) => {
        if (engine === undefined) return 'no engine'
        await embed(engine, ['a'])
        const quick = extendEngine(engine, { adapter: fake({ script: ['hi'] }) })
        return (await generate(quick, 'go', { metadata: { part: 'summary' } })).outputText
      },
    })
    const inner = calling('act', {
      tools: [thinking],
      metadata: { team: 'a' },
      embeddingAdapter: fakeEmbeddings(),
    })
    const agent = agentTool({ name: 'agent', description: 'An agent.', engine: inner })
    const scripts: readonly Script[] = [
      [['tool_call', { id: 'a1', name: 'agent', arguments: { prompt: 'go' } }]],
      [['text', 'done']],
    ]
    const outer = createEngine({ adapter: fake({ scripts }), tools: [agent] })
    const session = Session.create({ metadata: { customer: 'ada' } })
    await Session.reply(outer, session, 'go')
    expect(metadataOf('embed')).toEqual([JSON.stringify({ customer: 'ada', team: 'a' })])
    expect(metadataOf('generate')).toEqual([
      JSON.stringify({ customer: 'ada', team: 'a', part: 'summary' }),
    ])
  })
})

test('tools that are run directly have the metadata of their engine', async () => {
  const engine = createEngine({ metadata: { team: 'a' } })
  await runToolCalls([{ id: 'c1', name: 'act', arguments: {} }], [act], { engine })
  expect(metadataOf('tool')).toEqual(['{"team":"a"}'])
})

test('the attributes of otel follow, also on advance', async () => {
  const attributes: Record<string, unknown[]> = {}
  const tracer = {
    startSpan: (name: string, { attributes: given = {} }: { attributes?: object } = {}) => {
      const told = (attributes[name] ??= [])
      const span = { ...given }
      told.push(span)
      return {
        spanContext: () => ({ traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 }),
        setAttributes: (more: object) => Object.assign(span, more),
        addEvent: () => undefined,
        setStatus: () => undefined,
        end: () => undefined,
      }
    },
  }
  const leave = otel({
    tracer,
    attributes: ({ metadata }) => ({ 'user.id': JSON.stringify(metadata?.['customer']) }),
  })
  const runs = createRuns({ engine: calling('act', { tools: [act] }), store: memoryStore() })
  await runs.send('x', 'hi', { metadata: { customer: 'ada' } })
  await runs.wait('x')
  await runs.close()
  leave()
  expect(Object.keys(attributes).toSorted()).toEqual([
    'advance',
    'chat',
    'execute_tool act',
    'invoke_agent',
  ])
  for (const spans of Object.values(attributes)) {
    for (const span of spans) expect(span).toMatchObject({ 'user.id': '"ada"' })
  }
})
