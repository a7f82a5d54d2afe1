import { SpanStatusCode } from '@opentelemetry/api'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { afterAll, describe, expect, test } from 'vitest'
import { createEngine, chat, streamChat, tool, type Engine } from '../../../src/index.ts'
import { openai } from '../../../src/openai.ts'
import { createRuns } from '../../../src/runs.ts'
import { createFakeServer } from '../../../src/server.ts'
import { memoryStore, type RunStore } from '../../../src/stores.ts'
import { virtualClock, type Script } from '../../../src/testing.ts'
import { scriptedEngine } from '../../durable/runs/support.ts'
import { otelBench } from './support.ts'

const bench = otelBench()

/** A `fetch` that makes spans as an instrumented one does: one for the request, and an event at each read of its body. */
const tracedFetch: typeof fetch = async (input, init) => {
  const span = bench.tracer.startSpan('POST')
  const response = await fetch(input, init)
  span.end()
  return response
}

/** A handler that asks a database. */
const look = tool({
  name: 'look',
  description: 'Looks something up.',
  schema: { type: 'object', properties: { fails: { type: 'boolean' } } },
  handler: async ({ fails }) => {
    const span = bench.tracer.startSpan('db.query')
    await Promise.resolve()
    span.end()
    if (fails === true) throw new Error('no such row')
    return 'found'
  },
})

const call = (id: string, fails = false): Script[number] => [
  'tool_call',
  { id, name: 'look', arguments: { fails } },
]

describe('over HTTP, six chats at once with one requestId', () => {
  const servers: { close(): Promise<void> }[] = []
  afterAll(async () => {
    for (const server of servers) await server.close()
  })

  async function engineFor(scripts: readonly Script[]): Promise<Engine> {
    const server = await createFakeServer({ scripts })
    servers.push(server)
    const adapter = openai({
      baseUrl: server.openaiBaseUrl,
      apiKey: 'sk-test-0123456789abcdefghij',
      fetch: tracedFetch,
      api: 'chat',
    })
    return createEngine({
      adapter,
      model: 'gpt-5',
      tools: [look],
      retry: { baseDelayMs: 1, jitterMs: 0 },
    })
  }

  test('are six trees, each right in itself', async () => {
    bench.listen({ content: true, meter: bench.meter })
    const done: Script = [
      ['text', 'do'],
      ['text', 'ne'],
      ['usage', { inputTokens: 10, outputTokens: 2 }],
    ]
    const run = async (scripts: readonly Script[], isLeft = false): Promise<void> => {
      const engine = await engineFor(scripts)
      const options = { requestId: 'http-1', metadata: { user: 'u1' } }
      if (!isLeft) {
        await chat(engine, 'go', options).catch(() => undefined)
        return
      }
      for await (const event of streamChat(engine, 'go', options))
        if (event.type === 'text_delta') break
    }
    await Promise.all([
      run([done]),
      run([[call('a'), call('b')], done]),
      run([[call('c', true)], done]),
      run([[['preflight_error', 'rate_limited', { status: 429 }]], done]),
      run([[['preflight_error', 'invalid_request', { status: 400 }]]]),
      run([[call('d')], done], true),
    ])
    const trees = bench
      .trees()
      .map((tree) => JSON.stringify(tree))
      .toSorted()
    const chatSpan = ['chat gpt-5', 'POST']
    const toolSpan = ['execute_tool look', 'db.query']
    expect(trees).toEqual(
      [
        ['invoke_agent', chatSpan],
        ['invoke_agent', chatSpan],
        ['invoke_agent', ['chat gpt-5', 'POST', 'POST']],
        ['invoke_agent', chatSpan, toolSpan, chatSpan],
        ['invoke_agent', chatSpan, toolSpan, chatSpan],
        ['invoke_agent', chatSpan, toolSpan, toolSpan, chatSpan],
      ]
        .map((tree) => JSON.stringify(tree))
        .toSorted(),
    )
    const spans = bench.spans()
    const traces = new Set(spans.map((span) => span.spanContext().traceId))
    expect(traces.size).toBe(6)
    for (const span of spans) expectInside(span)
    const failed = spans.filter(({ status }) => status.code === SpanStatusCode.ERROR)
    expect(failed.map(({ name }) => name).toSorted()).toEqual([
      'chat gpt-5',
      'execute_tool look',
      'invoke_agent',
    ])
    const told = JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))
    expect(told.includes('0123456789')).toBe(false)
    const measured = await bench.measured()
    expect(
      measured.some(({ name }) => name === 'gen_ai.client.operation.time_to_first_chunk'),
    ).toBe(true)
  })
})

