import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createEngine,
  generate,
  StreamError,
  streamChat,
  streamGenerate,
  tool,
  user,
  type ChatAdapter,
  type Engine,
  type RunStream,
} from '../../src/index.ts'
import { collectEvents, fake, virtualClock, type Fake, type Script } from '../../src/testing.ts'

const messages = [user('go')]
const long: Script = [
  ['text', 'a'],
  ['delay', 5],
  ['text', 'b'],
  ['delay', 100_000],
  ['text', 'c'],
  ['finish', 'stop'],
]

let cleanups = 0
let adapter: Fake
let engine: Engine
beforeEach(() => {
  cleanups = 0
  adapter = fake({ script: long, cleanupObserver: () => cleanups++ })
  engine = createEngine({ adapter, clock: virtualClock() })
})
afterEach(() => expect(adapter.openStreams).toBe(0))

describe.each<[string, (options?: object) => RunStream]>([
  ['streamGenerate', (options) => streamGenerate(engine, messages, options)],
  ['streamChat', (options) => streamChat(engine, messages, options)],
])('%s', (_name, open) => {
  test('sends nothing before the first read, and a stream that is never read leaks nothing', async () => {
    const stream = open()
    await Promise.resolve()
    expect(adapter.calls).toHaveLength(0)
    await stream.return()
    expect(adapter.calls).toHaveLength(0)
    expect(cleanups).toBe(0)
  })

  test('a break closes the call, once', async () => {
    for await (const event of open()) if (event.type === 'text_delta') break
    expect(cleanups).toBe(1)
  })

  test('a throw in the consumer closes the call, once', async () => {
    const consume = async (): Promise<void> => {
      for await (const event of open()) if (event.type === 'text_delta') throw new Error('mine')
    }
    await expect(consume()).rejects.toThrow('mine')
    expect(cleanups).toBe(1)
  })

  test('return() closes the call, once, and may be called again', async () => {
    const stream = open()
    const iterator = stream[Symbol.asyncIterator]()
    await iterator.next()
    await stream.return()
    await stream.return()
    await iterator.return?.()
    expect(cleanups).toBe(1)
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
  })

  test('await using closes the call', async () => {
    {
      await using stream = open()
      await stream[Symbol.asyncIterator]().next()
    }
    expect(cleanups).toBe(1)
  })

  test('a signal ends the stream with a cancelled error, keeps the partial answer, and closes the call', async () => {
    const controller = new AbortController()
    const events = []
    for await (const event of open({ signal: controller.signal, streamTimeoutMs: 1e9 })) {
      events.push(event)
      if (event.type === 'text_delta' && event.delta === 'b') controller.abort()
    }
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'stream', reason: 'cancelled' },
    })
    expect(cleanups).toBe(1)
  })

  test('a stream without events for streamTimeoutMs ends with a timeout error and closes the call', async () => {
    const events = []
    for await (const event of open({ streamTimeoutMs: 1000 })) events.push(event)
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: {
        kind: 'adapter',
        reason: 'timeout',
        message: 'fake was silent for 1000 ms (streamTimeoutMs)',
      },
    })
    expect(cleanups).toBe(1)
  })

  test('the idle timer does not run while a slow consumer is not reading', async () => {
    const clock = virtualClock({ auto: false })
    const script: Script = [
      ['text', 'a'],
      ['finish', 'stop'],
    ]
    const slow = createEngine({ adapter: fake({ script }), clock })
    const types = []
    for await (const event of streamGenerate(slow, messages, { streamTimeoutMs: 1000 })) {
      types.push(event.type)
      await clock.advance(5000)
    }
    expect(types.at(-1)).toBe('message_completed')
  })

  test('a second consumer is refused with a clear error', async () => {
    const stream = open()
    await stream.return()
    expect(() => stream[Symbol.asyncIterator]()).toThrow(StreamError)
    expect(() => stream[Symbol.asyncIterator]()).toThrow('can be read only once')
  })

  test('return() while a read is pending ends that read at once', async () => {
    const stream = open({ streamTimeoutMs: 1e9 })
    const iterator = stream[Symbol.asyncIterator]()
    for (;;) {
      const { value } = await iterator.next()
      if (value?.type === 'text_delta' && value.delta === 'b') break
    }
    const waiting = iterator.next()
    await stream.return()
    expect(await waiting).toMatchObject({
      value: { type: 'error', error: { reason: 'cancelled' } },
    })
    expect(cleanups).toBe(1)
  })
})

test('a call that is already cancelled sends nothing', async () => {
  await expect(generate(engine, messages, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    kind: 'stream',
    reason: 'cancelled',
  })
  expect(adapter.calls.length).toBeLessThan(2)
})

test('an adapter that ignores its signal cannot delay a cancellation', async () => {
  const deaf: ChatAdapter = {
    provider: 'deaf',
    async *stream() {
      yield [{ type: 'message_started', requestId: 'r', provider: 'deaf' }]
      await new Promise(() => undefined)
    },
  }
  const controller = new AbortController()
  const events = []
  for await (const event of streamGenerate(createEngine({ adapter: deaf }), messages, {
    signal: controller.signal,
  })) {
    events.push(event.type)
    queueMicrotask(() => controller.abort())
  }
  expect(events).toEqual(['message_started', 'error'])
})

test('leaving a run while tools run aborts the signals of their handlers', async () => {
  const seen: AbortSignal[] = []
  const wait = tool({
    name: 'wait',
    description: 'waits',
    schema: { type: 'object' },
    handler: (_args, { signal }) => {
      seen.push(signal)
      return new Promise(() => undefined)
    },
  })
  const quick = tool({
    name: 'quick',
    description: 'ends at once',
    schema: { type: 'object' },
    handler: () => 'done',
  })
  const calls: Script = [
    ['tool_call', { id: 'c', name: 'wait' }],
    ['tool_call', { id: 'd', name: 'quick' }],
  ]
  const waiting = createEngine({ adapter: fake({ script: calls }), tools: [wait, quick] })
  for await (const event of streamChat(waiting, messages)) {
    if (event.type === 'tool_execution_completed') break
  }
  expect(seen.map(({ aborted }) => aborted)).toEqual([true])
})

test('an observer that throws ends the run, and the consumer gets the thrown error', async () => {
  const onEvent = (): never => {
    throw new Error('observer')
  }
  await expect(generate(engine, messages, { onEvent })).rejects.toThrow('observer')
  expect(cleanups).toBe(1)
})

test('listeners on a long-lived signal are removed', async () => {
  const { signal } = new AbortController()
  const added = vi.spyOn(signal, 'addEventListener')
  const removed = vi.spyOn(signal, 'removeEventListener')
  const script: Script = [
    ['text', 'a'],
    ['finish', 'stop'],
  ]
  await generate(createEngine({ adapter: fake({ script }) }), messages, { signal })
  await collectEvents(streamChat(createEngine({ adapter: fake({ script }) }), messages, { signal }))
  expect(added).toHaveBeenCalled()
  expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(
    added.mock.calls.map(([, listener]) => listener),
  )
})
