import { describe, expect, test } from 'vitest'
import {
  assistant,
  chat,
  createEngine,
  errorToJSON,
  generate,
  modelRequest,
  onTelemetry,
  streamGenerate,
  tool,
  toolResult,
  user,
  type JsonObject,
  type ModelRequest,
  type StreamEvent,
} from '../../src/index.ts'
import { cache, memoryCache, type CacheStore } from '../../src/middleware.ts'
import { openaiChat, openaiResponses } from '../../src/openai.ts'
import type { Fetch } from '../../src/providers/http/call.ts'
import { renderWire, wireResponse } from '../../src/server.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../src/testing.ts'
import { nextTurn } from '../../src/testing/fakes/virtual-clock.ts'

const hello: Script = [
  ['text', 'Hel'],
  ['text', 'lo'],
  ['usage', { inputTokens: 3, outputTokens: 2 }],
  ['finish', 'stop'],
]

const bye: Script = [
  ['text', 'Bye'],
  ['finish', 'stop'],
]

/** An engine with a cache around a fake that plays these scripts. */
function cached(scripts: readonly Script[], options: Partial<Parameters<typeof cache>[1]> = {}) {
  const clock = virtualClock({ auto: false })
  const inner = fake({ scripts })
  const store = options.store ?? new Map<string, string>()
  const adapter = cache(inner, { store, ...options })
  const engine = createEngine({ adapter, clock, retry: false })
  return { clock, inner, store, adapter, engine }
}

/** Events without what a new run changes. */
function comparable(events: readonly StreamEvent[]): readonly unknown[] {
  return events.map((event) =>
    event.type === 'message_started' ? { ...event, requestId: '' } : event,
  )
}

describe('a hit', () => {
  test('replays the same events in the same batches, with the id of the new run', async () => {
    const { engine, inner } = cached([hello, bye])
    const first = await collectEvents(streamGenerate(engine, 'hi', { requestId: 'one' }))
    const second = await collectEvents(streamGenerate(engine, 'hi', { requestId: 'two' }))
    expect(comparable(second)).toEqual(comparable(first))
    expect(second[0]).toMatchObject({ type: 'message_started', requestId: 'two', provider: 'fake' })
    expect(inner.calls).toHaveLength(1)
  })

  test('gives the calls of tools ids that the thread does not have', async () => {
    const add = tool({ name: 'add', description: 'Adds.', schema: {}, handler: () => 3 })
    const calls: Script = [['tool_call', { id: 'c1', name: 'add', arguments: {} }]]
    const { engine } = cached([calls, bye], { key: ({ messages }) => messages.at(-1)?.role })
    const first = await chat(engine, 'add', { tools: [add], maxTurns: 2 })
    expect(first.thread.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
    ])
    const { messages } = first.thread
    const again = await generate(engine, [...messages, user('and again')])
    expect(again.toolCalls).toEqual([{ id: 'c1_2', name: 'add', arguments: {} }])
  })

  test('is not a call of the adapter, also when the adapter would fail now', async () => {
    const { engine, inner } = cached([hello])
    await generate(engine, 'hi')
    expect((await generate(engine, 'hi')).outputText).toBe('Hello')
    await expect(generate(engine, 'other')).rejects.toMatchObject({
      reason: 'no_scripted_response',
    })
    expect(inner.calls).toHaveLength(2)
  })

  test('does not answer a call that is aborted', async () => {
    const { engine } = cached([hello])
    await generate(engine, 'hi')
    await expect(generate(engine, 'hi', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      reason: 'cancelled',
    })
  })
})