/** A span starts after its parent, and ends before it: by their order, because each span has a clock of its own. */
function expectInside(span: ReadableSpan): void {
  const [started, ended] = [bench.spans(), bench.ended()]
  const parent = started.find(
    (other) => other.spanContext().spanId === span.parentSpanContext?.spanId,
  )
  if (parent === undefined) return
  expect(started.indexOf(span)).toBeGreaterThan(started.indexOf(parent))
  expect(ended.indexOf(span)).toBeLessThan(ended.indexOf(parent))
}

describe('a run with two owners', () => {
  test('is two traces: the second links to the first, and store and handlers are traced in both', async () => {
    bench.listen()
    const clock = virtualClock({ auto: false })
    const inner = memoryStore({ clock })
    const settings = { clock, leaseMs: 1000, execute: false } as const
    let isDying = false
    const dying = tracedStore(inner, () => isDying)
    const answer = (_text: string, results: number): Script =>
      results === 0
        ? [call('a')]
        : results === 1
          ? [['delay', 600_000], call('b')]
          : [['text', 'ok']]
    const first = createRuns({
      ...settings,
      store: dying,
      engine: scriptedEngine(answer, { tools: [look], model: 'm', clock }),
    })
    await first.send('ada', 'Hello')
    bench.reset()
    first.advance('ada').catch(() => undefined)
    await clock.advance(500)
    isDying = true
    await clock.advance(3000)
    const ended = bench.spans()
    const chatOfFirst = ended.find(({ name }) => name === 'chat m')
    const traceOfFirst = chatOfFirst?.spanContext().traceId
    const agentOfFirst = chatOfFirst?.parentSpanContext?.spanId
    // It died, so its own spans never ended; those of its handler and its store did.
    expect(ended.map(({ name }) => name)).toContain('db.query')
    expect(ended.map(({ name }) => name)).toContain('store.save')
    // Taking the lease comes before there is a run, and a timer of the virtual clock has no context.
    for (const span of ended.filter(({ name }) => !/acquire|renew|stopRequested/.test(name))) {
      expect(span.spanContext().traceId).toBe(traceOfFirst)
    }
    bench.reset()
    const second = createRuns({
      ...settings,
      store: tracedStore(inner, () => false),
      engine: scriptedEngine((_text, results) => (results < 2 ? [call('b')] : [['text', 'ok']]), {
        tools: [look],
        model: 'm',
        clock,
      }),
    })
    const work = second.advance('ada')
    await clock.advance(100)
    expect(await work).toMatchObject({ outcome: 'completed' })
    const agent = bench.span('invoke_agent')
    expect(agent.links.map(({ context }) => context)).toMatchObject([
      { traceId: traceOfFirst, spanId: agentOfFirst },
    ])
    expect(agent.attributes).toMatchObject({ 'gen_ai.conversation.id': 'ada' })
    expect(agent.parentSpanContext?.spanId).toBe(bench.span('advance').spanContext().spanId)
    const traces = new Set(bench.spans().map((span) => span.spanContext().traceId))
    expect([...traces].filter((trace) => trace === traceOfFirst)).toEqual([])
    const roots = bench.spans().filter(({ parentSpanContext }) => parentSpanContext === undefined)
    expect(new Set(roots.map(({ name }) => name))).toEqual(new Set(['store.acquire', 'advance']))
  })
})

/** A store whose client makes spans, as an instrumented database does. It answers no more when its process is dead. */
function tracedStore(inner: RunStore, isDead: () => boolean): RunStore {
  return Object.fromEntries(
    Object.entries(inner).map(([name, operation]) => [
      name,
      typeof operation !== 'function' || name === 'watch'
        ? operation
        : (...given: unknown[]) => {
            if (isDead()) return new Promise(() => undefined)
            bench.tracer.startSpan(`store.${name}`).end()
            return (operation as (...args: unknown[]) => unknown)(...given)
          },
    ]),
  ) as unknown as RunStore
}
