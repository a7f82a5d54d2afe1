import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  chat,
  createEngine,
  errorToJSON,
  generate,
  modelRequest,
  Session,
  streamGenerate,
  tool,
  type ChatAdapter,
  type StreamEvent,
} from '../../src/index.ts'
import { cache, circuitBreaker, fallback, guard, limit, memoryCache } from '../../src/middleware.ts'
import {
  collectEvents,
  fake,
  fakeModeration,
  virtualClock,
  type Script,
} from '../../src/testing.ts'
import { nextTurn } from '../../src/testing/fakes/virtual-clock.ts'
import type { Wrap } from './harnesses.ts'
import { renamed } from './renamed.ts'

const wraps: Readonly<Record<string, Wrap>> = {
  fallback: (adapter) => fallback([adapter]),
  circuitBreaker: (adapter) => circuitBreaker(adapter, { failures: 3 }),
  limit: (adapter) =>
    limit(adapter, { concurrency: 2, requestsPerMinute: 100, tokensPerMinute: 100_000 }),
  cache: (adapter) => cache(adapter, { store: memoryCache() }),
  guard: (adapter) => guard(adapter, { input: fakeModeration(), output: fakeModeration() }),
}

/** Every order of some names. */
function orders(names: readonly string[]): readonly (readonly string[])[] {
  if (names.length === 0) return [[]]
  return names.flatMap((name) =>
    orders(names.filter((other) => other !== name)).map((rest) => [name, ...rest]),
  )
}

/** All of them around an adapter, the last of the names innermost. */
function stacked(names: readonly string[], adapter: ChatAdapter): ChatAdapter {
  return names.reduceRight((inner, name) => wraps[name]?.(inner) ?? inner, adapter)
}

const answer: Script = [
  ['reasoning', 'Hm.', { opaque: 'sig' }],
  ['text', 'Hel'],
  ['delay', 100],
  ['text', 'lo'],
  ['usage', { inputTokens: 3, outputTokens: 2 }],
  ['finish', 'stop'],
]