describe('the key', () => {
  const base = modelRequest('hi', { model: 'm' })

  test.each([
    ['a message', { ...base, messages: [user('hello')] }],
    ['the model', { ...base, model: 'n' }],
    ['the temperature', { ...base, temperature: 0.5 }],
    ['a tool', { ...base, tools: [{ name: 'add', description: 'Adds.', schema: {} }] }],
    ['the format', { ...base, responseFormat: { type: 'json_object' as const } }],
    ['the options of a provider', { ...base, providerOptions: { openai: { user: 'me' } } }],
    ['the prompt cache', { ...base, promptCache: true as const }],
    ['the seed', { ...base, seed: 1 }],
  ])('covers %s', async (_what, request) => {
    const { adapter } = cached([hello, bye])
    expect((await adapter.generate?.(base))?.outputText).toBe('Hello')
    expect((await adapter.generate?.(request))?.outputText).toBe('Bye')
  })

  test.each([
    ['headers', { headers: { 'anthropic-beta': 'x' } }],
    ['raw chunks', { includeRawChunks: true }],
  ])('covers the %s of the call', async (_what, options) => {
    const { adapter } = cached([hello, bye])
    await adapter.generate?.(base)
    expect((await adapter.generate?.(base, options))?.outputText).toBe('Bye')
  })

  test.each([
    ['metadata', { ...base, metadata: { tenant: 7 } }, {}],
    ['the API key', base, { apiKey: 'sk-another-key-123' }],
    ['the id of the run', base, { requestId: 'another' }],
    ['the id of the session', base, { sessionId: 'another' }],
    ['the time of a message', { ...base, messages: [{ ...user('hi'), metadata: { at: 12 } }] }, {}],
    ['empty metadata of a message', { ...base, messages: [{ ...user('hi'), metadata: {} }] }, {}],
    ['metadata of a message', { ...base, messages: [{ ...user('hi'), metadata: { by: 7 } }] }, {}],
  ])('does not cover %s', async (_what, request, options) => {
    const { adapter } = cached([hello, bye])
    await adapter.generate?.(base)
    expect((await adapter.generate?.(request, options))?.outputText).toBe('Hello')
  })

  test('covers that a result is an error, which providers are told', async () => {
    const { adapter } = cached([hello, bye])
    const asked = assistant('', { toolCalls: [{ id: 'c', name: 'add', arguments: {} }] })
    const answered = (metadata: JsonObject): ModelRequest => ({
      ...base,
      messages: [user('hi'), asked, { ...toolResult('c', 'no'), metadata }],
    })
    expect((await adapter.generate?.(answered({})))?.outputText).toBe('Hello')
    expect((await adapter.generate?.(answered({ isError: true })))?.outputText).toBe('Bye')
    expect((await adapter.generate?.(answered({ isError: true, n: 1 })))?.outputText).toBe('Bye')
  })

  test('shows neither messages nor keys nor headers', async () => {
    const store = new Map<string, string>()
    const { adapter } = cached([hello], { store })
    await adapter.generate?.(base, {
      apiKey: 'sk-secret-key-1234',
      headers: { token: 'hidden-value' },
    })
    const all = JSON.stringify([...store])
    expect(store.size).toBe(1)
    expect(all).not.toMatch(/sk-secret|hidden-value/)
    expect([...store.keys()][0]).toMatch(/^allm:[0-9a-f]{64}$/)
  })

  test('of the caller replaces it; undefined means that the call is not cached', async () => {
    const store = new Map<string, string>()
    const { engine, inner } = cached([hello, bye, bye], {
      store,
      key: ({ metadata }) => (metadata['cache'] === false ? undefined : 'always'),
    })
    await generate(engine, 'one')
    expect((await generate(engine, 'two')).outputText).toBe('Hello')
    expect((await generate(engine, 'one', { metadata: { cache: false } })).outputText).toBe('Bye')
    expect([...store.keys()]).toEqual(['always'])
    expect(inner.calls).toHaveLength(2)
  })

  test('of the caller that throws, or returns something else, fails the call', async () => {
    const throwing = cached([hello], {
      key: () => {
        throw new Error('no tenant')
      },
    })
    await expect(generate(throwing.engine, 'hi')).rejects.toThrow('key threw: no tenant')
    // @ts-expect-error a key is a text
    const wrong = cached([hello], { key: () => 7 })
    await expect(generate(wrong.engine, 'hi')).rejects.toThrow(
      'key must return a non-empty string or undefined, not 7',
    )
    expect(throwing.inner.calls).toHaveLength(0)
  })
})

describe('nothing is kept of', () => {
  test.each<[string, Script]>([
    ['a refusal', [['preflight_error', 'provider_unavailable', { status: 503 }]]],
    [
      'an answer that fails in its middle',
      [
        ['text_delta', 'a'],
        ['error_event', 'provider_unavailable', {}],
      ],
    ],
    [
      'an answer that breaks off',
      [
        ['text_delta', 'a'],
        ['stream_error', 'truncated', {}],
      ],
    ],
    [
      'an answer that is cut by length',
      [
        ['text', 'a'],
        ['finish', 'length'],
      ],
    ],
    [
      'an answer that is cut by a filter',
      [
        ['text', 'a'],
        ['finish', 'content_filter'],
      ],
    ],
    [
      'an answer that ended for another reason',
      [
        ['text', 'a'],
        ['finish', 'other'],
      ],
    ],
  ])('%s', async (_what, script) => {
    const store = new Map<string, string>()
    const { engine } = cached([script, bye], { store })
    await generate(engine, 'hi').catch(() => undefined)
    expect(store.size).toBe(0)
    expect((await generate(engine, 'hi')).outputText).toBe('Bye')
  })

  test('an answer that is left or stopped', async () => {
    const slow: Script = [
      ['text', 'a'],
      ['delay', 1000],
      ['text', 'b'],
      ['finish', 'stop'],
    ]
    const store = new Map<string, string>()
    const { engine } = cached([slow, slow, bye], { store })
    for await (const event of streamGenerate(engine, 'hi')) if (event.type === 'text_delta') break
    const controller = new AbortController()
    const stopped = streamGenerate(engine, 'hi', { signal: controller.signal })
    for await (const event of stopped) if (event.type === 'text_delta') controller.abort()
    expect(store.size).toBe(0)
    expect((await generate(engine, 'hi')).outputText).toBe('Bye')
  })

  test('a whole answer is kept, also when its consumer leaves with the last event', async () => {
    const store = new Map<string, string>()
    const { adapter } = cached([hello], { store })
    for await (const batch of adapter.stream(modelRequest('hi'))) {
      if (batch.at(-1)?.type === 'message_completed') break
    }
    expect(store.size).toBe(1)
  })
})

