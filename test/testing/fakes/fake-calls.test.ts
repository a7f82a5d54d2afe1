import { describe, expect, test, vi } from 'vitest'
import { modelRequest, user, type Message, type ModelRequest } from '../../../src/index.ts'
import {
  collectEvents,
  fake,
  virtualClock,
  type FakeOptions,
  type Script,
} from '../../../src/testing.ts'

const ok: Script = [['text', 'ok']]
const request = modelRequest([user('hi')], { model: 'm-1', metadata: { trace: 1 } })
const many = (count: number): FakeOptions => ({ scripts: Array.from({ length: count }, () => ok) })

describe('record', () => {
  test('is called with the request and its options before the script is read, once per call', async () => {
    const record = vi.fn<NonNullable<FakeOptions['record']>>(() => {
      expect(adapter.remaining).toBe(2 - record.mock.calls.length + 1)
    })
    const adapter = fake({ ...many(2), record })
    await adapter.generate(request, { requestId: 'r1' })
    await collectEvents(adapter.stream(request, { requestId: 'r2' }))
    expect(record.mock.calls).toEqual([
      [request, { requestId: 'r1' }],
      [request, { requestId: 'r2' }],
    ])
    expect(record.mock.calls[0]?.[0]).toBe(request)
  })

  test('gets all options but the key', async () => {
    const record = vi.fn<NonNullable<FakeOptions['record']>>()
    const { signal } = new AbortController()
    await fake({ script: ok, record }).generate(request, { apiKey: 'sk-secret', signal })
    expect(record.mock.calls[0]?.[1]).toEqual({ signal })
  })

  test('is called also for a call that fails', async () => {
    const record = vi.fn<NonNullable<FakeOptions['record']>>()
    await expect(fake({ record }).generate(request)).rejects.toThrow(/no scripted response/)
    expect(record).toHaveBeenCalledTimes(1)
  })

  test('its errors fail the call: a broken recorder is a bug of the test', async () => {
    const record = (): never => {
      throw new TypeError('dead')
    }
    const adapter = fake({ script: ok, record })
    await expect(adapter.stream(request).next()).rejects.toThrow('dead')
    expect(adapter.openStreams).toBe(0)
  })
})

describe('calls', () => {
  test('are the recorded requests and options, in order', async () => {
    const adapter = fake(many(2))
    await adapter.generate(request, { requestId: 'r1', sessionId: 's1' })
    await collectEvents(adapter.stream(modelRequest([user('more')]), { includeRawChunks: true }))
    expect(adapter.calls).toEqual([
      { request, options: { requestId: 'r1', sessionId: 's1' } },
      { request: modelRequest([user('more')]), options: { includeRawChunks: true } },
    ])
  })

  test('hold no key, no signal and no clock: they are plain data', async () => {
    const adapter = fake({ script: ok })
    await adapter.generate(request, {
      apiKey: 'sk-secret-key',
      signal: new AbortController().signal,
      clock: virtualClock(),
      newId: () => 'r1',
      streamTimeoutMs: 5,
    })
    expect(adapter.calls[0]?.options).toEqual({ streamTimeoutMs: 5 })
    expect(JSON.parse(JSON.stringify(adapter.calls))).toEqual(adapter.calls)
  })

  test('are frozen all the way down', async () => {
    const adapter = fake({ script: ok })
    await adapter.generate(request)
    const [call] = adapter.calls
    for (const value of [
      adapter.calls,
      call,
      call?.request,
      call?.request.messages[0],
      call?.options,
    ]) {
      expect(Object.isFrozen(value)).toBe(true)
    }
  })

  test('do not freeze the data of the caller', async () => {
    const adapter = fake({ script: ok })
    await adapter.generate(request)
    expect(adapter.calls).toHaveLength(1)
    expect(Object.isFrozen(request)).toBe(false)
    expect(Object.isFrozen(request.messages[0])).toBe(false)
  })

  test('show a history as it was at each call, though the caller’s list goes on changing', async () => {
    const adapter = fake(many(4))
    const messages: Message[] = [user('a')]
    for (const text of ['b', 'c', 'd']) {
      await adapter.generate(modelRequest(messages))
      messages.push(user(text))
    }
    messages.splice(0, 2, user('edited'))
    await adapter.generate(modelRequest(messages))
    expect(adapter.calls.map((call) => textsOf(call.request))).toEqual([
      'a',
      'a b',
      'a b c',
      'edited c d',
    ])
  })

  test('distinguish a history that was edited in the middle from one that was extended', async () => {
    const adapter = fake(many(3))
    const [a, b, c] = [user('a'), user('b'), user('c')]
    for (const messages of [
      [a, b, c],
      [a, user('B'), c],
      [a, b],
    ]) {
      await adapter.generate(modelRequest(messages))
    }
    expect(adapter.calls.map((call) => textsOf(call.request))).toEqual(['a b c', 'a B c', 'a b'])
  })

  test('can be read between calls, and do not change afterwards', async () => {
    const adapter = fake(many(2))
    await adapter.generate(request)
    const before = adapter.calls
    await adapter.generate(request)
    expect([before.length, adapter.calls.length]).toEqual([1, 2])
    expect(adapter.calls[0]).toBe(before[0])
  })

  test('count every attempt of a retried call', async () => {
    const adapter = fake({ script: ok, retryUntilCall: 3 })
    await adapter.generate(request, { clock: virtualClock() })
    expect(adapter.calls).toHaveLength(3)
  })
})

function textsOf({ messages }: ModelRequest): string {
  return messages.map(({ content }) => (typeof content === 'string' ? content : '')).join(' ')
}
