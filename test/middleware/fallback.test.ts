import { describe, expect, test } from 'vitest'
import {
  AdapterError,
  applyEvent,
  chat,
  createCollector,
  createEngine,
  EngineError,
  errorFromJSON,
  errorToJSON,
  generate,
  modelRequest,
  onTelemetry,
  Session,
  StreamError,
  streamChat,
  streamGenerate,
  textDeltas,
  tool,
  toResponse,
  user,
  validateSession,
  type ChatAdapter,
  type Message,
} from '../../src/index.ts'
import { fallback } from '../../src/middleware.ts'
import { createRuns } from '../../src/runs.ts'
import { memoryStore } from '../../src/stores.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../src/testing.ts'
import { failing, renamed } from './renamed.ts'

const hello: Script = [
  ['text', 'Hello'],
  ['usage', { inputTokens: 3 }],
  ['finish', 'stop'],
]
const down: Script = [['preflight_error', 'provider_unavailable', { status: 503 }]]
const broken: Script = [
  ['text_delta', 'half of'],
  ['error_event', 'provider_unavailable', {}],
]

function engineOf(adapter: ChatAdapter, more = {}) {
  const clock = virtualClock()
  return createEngine({ adapter, clock, retry: false, ...more })
}

/** Two providers, each with its scripts. */
function two(a: readonly Script[], b: readonly Script[]) {
  return { a: renamed('alpha', { scripts: a }), b: renamed('beta', { scripts: b }) }
}

describe('the next adapter', () => {
  test('is asked when the first one fails before its first event, and says that it answered', async () => {
    const { a, b } = two([down], [hello])
    const response = await generate(engineOf(fallback([a, b])), 'hi')
    expect(response).toMatchObject({
      provider: 'beta',
      outputText: 'Hello',
      usage: { inputTokens: 3 },
    })
    expect(response.metadata['fallback']).toEqual({
      provider: 'beta',
      failed: [
        expect.objectContaining({ provider: 'alpha', reason: 'provider_unavailable', status: 503 }),
      ],
    })
  })

  test('is not asked when the first one answers', async () => {
    const { a, b } = two([hello], [hello])
    const response = await generate(engineOf(fallback([a, b])), 'hi')
    expect(response.provider).toBe('alpha')
    expect(response.metadata).toEqual({})
    expect(b.fake.calls).toHaveLength(0)
  })

  test.each([
    'rate_limited',
    'provider_unavailable',
    'timeout',
    'network_error',
    'authentication_failed',
    'malformed_response',
  ])('is asked after %s', async (reason) => {
    const { a, b } = two([[['preflight_error', reason, {}]]], [hello])
    expect((await generate(engineOf(fallback([a, b])), 'hi')).provider).toBe('beta')
  })

  test.each([
    'invalid_request',
    'content_filter',
    'context_length_exceeded',
    'unsupported_feature',
    'unknown',
  ])('is not asked after %s, which is about the request', async (reason) => {
    const { a, b } = two([[['preflight_error', reason, {}]]], [hello])
    const call = generate(engineOf(fallback([a, b])), 'hi')
    await expect(call).rejects.toMatchObject({ reason, provider: 'alpha', causes: [] })
    expect(b.fake.calls).toHaveLength(0)
  })

  test('is asked after an answer that ends before its first event', async () => {
    const silent: ChatAdapter = { provider: 'alpha', async *stream() {} }
    const { b } = two([], [hello])
    const { metadata } = await generate(engineOf(fallback([silent, b])), 'hi')
    expect(metadata).toMatchObject({
      fallback: { failed: [{ kind: 'stream', reason: 'truncated' }] },
    })
  })

  test.each<[string, Script]>([
    ['alone', [['error', 'rate_limited']]],
    ['after the start of the message', [['error_event', 'rate_limited', {}]]],
  ])('is asked after an error event in the place of an answer: %s', async (_how, script) => {
    const { a, b } = two([script], [hello])
    const events = await collectEvents(streamGenerate(engineOf(fallback([a, b])), 'hi'))
    expect(events.filter(({ type }) => type === 'message_started')).toEqual([
      expect.objectContaining({ provider: 'beta' }),
    ])
  })

  test('is asked after what `on` says: reasons, or a function', async () => {
    const { a, b } = two([[['preflight_error', 'content_filter', {}]], down, down], [hello, hello])
    const filtered = engineOf(fallback([a, b], { on: ['content_filter'] }))
    expect((await generate(filtered, 'hi')).provider).toBe('beta')
    await expect(generate(filtered, 'hi')).rejects.toMatchObject({ provider: 'alpha' })
    const seen: unknown[] = []
    const asked = fallback([a, b], {
      on: (error) => {
        seen.push(error.reason)
        return error.kind === 'adapter' && error.status === 503
      },
    })
    expect((await generate(engineOf(asked), 'hi')).provider).toBe('beta')
    expect(seen).toEqual(['provider_unavailable'])
  })

  test('is not asked when `on` throws', async () => {
    const { a, b } = two([down], [hello])
    const adapter = fallback([a, b], {
      on: () => {
        throw new Error('no idea')
      },
    })
    await expect(generate(engineOf(adapter), 'hi')).rejects.toThrow('on threw: no idea')
  })

  test('is asked when a key is missing, if told', async () => {
    const keyed = renamed('keyless-one', { scripts: [] }, { key: { required: true, own: false } })
    const { b } = two([], [hello])
    await expect(generate(engineOf(fallback([keyed, b])), 'hi')).rejects.toMatchObject({
      kind: 'engine',
      reason: 'missing_key',
      provider: 'keyless-one',
    })
    const adapter = fallback([keyed, b], { on: ['missing_key'] })
    expect((await generate(engineOf(adapter), 'hi')).provider).toBe('beta')
  })
})

