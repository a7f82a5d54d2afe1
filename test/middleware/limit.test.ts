import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import {
  createEngine,
  errorToJSON,
  generate,
  modelRequest,
  streamGenerate,
  ValidationError,
  type CallOptions,
  type ChatAdapter,
  type Clock,
  type RateLimits,
} from '../../src/index.ts'
import { circuitBreaker, fallback, limit, type LimitOptions } from '../../src/middleware.ts'
import { openai } from '../../src/openai.ts'
import type { Fetch } from '../../src/providers/http/call.ts'
import { renderWire, wireResponse, type WireFormat } from '../../src/server.ts'
import { fake, virtualClock, type Script, type VirtualClock } from '../../src/testing.ts'
import { renamed } from './renamed.ts'

/** An answer that takes a second. */
const second: Script = [
  ['text', 'a'],
  ['delay', 1000],
  ['text', 'b'],
  ['finish', 'stop'],
]
const quick: Script = [
  ['text', 'a'],
  ['finish', 'stop'],
]

function limited(script: Script, options: LimitOptions) {
  const clock = virtualClock({ auto: false })
  const starts: [string, number][] = []
  const inner = fake({
    script: (request) => {
      const { content } = request.messages.at(-1) ?? {}
      starts.push([typeof content === 'string' ? content : '', clock.now()])
      return script
    },
  })
  const adapter = limit(inner, options)
  const engine = createEngine({ adapter, clock, retry: false })
  const ask = (text: string, more?: CallOptions) =>
    generate(engine, text, more).then(
      ({ outputText }) => outputText,
      ({ reason }: { readonly reason: string }) => reason,
    )
  return { clock, starts, inner, adapter, engine, ask }
}

describe('concurrency', () => {
  test('so many calls are under way, and the others begin in the order in which they came', async () => {
    const { clock, starts, inner, ask } = limited(second, { concurrency: 2 })
    const calls = ['1', '2', '3', '4', '5'].map((text) => ask(text))
    await clock.advance(500)
    expect(inner.openStreams).toBe(2)
    await clock.advance(5000)
    expect(await Promise.all(calls)).toEqual(['ab', 'ab', 'ab', 'ab', 'ab'])
    expect(starts).toEqual([
      ['1', 0],
      ['2', 0],
      ['3', 1000],
      ['4', 1000],
      ['5', 2000],
    ])
    expect(clock.pending).toBe(0)
  })

  test.each(['ended', 'failed', 'broken', 'left', 'stopped', 'returned'])(
    'a place is free when its stream has %s',
    async (how) => {
      const scripts: Readonly<Record<string, Script>> = {
        ended: quick,
        failed: [['preflight_error', 'provider_unavailable', {}]],
        broken: [
          ['text_delta', 'a'],
          ['stream_error', 'truncated', {}],
        ],
      }
      const clock = virtualClock({ auto: false })
      const inner = fake({ scripts: [scripts[how] ?? second, quick] })
      const engine = createEngine({
        adapter: limit(inner, { concurrency: 1 }),
        clock,
        retry: false,
      })
      const controller = new AbortController()
      const stream = streamGenerate(engine, 'hi', { signal: controller.signal })
      if (how === 'left') {
        for await (const event of stream) if (event.type === 'text_delta') break
      } else if (how === 'returned') {
        const iterator = stream[Symbol.asyncIterator]()
        await iterator.next()
        const reading = iterator.next()
        await iterator.return?.()
        await reading
      } else {
        const reading = (async () => {
          for await (const event of stream) if (event.type === 'text_delta') await clock.advance(0)
        })().catch(() => undefined)
        await clock.advance(10)
        if (how === 'stopped') controller.abort()
        await reading
      }
      const next = generate(engine, 'next')
      await clock.advance(0)
      expect((await next).outputText).toBe('a')
      expect(clock.pending).toBe(0)
    },
  )

  test('a stream that nobody reads takes no place', async () => {
    const { adapter, ask, clock } = limited(quick, { concurrency: 1 })
    for (let count = 0; count < 5; count++)
      adapter.stream(modelRequest('hi'))[Symbol.asyncIterator]()
    const left = adapter.stream(modelRequest('hi'))[Symbol.asyncIterator]()
    await left.return?.()
    const call = ask('hi')
    await clock.advance(0)
    expect(await call).toBe('a')
  })
})