test('an answer is used for ttlMs by the clock of the call', async () => {
  const { engine, clock, inner } = cached([hello, bye], { ttlMs: 1000 })
  await generate(engine, 'hi')
  await clock.advance(999)
  expect((await generate(engine, 'hi')).outputText).toBe('Hello')
  await clock.advance(1)
  expect((await generate(engine, 'hi')).outputText).toBe('Bye')
  expect((await generate(engine, 'hi')).outputText).toBe('Bye')
  expect(inner.calls).toHaveLength(2)
})

describe('a store', () => {
  test('that fails does not fail a call, and nothing is kept', async () => {
    const broken: CacheStore = {
      get: () => {
        throw new Error('no connection')
      },
      set: () => Promise.reject(new Error('no connection')),
    }
    const { engine } = cached([hello, bye], { store: broken })
    expect((await generate(engine, 'hi')).outputText).toBe('Hello')
    expect((await generate(engine, 'hi')).outputText).toBe('Bye')
  })

  test.each([
    ['text that is not JSON', () => 'half of {'],
    ['an entry that was cut', (text: string) => text.slice(0, -20)],
    ['another version', (text: string) => text.replace('"version":1', '"version":2')],
    ['no time', (text: string) => text.replace(/"at":\d+/, '"at":"now"')],
    ['an empty batch', (text: string) => text.replace('"batches":[', '"batches":[[],')],
    ['an unknown event', (text: string) => text.replace('text_delta', 'text_delta_2')],
    [
      'a second start',
      (text: string) =>
        text.replace(
          '"batches":[[{',
          '"batches":[[{"type":"message_started","requestId":"x","provider":"fake"},{',
        ),
    ],
    [
      'an event before the start',
      (text: string) => text.replace('"batches":[[', '"batches":[[{"type":"raw_chunk","chunk":1},'),
    ],
    ['no end', (text: string) => text.replace('message_completed', 'raw_chunk')],
    [
      'an answer that was cut by length',
      (text: string) => text.replace('"finishReason":"stop"', '"finishReason":"length"'),
    ],
    [
      'a message that is not one',
      (text: string) => text.replace('"role":"assistant"', '"role":"user"'),
    ],
    ['a delta without text', (text: string) => text.replace('"delta":"Hel"', '"delta":7')],
    ['an event of the loop', (text: string) => text.replace('text_completed', 'chat_completed')],
  ])('with %s is asked as if it had nothing', async (_what, damage) => {
    const store = new Map<string, string>()
    const { engine } = cached([hello, bye], { store })
    await generate(engine, 'hi')
    for (const [key, text] of store) {
      expect(damage(text)).not.toBe(text)
      store.set(key, damage(text))
    }
    expect((await generate(engine, 'hi')).outputText).toBe('Bye')
    expect((await generate(engine, 'hi')).outputText).toBe('Bye')
  })

  test('keeps the answers of adapters apart that have one provider and another address, API or model', async () => {
    const store = new Map<string, string>()
    const answers: Fetch = (url) =>
      wireResponse(
        renderWire(url.includes('responses') ? 'openai_responses' : 'openai_chat', hello, {
          stream: true,
        }),
      )
    const common = { apiKey: 'k', fetch: answers, model: 'm' }
    const adapters = [
      openaiChat(common),
      openaiResponses(common),
      openaiChat({ ...common, baseUrl: 'http://127.0.0.1:9/v1' }),
      openaiChat({ ...common, model: 'n' }),
      openaiChat({ ...common, organization: 'org' }),
      openaiChat({ ...common, family: 'compatible' }),
    ]
    for (const adapter of adapters) await cache(adapter, { store }).generate?.(modelRequest('hi'))
    expect(store.size).toBe(adapters.length)
    // Another key is no other answer.
    await cache(openaiChat({ ...common, apiKey: 'another' }), { store }).generate?.(
      modelRequest('hi'),
    )
    expect(store.size).toBe(adapters.length)
  })

  test('that is slow has the answer when the call is over', async () => {
    const texts = new Map<string, string>()
    const slow: CacheStore = {
      get: (key) => texts.get(key),
      async set(key, text) {
        for (let turn = 0; turn < 5; turn++) await nextTurn()
        texts.set(key, text)
      },
    }
    const { engine } = cached([hello], { store: slow })
    await generate(engine, 'hi')
    expect(texts.size).toBe(1)
  })

  test('that does not answer holds a call no longer than requestTimeoutMs', async () => {
    const deaf: CacheStore = { get: () => new Promise(() => undefined), set: () => undefined }
    const { engine, adapter, clock } = cached([hello], { store: deaf })
    const calls = [
      generate(engine, 'hi', { requestTimeoutMs: 1000 }),
      adapter.generate?.(modelRequest('hi'), { clock, requestTimeoutMs: 1000 }),
    ].map(async (call) => errorToJSON(await call?.catch((error: unknown) => error)).reason)
    await clock.advance(1000)
    expect(await Promise.all(calls)).toEqual(['timeout', 'timeout'])
    expect(clock.pending).toBe(0)
  })

  test('tells telemetry what it did', async () => {
    const told: unknown[] = []
    const stop = onTelemetry((event) => {
      if (event.name === 'cache') told.push([event.to, event.requestId, event.error?.message])
    })
    const good = cached([hello])
    await generate(good.engine, 'hi', { requestId: 'r1' })
    await generate(good.engine, 'hi', { requestId: 'r2' })
    const broken: CacheStore = {
      get: () => Promise.reject(new Error('no get')),
      set: () => Promise.reject(new Error('no set')),
    }
    await generate(cached([hello], { store: broken }).engine, 'hi', { requestId: 'r3' })
    stop()
    expect(told).toEqual([
      ['stored', 'r1', undefined],
      ['hit', 'r2', undefined],
      ['failed', 'r3', 'no get'],
      ['failed', 'r3', 'no set'],
    ])
  })

  test('is shared by adapters of the same provider and model, and by no others', async () => {
    const store = memoryCache()
    const first = cached([hello], { store })
    const second = cached([bye], { store })
    await generate(first.engine, 'hi')
    expect((await generate(second.engine, 'hi')).outputText).toBe('Hello')
  })

  test('calls that are under way at the same time do not wait for one another', async () => {
    const late = (script: Script): Script => [['delay', 1000], ...script]
    const { engine, inner, clock } = cached([late(hello), late(bye)])
    const pending = Promise.all([generate(engine, 'hi'), generate(engine, 'hi')])
    await clock.advance(1000)
    expect((await pending).map(({ outputText }) => outputText)).toEqual(['Hello', 'Bye'])
    expect(inner.calls).toHaveLength(2)
  })
})