describe('the last error', () => {
  test('has the others as causes, in their order', async () => {
    const { a, b } = two([[['preflight_error', 'rate_limited', { status: 429 }]]], [down])
    const c = renamed('gamma', { scripts: [[['preflight_error', 'timeout', {}]]] })
    const error: unknown = await generate(engineOf(fallback([a, b, c])), 'hi').catch(
      (e: unknown) => e,
    )
    expect(error).toBeInstanceOf(AdapterError)
    expect(error).toMatchObject({ provider: 'gamma', reason: 'timeout' })
    const { causes, message } = error as AdapterError
    expect(message).toMatch(/; before it alpha failed: \w+, beta failed: \w+$/)
    expect(causes.map(({ kind, reason }) => [kind, reason])).toEqual([
      ['adapter', 'rate_limited'],
      ['adapter', 'provider_unavailable'],
    ])
    const data = errorToJSON(error)
    expect(data.causes?.map(({ provider }) => provider)).toEqual(['alpha', 'beta'])
    expect(JSON.parse(JSON.stringify(data))).toEqual(data)
    expect(errorFromJSON(data).toJSON()).toEqual(data)
  })

  test('has them in one list, also those of a fallback inside', async () => {
    const [a, b, c] = ['alpha', 'beta', 'gamma'].map((name) =>
      renamed(name, { scripts: [down, down] }),
    )
    if (a === undefined || b === undefined || c === undefined) throw new Error('three')
    for (const adapter of [fallback([fallback([a, b]), c]), fallback([a, fallback([b, c])])]) {
      const error = errorToJSON(await generate(engineOf(adapter), 'hi').catch((e: unknown) => e))
      expect([...(error.causes ?? []), error].map(({ provider }) => provider)).toEqual([
        'alpha',
        'beta',
        'gamma',
      ])
      expect(error.causes?.some((cause) => 'causes' in cause)).toBe(false)
    }
  })

  test('has them also when it comes in the middle', async () => {
    const { a, b } = two([down], [broken])
    const events = await collectEvents(streamGenerate(engineOf(fallback([a, b])), 'hi'))
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { provider: 'beta', causes: [{ provider: 'alpha' }] },
    })
  })

  test('a call that is stopped in the middle keeps the failures before', async () => {
    const stop = new AbortController()
    const clock = virtualClock({ auto: false })
    const a = renamed('alpha', { scripts: [down] })
    const b = renamed('beta', {
      script: () => [
        ['delay', 1000],
        ['text', 'late'],
      ],
    })
    const engine = createEngine({ adapter: fallback([a, b]), clock, retry: false })
    const call = generate(engine, 'hi', { signal: stop.signal }).catch((error: unknown) => error)
    await clock.advance(500)
    stop.abort()
    expect(await call).toMatchObject({ reason: 'cancelled', causes: [{ provider: 'alpha' }] })
  })

  test('does not keep the causes of an earlier call, though the adapter throws the same error again', async () => {
    const same = new AdapterError('provider_unavailable', 'down', { provider: 'beta' })
    const always: ChatAdapter = { provider: 'beta', stream: () => failing(same) }
    const { a } = two([down, down], [])
    const engine = engineOf(fallback([a, always]))
    for (const _ of [1, 2]) {
      const error = await generate(engine, 'hi').catch((e: unknown) => e)
      expect(error).toMatchObject({ causes: [{ provider: 'alpha' }] })
      expect((error as AdapterError).causes).toHaveLength(1)
    }
    expect(same.causes).toEqual([])
  })

  test('can be saved with a session', async () => {
    const { a, b } = two([down], [broken])
    const { session } = await Session.start(engineOf(fallback([a, b])), 'hi')
    expect(session.error?.causes).toMatchObject([{ provider: 'alpha' }])
    expect(validateSession(session)).toEqual([])
    expect(Session.parse(Session.stringify(session))).toEqual(session)
  })
})

