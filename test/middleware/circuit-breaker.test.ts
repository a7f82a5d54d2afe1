import { describe, expect, test } from 'vitest'
import {
  createEngine,
  generate,
  modelRequest,
  onTelemetry,
  streamGenerate,
  ValidationError,
  type ChatAdapter,
} from '../../src/index.ts'
import {
  circuitBreaker,
  limit,
  fallback,
  type CircuitBreakerOptions,
} from '../../src/middleware.ts'
import { fake, virtualClock, type Script } from '../../src/testing.ts'
import { renamed } from './renamed.ts'

const hello: Script = [
  ['text', 'Hello'],
  ['finish', 'stop'],
]
const down: Script = [['preflight_error', 'provider_unavailable', { status: 503 }]]
const broken: Script = [
  ['text_delta', 'half of'],
  ['stream_error', 'truncated', {}],
]
const wrong: Script = [['preflight_error', 'invalid_request', { status: 400 }]]

const limits: CircuitBreakerOptions = { failures: 2, windowMs: 1000, coolDownMs: 5000 }

function guarded(scripts: readonly Script[], options = limits) {
  const clock = virtualClock({ auto: false })
  const inner = fake({ scripts })
  const breaker = circuitBreaker(inner, options)
  const engine = createEngine({ adapter: breaker, clock, retry: false })
  const ask = () => generate(engine, 'hi').then(({ outputText }) => outputText)
  const fail = () =>
    ask().then(
      () => 'an answer',
      ({ reason }: { readonly reason: string }) => reason,
    )
  return { clock, inner, breaker, engine, ask, fail }
}

