import { expect, test, vi } from 'vitest'
import { chat, createEngine, generate, onTelemetry, tool, user } from '../../src/index.ts'
import { fake, virtualClock, type Script } from '../../src/testing.ts'

const messages = [user('go')]
const done: Script = [
  ['text', 'ok'],
  ['finish', 'stop'],
]
const limited: Script = [['preflight_error', 'rate_limited', { retryAfterMs: 90_000 }]]

/**
 * The real timers that a piece of work sets, in milliseconds.
 *
 * They are counted instead of measuring the time: before the deadline of a handler the clock waits for real work of the process,
 * and here the process may still have a connection of another test file.
 */
async function realTimers(work: () => Promise<unknown>): Promise<readonly number[]> {
  const spies = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'setInterval')]
  try {
    await work()
    return spies.flatMap(({ mock }) => mock.calls.map(([, ms]) => ms ?? 0))
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

test('five error responses with Retry-After 90 s and a tool that hangs for 30 s set no real timer', async () => {
  const clock = virtualClock()
  const hang = tool({
    name: 'hang',
    description: 'hangs',
    schema: { type: 'object' },
    handler: () => new Promise(() => undefined),
  })
  const adapter = fake({
    scripts: [
      ...Array.from({ length: 5 }, () => limited),
      [['tool_call', { id: 'c', name: 'hang' }]],
      done,
    ],
  })
  const engine = createEngine({
    adapter,
    clock,
    tools: [hang],
    retry: { maxAttempts: 6, maxDelayMs: 120_000, jitterMs: 0 },
  })
  const start = clock.now()
  let result: Awaited<ReturnType<typeof chat>> | undefined
  const timers = await realTimers(async () => {
    result = await chat(engine, messages)
  })
  expect(result?.steps[0]?.toolResults[0]?.content).toContain('30000 ms')
  expect(clock.now() - start).toBe(5 * 90_000 + 30_000)
  // The shortest wait of this run.
  expect(timers.filter((ms) => ms >= 30_000)).toEqual([])
})

test('retry delays double from 0.5 s to 30 s, and telemetry reports them', async () => {
  const delays: number[] = []
  const off = onTelemetry((event) => {
    if (event.name === 'retry') delays.push(event.delayMs)
  })
  const scripts: Script[] = Array.from({ length: 9 }, () => [['preflight_error', 'timeout', {}]])
  const adapter = fake({ scripts: [...scripts, done] })
  const retry = { maxAttempts: 10, jitterMs: 0 }
  await generate(createEngine({ adapter, clock: virtualClock(), retry }), messages)
  off()
  expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
})

test('a Retry-After beyond maxDelayMs fails at once with an error that names the limit', async () => {
  const adapter = fake({ scripts: [limited, done] })
  await expect(generate(createEngine({ adapter }), messages)).rejects.toMatchObject({
    reason: 'rate_limited',
    retryAfterMs: 90_000,
    message: expect.stringContaining('90000 ms, longer than maxDelayMs 30000') as string,
  })
  expect(adapter.calls).toHaveLength(1)
})

test('a Retry-After is ignored when the policy says so', async () => {
  const clock = virtualClock()
  const adapter = fake({ scripts: [limited, done] })
  const retry = { respectRetryAfter: false, jitterMs: 0 }
  const start = clock.now()
  await generate(createEngine({ adapter, clock, retry }), messages)
  expect(clock.now() - start).toBe(500)
})

test.each([
  ['authentication_failed', 1],
  ['invalid_request', 1],
  ['provider_unavailable', 3],
  ['network_error', 3],
  ['timeout', 3],
])('%s is tried %i times by default', async (reason, times) => {
  const scripts: Script[] = Array.from({ length: 3 }, () => [['preflight_error', reason, {}]])
  const adapter = fake({ scripts })
  const engine = createEngine({ adapter, clock: virtualClock() })
  await expect(generate(engine, messages)).rejects.toMatchObject({ reason })
  expect(adapter.calls).toHaveLength(times)
})

test('a call is not retried after the first event', async () => {
  const adapter = fake({
    scripts: [
      [
        ['text', 'half'],
        ['error', 'provider_unavailable'],
      ],
      done,
    ],
  })
  const engine = createEngine({ adapter, clock: virtualClock() })
  await expect(generate(engine, messages)).rejects.toMatchObject({
    reason: 'provider_unavailable',
    partial: { outputText: 'half', finishReason: 'error' },
  })
  expect(adapter.calls).toHaveLength(1)
})

test('requestTimeoutMs limits the time to the first event of each attempt, and not the time after it', async () => {
  const clock = virtualClock()
  const slow: Script = [
    ['delay', 9000],
    ['text', 'never seen'],
  ]
  const late: Script = [
    ['delay', 900],
    ['text', 'a'],
    ['delay', 9000],
    ['text', 'b'],
  ]
  const adapter = fake({ scripts: [slow, late] })
  const start = clock.now()
  const engine = createEngine({ adapter, clock, retry: { jitterMs: 0 } })
  const response = await generate(engine, messages, { requestTimeoutMs: 1000 })
  expect(response.outputText).toBe('ab')
  expect(clock.now() - start).toBe(1000 + 500 + 900 + 9000)
})

test('an abort during the delay between two attempts ends the delay', async () => {
  const controller = new AbortController()
  const adapter = fake({ scripts: [[['preflight_error', 'timeout', {}]], done] })
  const off = onTelemetry((event) => {
    if (event.name === 'retry') queueMicrotask(() => controller.abort(new Error('enough')))
  })
  const call = generate(createEngine({ adapter }), messages, { signal: controller.signal })
  await expect(call).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
  off()
})

test('an answer that breaks off before its first event is retried as a network error', async () => {
  let calls = 0
  const inner = fake({ script: done })
  const adapter = {
    provider: 'flaky',
    async *stream(...call: Parameters<typeof inner.stream>) {
      if (++calls > 1) yield* inner.stream(...call)
    },
  }
  const engine = createEngine({ adapter, clock: virtualClock() })
  expect((await generate(engine, messages)).outputText).toBe('ok')
  expect(calls).toBe(2)
})