describe('the engine', () => {
  test('retries the whole fallback by its policy, and waits as the last error asks', async () => {
    const limited = (ms: number): Script => [
      ['preflight_error', 'rate_limited', { status: 429, retryAfterMs: ms }],
    ]
    const { a, b } = two([limited(100), down], [limited(7000), hello])
    const clock = virtualClock()
    const engine = createEngine({ adapter: fallback([a, b]), clock })
    expect((await generate(engine, 'hi')).provider).toBe('beta')
    expect([a.fake.calls.length, b.fake.calls.length]).toEqual([2, 2])
    expect(clock.now()).toBeGreaterThanOrEqual(7000)
    expect(clock.now()).toBeLessThan(7251)
  })

  test('keeps the causes when it does not wait as long as the last error asks', async () => {
    const far: Script = [
      ['preflight_error', 'rate_limited', { status: 429, retryAfterMs: 3_600_000 }],
    ]
    const { a, b } = two([down], [far])
    const engine = createEngine({ adapter: fallback([a, b]), clock: virtualClock() })
    const error = await generate(engine, 'hi').catch((e: unknown) => e)
    expect(error).toMatchObject({ reason: 'rate_limited', causes: [{ provider: 'alpha' }] })
  })

  test('with retryEach, each adapter is retried before the next one is asked', async () => {
    const { a, b } = two([down, down, hello], [down, hello])
    const clock = virtualClock()
    const policy = { maxAttempts: 2, baseDelayMs: 1000, jitterMs: 0 }
    const adapter = fallback([a, b], { retryEach: policy })
    const engine = createEngine({ adapter, clock, retry: false })
    const told: unknown[] = []
    const stop = onTelemetry((event) => {
      if (event.name === 'retry') told.push([event.provider, event.attempt, event.delayMs])
    })
    const response = await generate(engine, 'hi')
    stop()
    expect(told).toEqual([
      ['alpha', 1, 1000],
      ['beta', 1, 1000],
    ])
    expect(response.provider).toBe('beta')
    expect([a.fake.calls.length, b.fake.calls.length]).toEqual([2, 2])
    expect(clock.now()).toBe(2000)
    expect(response.metadata).toMatchObject({ fallback: { failed: [{ provider: 'alpha' }] } })
  })

  test('a wait of retryEach ends with the signal', async () => {
    const { a, b } = two([down, down], [hello])
    const controller = new AbortController()
    const clock = virtualClock({ auto: false })
    const adapter = fallback([a, b], { retryEach: { baseDelayMs: 10_000, maxDelayMs: 10_000 } })
    const call = generate(createEngine({ adapter, clock, retry: false }), 'hi', {
      signal: controller.signal,
    })
    const rejected = expect(call).rejects.toMatchObject({ reason: 'cancelled' })
    await clock.advance(5000)
    controller.abort()
    await rejected
    expect(b.fake.calls).toHaveLength(0)
    expect(clock.pending).toBe(0)
  })
})

