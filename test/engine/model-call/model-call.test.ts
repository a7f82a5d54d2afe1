import { describe, expect, test } from 'vitest'
import {
  AdapterError,
  createEngine,
  generate,
  streamChat,
  streamGenerate,
  user,
  type ChatAdapter,
  type Clock,
  type RunStream,
} from '../../../src/index.ts'
import { collectEvents, fake, virtualClock } from '../../../src/testing.ts'

const messages = [user('go')]

const started = { type: 'message_started', requestId: 'r', provider: 'own' }

const half = { type: 'text_delta', delta: 'half' }

/** An engine whose adapter was written without types. */
const engine = (...batches: unknown[]) =>
  createEngine({
    adapter: {
      provider: 'own',
      stream: async function* () {
        yield* batches
      },
    } as unknown as ChatAdapter,
  })

describe('an adapter that yields values that are not events', () => {
  test.each([
    ['an unknown tag', { type: 'bogus' }],
    ['nothing', null],
    ['an error event without its error', { type: 'error' }],
    ['a last event without its message', { type: 'message_completed', finishReason: 'stop' }],
  ])(
    '%s in the middle ends the stream with an error event, and the content before it is kept',
    async (_what, wrong) => {
      const events = await collectEvents(
        streamGenerate(engine([started, half, wrong, half]), messages),
      )
      expect(events.slice(0, 2)).toEqual([started, half])
      expect(events.slice(2)).toMatchObject([
        { type: 'error', error: { kind: 'stream', reason: 'malformed_event', eventIndex: 2 } },
      ])
      await expect(generate(engine([started, half, wrong]), messages)).rejects.toMatchObject({
        reason: 'malformed_event',
        partial: { outputText: 'half' },
      })
    },
  )

  test.each([
    ['an unknown tag', [{ type: 'bogus' }]],
    ['a text', 'hello'],
  ])('%s at the start rejects', async (_what, batch) => {
    await expect(generate(engine(batch), messages)).rejects.toMatchObject({
      kind: 'stream',
      reason: 'malformed_event',
    })
  })

  test('a malformed error event rejects, and nothing hangs', async () => {
    const unreadable = [{ type: 'error', error: { reason: 'x' } }]
    await expect(generate(engine(unreadable), messages)).rejects.toMatchObject({
      kind: 'stream',
      reason: 'malformed_event',
    })
  })

  test('an event that is not wrapped in a batch is reported, at the start and later', async () => {
    for (const batches of [[started], [[started, half], half]]) {
      await expect(generate(engine(...batches), messages)).rejects.toMatchObject({
        reason: 'malformed_event',
        message: expect.stringContaining('[event]'),
      })
    }
  })
})

/** An adapter that never answers, and the abort reasons that it received. */
function silent(): { readonly adapter: ChatAdapter; readonly reasons: unknown[] } {
  const reasons: unknown[] = []
  const adapter: ChatAdapter = {
    provider: 'silent',
    // It never yields an event.
    // oxlint-disable-next-line require-yield
    async *stream(_request, options = {}) {
      const { signal } = options
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
      reasons.push(signal?.reason)
    },
  }
  return { adapter, reasons }
}

/** An adapter that is always rate limited, and how often it was called. */
function busy(): { readonly adapter: ChatAdapter; calls: number } {
  const probe: { readonly adapter: ChatAdapter; calls: number } = {
    adapter: {
      provider: 'busy',
      async *stream() {
        probe.calls++
        const error = { kind: 'adapter', reason: 'rate_limited', message: 'later' } as const
        yield [{ type: 'error', error: { ...error, provider: 'busy', retryable: true } }]
      },
    },
    calls: 0,
  }
  return probe
}

describe.each<[string, (adapter: ChatAdapter) => RunStream]>([
  [
    'streamGenerate',
    (adapter) =>
      streamGenerate(createEngine({ adapter, clock: virtualClock({ auto: false }) }), messages),
  ],
  [
    'streamChat',
    (adapter) =>
      streamChat(createEngine({ adapter, clock: virtualClock({ auto: false }) }), messages),
  ],
])('%s', (_name, open) => {
  test('return() while the first event is pending cancels the call and ends the pending read', async () => {
    const { adapter, reasons } = silent()
    const stream = open(adapter)
    const waiting = stream[Symbol.asyncIterator]().next()
    const refused = expect(waiting).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
    await stream.return()
    await refused
    expect(reasons).toMatchObject([{ reason: 'cancelled' }])
  })

  test('return() between two attempts ends the delay, and there is no further attempt', async () => {
    const probe = busy()
    const stream = open(probe.adapter)
    const waiting = stream[Symbol.asyncIterator]().next()
    const refused = expect(waiting).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
    while (probe.calls === 0) await Promise.resolve()
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    await stream.return()
    await refused
    expect(probe.calls).toBe(1)
  })
})

describe('attempts that failed before an answer', () => {
  const answer = [
    { type: 'message_started', requestId: 'r', provider: 'own', retries: [{ reason: 'made up' }] },
    {
      type: 'message_completed',
      message: { role: 'assistant', content: 'x' },
      finishReason: 'stop',
    },
  ]
  const flaky = (failures: readonly AdapterError[]) => {
    const left = [...failures]
    return createEngine({
      clock: virtualClock({ auto: true }),
      retry: { jitterMs: 0 },
      adapter: {
        provider: 'own',
        stream: async function* () {
          const failure = left.shift()
          if (failure !== undefined) throw failure
          yield answer
        },
      } as unknown as ChatAdapter,
    })
  }
  test('are told with the start of the answer', async () => {
    const limited = new AdapterError('rate_limited', 'slow', { status: 429, retryAfterMs: 1234 })
    const gone = new AdapterError('network_error', 'gone')
    const [first] = await collectEvents(streamGenerate(flaky([limited, gone]), messages))
    expect(first).toMatchObject({
      type: 'message_started',
      retries: [
        { reason: 'rate_limited', status: 429, tookMs: 0, waitedMs: 1234 },
        { reason: 'network_error', tookMs: 0, waitedMs: 1000 },
      ],
    })
  })
  test('are absent if there were none, whatever an adapter says', async () => {
    const [first] = await collectEvents(streamGenerate(flaky([]), messages))
    expect(first).toEqual({ type: 'message_started', requestId: 'r', provider: 'own' })
  })
})

test('a call sets one timer for the wait for its first content and for the silences after it', async () => {
  const set: number[] = []
  const clock: Clock = {
    now: () => 0,
    sleep: async () => undefined,
    timer: (ms) => {
      set.push(ms)
      return () => undefined
    },
  }
  const script = [
    ['text', 'a'],
    ['text', 'b'],
    ['finish', 'stop'],
  ] as const
  const own = createEngine({ adapter: fake({ script }), clock })
  await collectEvents(streamGenerate(own, 'hi'))
  expect(set).toEqual([60_000])
})
