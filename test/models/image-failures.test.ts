import { describe, expect, test } from 'vitest'
import { onTelemetry } from '../../src/core/base/on-telemetry.ts'
import type { TelemetryEvent } from '../../src/core/base/telemetry.ts'
import { AdapterError, ImageAdapterError } from '../../src/core/errors/errors.ts'
import { createEngine } from '../../src/engine/model-call/engine.ts'
import { editImage, generateImage } from '../../src/models/images.ts'
import { fakeImages } from '../../src/testing/fakes/fake-images.ts'
import { virtualClock } from '../../src/testing/fakes/virtual-clock.ts'
import { adapterOf, cat, dog } from './support.ts'

describe('a failure', () => {
  const limited = new ImageAdapterError('rate_limited', 'Slow down.', { retryAfterMs: 90_000 })

  test('that may go away is tried again by the one policy, at once the first time when that is what it asks for', async () => {
    const clock = virtualClock()
    const adapter = fakeImages({
      script: [
        ['retry_until_call', 3],
        ['ok', [cat]],
      ],
    })
    const engine = createEngine({ imageAdapter: adapter, clock, retry: { jitterMs: 0 } })
    expect((await generateImage(engine, 'a cat')).images).toEqual([cat])
    expect(adapter.calls).toHaveLength(3)
    expect(clock.now()).toBe(1000)
  })

  test('is not tried again when the call says so', async () => {
    const adapter = fakeImages({
      script: [
        ['retry_until_call', 2],
        ['ok', [cat]],
      ],
    })
    const engine = createEngine({ imageAdapter: adapter, clock: virtualClock() })
    await expect(generateImage(engine, 'a cat', { retry: false })).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'rate_limited',
    })
    expect(adapter.calls).toHaveLength(1)
  })

  test('that asks for too long a wait is not tried again', async () => {
    const adapter = fakeImages({
      script: [
        ['error', limited],
        ['ok', [cat]],
      ],
    })
    const engine = createEngine({ imageAdapter: adapter, clock: virtualClock() })
    await expect(generateImage(engine, 'a cat')).rejects.toThrow('longer than maxDelayMs')
  })

  test.each<[string, Error, object]>([
    [
      'of a chat adapter',
      new AdapterError('timeout', 'Late.', { status: 504 }),
      { reason: 'timeout', status: 504 },
    ],
    [
      'that is not an error of this library',
      new TypeError('oops'),
      { reason: 'unknown', message: 'test failed: oops' },
    ],
    [
      'that is not an error at all',
      'oops' as unknown as Error,
      { reason: 'unknown', message: 'test failed: oops' },
    ],
  ])('%s becomes an ImageAdapterError', async (_name, thrown, expected) => {
    const engine = createEngine({
      imageAdapter: adapterOf(() => Promise.reject(thrown)),
      retry: false,
    })
    await expect(generateImage(engine, 'a', { requestId: 'r1' })).rejects.toMatchObject({
      name: 'ImageAdapterError',
      provider: 'test',
      requestId: 'r1',
      ...expected,
    })
  })

  test('of an adapter that throws at once, or answers nonsense, is one too', async () => {
    const throwing = adapterOf(() => {
      throw new TypeError('oops')
    })
    await expect(
      generateImage(createEngine({ imageAdapter: throwing }), 'a'),
    ).rejects.toMatchObject({ name: 'ImageAdapterError', reason: 'unknown' })
    const nonsense = adapterOf(() => Promise.resolve(undefined as never))
    await expect(
      generateImage(createEngine({ imageAdapter: nonsense }), 'a'),
    ).rejects.toMatchObject({ name: 'ImageAdapterError', reason: 'malformed_response' })
  })
})

describe('an adapter that does not answer', () => {
  const deaf = adapterOf(() => new Promise(() => undefined))

  test('is given up after the time of each attempt, also when it does not listen', async () => {
    const clock = virtualClock()
    const engine = createEngine({
      imageAdapter: deaf,
      clock,
      requestTimeoutMs: 60_000,
      retry: { maxAttempts: 2, jitterMs: 0 },
    })
    await expect(generateImage(engine, 'a')).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'timeout',
      message: 'test took longer than 60000 ms (requestTimeoutMs)',
    })
    expect(clock.now()).toBe(120_500)
    await expect(generateImage(engine, 'a', { requestTimeoutMs: 5, retry: false })).rejects.toThrow(
      'test took longer than 5 ms',
    )
  })

  test('is left when the call is stopped', async () => {
    const stop = new AbortController()
    const left = generateImage(createEngine({ imageAdapter: deaf }), 'a', { signal: stop.signal })
    stop.abort()
    await expect(left).rejects.toMatchObject({ name: 'StreamError', reason: 'cancelled' })
  })

  test('is not asked when the call was stopped before', async () => {
    const adapter = fakeImages({ script: [['ok', [cat]]] })
    const engine = createEngine({ imageAdapter: adapter })
    await expect(generateImage(engine, 'a', { signal: AbortSignal.abort() })).rejects.toMatchObject(
      { name: 'StreamError', reason: 'cancelled' },
    )
    expect(adapter.calls).toEqual([])
  })

  test('is not asked again when the call is stopped between two attempts', async () => {
    const stop = new AbortController()
    const clock = {
      now: () => 0,
      sleep: (_ms: number, signal?: AbortSignal) => {
        stop.abort('enough')
        return Promise.reject(signal?.reason as Error)
      },
    }
    const adapter = fakeImages({ script: [['retry_until_call', 3]] })
    const engine = createEngine({ imageAdapter: adapter, clock })
    await expect(generateImage(engine, 'a', { signal: stop.signal })).rejects.toMatchObject({
      name: 'StreamError',
      reason: 'cancelled',
    })
    expect(adapter.calls).toHaveLength(1)
  })
})

describe('telemetry', () => {
  async function told(call: () => Promise<unknown>): Promise<readonly TelemetryEvent[]> {
    const events: TelemetryEvent[] = []
    const leave = onTelemetry((event) => events.push(event))
    try {
      await call().catch(() => undefined)
    } finally {
      leave()
    }
    return events
  }

  test('tells the start, each retry and the end of a call, without its images', async () => {
    const adapter = fakeImages({
      script: [
        ['retry_until_call', 2],
        ['ok', [cat, dog]],
      ],
    })
    const clock = virtualClock()
    const engine = createEngine({
      imageAdapter: adapter,
      imageModel: 'm',
      clock,
      retry: { jitterMs: 0 },
    })
    const facts = { requestId: 'r1', provider: 'fake', model: 'm', operation: 'generate' }
    const events = await told(() => generateImage(engine, 'a secret', { requestId: 'r1' }))
    expect(events).toMatchObject([
      { name: 'image', phase: 'start', at: 0, ...facts },
      { name: 'retry', attempt: 1, delayMs: 0, error: { reason: 'rate_limited' }, ...facts },
      { name: 'image', phase: 'stop', durationMs: 0, images: 2, ...facts },
    ])
    expect(JSON.stringify(events)).not.toMatch(/secret|base64/)
  })

  test('tells a failure', async () => {
    const engine = createEngine({ imageAdapter: fakeImages(), clock: virtualClock() })
    expect(await told(() => editImage(engine, cat, 'a'))).toMatchObject([
      { name: 'image', phase: 'start', operation: 'edit' },
      { name: 'image', phase: 'error', error: { kind: 'image_adapter', reason: 'unknown' } },
    ])
  })
})