describe('a call that is stopped', () => {
  const slow: Script = [['delay', 10_000], ...hello]

  test.each([false, true])('is not handed on (after the first event: %s)', async (begun) => {
    const script: Script = begun ? [['text', 'a'], ...slow] : slow
    const { a, b } = two([script], [hello])
    const controller = new AbortController()
    const clock = virtualClock({ auto: false })
    const adapter = fallback([a, b], { afterFirstEvent: true, on: () => true })
    const engine = createEngine({ adapter, clock })
    const events = collectEvents(streamGenerate(engine, 'hi', { signal: controller.signal }))
    const settled = events.then(
      (all) => all.at(-1),
      (error: unknown) => ({ type: 'error', error: errorToJSON(error) }),
    )
    await clock.advance(100)
    controller.abort()
    expect(await settled).toMatchObject({ type: 'error', error: { reason: 'cancelled' } })
    expect(b.fake.calls).toHaveLength(0)
    expect(a.fake.openStreams).toBe(0)
    expect(clock.pending).toBe(0)
  })

  test('is not handed on when the adapter says that it was cancelled, whatever `on` says', async () => {
    const stopped = new StreamError('cancelled', 'somebody stopped it', { provider: 'alpha' })
    const quits: ChatAdapter = { provider: 'alpha', stream: () => failing(stopped) }
    const { b } = two([], [hello])
    const adapter = fallback([quits, b], { on: () => true })
    await expect(generate(engineOf(adapter), 'hi')).rejects.toMatchObject({ reason: 'cancelled' })
    expect(b.fake.calls).toHaveLength(0)
  })

  test('is not handed on when it is left', async () => {
    const { a, b } = two([slow], [hello])
    const clock = virtualClock({ auto: false })
    const stream = fallback([a, b]).stream(modelRequest('hi'), { clock })[Symbol.asyncIterator]()
    const reading = stream.next()
    await clock.advance(100)
    await stream.return?.()
    expect(await reading).toEqual({ done: true, value: undefined })
    expect(b.fake.calls).toHaveLength(0)
  })
})

