import { describe, expect, test, vi } from 'vitest'
import { AdapterError, modelRequest, StreamError, user } from '../../../src/index.ts'
import { collectEvents, fake, virtualClock, type Fake, type Script } from '../../../src/testing.ts'

const request = modelRequest([user('hi')])
const slow: Script = [
  ['text', 'a'],
  ['delay', 1000],
  ['text', 'b'],
]

/** A fake that counts its cleanups. */
function observed(script: Script): { readonly adapter: Fake; readonly cleanups: () => number } {
  const cleanupObserver = vi.fn<() => void>()
  const adapter = fake({ script, cleanupObserver })
  return { adapter, cleanups: () => cleanupObserver.mock.calls.length }
}

describe('a stream is lazy', () => {
  test('nothing happens before the first next: no record, no script taken, no open stream', async () => {
    const record = vi.fn<() => void>()
    const adapter = fake({ script: [['text', 'a']], record })
    const stream = adapter.stream(request)
    expect([adapter.calls.length, adapter.remaining, adapter.openStreams]).toEqual([0, 1, 0])
    expect(record).not.toHaveBeenCalled()
    await stream.next()
    expect([adapter.calls.length, adapter.remaining, adapter.openStreams]).toEqual([1, 0, 1])
    expect(record).toHaveBeenCalledTimes(1)
  })

  test('a stream that is left before it began leaves nothing behind', async () => {
    const { adapter, cleanups } = observed([['text', 'a']])
    const stream = adapter.stream(request)
    expect(await stream.return()).toEqual({ done: true, value: undefined })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect([adapter.calls.length, adapter.openStreams, cleanups()]).toEqual([0, 0, 0])
  })

  test('a stream has one consumer: a second loop finds it at its end', async () => {
    const stream = fake({ script: [['text', 'a']] }).stream(request)
    expect(await collectEvents(stream)).not.toEqual([])
    expect(await collectEvents(stream)).toEqual([])
  })
})

describe.each([
  [
    'without waits',
    [
      ['text', 'a'],
      ['text', 'b'],
    ] satisfies Script,
  ],
  ['with waits', slow],
])('the cleanup of a script %s is observed once a stream', (_kind, script) => {
  const options = () => ({ clock: virtualClock() })

  test('when it is read to its end', async () => {
    const { adapter, cleanups } = observed(script)
    const stream = adapter.stream(request, options())
    await collectEvents(stream)
    await stream.return()
    await stream.next()
    expect([adapter.openStreams, cleanups()]).toEqual([0, 1])
  })

  test('when the consumer breaks', async () => {
    const { adapter, cleanups } = observed(script)
    for await (const batch of adapter.stream(request, options())) {
      expect([batch.length > 0, adapter.openStreams]).toEqual([true, 1])
      break
    }
    expect([adapter.openStreams, cleanups()]).toEqual([0, 1])
  })

  test('when the consumer throws', async () => {
    const { adapter, cleanups } = observed(script)
    const reading = async (): Promise<void> => {
      for await (const batch of adapter.stream(request, options())) {
        throw new Error(`mine, after ${batch.length} events`)
      }
    }
    await expect(reading()).rejects.toThrow(/mine, after/)
    expect([adapter.openStreams, cleanups()]).toEqual([0, 1])
  })

  test('when return is called twice', async () => {
    const { adapter, cleanups } = observed(script)
    const stream = adapter.stream(request, options())
    await stream.next()
    await stream.return()
    await stream.return()
    expect([adapter.openStreams, cleanups()]).toEqual([0, 1])
  })

  test('when its signal was aborted before it began, and the script is not used up', async () => {
    const { adapter, cleanups } = observed(script)
    const stream = adapter.stream(request, { ...options(), signal: AbortSignal.abort('stop') })
    await expect(stream.next()).rejects.toMatchObject({ reason: 'cancelled', cause: 'stop' })
    expect([adapter.openStreams, cleanups(), adapter.remaining]).toEqual([0, 1, 1])
  })

  test('when generate folds it', async () => {
    const { adapter, cleanups } = observed(script)
    await adapter.generate(request, options())
    expect([adapter.openStreams, cleanups()]).toEqual([0, 1])
  })
})

test('the cleanup is observed when a call fails before its first event', async () => {
  const { adapter, cleanups } = observed([['preflight_error', 'invalid_request', {}]])
  await expect(adapter.stream(request).next()).rejects.toThrow(AdapterError)
  expect([adapter.openStreams, cleanups()]).toEqual([0, 1])
})