describe('a call that waits', () => {
  test.each(['stopped', 'left'])('can be %s, and the next one moves up', async (how) => {
    const { clock, starts, ask, engine } = limited(second, { concurrency: 1 })
    const first = ask('1')
    await clock.advance(100)
    const controller = new AbortController()
    const stream = streamGenerate(engine, '2', { signal: controller.signal })[
      Symbol.asyncIterator
    ]()
    const waiting = stream.next().catch((error: unknown) => error)
    const third = ask('3')
    await clock.advance(100)
    if (how === 'stopped') controller.abort()
    else await stream.return?.()
    expect(await waiting).toMatchObject({ reason: 'cancelled' })
    await clock.advance(3000)
    expect(await Promise.all([first, third])).toEqual(['ab', 'ab'])
    expect(starts).toEqual([
      ['1', 0],
      ['3', 1000],
    ])
    expect(clock.pending).toBe(0)
  })

  test('and is stopped counts for no window', async () => {
    const { clock, starts, ask } = limited(quick, { requestsPerMinute: 1 })
    await ask('1')
    const controller = new AbortController()
    const stopped = ask('2', { signal: controller.signal })
    await clock.advance(59_000)
    controller.abort()
    expect(await stopped).toBe('cancelled')
    const third = ask('3')
    await clock.advance(1000)
    expect(await third).toBe('a')
    expect(starts).toEqual([
      ['1', 0],
      ['3', 60_000],
    ])
  })

  test('and is stopped in the moment in which it is let in counts for nothing either', async () => {
    const clock = virtualClock({ auto: false })
    const inner = fake({ scripts: [quick, quick] })
    const adapter = limit(inner, { concurrency: 1, requestsPerMinute: 2 })
    const first = adapter.stream(modelRequest('1'), { clock })[Symbol.asyncIterator]()
    await first.next()
    const controller = new AbortController()
    const state = { armed: false }
    // The limiter looks at the clock of the call while it lets it in.
    const trap: Clock = {
      now() {
        if (state.armed) controller.abort()
        return clock.now()
      },
      sleep: (ms, signal) => clock.sleep(ms, signal),
      timer: (ms, onTime) => clock.timer(ms, onTime),
    }
    const options = { clock: trap, signal: controller.signal }
    const second = adapter.stream(modelRequest('2'), options)[Symbol.asyncIterator]()
    const waiting = second.next().catch((error: unknown) => error)
    await clock.advance(0)
    state.armed = true
    await first.return?.()
    expect(await waiting).toMatchObject({ reason: 'cancelled' })
    const third = adapter.generate?.(modelRequest('3'), { clock })
    await clock.advance(0)
    expect((await third)?.outputText).toBe('a')
    expect(inner.calls).toHaveLength(2)
  })

  test('waits no longer than requestTimeoutMs, with and without an engine', async () => {
    const { clock, adapter, ask } = limited(second, { requestsPerMinute: 1 })
    const first = ask('1')
    await clock.advance(2000)
    await first
    const call = ask('2', { requestTimeoutMs: 3000 })
    const direct = adapter
      .generate?.(modelRequest('3'), { clock, requestTimeoutMs: 3000, requestId: 'r' })
      .catch((error: unknown) => error)
    await clock.advance(3000)
    expect(await call).toBe('timeout')
    expect(await direct).toMatchObject({
      kind: 'adapter',
      reason: 'timeout',
      provider: 'fake',
      requestId: 'r',
    })
    expect(clock.pending).toBe(0)
  })

  test('has all of requestTimeoutMs for the answer, once it has a place', async () => {
    const slow: Script = [
      ['delay', 2000],
      ['text', 'a'],
    ]
    const { clock, adapter } = limited(slow, { concurrency: 1 })
    const ask = async (requestTimeoutMs: number) => {
      try {
        return (await adapter.generate?.(modelRequest('x'), { clock, requestTimeoutMs }))
          ?.outputText
      } catch (error) {
        return errorToJSON(error).reason
      }
    }
    const calls = [ask(2500), ask(3500), ask(1999)]
    await clock.advance(7000)
    expect(await Promise.all(calls)).toEqual(['a', 'a', 'timeout'])
  })
})