describe('time limits', () => {
  const silent: Script = [['delay', 100_000], ...hello]

  test('requestTimeoutMs counts for each adapter', async () => {
    const { a, b } = two([silent], [[['delay', 900], ...hello]])
    const clock = virtualClock()
    const engine = createEngine({ adapter: fallback([a, b]), clock, retry: false })
    const response = await generate(engine, 'hi', { requestTimeoutMs: 1000 })
    expect(response.provider).toBe('beta')
    expect(response.metadata).toMatchObject({
      fallback: { failed: [{ provider: 'alpha', reason: 'timeout' }] },
    })
    expect(clock.now()).toBe(1900)
    expect(a.fake.openStreams).toBe(0)
  })

  test('are kept when an adapter ignores its signal', async () => {
    const deaf: ChatAdapter = {
      provider: 'alpha',
      stream: () => ({
        [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
      }),
    }
    const { b } = two([], [hello])
    const response = await generate(engineOf(fallback([deaf, b])), 'hi', { requestTimeoutMs: 1000 })
    expect(response.provider).toBe('beta')
  })

  test('streamTimeoutMs ends an answer that falls silent, or hands it on', async () => {
    const halting: Script = [['text', 'half of'], ['delay', 100_000], ...hello]
    const { a, b } = two([halting, halting], [hello])
    const ended = await collectEvents(
      streamGenerate(engineOf(fallback([a, b])), 'hi', { streamTimeoutMs: 1000 }),
    )
    expect(ended.at(-1)).toMatchObject({
      type: 'error',
      error: { reason: 'timeout', provider: 'alpha' },
    })
    const adapter = fallback([a, b], { afterFirstEvent: true })
    const response = await generate(engineOf(adapter), 'hi', { streamTimeoutMs: 1000 })
    expect(response).toMatchObject({ provider: 'beta', outputText: 'Hello' })
  })

  test('what makes no event ends a silence', async () => {
    const pinging: Script = [
      ['text', 'a'],
      ['delay', 900],
      ['raw_chunk', {}],
      ['delay', 900],
      ['text', 'b'],
    ]
    const { a, b } = two([pinging], [hello])
    const adapter = fallback([a, b], { afterFirstEvent: true })
    const response = await generate(engineOf(adapter), 'hi', { streamTimeoutMs: 1000 })
    expect(response).toMatchObject({ provider: 'alpha', outputText: 'ab' })
  })
})

describe('afterFirstEvent', () => {
  test('without it, an answer that breaks off is the end', async () => {
    const { a, b } = two([broken], [hello])
    const events = await collectEvents(streamGenerate(engineOf(fallback([a, b])), 'hi'))
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { provider: 'alpha' } })
    expect(b.fake.calls).toHaveLength(0)
  })

  test('with it, a second message_started begins the answer anew', async () => {
    const { a, b } = two([broken], [hello])
    const engine = engineOf(fallback([a, b], { afterFirstEvent: true }))
    const events = await collectEvents(streamGenerate(engine, 'hi', { requestId: 'r1' }))
    expect(events.map(({ type }) => type)).toEqual([
      'message_started',
      'text_delta',
      'message_started',
      'text_delta',
      'text_completed',
      'message_completed',
    ])
    expect(events[0]).toMatchObject({ provider: 'alpha', requestId: 'r1' })
    expect(events[2]).toMatchObject({ provider: 'beta', requestId: 'r1' })
    const response = toResponse(events.reduce(applyEvent, createCollector()))
    expect(response).toMatchObject({ provider: 'beta', outputText: 'Hello' })
    expect(response.metadata).toMatchObject({
      fallback: { provider: 'beta', failed: [{ provider: 'alpha' }] },
    })
  })

  test('the calls of both answers may have the same id', async () => {
    const half: Script = [
      ['tool_call_delta', { id: 'c1', name: 'add', argumentsDelta: '{"a"' }],
      ['error', 'provider_unavailable'],
    ]
    const calls: Script = [['tool_call', { id: 'c1', name: 'add', arguments: { a: 1 } }]]
    const { a, b } = two([half], [calls, hello])
    const add = tool({ name: 'add', description: 'Adds.', schema: {}, handler: () => 2 })
    const engine = engineOf(fallback([a, b], { afterFirstEvent: true, on: () => true }), {
      tools: [add],
    })
    const result = await chat(engine, 'hi')
    expect(result.steps[0]?.response.toolCalls).toEqual([
      { id: 'c1', name: 'add', arguments: { a: 1 } },
    ])
    expect(result.outputText).toBe('Hello')
    expect(result.steps.map(({ response }) => response.provider)).toEqual(['beta', 'beta'])
  })

  test('fails with the last error as its last event when nobody is left', async () => {
    const { a, b } = two([broken], [down])
    const engine = engineOf(fallback([a, b], { afterFirstEvent: true }))
    const events = await collectEvents(streamGenerate(engine, 'hi'))
    expect(events.map(({ type }) => type)).toEqual(['message_started', 'text_delta', 'error'])
    expect(events.at(-1)).toMatchObject({
      error: { provider: 'beta', causes: [{ provider: 'alpha' }] },
    })
  })

  test('deltas that were read are read: a consumer of deltas sees both', async () => {
    const { a, b } = two([broken], [hello])
    const engine = engineOf(fallback([a, b], { afterFirstEvent: true }))
    const deltas: string[] = []
    for await (const delta of textDeltas(streamGenerate(engine, 'hi'))) deltas.push(delta)
    expect(deltas).toEqual(['half of', 'Hello'])
  })
})