describe('a breaker', () => {
  test('is closed, and lets calls pass', async () => {
    const { breaker, ask } = guarded([hello])
    expect(breaker.state).toBe('closed')
    expect(await ask()).toBe('Hello')
    expect(breaker.state).toBe('closed')
  })

  test('opens after so many failures, and then calls fail at once with the time until it is half open', async () => {
    const { breaker, fail, ask, inner, clock } = guarded([down, down, hello])
    await fail()
    expect(breaker.state).toBe('closed')
    await clock.advance(999)
    await fail()
    expect(breaker.state).toBe('open')
    await clock.advance(1000)
    await expect(ask()).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'provider_unavailable',
      provider: 'fake',
      retryable: true,
      retryAfterMs: 4000,
      metadata: { breaker: 'open', lastReason: 'provider_unavailable' },
    })
    expect(inner.calls).toHaveLength(2)
  })

  test('forgets failures that are older than the window', async () => {
    const { breaker, fail, clock } = guarded([down, down, down])
    await fail()
    await clock.advance(1000)
    await fail()
    expect(breaker.state).toBe('closed')
    await clock.advance(999)
    await fail()
    expect(breaker.state).toBe('open')
  })

  test('counts failures, not calls in a row: an answer between them does not help', async () => {
    const { breaker, fail, ask } = guarded([down, hello, down])
    await fail()
    await ask()
    await fail()
    expect(breaker.state).toBe('open')
  })

  test('is half open after the cool-down, and an answer closes it', async () => {
    const { breaker, fail, ask, clock, inner } = guarded([down, down, hello, down, hello])
    await fail()
    await fail()
    await clock.advance(4999)
    expect(breaker.state).toBe('open')
    await clock.advance(1)
    expect(breaker.state).toBe('half_open')
    expect(await ask()).toBe('Hello')
    expect(breaker.state).toBe('closed')
    // It counts anew.
    await fail()
    expect(breaker.state).toBe('closed')
    expect(await ask()).toBe('Hello')
    expect(inner.calls).toHaveLength(5)
  })

  test('opens again when the call that was let through fails', async () => {
    const { breaker, fail, ask, clock } = guarded([down, down, down, hello])
    await fail()
    await fail()
    await clock.advance(5000)
    await fail()
    expect(breaker.state).toBe('open')
    await clock.advance(4999)
    expect(await fail()).toBe('provider_unavailable')
    await clock.advance(1)
    expect(await ask()).toBe('Hello')
  })

  test('lets one call through while it is half open, and the others fail at once', async () => {
    const slow: Script = [['delay', 100], ...hello]
    const { breaker, fail, ask, clock, inner } = guarded([down, down, slow, hello])
    await fail()
    await fail()
    await clock.advance(5000)
    const probe = ask()
    await clock.advance(0)
    const other = await ask().catch((error: unknown) => error)
    expect(other).toMatchObject({
      reason: 'provider_unavailable',
      metadata: { breaker: 'half_open' },
    })
    expect(other).toMatchObject({ retryAfterMs: 5000 })
    expect(inner.calls).toHaveLength(3)
    await clock.advance(100)
    expect(await probe).toBe('Hello')
    expect(breaker.state).toBe('closed')
    expect(await ask()).toBe('Hello')
  })

  test('is closed with the first event of that call, not with its end', async () => {
    const long: Script = [
      ['text', 'a'],
      ['delay', 60_000],
      ['text', 'b'],
    ]
    const { breaker, fail, ask, clock, engine } = guarded([down, down, long, hello])
    await fail()
    await fail()
    await clock.advance(5000)
    for await (const event of streamGenerate(engine, 'hi')) {
      if (event.type !== 'text_delta') continue
      expect(breaker.state).toBe('closed')
      expect(await ask()).toBe('Hello')
      break
    }
    expect(breaker.state).toBe('closed')
  })

  test.each(['stopped', 'left'])(
    'stays half open when that call is %s before its first event',
    async (how) => {
      const slow: Script = [['delay', 100], ...hello]
      const { breaker, fail, ask, clock, engine } = guarded([down, down, slow, hello])
      await fail()
      await fail()
      await clock.advance(5000)
      const controller = new AbortController()
      const stream = streamGenerate(engine, 'hi', { signal: controller.signal })[
        Symbol.asyncIterator
      ]()
      const reading = stream.next().catch(() => undefined)
      await clock.advance(0)
      if (how === 'stopped') controller.abort()
      else await stream.return?.()
      await reading
      await clock.advance(0)
      expect(breaker.state).toBe('half_open')
      expect(await ask()).toBe('Hello')
      expect(breaker.state).toBe('closed')
    },
  )

  test('is closed by a refusal of that call that is about the request', async () => {
    const { breaker, fail, clock } = guarded([down, down, wrong])
    await fail()
    await fail()
    await clock.advance(5000)
    await fail()
    expect(breaker.state).toBe('closed')
  })

  test('is not opened again by a call that began before it was opened', async () => {
    const lateDown: Script = [
      ['text', 'a'],
      ['delay', 6000],
      ['error', 'provider_unavailable'],
    ]
    const { breaker, fail, clock, engine } = guarded([lateDown, down], { ...limits, failures: 1 })
    const old = generate(engine, 'hi').catch(() => undefined)
    await clock.advance(0)
    await fail()
    await clock.advance(6000)
    await old
    expect(breaker.state).toBe('half_open')
  })

  test('does not judge by calls that began before its state changed', async () => {
    const late = (script: Script): Script => [['delay', 6000], ...script]
    const lateDown: Script = [
      ['text', 'a'],
      ['delay', 6000],
      ['error', 'provider_unavailable'],
    ]
    const { breaker, fail, clock, engine } = guarded([lateDown, late(hello), down, down, hello], {
      ...limits,
      windowMs: 60_000,
    })
    const old = [generate(engine, 'hi'), generate(engine, 'hi')]
    const settled = Promise.allSettled(old)
    await clock.advance(0)
    await fail()
    await fail()
    expect(breaker.state).toBe('open')
    await clock.advance(6000)
    await settled
    // Neither the late answer nor the late failure has touched the probe.
    expect(breaker.state).toBe('half_open')
    expect(await fail()).toBe('an answer')
    expect(breaker.state).toBe('closed')
  })
})