describe.each(orders(Object.keys(wraps)).map((order) => [order.join('('), order] as const))(
  '%s',
  (_name, order) => {
    function around(scripts: readonly Script[]) {
      const clock = virtualClock()
      const inner = fake({ scripts })
      const adapter = stacked(order, inner)
      return { clock, inner, adapter, engine: createEngine({ adapter, clock, retry: false }) }
    }

    test('an answer is the same, and leaves nothing behind', async () => {
      const { engine, clock, inner } = around([answer])
      const bare = createEngine({ adapter: fake({ script: answer }), clock: virtualClock() })
      const options = { requestId: 'r1' }
      const events = await collectEvents(streamGenerate(engine, 'hi', options))
      expect(events).toEqual(await collectEvents(streamGenerate(bare, 'hi', options)))
      // The second time it comes from the cache, whatever is around it.
      expect(await collectEvents(streamGenerate(engine, 'hi', options))).toEqual(events)
      expect([inner.calls.length, inner.openStreams, clock.pending]).toEqual([1, 0, 0])
    })

    test('a failure is the same, before the first event and after it', async () => {
      const refused: Script = [
        ['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 10 }],
      ]
      const broken: Script = [
        ['text_delta', 'half'],
        ['stream_error', 'truncated', {}],
      ]
      const { engine, clock, inner } = around([refused, broken])
      await expect(generate(engine, 'hi')).rejects.toMatchObject({
        reason: 'rate_limited',
        status: 429,
        provider: 'fake',
        causes: [],
      })
      const events = await collectEvents(streamGenerate(engine, 'hi'))
      expect(events.map(({ type }) => type)).toEqual(['message_started', 'text_delta', 'error'])
      expect([inner.openStreams, clock.pending]).toEqual([0, 0])
    })

    test('a call that is stopped or left ends at once, and leaves nothing behind', async () => {
      const { engine, clock, inner } = around([answer, answer])
      const controller = new AbortController()
      const events = []
      for await (const event of streamGenerate(engine, 'hi', { signal: controller.signal })) {
        events.push(event)
        if (event.type === 'text_delta') controller.abort()
      }
      expect(events.at(-1)).toMatchObject({ type: 'error', error: { reason: 'cancelled' } })
      for await (const event of streamGenerate(engine, 'hi')) if (event.type === 'text_delta') break
      expect([inner.openStreams, clock.pending]).toEqual([0, 0])
    })

    test('an engine retries around it, and a loop goes through it', async () => {
      const down: Script = [['preflight_error', 'provider_unavailable', {}]]
      const calls: Script = [['tool_call', { id: 'c1', name: 'add', arguments: {} }]]
      const inner = fake({ scripts: [down, calls, down, answer, answer] })
      const clock = virtualClock()
      const add = tool({ name: 'add', description: 'Adds.', schema: {}, handler: () => 2 })
      const engine = createEngine({ adapter: stacked(order, inner), clock, tools: [add] })
      expect((await chat(engine, 'hi')).outputText).toBe('Hello')
      const { session } = await Session.start(engine, 'hello')
      expect(session.status).toBe('completed')
      inner.assertDone()
    })

    test('time limits hold', async () => {
      const { engine, clock, inner } = around([[['delay', 10_000], ...answer]])
      const error = await generate(engine, 'hi', { requestTimeoutMs: 1000 }).catch(errorToJSON)
      expect(error).toMatchObject({ kind: 'adapter', reason: 'timeout', provider: 'fake' })
      expect([clock.now(), inner.openStreams, clock.pending]).toEqual([1000, 0, 0])
    })

    test('says about itself what the adapter inside says, and hands on its key', async () => {
      const key = { required: true, own: false }
      const keyed = renamed('alpha', { script: answer }, { key, model: 'm', needsModel: true })
      const adapter = stacked(order, keyed)
      expect(adapter).toMatchObject({ provider: 'alpha', model: 'm' })
      const engine = createEngine({ adapter, clock: virtualClock(), keys: { alpha: 'a-key' } })
      expect(engine.model).toBe('m')
      await generate(engine, 'hi', { providerOptions: { alpha: {} } })
      expect(keyed.seen[0]?.apiKey).toBe('a-key')
      await expect(
        generate(createEngine({ adapter, keys: {}, retry: false }), 'hello'),
      ).rejects.toMatchObject({ reason: 'missing_key', provider: 'alpha' })
    })
  },
)

test.each(Object.entries(wraps))(
  '%s: a failure after the end of an answer changes nothing',
  async (_name, wrap) => {
    const late: ChatAdapter = {
      provider: 'fake',
      async *stream(request, options) {
        yield* fake({ script: answer }).stream(request, options)
        throw new Error('the connection broke')
      },
    }
    const clock = virtualClock()
    const breaker = circuitBreaker(late, { failures: 1 })
    for (const adapter of [wrap(late), wrap(breaker)]) {
      const events: StreamEvent[] = []
      for await (const batch of adapter.stream(modelRequest('hi'), { clock })) events.push(...batch)
      expect(events.at(-1)?.type).toBe('message_completed')
    }
    expect(breaker.state).toBe('closed')
    const spare = fake({ scripts: [] })
    const adapter = fallback([wrap(late), spare], { afterFirstEvent: true, on: () => true })
    expect((await adapter.generate?.(modelRequest('hi'), { clock }))?.outputText).toBe('Hello')
    expect(spare.calls).toHaveLength(0)
  },
)

test('a cache does not keep what a fallback had begun with another provider', async () => {
  const broken: Script = [
    ['text_delta', 'half'],
    ['error_event', 'provider_unavailable', {}],
  ]
  const a = renamed('alpha', { scripts: [broken] })
  const b = renamed('beta', { scripts: [answer] })
  const adapter = cache(fallback([a, b], { afterFirstEvent: true }), { store: memoryCache() })
  const engine = createEngine({ adapter, clock: virtualClock(), retry: false })
  await generate(engine, 'hi')
  const events = await collectEvents(streamGenerate(engine, 'hi'))
  expect(events.filter(({ type }) => type === 'message_started')).toHaveLength(1)
  expect(JSON.stringify(events.filter(({ type }) => type !== 'message_completed'))).not.toContain(
    'half',
  )
})

test('a cache inside each adapter of a fallback and one around it keep apart', async () => {
  const store = new Map<string, string>()
  const a = renamed('alpha', { scripts: [answer] })
  const b = renamed('beta', { scripts: [answer] })
  await cache(a, { store }).generate?.(modelRequest('hi'))
  await cache(b, { store }).generate?.(modelRequest('hi'))
  await cache(fallback([a, b]), { store })
    .generate?.(modelRequest('hi'))
    ?.catch(() => undefined)
  expect(store.size).toBe(2)
})

/** What one call of a provider does: its deltas, each after a wait, and its end. */
interface Fault {
  readonly deltas: readonly number[]
  readonly end: 'stop' | 'refused' | 'limited' | 'error' | 'truncated' | 'hangs' | 'invalid'
}

/** What one caller does: when it begins, and when it leaves or is stopped. */
interface Caller {
  readonly at: number
  readonly does: 'reads' | 'leaves' | 'is stopped'
  readonly after: number
}

const fault = fc.record<Fault>({
  deltas: fc.array(fc.constantFrom(0, 0, 10, 400), { maxLength: 4 }),
  end: fc.constantFrom(
    'stop',
    'stop',
    'stop',
    'refused',
    'limited',
    'error',
    'truncated',
    'hangs',
    'invalid',
  ),
})

const caller = fc.record<Caller>({
  at: fc.constantFrom(0, 0, 50, 500, 3000),
  does: fc.constantFrom('reads', 'reads', 'leaves', 'is stopped'),
  after: fc.nat({ max: 600 }),
})

const scenario = fc.record({
  faults: fc.array(fc.array(fault, { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
  callers: fc.array(caller, { minLength: 1, maxLength: 6 }),
  afterFirstEvent: fc.boolean(),
  retries: fc.boolean(),
  concurrency: fc.integer({ min: 1, max: 3 }),
  requestsPerMinute: fc.option(fc.integer({ min: 3, max: 20 }), { nil: undefined }),
  guarded: fc.constantFrom('not', 'held', 'watched'),
})

/** The script of one call; its texts say whose they are and where they belong. */
function scriptOf({ deltas, end }: Fault, name: string): Script {
  if (end === 'refused' || end === 'invalid' || end === 'limited') {
    const reasons = {
      refused: 'provider_unavailable',
      invalid: 'invalid_request',
      limited: 'rate_limited',
    }
    return [['preflight_error', reasons[end], end === 'limited' ? { retryAfterMs: 300 } : {}]]
  }
  const texts = deltas.flatMap((ms, at): Script => {
    const text: Script[number] = ['text', `${name}:${at} `]
    return ms === 0 ? [text] : [['delay', ms], text]
  })
  const ends: Readonly<Record<string, Script>> = {
    stop: [['finish', 'stop']],
    error: [['error', 'provider_unavailable']],
    truncated: [['error', 'timeout']],
    hangs: [
      ['delay', 1_000_000],
      ['finish', 'stop'],
    ],
  }
  return [...texts, ...(ends[end] ?? [])]
}

test('whatever fails and whoever leaves, no event is lost, doubled or out of order, and no place is', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ faults, callers, ...options }) => {
      const { concurrency, requestsPerMinute, afterFirstEvent, retries, guarded } = options
      const clock = virtualClock()
      const played = new Map<string, Fault>()
      const members = faults.map((calls, at) => {
        const inner = renamed(`p${at}`, {
          script: (_request, { call }) => {
            const name = `p${at}-${call}`
            const own = calls[call - 1] ?? { deltas: [0], end: 'stop' as const }
            played.set(name, own)
            return scriptOf(own, name)
          },
        })
        const limited = limit(inner, { concurrency, requestsPerMinute })
        const breaker = circuitBreaker(limited, { failures: 3, windowMs: 1000, coolDownMs: 500 })
        return { inner, limited, breaker }
      })
      const any = fallback(
        members.map(({ breaker }) => breaker),
        { afterFirstEvent, retryEach: retries ? { maxAttempts: 2, baseDelayMs: 50 } : false },
      )
      /** A check that passes everything, after a while. */
      const check = async (): Promise<boolean> => {
        await clock.sleep(20)
        return false
      }
      const output = { check, every: 10, hold: guarded === 'held' }
      const adapter = guarded === 'not' ? any : guard(any, { input: check, output })
      const engine = createEngine({
        adapter,
        clock,
        retry: { maxAttempts: 2, jitterMs: 0 },
        requestTimeoutMs: 5000,
        streamTimeoutMs: 2000,
      })
      const seen = new Set<string>()
      const outcomes = await Promise.all(callers.map((one) => callOnce(one)))
      async function callOnce({ at, does, after }: Caller) {
        await clock.sleep(at)
        const controller = new AbortController()
        const events: StreamEvent[] = []
        if (does === 'is stopped') clock.timer(after, () => controller.abort())
        try {
          const stream = streamGenerate(engine, 'hi', { signal: controller.signal })
          for await (const event of stream) {
            events.push(event)
            if (does === 'leaves' && events.length > after % 5) break
          }
        } catch (error) {
          expect(events).toEqual([])
          expect(errorToJSON(error).kind).not.toBe('validation')
        }
        return { does, events }
      }
      for (const { does, events } of outcomes) checkEvents(events, does)
      /** Every answer is that of one call of one provider, from its beginning on, without a gap. */
      function checkEvents(events: readonly StreamEvent[], does: Caller['does']) {
        const starts = events.flatMap(({ type }, at) => (type === 'message_started' ? [at] : []))
        if (events.length === 0) return
        expect(starts[0]).toBe(0)
        if (!afterFirstEvent) expect(starts).toHaveLength(1)
        starts.forEach((start, nth) => {
          const own = events.slice(start, starts[nth + 1])
          const [first] = own
          const texts = own
            .flatMap((event) => (event.type === 'text_delta' ? [event.delta] : []))
            .join('')
            .trim()
            .split(' ')
            .filter((text) => text !== '')
          const [name = ''] = texts[0]?.split(':') ?? []
          texts.forEach((text, index) => expect(text).toBe(`${name}:${index}`))
          if (name !== '') {
            // No call was given to two callers, or twice to one.
            expect(seen.has(name)).toBe(false)
            seen.add(name)
            expect(first).toMatchObject({ provider: name.split('-')[0] })
          }
          const last = own.at(-1)
          if (last?.type !== 'message_completed') return
          expect(nth).toBe(starts.length - 1)
          if (name !== '') expect(texts).toHaveLength(played.get(name)?.deltas.length ?? -1)
        })
        const last = events.at(-1)?.type
        const ends = events.filter(({ type }) => type === 'message_completed' || type === 'error')
        if (does === 'leaves') expect(ends.length).toBeLessThanOrEqual(1)
        else
          expect([ends.length, last === 'message_completed' || last === 'error']).toEqual([1, true])
      }
      // The stops of calls that had ended before are still asleep.
      await clock.runAll()
      for (const { inner, limited } of members) {
        expect(inner.fake.openStreams).toBe(0)
        // Every place can be taken again, at the same time.
        await clock.sleep(120_000)
        const before = inner.fake.calls.length
        const streams = Array.from({ length: concurrency }, () =>
          limited.stream(modelRequest('x'), { clock })[Symbol.asyncIterator](),
        )
        const reading = streams.map((stream) => stream.next().catch(() => undefined))
        for (let turn = 0; turn < 5; turn++) await nextTurn()
        expect(inner.fake.calls.length - before).toBe(concurrency)
        await Promise.all(streams.map(async (stream) => stream.return?.()))
        await Promise.all(reading)
        expect(inner.fake.openStreams).toBe(0)
      }
      expect(clock.pending).toBe(0)
    }),
    { numRuns: 60 },
  )
})