describe('models', () => {
  test('an entry asks for its model, whatever the request names', async () => {
    const { a, b } = two([down], [hello])
    const adapter = fallback([
      { adapter: a, model: 'big-a' },
      { adapter: b, model: 'big-b' },
    ])
    expect(adapter.model).toBe('big-a')
    const response = await generate(engineOf(adapter), 'hi', { model: 'big' })
    expect(a.fake.calls[0]?.request.model).toBe('big-a')
    expect(b.fake.calls[0]?.request.model).toBe('big-b')
    expect(response.model).toBe('big-b')
  })

  test('an adapter alone has the model of the request if it is the first, else its own', async () => {
    const a = renamed('alpha', { scripts: [down, down] }, { model: 'own-a' })
    const b = renamed('beta', { scripts: [down, down] }, { model: 'own-b' })
    const c = renamed('gamma', { scripts: [hello, hello] })
    const engine = engineOf(fallback([a, b, c]))
    await generate(engine, 'hi')
    await generate(engine, 'hi', { model: 'asked' })
    expect([a, b, c].map((one) => one.fake.calls.map(({ request }) => request.model))).toEqual([
      ['own-a', 'asked'],
      ['own-b', 'own-b'],
      ['own-a', 'asked'],
    ])
  })

  test('a model is needed if an adapter needs one and has none', async () => {
    const needs = renamed('alpha', { scripts: [] }, { needsModel: true })
    const has = renamed('beta', { scripts: [] }, { needsModel: true, model: 'm' })
    expect(fallback([needs]).needsModel).toBe(true)
    expect(fallback([has, { adapter: needs, model: 'm' }]).needsModel).toBe(false)
    await expect(generate(engineOf(fallback([needs])), 'hi')).rejects.toBeInstanceOf(EngineError)
  })
})

describe('keys and headers', () => {
  const key = { required: true, own: false }

  test('each adapter finds its own key, and never gets that of another', async () => {
    const a = renamed('alpha', { scripts: [down, down] }, { key })
    const b = renamed('beta', { scripts: [hello, hello] }, { key })
    const asked: string[] = []
    const keys = (provider: string) => {
      asked.push(provider)
      return Promise.resolve(`key-of-${provider}`)
    }
    const engine = engineOf(fallback([a, b]), { keys })
    await generate(engine, 'hi', { headers: { authorization: 'Bearer for-alpha' } })
    expect(a.seen).toEqual([
      { apiKey: 'key-of-alpha', headers: { authorization: 'Bearer for-alpha' } },
    ])
    expect(b.seen).toEqual([{ apiKey: 'key-of-beta', headers: undefined }])
    expect(asked).toEqual(['alpha', 'beta'])
    await generate(engine, 'hi', { apiKey: 'key-of-the-call' })
    expect(a.seen[1]).toEqual({ apiKey: 'key-of-the-call', headers: undefined })
    expect(b.seen[1]).toEqual({ apiKey: 'key-of-beta', headers: undefined })
  })

  test('adapters of one provider share them', async () => {
    const a = renamed('alpha', { scripts: [down] }, { key })
    const b = renamed('alpha', { scripts: [hello] }, { key })
    await generate(engineOf(fallback([a, b])), 'hi', { apiKey: 'k', headers: { x: 'y' } })
    expect([...a.seen, ...b.seen]).toEqual([
      { apiKey: 'k', headers: { x: 'y' } },
      { apiKey: 'k', headers: { x: 'y' } },
    ])
  })

  test('an adapter at another address does not get those of the call, whatever its name', async () => {
    const at = (server: string, script: Script) =>
      renamed('alpha', { scripts: [script] }, { key, server })
    const a = at('https://a.example', down)
    const b = at('https://b.example', down)
    const c = at('https://a.example', hello)
    const options = { apiKey: 'k', headers: { x: 'y' } }
    await generate(engineOf(fallback([a, b, c]), { keys: { alpha: 'found' } }), 'hi', options)
    expect([a.seen, b.seen, c.seen]).toEqual([
      [options],
      [{ apiKey: 'found', headers: undefined }],
      [options],
    ])
    const d = at('https://b.example', hello)
    const nested = fallback([at('https://a.example', down), fallback([d])])
    await generate(engineOf(nested, { keys: { alpha: 'found' } }), 'hi', options)
    expect(d.seen).toEqual([{ apiKey: 'found', headers: undefined }])
  })

  test('a fallback inside finds them too', async () => {
    const a = renamed('alpha', { scripts: [down] }, { key })
    const b = renamed('beta', { scripts: [down] }, { key })
    const c = renamed('gamma', { scripts: [hello] }, { key })
    const adapter = fallback([a, fallback([b, c])])
    await generate(
      engineOf(adapter, { keys: { alpha: 'a-key', beta: 'b-key', gamma: 'c-key' } }),
      'hi',
    )
    expect([a, b, c].map(({ seen }) => seen[0]?.apiKey)).toEqual(['a-key', 'b-key', 'c-key'])
  })

  test('a key that cannot be found in time does not hold the call', async () => {
    const a = renamed('alpha', { scripts: [] }, { key })
    const b = renamed('beta', { scripts: [hello] })
    const engine = engineOf(fallback([a, b]), { keys: () => new Promise(() => undefined) })
    expect((await generate(engine, 'hi', { requestTimeoutMs: 1000 })).provider).toBe('beta')
  })
})

