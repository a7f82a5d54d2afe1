import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  chat,
  createEngine,
  generate,
  onTelemetry,
  streamGenerate,
  tool,
  user,
  type TelemetryEvent,
} from '../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../src/testing.ts'

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
    expect(spans()).toEqual(['stream start', 'stream stop'])
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
