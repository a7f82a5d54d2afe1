import { describe, expect, test } from 'vitest'
import { AdapterError, collect, modelRequest, user } from '../../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../../src/testing.ts'

const request = modelRequest([user('hi')])
const ok: Script = [
  ['text', 'ok'],
  ['finish', 'stop'],
]
const busy = (details = {}): Script => [['preflight_error', 'rate_limited', details]]

describe('usage', () => {
  test('the usage of the fake is on every response, and wins over usage entries', async () => {
    const usage = { inputTokens: 12, outputTokens: 4 }
    const told: Script = [
      ['text', 'ok'],
      ['usage', { inputTokens: 1, totalTokens: 9 }],
    ]
    const adapter = fake({ scripts: [ok, told, [['ok', { outputText: 'ok' }]]], usage })
    for (let call = 0; call < 3; call++) {
      expect((await adapter.generate(request)).usage).toEqual(usage)
    }
  })

  test('in a stream it is on message_completed, and the fold takes it from there', async () => {
    const adapter = fake({ script: ok, usage: { inputTokens: 12 } })
    const events = await collectEvents(adapter.stream(request))
    expect(events.at(-1)).toMatchObject({ type: 'message_completed', usage: { inputTokens: 12 } })
    expect((await collect(events)).usage).toEqual({ inputTokens: 12 })
  })

  test('without either, a response has no made-up numbers', async () => {
    expect((await fake({ script: ok }).generate(request)).usage).toEqual({})
  })
})

describe('retryUntilCall', () => {
  test('the first n−1 calls of generate fail with timeout and are retried by the default policy', async () => {
    const clock = virtualClock()
    const adapter = fake({ script: ok, retryUntilCall: 3 })
    expect((await adapter.generate(request, { clock })).outputText).toBe('ok')
    expect(adapter.calls).toHaveLength(3)
    expect(clock.now()).toBeGreaterThanOrEqual(1500)
    expect(clock.now()).toBeLessThanOrEqual(2000)
  })

  test('when the attempts of the policy are used up, generate rejects with the timeout', async () => {
    const adapter = fake({ script: ok, retryUntilCall: 9 })
    const failure = await adapter
      .generate(request, { clock: virtualClock() })
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(AdapterError)
    expect(failure).toMatchObject({
      reason: 'timeout',
      message: expect.stringContaining('answers from call 9 on'),
    })
    expect(adapter.calls).toHaveLength(3)
  })

  test('stream emits the failure as its last event and is not retried; the n-th call succeeds', async () => {
    const adapter = fake({ script: ok, retryUntilCall: 3 })
    for (let call = 0; call < 2; call++) {
      const events = await collectEvents(adapter.stream(request))
      expect(events.map(({ type }) => type)).toEqual(['message_started', 'error'])
      expect(await collect(events)).toMatchObject({
        finishReason: 'error',
        error: { reason: 'timeout' },
      })
    }
    expect(await collect(await collectEvents(adapter.stream(request)))).toMatchObject({
      outputText: 'ok',
      finishReason: 'stop',
    })
  })

  test('the calls that fail take no script', async () => {
    const adapter = fake({ script: ok, retryUntilCall: 2 })
    await collectEvents(adapter.stream(request))
    expect(adapter.remaining).toBe(1)
  })
})

describe('generate retries', () => {
  test('a retryable failure before the first event takes the next script', async () => {
    const adapter = fake({ scripts: [busy(), busy(), ok] })
    expect((await adapter.generate(request, { clock: virtualClock() })).outputText).toBe('ok')
    adapter.assertDone()
  })

  test('a Retry-After is honoured', async () => {
    const clock = virtualClock()
    await fake({ scripts: [busy({ retryAfterMs: 20_000 }), ok] }).generate(request, { clock })
    expect(clock.now()).toBeGreaterThanOrEqual(20_000)
    expect(clock.now()).toBeLessThanOrEqual(20_250)
  })

  test('a Retry-After beyond the longest wait fails at once, with that fact in the message', async () => {
    const clock = virtualClock()
    const adapter = fake({ scripts: [busy({ retryAfterMs: 90_000 }), ok] })
    await expect(adapter.generate(request, { clock })).rejects.toMatchObject({
      reason: 'rate_limited',
      retryAfterMs: 90_000,
      message: expect.stringContaining('90000 ms'),
    })
    expect([clock.now(), adapter.remaining]).toEqual([0, 1])
  })

  test('a failure without a script for another call is the failure, not a missing script', async () => {
    const adapter = fake({ script: busy({ status: 429 }) })
    await expect(adapter.generate(request)).rejects.toMatchObject({
      reason: 'rate_limited',
      status: 429,
    })
    expect(adapter.calls).toHaveLength(1)
  })

  test('a failure that is not retryable is not retried', async () => {
    const adapter = fake({ scripts: [[['preflight_error', 'invalid_request', {}]], ok] })
    await expect(adapter.generate(request)).rejects.toMatchObject({ reason: 'invalid_request' })
    expect(adapter.remaining).toBe(1)
  })

  test('a failure after the first event is not retried', async () => {
    const adapter = fake({
      scripts: [
        [
          ['text', 'half'],
          ['error', 'rate_limited'],
        ],
        ok,
      ],
    })
    await expect(adapter.generate(request)).rejects.toMatchObject({ reason: 'rate_limited' })
    expect(adapter.remaining).toBe(1)
  })

  test('a signal ends the wait between two attempts', async () => {
    const abort = new AbortController()
    const clock = virtualClock({ auto: false })
    const adapter = fake({ scripts: [busy(), ok] })
    const response = adapter.generate(request, { clock, signal: abort.signal, requestId: 'r1' })
    await clock.advance(1)
    abort.abort('enough')
    await expect(response).rejects.toMatchObject({
      kind: 'stream',
      reason: 'cancelled',
      requestId: 'r1',
      cause: 'enough',
    })
    expect(clock.pending).toBe(0)
  })
})