describe('requestsPerMinute', () => {
  test('so many calls begin within any minute, whatever becomes of them', async () => {
    const { clock, starts, ask } = limited([['preflight_error', 'unknown', {}]], {
      requestsPerMinute: 2,
    })
    const calls = [ask('1')]
    await clock.advance(20_000)
    calls.push(ask('2'), ask('3'), ask('4'))
    await clock.advance(200_000)
    await Promise.all(calls)
    expect(starts).toEqual([
      ['1', 0],
      ['2', 20_000],
      ['3', 60_000],
      ['4', 80_000],
    ])
    expect(clock.pending).toBe(0)
  })

  test('a request that was never sent does not count', async () => {
    const clock = virtualClock({ auto: false })
    const inner = fake({ scripts: [quick] })
    let calls = 0
    const invalid: ChatAdapter = {
      provider: 'fake',
      stream(request, options) {
        if (++calls > 1) return inner.stream(request, options)
        throw new ValidationError('invalid_request', [{ path: 'x', problem: 'is wrong' }])
      },
    }
    const adapter = limit(invalid, { requestsPerMinute: 1 })
    const engine = createEngine({ adapter, clock, retry: false })
    await expect(generate(engine, 'hi')).rejects.toBeInstanceOf(ValidationError)
    const call = generate(engine, 'hi')
    await clock.advance(0)
    expect((await call).outputText).toBe('a')
  })
})

describe('tokensPerMinute', () => {
  const used = (totalTokens: number): Script => [
    ['text', 'a'],
    ['usage', { totalTokens }],
    ['finish', 'stop'],
  ]

  test('counts the usage of answers', async () => {
    const { clock, starts, ask } = limited(used(400), { tokensPerMinute: 1000 })
    for (const text of ['1', '2']) {
      await ask(text)
      await clock.advance(10_000)
    }
    // 800 are used, and the estimate of the next one is some tens.
    await ask('3')
    const last = ask('4')
    await clock.advance(100_000)
    await last
    expect(starts.map(([, at]) => at)).toEqual([0, 10_000, 20_000, 60_000])
  })

  test('counts an estimate before: the length of the request, and maxTokens', async () => {
    const late: Script = [['delay', 5000], ...used(10)]
    const { clock, starts, ask } = limited(late, { tokensPerMinute: 1000 })
    const calls = [ask('1', { maxTokens: 600 }), ask('2', { maxTokens: 600 })]
    await clock.advance(20_000)
    await Promise.all(calls)
    // The usage of the first one frees what its estimate had taken.
    expect(starts).toEqual([
      ['1', 0],
      ['2', 5000],
    ])
    const { starts: long, ask: askLong, clock: time } = limited(late, { tokensPerMinute: 1000 })
    const text = 'x'.repeat(2400)
    const both = [askLong(text), askLong(text)]
    await time.advance(20_000)
    await Promise.all(both)
    expect(long.map(([, at]) => at)).toEqual([0, 5000])
  })

  test('an image is not counted by its bytes', async () => {
    const { clock, starts, engine } = limited(quick, { tokensPerMinute: 5000 })
    const image = { type: 'base64', base64: 'A'.repeat(100_000), mimeType: 'image/png' } as const
    const message = { role: 'user', content: [{ type: 'image', image }] } as const
    const calls = [1, 2, 3].map(() => generate(engine, [message]))
    await clock.advance(0)
    await Promise.all(calls)
    expect(starts).toHaveLength(3)
  })

  test('a request that is larger than the limit waits until it is alone', async () => {
    const { clock, starts, ask } = limited(used(50), { tokensPerMinute: 100 })
    const calls = [ask('1'), ask('2', { maxTokens: 100_000 }), ask('3')]
    await clock.advance(200_000)
    expect(await Promise.all(calls)).toEqual(['a', 'a', 'a'])
    expect(starts).toEqual([
      ['1', 0],
      ['2', 60_000],
      ['3', 60_000],
    ])
  })

  test('a large request does not wait for calls that have used nothing', async () => {
    const clock = virtualClock({ auto: false })
    const inner = fake({ scripts: [[['preflight_error', 'unknown', {}]], quick] })
    const adapter = limit(inner, { tokensPerMinute: 100 })
    const engine = createEngine({ adapter, clock, retry: false })
    await generate(engine, 'hi').catch(() => undefined)
    const call = generate(engine, 'hi', { maxTokens: 1000 })
    await clock.advance(0)
    expect((await call).outputText).toBe('a')
  })

  test('what an answer uses beyond its estimate counts from its end on', async () => {
    const long: Script = [['delay', 70_000], ...used(950)]
    const { clock, starts, ask } = limited(long, { tokensPerMinute: 1000 })
    const first = ask('1')
    await clock.advance(70_000)
    await first
    const next = ask('2', { maxTokens: 200 })
    await clock.advance(59_000)
    expect(starts).toHaveLength(1)
    await clock.advance(100_000)
    await next
    expect(starts[1]?.[1]).toBe(130_000)
  })

  test('a call that failed before its first event has used none', async () => {
    const { clock, starts, ask } = limited([['preflight_error', 'unknown', {}]], {
      tokensPerMinute: 1000,
    })
    for (const text of ['1', '2', '3']) {
      const call = ask(text, { maxTokens: 900 })
      await clock.advance(0)
      await call
    }
    expect(starts).toHaveLength(3)
  })
})