describe('around a limit', () => {
  test('a call that waited is not sent to a provider that has failed meanwhile, and the others come back after the probe', async () => {
    const clock = virtualClock()
    const sent: number[] = []
    const model = fake({
      script: () => {
        sent.push(clock.now())
        return clock.now() < 5000 ? down : [['delay', 1000], ...hello]
      },
    })
    const adapter = circuitBreaker(limit(model, { concurrency: 20 }))
    const engine = createEngine({ adapter, clock })
    const calls = Array.from({ length: 500 }, (_, index) => generate(engine, `doc ${index}`))
    const settled = await Promise.allSettled(calls)
    // Some have used up their three attempts: at the outage, at the open breaker, and beside the probe.
    expect(settled.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(450)
    // A place may go on before the breaker has counted the failure that freed it.
    expect(sent.filter((at) => at < 5000).length).toBeLessThanOrEqual(40)
    expect(sent.length).toBeLessThanOrEqual(540)
  })

  test('a call that is refused so is no failure of the provider', async () => {
    const clock = virtualClock()
    const model = fake({ script: () => (clock.now() < 1000 ? down : hello) })
    const adapter = circuitBreaker(limit(model, { concurrency: 1 }), {
      failures: 1,
      coolDownMs: 5000,
    })
    const engine = createEngine({ adapter, clock, retry: false })
    await Promise.allSettled(['a', 'b', 'c'].map((text) => generate(engine, text)))
    expect(adapter.state).toBe('open')
    await clock.advance(5000)
    expect((await generate(engine, 'd')).outputText).toBe('Hello')
    expect(adapter.state).toBe('closed')
  })
})

describe('a failure', () => {
  const one: CircuitBreakerOptions = { failures: 1 }

  test.each<[string, Script]>([
    ['provider_unavailable', down],
    ['rate_limited', [['preflight_error', 'rate_limited', {}]]],
    ['timeout', [['preflight_error', 'timeout', {}]]],
    ['network_error', [['preflight_error', 'network_error', {}]]],
    ['malformed_response', [['preflight_error', 'malformed_response', {}]]],
    ['an answer that breaks off', broken],
    [
      'an answer that fails in its middle',
      [
        ['text_delta', 'a'],
        ['error_event', 'provider_unavailable', {}],
      ],
    ],
    [
      'an event that cannot be read',
      [
        ['text_delta', 'a'],
        ['stream_error', 'malformed_event', {}],
      ],
    ],
  ])('is %s', async (_what, script) => {
    const { breaker, fail } = guarded([script], one)
    await fail()
    expect(breaker.state).toBe('open')
  })

  test.each<[string, Script]>([
    ['a request that is wrong', wrong],
    ['a refused key', [['preflight_error', 'authentication_failed', { status: 401 }]]],
    ['a filtered prompt', [['preflight_error', 'content_filter', {}]]],
    ['a prompt that is too long', [['preflight_error', 'context_length_exceeded', {}]]],
    [
      'an answer that is cut by length',
      [
        ['text', 'a'],
        ['finish', 'length'],
      ],
    ],
  ])('is not %s', async (_what, script) => {
    const { breaker, fail } = guarded([script], one)
    await fail()
    expect(breaker.state).toBe('closed')
  })

  test('is not a request that was never sent', async () => {
    const invalid: ChatAdapter = {
      provider: 'fake',
      stream() {
        throw new ValidationError('invalid_request', [{ path: 'x', problem: 'is wrong' }])
      },
    }
    const breaker = circuitBreaker(invalid, one)
    const engine = createEngine({ adapter: breaker, retry: false })
    await expect(generate(engine, 'hi')).rejects.toBeInstanceOf(ValidationError)
    expect(breaker.state).toBe('closed')
  })

  test('is not a call that its caller stops', async () => {
    const { breaker, engine, clock } = guarded(
      [
        [
          ['text', 'a'],
          ['delay', 100],
          ['text', 'b'],
        ],
      ],
      one,
    )
    const controller = new AbortController()
    const call = generate(engine, 'hi', { signal: controller.signal }).catch(() => undefined)
    await clock.advance(0)
    controller.abort()
    await call
    expect(breaker.state).toBe('closed')
  })

  test.each([
    [
      'an engine',
      { requestTimeoutMs: 1000 },
      [
        ['delay', 5000],
        ['text', 'a'],
      ],
    ],
    [
      'an engine, in the middle',
      { streamTimeoutMs: 1000 },
      [
        ['text', 'a'],
        ['delay', 5000],
        ['text', 'b'],
      ],
    ],
  ] as const)('is a time limit of %s', async (_who, options, script) => {
    const { breaker, engine, clock } = guarded([script], one)
    const call = generate(engine, 'hi', options).catch((error: unknown) => error)
    await clock.advance(2000)
    expect(await call).toMatchObject({ reason: 'timeout' })
    expect(breaker.state).toBe('open')
  })

  test('is an answer that ends without its end', async () => {
    const silent: ChatAdapter = { provider: 'fake', async *stream() {} }
    const breaker = circuitBreaker(silent, one)
    const engine = createEngine({ adapter: breaker, retry: false })
    await expect(generate(engine, 'hi')).rejects.toMatchObject({ reason: 'truncated' })
    expect(breaker.state).toBe('open')
  })
})

test('every change of the state is told to telemetry', async () => {
  const { fail, ask, clock } = guarded([down, down, down, hello])
  const told: unknown[] = []
  const stop = onTelemetry((event) => {
    if (event.name === 'breaker') told.push([event.at, event.from, event.to, event.error?.reason])
  })
  await fail()
  await fail()
  await clock.advance(5000)
  await fail()
  await clock.advance(5000)
  await ask()
  stop()
  expect(told).toEqual([
    [0, 'closed', 'open', 'provider_unavailable'],
    [5000, 'open', 'half_open', undefined],
    [5000, 'half_open', 'open', 'provider_unavailable'],
    [10_000, 'open', 'half_open', undefined],
    [10_000, 'half_open', 'closed', undefined],
  ])
})

test('in a fallback, the next adapter is asked at once while it is open', async () => {
  const a = renamed('alpha', { scripts: [down, hello] })
  const b = renamed('beta', { scripts: [hello, hello] })
  const clock = virtualClock({ auto: false })
  const breaker = circuitBreaker(a, { failures: 1, coolDownMs: 1000 })
  const engine = createEngine({ adapter: fallback([breaker, b]), clock, retry: false })
  const providers = []
  for (const ms of [0, 0, 1000]) {
    await clock.advance(ms)
    providers.push((await generate(engine, 'hi')).provider)
  }
  expect(providers).toEqual(['beta', 'beta', 'alpha'])
  expect(a.fake.calls).toHaveLength(2)
})

test('an engine waits for it to be half open, and tries again', async () => {
  const inner = fake({ scripts: [down, hello] })
  const clock = virtualClock()
  const adapter = circuitBreaker(inner, { failures: 1, coolDownMs: 7000 })
  const engine = createEngine({ adapter, clock, retry: { jitterMs: 0, baseDelayMs: 1 } })
  expect((await generate(engine, 'hi')).outputText).toBe('Hello')
  expect(clock.now()).toBe(7000)
})

test('an adapter that is called directly needs no engine', async () => {
  const clock = virtualClock({ auto: false })
  const breaker = circuitBreaker(fake({ scripts: [down, hello] }), { failures: 1 })
  const call = () => breaker.generate?.(modelRequest('hi'), { clock, requestId: 'r' })
  await expect(call()).rejects.toMatchObject({ status: 503 })
  await expect(call()).rejects.toMatchObject({ requestId: 'r', retryAfterMs: 30_000 })
})

test('options are checked by name', () => {
  // @ts-expect-error there is no such option
  expect(() => circuitBreaker(fake(), { failure: 1 })).toThrow(
    'unknown key failure; did you mean failures?',
  )
  expect(() => circuitBreaker(fake(), { failures: 0 })).toThrow(
    'failures must be a positive integer, not 0',
  )
  // @ts-expect-error it needs an adapter
  expect(() => circuitBreaker(undefined)).toThrow('adapter must be a chat adapter')
})