describe('the history', () => {
  const thought = (provider: string): Message => ({
    role: 'assistant',
    content: [
      { type: 'reasoning', text: `by ${provider}`, opaque: 'sig', provider },
      { type: 'provider_item', provider, item: { search: provider } },
      { type: 'text', text: `of ${provider}` },
    ],
    toolCalls: [{ id: `call-${provider}`, name: 'add', arguments: {}, opaque: provider }],
  })
  const result = (provider: string): Message => ({
    role: 'tool',
    content: '2',
    toolCallId: `call-${provider}`,
  })
  const messages: readonly Message[] = [
    user('hi'),
    thought('alpha'),
    result('alpha'),
    thought('beta'),
    result('beta'),
    { role: 'assistant', content: [{ type: 'reasoning', text: 'only', provider: 'alpha' }] },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'of nobody' },
        { type: 'text', text: 'x' },
      ],
    },
    user('and now?'),
  ]

  test('reasoning, items and data of calls of one provider do not go to another', async () => {
    const { a, b } = two([down], [hello])
    await generate(engineOf(fallback([a, b])), messages)
    for (const { fake: inner, provider } of [a, b]) {
      const sent = inner.calls[0]?.request.messages ?? []
      const other = provider === 'alpha' ? 'beta' : 'alpha'
      const text = JSON.stringify(sent)
      expect(text).toContain(`by ${provider}`)
      expect(text).toContain(`"search":"${provider}"`)
      expect(text).toContain(`"opaque":"${provider}"`)
      expect(text).not.toContain(`by ${other}`)
      expect(text).not.toContain(`"search":"${other}"`)
      expect(text).not.toContain(`"opaque":"${other}"`)
      expect(text).not.toContain('of nobody')
      expect(text).toContain(`of ${other}`)
      expect(text).toContain(`call-${other}`)
      expect(sent).toHaveLength(provider === 'alpha' ? 8 : 7)
    }
  })

  test('adapters of one provider get all of it, unchanged', async () => {
    const a = renamed('alpha', { scripts: [down] })
    const b = renamed('alpha', { scripts: [hello] })
    await generate(engineOf(fallback([a, b])), messages)
    expect(b.fake.calls[0]?.request.messages).toEqual(messages)
  })
})

describe('providerOptions', () => {
  test('may name every provider behind the fallback, and no other', async () => {
    const { a, b } = two([down, down], [hello, hello])
    const engine = engineOf(fallback([a, b]))
    await generate(engine, 'hi', {
      providerOptions: { alpha: { x: 1 }, beta: { y: 2 }, openai: {} },
    })
    expect(b.fake.calls[0]?.request.providerOptions).toMatchObject({ beta: { y: 2 } })
    await expect(generate(engine, 'hi', { providerOptions: { gamma: {} } })).rejects.toThrow(
      'providerOptions.gamma is not a provider',
    )
  })
})

