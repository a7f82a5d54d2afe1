import { describe, expect, test } from 'vitest'
import {
  collectChat,
  createEngine,
  generate,
  streamChat,
  streamGenerate,
  toViewEvent,
  user,
  type ChatAdapter,
  type StreamEvent,
} from '../../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../../src/testing.ts'

const messages = [user('go')]

const script: Script = [
  ['text', 'héllo '],
  ['text', 'wörld'],
  ['finish', 'stop'],
]

const requestId = 'r'

const open = (entries: Script = script) =>
  streamGenerate(createEngine({ adapter: fake({ script: entries }) }), messages, { requestId })

describe('a run in other forms', () => {
  test('batches: the same events, grouped as they arrived', async () => {
    const events: StreamEvent[] = []
    let batches = 0
    for await (const batch of open().batches()) {
      batches++
      events.push(...batch)
    }
    expect(events).toEqual(await collectEvents(open()))
    expect(batches).toBe(1)
  })

  test('concurrent next() calls for batches are queued, and none is lost', async () => {
    const slow: Script = [
      ['text', 'a'],
      ['delay', 5],
      ['text', 'b'],
      ['delay', 5],
      ['text', 'c'],
    ]
    const engine = createEngine({ adapter: fake({ script: slow }), clock: virtualClock() })
    const run = streamChat(engine, messages).batches()[Symbol.asyncIterator]()
    const steps = await Promise.all(Array.from({ length: 9 }, () => run.next()))
    const events = steps.flatMap(({ value }) => value ?? [])
    expect(await collectChat(events)).toMatchObject({ finalResponse: { outputText: 'abc' } })
    expect(steps.at(-1)).toEqual({ done: true, value: undefined })
  })

  test('a Web stream, pulled one event at a time', async () => {
    const adapter = fake({ script })
    const stream = streamGenerate(createEngine({ adapter }), messages).toReadableStream()
    expect(adapter.calls).toHaveLength(0)
    const reader = stream.getReader()
    const types: string[] = []
    for (let next = await reader.read(); !next.done; next = await reader.read())
      types.push(next.value.type)
    expect(types.at(-1)).toBe('message_completed')
    expect(adapter.openStreams).toBe(0)
  })

  test('cancelling the Web stream ends the run', async () => {
    const adapter = fake({
      script: [
        ['text', 'a'],
        ['delay', 1000],
        ['text', 'b'],
      ],
    })
    const reader = streamGenerate(createEngine({ adapter }), messages)
      .toReadableStream()
      .getReader()
    await reader.read()
    await reader.cancel()
    expect(adapter.openStreams).toBe(0)
  })

  test('a response of server-sent events', async () => {
    const response = open().toHttpResponse({ status: 201, headers: { 'x-mine': '1' } })
    expect(response.status).toBe(201)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('x-mine')).toBe('1')
    const text = await response.text()
    const sent = [...text.matchAll(/^id: (\d+)\ndata: (.*)\n$/gm)]
    expect(sent.map(([, id]) => id)).toEqual(['1', '2', '3', '4', '5'])
    expect(sent.map(([, , data = '']) => JSON.parse(data) as unknown)).toEqual(
      (await collectEvents(open())).map((event) => toViewEvent(event)),
    )
  })

  test('a failure before the first event is an error event in a response of server-sent events', async () => {
    const text = await open([['preflight_error', 'invalid_request', { message: 'no' }]])
      .toHttpResponse()
      .text()
    expect(text).toContain('"type":"error"')
    expect(text).toContain('"reason":"invalid_request"')
  })
})

test('concurrent next() calls are queued and get every event in order', async () => {
  const iterator = open()[Symbol.asyncIterator]()
  const asked = Array.from({ length: 8 }, () => iterator.next())
  const types = (await Promise.all(asked)).map(({ value }) => value?.type)
  expect(types.slice(0, 5)).toEqual([
    'message_started',
    'text_delta',
    'text_delta',
    'text_completed',
    'message_completed',
  ])
  expect(types.slice(5)).toEqual([undefined, undefined, undefined])
})

describe('adapters that break the contract', () => {
  const started = { type: 'message_started', requestId, provider: 'p' } as const
  const completed = {
    type: 'message_completed',
    message: { role: 'assistant', content: 'ok' },
    finishReason: 'stop',
  } as const
  const adapterOf = (stream: ChatAdapter['stream']): ChatAdapter => ({ provider: 'p', stream })
  const run = (stream: ChatAdapter['stream']) =>
    collectEvents(
      streamGenerate(createEngine({ adapter: adapterOf(stream), retry: false }), messages),
    )

  test('an end without a last event is truncated', async () => {
    const events = await run(async function* () {
      yield [started]
    })
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'stream', reason: 'truncated', eventIndex: 1 },
    })
  })

  test('an answer without any event is truncated, before the first event', async () => {
    await expect(run(async function* () {})).rejects.toMatchObject({ reason: 'truncated' })
  })

  test('events after the last event are dropped', async () => {
    const events = await run(async function* () {
      yield [started, completed, { type: 'text_delta', delta: 'late' }]
      yield [{ type: 'text_delta', delta: 'later' }]
    })
    expect(events.map(({ type }) => type)).toEqual(['message_started', 'message_completed'])
  })

  test('a foreign error in the middle is the last event, with the original described as its cause', async () => {
    const events = await run(async function* () {
      yield [started]
      throw new TypeError('socket hung up')
    })
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: {
        kind: 'adapter',
        reason: 'unknown',
        cause: { name: 'TypeError', message: 'socket hung up' },
      },
    })
  })

  test('a foreign error at the start rejects with a typed error that keeps it', async () => {
    const cause = new TypeError('no socket')
    const stream = (): never => {
      throw cause
    }
    await expect(
      generate(createEngine({ adapter: adapterOf(stream) }), messages),
    ).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'unknown',
      cause,
      partial: { finishReason: 'error' },
    })
  })

  test('an error event that comes first is a failure before the first event, and may be retried', async () => {
    let calls = 0
    const adapter = adapterOf(async function* () {
      if (++calls === 1) {
        yield [
          {
            type: 'error',
            error: {
              kind: 'adapter',
              reason: 'provider_unavailable',
              message: 'x',
              retryable: true,
            },
          },
        ]
      } else yield [started, completed]
    })
    const engine = createEngine({ adapter, retry: { baseDelayMs: 0, jitterMs: 0 } })
    expect((await generate(engine, messages)).outputText).toBe('ok')
    expect(calls).toBe(2)
  })

  test('empty batches are skipped', async () => {
    const events = await run(async function* () {
      yield []
      yield [started]
      yield []
      yield [completed]
    })
    expect(events.map(({ type }) => type)).toEqual(['message_started', 'message_completed'])
  })
})