describe('what the provider says', () => {
  /** An adapter over a wire whose responses have these headers, one after the other. */
  function wired(
    format: WireFormat,
    answers: readonly (Readonly<Record<string, string>> & { status?: string })[],
    limits: LimitOptions = {},
  ) {
    const clock = virtualClock({ auto: false })
    const left = [...answers]
    const starts: number[] = []
    const fetch: Fetch = async () => {
      starts.push(clock.now())
      const { status, ...headers } = left.shift() ?? {}
      if (status !== undefined) return new Response('{}', { status: Number(status), headers })
      const { body } = await wireResponse(renderWire(format, quick, { stream: true }))
      return new Response(body, { headers })
    }
    const options = { apiKey: 'k', fetch, model: 'm' }
    const inner = format === 'anthropic' ? anthropic(options) : openai({ ...options, api: 'chat' })
    const engine = createEngine({ adapter: limit(inner, limits), clock, retry: false })
    return { clock, starts, ask: (text = 'hi') => generate(engine, text).catch(() => undefined) }
  }

  /** Waits for calls while time passes, but not before all work that is ready has been done. */
  async function passes(clock: VirtualClock, stepMs: number, calls: readonly Promise<unknown>[]) {
    const state = { open: true }
    const all = Promise.all(calls).finally(() => {
      state.open = false
    })
    while (state.open) {
      for (let turn = 0; turn < 20; turn++) await clock.advance(0)
      await clock.advance(stepMs)
    }
    await all
  }

  test.each<[WireFormat, Readonly<Record<string, string>>]>([
    ['openai_chat', { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '10s' }],
    [
      'anthropic',
      {
        'anthropic-ratelimit-requests-remaining': '0',
        'anthropic-ratelimit-requests-reset': '1970-01-01T00:00:10Z',
      },
    ],
    ['openai_chat', { 'x-ratelimit-remaining-tokens': '3', 'x-ratelimit-reset-tokens': '10s' }],
    [
      'anthropic',
      {
        'anthropic-ratelimit-output-tokens-remaining': '0',
        'anthropic-ratelimit-output-tokens-reset': '1970-01-01T00:00:10Z',
      },
    ],
    ['openai_chat', { status: '429', 'retry-after': '10' }],
    ['anthropic', { status: '529', 'retry-after': '10' }],
  ])('%s: nothing is sent before %o allows it', async (format, headers) => {
    const { clock, starts, ask } = wired(format, [headers])
    await passes(clock, 0, [ask()])
    await passes(clock, 500, [ask(), ask()])
    expect(starts[0]).toBe(0)
    expect(starts[1]).toBe(10_000)
    expect(starts[2]).toBeGreaterThanOrEqual(10_000)
  })

  test('a reset that is years away is not waited for', async () => {
    const headers = { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '999d' }
    const { clock, starts, ask } = wired('openai_chat', [headers])
    await passes(clock, 0, [ask()])
    const second = ask()
    await clock.advance(0)
    await second
    expect(clock.now()).toBe(0)
    expect(starts).toHaveLength(1)
  })

  test('calls that begin before the next answer are counted', async () => {
    const headers = { 'x-ratelimit-remaining-requests': '2', 'x-ratelimit-reset-requests': '10s' }
    const { clock, starts, ask } = wired('openai_chat', [headers])
    await passes(clock, 0, [ask()])
    await passes(clock, 500, [ask(), ask(), ask()])
    expect(starts.map((at) => at >= 10_000)).toEqual([false, false, false, true])
  })

  test('a limit that is far away holds nothing back', async () => {
    const headers = {
      'x-ratelimit-remaining-requests': '100',
      'x-ratelimit-reset-requests': '10s',
      'x-ratelimit-remaining-tokens': '0',
    }
    const { clock, starts, ask } = wired('openai_chat', [headers])
    await passes(clock, 0, [ask()])
    await passes(clock, 0, [ask(), ask()])
    expect(starts).toEqual([0, 0, 0])
  })

  test('is handed on to a listener outside', async () => {
    const fetch: Fetch = async () => {
      const { body } = await wireResponse(renderWire('openai_chat', quick, { stream: true }))
      return new Response(body, { headers: { 'x-ratelimit-remaining-requests': '5' } })
    }
    const seen: RateLimits[] = []
    const adapter = limit(openai({ apiKey: 'k', fetch, api: 'chat', model: 'm' }))
    await adapter.generate?.(modelRequest('hi'), {
      onRateLimit: (limits) => void seen.push(limits),
    })
    expect(seen).toEqual([{ requests: { remaining: 5 } }])
  })

  test('what one of several providers says does not hold back the others', async () => {
    const refused: Script = [
      ['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 60_000 }],
    ]
    const a = renamed('alpha', { scripts: [refused, quick] })
    const b = renamed('beta', { scripts: [refused, quick] })
    const clock = virtualClock({ auto: false })
    const engine = createEngine({
      adapter: limit(fallback([a, b]), { concurrency: 3 }),
      clock,
      retry: false,
    })
    await generate(engine, 'hi').catch(() => undefined)
    expect((await generate(engine, 'hi')).provider).toBe('alpha')
  })
})

test('options are checked by name', () => {
  // @ts-expect-error there is no such option
  expect(() => limit(fake(), { requestPerMinute: 1 })).toThrow('did you mean requestsPerMinute?')
  expect(() => limit(fake(), { concurrency: 0.5 })).toThrow(
    'concurrency must be a positive integer',
  )
  // @ts-expect-error it needs an adapter
  expect(() => limit({}, {})).toThrow('adapter must be a chat adapter')
})

describe('maxWaitMs', () => {
  const busy: Script = [['preflight_error', 'rate_limited', { retryAfterMs: 300_000 }]]

  test('a provider that asks to wait long is not waited for, and the spare answers', async () => {
    const clock = virtualClock({ auto: false })
    const inner = fake({ scripts: [busy] })
    const breaker = circuitBreaker(limit(inner), { failures: 2 })
    const spare = renamed('spare', { script: () => quick })
    const engine = createEngine({ adapter: fallback([breaker, spare]), clock, retry: false })
    const answers: (string | undefined)[] = []
    for (const text of ['1', '2', '3', '4']) {
      const { provider, metadata } = await generate(engine, text)
      answers.push(provider)
      const { failed } = metadata['fallback'] as { failed: readonly object[] }
      expect(failed).toMatchObject([{ reason: 'rate_limited', retryAfterMs: 300_000 }])
    }
    expect(answers).toEqual(['spare', 'spare', 'spare', 'spare'])
    expect(clock.now()).toBe(0)
    expect(inner.calls).toHaveLength(1)
    // What was not sent says nothing about the provider.
    expect(breaker.state).toBe('closed')
    expect(clock.pending).toBe(0)
  })

  test('calls that wait already are refused when the provider says it', async () => {
    const clock = virtualClock({ auto: false })
    const inner = fake({
      scripts: [
        [
          ['delay', 1000],
          ['failure', 'rate_limited', { retryAfterMs: 300_000 }],
        ],
      ],
    })
    const engine = createEngine({ adapter: limit(inner, { concurrency: 1 }), clock, retry: false })
    const calls = ['1', '2', '3'].map((text) =>
      generate(engine, text).catch((error: unknown) => errorToJSON(error)),
    )
    await clock.advance(1000)
    expect(await Promise.all(calls)).toMatchObject([
      { reason: 'rate_limited' },
      { reason: 'rate_limited', retryAfterMs: 300_000 },
      { reason: 'rate_limited', message: expect.stringContaining('waited 1000 ms for a place') },
    ])
    expect(inner.calls).toHaveLength(1)
  })

  test('bounds every wait when it is given', async () => {
    const { clock, starts, ask } = limited(second, { requestsPerMinute: 1, maxWaitMs: 5000 })
    const first = ask('1')
    expect(await ask('2')).toBe('rate_limited')
    expect(clock.now()).toBe(0)
    await clock.advance(56_000)
    await first
    const third = ask('3')
    await clock.advance(6000)
    expect(await third).toBe('ab')
    expect(starts.map(([text]) => text)).toEqual(['1', '3'])

    const places = limited(second, { concurrency: 1, maxWaitMs: 500 })
    const [running, late] = [places.ask('1'), places.ask('2')]
    await places.clock.advance(500)
    expect(await late).toBe('rate_limited')
    await places.clock.advance(500)
    expect(await running).toBe('ab')
    expect(places.clock.pending).toBe(0)
  })

  test.each([0, -1, Number.NaN, '5'])('%j is refused', (maxWaitMs) => {
    expect(() => limit(fake({ script: quick }), { maxWaitMs } as LimitOptions)).toThrow('maxWaitMs')
  })
})

describe('time in the queue', () => {
  /** Answers after 2 s, one at a time, to callers that wait at most 5 s. */
  function slow(retry: CallOptions['retry']) {
    const clock = virtualClock()
    const sent: string[] = []
    const inner = fake({
      script: ({ messages }) => {
        const [message] = messages
        sent.push(`${clock.now()}:${typeof message?.content === 'string' ? message.content : ''}`)
        return [
          ['delay', 2000],
          ['text', 'x'],
        ]
      },
    })
    const breaker = circuitBreaker(limit(inner, { concurrency: 1 }), { failures: 1 })
    const engine = createEngine({ adapter: breaker, clock, requestTimeoutMs: 5000, retry })
    const ask = (text: string) =>
      generate(engine, text).then(
        () => 'ok',
        (error: unknown) => errorToJSON(error),
      )
    return { clock, sent, breaker, ask }
  }

  test('callers whose time is over together are not sent, and the breaker does not count them', async () => {
    const { clock, sent, breaker, ask } = slow(false)
    const answers = await Promise.all(['t0', 't1', 't2', 't3', 't4', 't5'].map(ask))
    expect(sent).toEqual(['0:t0', '2000:t1', '4000:t2'])
    const waited = {
      kind: 'adapter',
      reason: 'timeout',
      message: expect.stringContaining('waited 5000 ms for a place'),
    }
    expect(answers).toMatchObject(['ok', 'ok', 'ok', waited, waited, waited])
    expect(breaker.state).toBe('closed')
    expect(clock.pending).toBe(0)
  })

  test('what was not sent is retried, and each call is one request', async () => {
    const { sent, breaker, ask } = slow({ maxAttempts: 3, jitterMs: 0 })
    const answers = await Promise.all(['t0', 't1', 't2', 't3', 't4', 't5'].map(ask))
    expect(answers).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok'])
    expect(sent).toEqual(['0:t0', '2000:t1', '4000:t2', '6000:t3', '8000:t4', '10000:t5'])
    expect(breaker.state).toBe('closed')
  })

  test.each([
    ['by default', {}],
    ['without retries', { retry: false }],
    ['with a time limit that is passed twice', { requestTimeoutMs: 600_000 }],
  ] as const)(
    '2,000 calls of ten seconds in 16 places are 2,000 requests %s',
    async (_, options) => {
      const clock = virtualClock()
      let now = 0
      let most = 0
      const inner = fake({
        script: () => {
          most = Math.max(most, ++now)
          return [
            ['delay', 10_000],
            ['text', 'x'],
          ]
        },
        cleanupObserver: () => void now--,
      })
      const breaker = circuitBreaker(limit(inner, { concurrency: 16 }), { failures: 1 })
      const engine = createEngine({ adapter: breaker, clock, ...options })
      const texts = Array.from({ length: 2000 }, (_unused, at) => `t${at}`)
      const answers = await Promise.all(texts.map((text) => generate(engine, text)))
      expect(answers.every(({ outputText }) => outputText === 'x')).toBe(true)
      expect(inner.calls).toHaveLength(2000)
      expect(most).toBe(16)
      expect(breaker.state).toBe('closed')
    },
  )

  test.each<[string, LimitOptions]>([
    ['of requests', { requestsPerMinute: 1 }],
    ['of tokens', { tokensPerMinute: 1 }],
  ])('a window %s lets no call in whose time is over', async (_, options) => {
    const { clock, starts, ask } = limited(
      [
        ['text', 'a'],
        ['usage', { totalTokens: 1 }],
      ],
      options,
    )
    await ask('0')
    const calls = ['1', '2', '3'].map((text) => ask(text, { requestTimeoutMs: 60_000 }))
    const last = ask('4')
    await clock.advance(60_000)
    expect(await Promise.all(calls)).toEqual(['timeout', 'timeout', 'timeout'])
    await clock.advance(0)
    expect(await last).toBe('a')
    expect(starts).toEqual([
      ['0', 0],
      ['4', 60_000],
    ])
    expect(clock.pending).toBe(0)
  })

  test('maxWaitMs alone decides when both are set', async () => {
    const { clock, starts, ask } = limited(second, { concurrency: 1, maxWaitMs: 2500 })
    const calls = ['1', '2', '3', '4'].map((text) => ask(text, { requestTimeoutMs: 100 }))
    await clock.advance(5000)
    expect(await Promise.all(calls)).toEqual(['ab', 'ab', 'ab', 'rate_limited'])
    expect(starts.map(([, at]) => at)).toEqual([0, 1000, 2000])
  })

  test('a place that is free when maxWaitMs is over comes too late', async () => {
    const { clock, starts, ask } = limited(second, { concurrency: 1, maxWaitMs: 1000 })
    const calls = ['1', '2', '3'].map((text) => ask(text))
    await clock.advance(5000)
    expect(await Promise.all(calls)).toEqual(['ab', 'rate_limited', 'rate_limited'])
    expect(starts).toHaveLength(1)
  })

  test('a fallback too waits, and counts from the place on', async () => {
    const clock = virtualClock()
    const inner = fake({
      script: () => [
        ['delay', 2000],
        ['text', 'a'],
      ],
    })
    const spare = renamed('spare', { script: () => quick })
    const adapter = fallback([limit(inner, { concurrency: 1 }), spare])
    const engine = createEngine({ adapter, clock, requestTimeoutMs: 5000, retry: false })
    const answers = await Promise.all(['1', '2', '3', '4'].map((text) => generate(engine, text)))
    expect(answers.map(({ provider }) => provider)).toEqual(['fake', 'fake', 'fake', 'spare'])
    expect(inner.calls).toHaveLength(3)
    const patient = createEngine({ adapter, clock, retry: false })
    const many = Array.from({ length: 400 }, () => generate(patient, 'x'))
    expect((await Promise.all(many)).every(({ provider }) => provider === 'fake')).toBe(true)
  })

  test('is no failure of the provider: the error says it, and a breaker does not count it', async () => {
    for (const isFallback of [false, true]) {
      const clock = virtualClock({ auto: false })
      const breaker = circuitBreaker(
        limit(fake({ script: () => second }), { requestsPerMinute: 1 }),
        { failures: 1 },
      )
      const adapter = isFallback ? fallback([breaker]) : breaker
      const engine = createEngine({ adapter, clock, retry: false })
      const first = generate(engine, '1')
      const late = generate(engine, '2', { requestTimeoutMs: 3000 }).catch((error: unknown) =>
        errorToJSON(error),
      )
      await clock.advance(3000)
      await first
      expect(await late).toMatchObject({
        reason: 'timeout',
        message: expect.stringContaining('waited 3000 ms for a place'),
      })
      expect(breaker.state).toBe('closed')
    }
  })

  test('a call whose time is over is not sent, also when its turn comes in the same moment', async () => {
    const { clock, inner, adapter, ask } = limited(second, { requestsPerMinute: 1 })
    const first = ask('1')
    await clock.advance(0)
    const late = adapter
      .generate?.(modelRequest('2'), { clock, requestTimeoutMs: 60_000 })
      .catch((error: unknown) => errorToJSON(error).reason)
    const next = ask('3')
    await clock.advance(60_000)
    await clock.advance(2000)
    expect([await first, await late, await next]).toEqual(['ab', 'timeout', 'ab'])
    expect(inner.calls).toHaveLength(2)
  })
})