describe('memoryCache', () => {
  test('keeps the answers that were used last', () => {
    const store = memoryCache({ maxEntries: 2 })
    store.set('a', '1')
    store.set('b', '2')
    expect(store.get('a')).toBe('1')
    store.set('c', '3')
    expect(['a', 'b', 'c'].map((key) => store.get(key))).toEqual(['1', undefined, '3'])
  })

  test('takes no more memory than it may', () => {
    const store = memoryCache({ maxBytes: 20 })
    store.set('a', '1234')
    store.set('b', '1234')
    store.set('c', '1234')
    expect(['a', 'b', 'c'].map((key) => store.get(key))).toEqual([undefined, '1234', '1234'])
    store.set('b', '12345678901234567890')
    expect(['b', 'c'].map((key) => store.get(key))).toEqual([undefined, '1234'])
  })
})

describe('options', () => {
  test('are checked by name', () => {
    const inner = fake()
    // @ts-expect-error a store is needed
    expect(() => cache(inner, {})).toThrow(
      'store is missing: pass memoryCache(), or a store with get and set',
    )
    // @ts-expect-error there is no such option
    expect(() => cache(inner, { store: new Map(), ttl: 5 })).toThrow(
      'unknown key ttl; known keys are store, key, ttlMs',
    )
    // @ts-expect-error it needs an adapter
    expect(() => cache({}, { store: new Map() })).toThrow(
      'adapter must be a chat adapter, with stream',
    )
    // @ts-expect-error there is no such option
    expect(() => memoryCache({ max: 5 })).toThrow('unknown key max')
  })
})