describe('waits go through the clock', () => {
  test('a delay takes virtual time only, and comes between the events that it stands between', async () => {
    const clock = virtualClock()
    const times: number[] = []
    for await (const batch of fake({ script: slow }).stream(request, { clock })) {
      for (const { type } of batch) if (type === 'text_delta') times.push(clock.now())
    }
    expect(times).toEqual([0, 1000])
  })

  test('a delay that comes first delays the first event', async () => {
    const clock = virtualClock()
    const script: Script = [
      ['delay', 500],
      ['text', 'a'],
    ]
    await fake({ script }).stream(request, { clock }).next()
    expect(clock.now()).toBe(500)
  })

  test('generate waits too, so that timeouts can be tried without streaming', async () => {
    const clock = virtualClock()
    await fake({ script: slow }).generate(request, { clock })
    expect(clock.now()).toBe(1000)
  })

  test('leaving ends a wait that is under way', async () => {
    const clock = virtualClock({ auto: false })
    const { adapter, cleanups } = observed(slow)
    const stream = adapter.stream(request, { clock })
    await stream.next()
    const pending = stream.next()
    expect(await stream.return()).toEqual({ done: true, value: undefined })
    expect(await pending).toEqual({ done: true, value: undefined })
    expect([adapter.openStreams, cleanups(), clock.pending]).toEqual([0, 1, 0])
  })
})

describe('a signal stops a call', () => {
  test('during a wait before the first event it throws', async () => {
    const clock = virtualClock({ auto: false })
    const abort = new AbortController()
    const { adapter, cleanups } = observed([
      ['delay', 1000],
      ['text', 'a'],
    ])
    const first = adapter.stream(request, { clock, signal: abort.signal, requestId: 'r1' }).next()
    abort.abort('enough')
    const failure = await first.catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(StreamError)
    expect(failure).toMatchObject({ reason: 'cancelled', requestId: 'r1', cause: 'enough' })
    expect([adapter.openStreams, cleanups(), clock.pending]).toEqual([0, 1, 0])
  })

  test('during a later wait it is the last event', async () => {
    const clock = virtualClock({ auto: false })
    const abort = new AbortController()
    const { adapter, cleanups } = observed(slow)
    const reading = collectEvents(adapter.stream(request, { clock, signal: abort.signal }))
    await clock.advance(999)
    abort.abort()
    const events = await reading
    expect(events.map(({ type }) => type)).toEqual(['message_started', 'text_delta', 'error'])
    expect(events.at(-1)).toMatchObject({ error: { reason: 'cancelled', eventIndex: 2 } })
    expect([adapter.openStreams, cleanups()]).toEqual([0, 1])
  })

  test('between two batches it is the last event', async () => {
    const abort = new AbortController()
    const stream = fake({ script: slow }).stream(request, {
      clock: virtualClock(),
      signal: abort.signal,
    })
    await stream.next()
    abort.abort()
    expect(await collectEvents(stream)).toMatchObject([{ error: { reason: 'cancelled' } }])
  })

  test('an error of the library as the reason is the error of the call', async () => {
    const signal = AbortSignal.abort(new AdapterError('timeout', 'the engine lost patience'))
    await expect(fake({ script: [] }).stream(request, { signal }).next()).rejects.toMatchObject({
      reason: 'timeout',
      message: 'the engine lost patience',
    })
  })

  test('no listener is left on a signal that outlives the call', async () => {
    const abort = new AbortController()
    const added = vi.spyOn(abort.signal, 'addEventListener')
    const removed = vi.spyOn(abort.signal, 'removeEventListener')
    const options = { clock: virtualClock(), signal: abort.signal }
    await collectEvents(fake({ script: slow }).stream(request, options))
    expect(removed.mock.calls.length).toBeGreaterThanOrEqual(added.mock.calls.length)
  })
})

describe('a call that is made by hand times out', () => {
  test('requestTimeoutMs counts to the first content, and throws', async () => {
    const clock = virtualClock()
    const script: Script = [
      ['delay', 90_000],
      ['text', 'a'],
    ]
    const stream = fake({ script }).stream(request, { clock, requestTimeoutMs: 30_000 })
    const failure = await stream.next().catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(AdapterError)
    expect(failure).toMatchObject({
      reason: 'timeout',
      message: 'fake sent no content within 30000 ms (requestTimeoutMs)',
    })
    expect(clock.now()).toBe(30_000)
  })

  test('streamTimeoutMs counts between events, and is the last event', async () => {
    const clock = virtualClock()
    const options = { clock, streamTimeoutMs: 999 }
    const events = await collectEvents(fake({ script: slow }).stream(request, options))
    expect(events.at(-1)).toMatchObject({ error: { kind: 'adapter', reason: 'timeout' } })
    expect(clock.now()).toBe(999)
  })

  test('a silence that is just short enough is none', async () => {
    const options = { clock: virtualClock(), streamTimeoutMs: 1000 }
    expect((await fake({ script: slow }).generate(request, options)).outputText).toBe('ab')
  })
})