describe('who answered', () => {
  test('is in telemetry: each switch, and the end of the call', async () => {
    const { a, b } = two([down, hello], [hello])
    const told: unknown[] = []
    const ends: unknown[] = []
    const stop = onTelemetry((event) => {
      if (event.name === 'fallback') told.push(event)
      else if ('phase' in event && event.phase === 'stop') ends.push([event.name, event.provider])
    })
    const engine = engineOf(fallback([a, { adapter: b, model: 'm-b' }]))
    await generate(engine, 'hi', { requestId: 'r1' })
    await chat(engine, 'hi')
    stop()
    expect(ends).toEqual([
      ['stream', 'beta'],
      ['generate', 'beta'],
      ['stream', 'alpha'],
      ['step', 'alpha'],
      ['chat', 'alpha'],
    ])
    expect(told).toEqual([
      expect.objectContaining({
        name: 'fallback',
        requestId: 'r1',
        from: 'alpha',
        to: 'beta',
        provider: 'beta',
        model: 'm-b',
        error: expect.objectContaining({
          provider: 'alpha',
          reason: 'provider_unavailable',
        }) as unknown,
      }),
    ])
  })

  test('is in errors that the engine makes after the first event', async () => {
    const { a, b } = two(
      [down],
      [
        [
          ['text', 'a'],
          ['delay', 1000],
          ['text', 'b'],
        ],
      ],
    )
    const controller = new AbortController()
    const engine = engineOf(fallback([a, b]))
    const events = []
    for await (const event of streamGenerate(engine, 'hi', { signal: controller.signal })) {
      events.push(event)
      if (event.type === 'text_delta') controller.abort()
    }
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { reason: 'cancelled', provider: 'beta' },
    })
  })

  test('is in every step of a chat, with its usage', async () => {
    const add = tool({ name: 'add', description: 'Adds.', schema: {}, handler: () => 2 })
    const calls: Script = [
      ['tool_call', { id: 'c1', name: 'add', arguments: {} }],
      ['usage', { inputTokens: 5 }],
    ]
    const { a, b } = two([calls, down], [hello])
    const { steps } = await chat(engineOf(fallback([a, b]), { tools: [add] }), 'hi')
    expect(steps.map(({ response: { provider, usage } }) => [provider, usage.inputTokens])).toEqual(
      [
        ['alpha', 5],
        ['beta', 3],
      ],
    )
  })
})

describe('sessions and runs', () => {
  test('a session goes on with whoever answers', async () => {
    const { a, b } = two([down, hello], [hello])
    const engine = engineOf(fallback([a, b]))
    const { session } = await Session.start(engine, 'hi')
    const { result } = await Session.reply(engine, session, 'and now?')
    expect(result.finalResponse?.provider).toBe('alpha')
  })

  test('a session that sees a switch after the first event holds the second answer alone', async () => {
    const { a, b } = two([broken], [hello])
    const engine = engineOf(fallback([a, b], { afterFirstEvent: true }))
    const stream = Session.streamStart(engine, 'hi')
    for await (const event of stream) {
      if (event.type === 'message_started')
        expect(stream.session.thread.messages.length).toBeLessThanOrEqual(2)
    }
    expect(stream.session.thread.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'hi'],
      ['assistant', 'Hello'],
    ])
  })

  test('a run does too, and its log folds to it', async () => {
    const { a, b } = two([broken], [hello])
    const engine = engineOf(fallback([a, b], { afterFirstEvent: true }))
    await using runs = createRuns({ engine, store: memoryStore(), clock: virtualClock() })
    await runs.send('s1', 'hi')
    const { session } = await runs.wait('s1')
    expect(session.thread.messages.at(-1)?.content).toBe('Hello')
  })

  test('a chat that streams says so as well', async () => {
    const { a, b } = two([down], [hello])
    const events = await collectEvents(streamChat(engineOf(fallback([a, b])), 'hi'))
    expect(events.find(({ type }) => type === 'step_completed')).toMatchObject({
      response: { provider: 'beta' },
    })
  })
})

describe('options', () => {
  test.each([
    [() => fallback([]), 'adapters must be a list of at least one adapter, not an empty list'],
    // @ts-expect-error it must be a list
    [() => fallback(fake()), 'adapters must be a list'],
    // @ts-expect-error an adapter is missing
    [() => fallback([{ model: 'm' }]), 'adapters[0].adapter must be a chat adapter, with stream'],
    [
      // @ts-expect-error there is no such key
      () => fallback([{ adapter: fake(), models: 'm' }]),
      'adapters[0] unknown key models; did you mean model?',
    ],
    // @ts-expect-error there is no such option
    [() => fallback([fake()], { retry: false }), 'unknown key retry'],
    // @ts-expect-error a cancelled call is never handed on
    [() => fallback([fake()], { on: ['cancelled'] }), 'on[0] must be one of'],
    // @ts-expect-error there is no such policy
    [() => fallback([fake()], { retryEach: { attempts: 2 } }), 'retryEach unknown key attempts'],
  ])('are checked by name (%#)', (make, message) => {
    expect(make).toThrow(message)
  })
})
