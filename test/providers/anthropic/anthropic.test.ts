import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import { serve, startSse } from '../../support/http-server.ts'
import {
  bodyOf,
  eventsOf,
  fold,
  head,
  named,
  request,
  stream,
  stubbed,
  stubFetch,
  text,
} from './support.ts'

const hello = stream(...text(0, 'Hello'))

describe('a call', () => {
  test('is sent to /messages, with version, key and beta features', async () => {
    const { adapter, calls } = stubbed(
      { body: hello },
      { beta: ['a-1', 'b-2'], headers: { 'X-Team': 'blue' } },
    )
    await eventsOf(adapter)
    const [call] = calls
    expect(call?.url).toBe('https://api.anthropic.com/v1/messages')
    expect(Object.fromEntries(call?.headers ?? [])).toEqual({
      accept: 'text/event-stream',
      'anthropic-beta': 'a-1,b-2',
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      'x-api-key': 'sk-ant-test-key',
      'x-team': 'blue',
    })
    expect(call?.body).toMatchObject({ model: 'claude-haiku-4-5', stream: true })
  })

  test('can go elsewhere, in another version, under another name', async () => {
    const { adapter, calls } = stubbed(
      { body: hello },
      { baseUrl: 'http://localhost:1/v1/', version: '2026-10-21', provider: 'local' },
    )
    const events = await eventsOf(adapter, request({ temperature: 1 }))
    expect(calls[0]?.url).toBe('http://localhost:1/v1/messages')
    expect(calls[0]?.headers.get('anthropic-version')).toBe('2026-10-21')
    expect(calls[0]?.body).not.toHaveProperty('temperature')
    expect(events[0]).toMatchObject({
      provider: 'local',
      warnings: [{ setting: 'temperature' }],
    })
  })

  test('is not made before the first event is read', async () => {
    const { adapter, calls } = stubbed({ body: hello })
    const events = adapter.stream(request())[Symbol.asyncIterator]()
    expect(calls).toHaveLength(0)
    await events.next()
    expect(calls).toHaveLength(1)
  })

  test('reports the provider’s id of the request', async () => {
    const { adapter } = stubbed({ body: hello, headers: { 'request-id': 'req_1' } })
    expect((await eventsOf(adapter)).at(-1)).toMatchObject({
      metadata: { providerRequestId: 'req_1' },
    })
  })

  test('gets a request id when none is given', async () => {
    const { adapter } = stubbed({ body: hello })
    const options = { requestId: undefined, newId: (kind: string) => `${kind}-1` }
    expect((await eventsOf(adapter, request(), options))[0]).toMatchObject({
      requestId: 'request-1',
    })
  })

  test('checks images before it is made', async () => {
    const { adapter, calls } = stubbed({ body: hello })
    const image = { type: 'base64', base64: 'AAAA', mimeType: 'image/tiff' } as const
    const messages = [{ role: 'user', content: [{ type: 'image', image }] } as const]
    await expect(eventsOf(adapter, request({ messages }))).rejects.toMatchObject({
      kind: 'validation',
      issues: [{ path: expect.stringContaining('messages[0].content[0]') }],
    })
    const url = { type: 'url', url: 'https://example.com/a.png' } as const
    const inSystem = [{ role: 'system', content: [{ type: 'image', image: url }] } as const]
    await expect(eventsOf(adapter, request({ messages: inSystem }))).rejects.toMatchObject({
      kind: 'validation',
    })
    expect(calls).toHaveLength(0)
  })
})

describe('the key', () => {
  test('of the call takes precedence over the adapter’s own', async () => {
    const { adapter, calls } = stubbed({ body: hello })
    await eventsOf(adapter, request(), { apiKey: 'of-the-call' })
    expect(calls[0]?.headers.get('x-api-key')).toBe('of-the-call')
  })

  test.each([
    [{}, { required: true, own: false }],
    [{ apiKey: 'k' }, { required: true, own: true }],
    [{ apiKey: '' }, { required: true, own: false }],
    [{ baseUrl: 'https://api.anthropic.com/v1/' }, { required: true, own: false }],
    [{ baseUrl: 'http://localhost:1/v1' }, { required: false, own: false }],
    [{ headers: { Authorization: 'Bearer t' } }, { required: false, own: false }],
  ])('with the options %o has the need %o', (options, key) => {
    expect(anthropic(options)).toMatchObject({ provider: 'anthropic', needsModel: true, key })
  })

  test('that is missing is an error before anything is sent, and only where a key is required', async () => {
    const { fetch, calls } = stubFetch({ body: hello })
    await expect(eventsOf(anthropic({ fetch }))).rejects.toMatchObject({
      kind: 'engine',
      reason: 'missing_key',
    })
    expect(calls).toHaveLength(0)
    await eventsOf(anthropic({ fetch, baseUrl: 'http://localhost:1/v1' }))
    expect(calls[0]?.headers.has('x-api-key')).toBe(false)
  })

  test('is not shown in the adapter or its events', async () => {
    const { adapter } = stubbed({ body: hello })
    const shown = JSON.stringify([adapter, await eventsOf(adapter)])
    expect(shown).not.toContain('sk-ant-test-key')
  })
})

describe('options', () => {
  test('that do not exist are rejected by name', () => {
    // @ts-expect-error the option is misspelt on purpose
    expect(() => anthropic({ baseURL: 'x' })).toThrow(/baseURL.*baseUrl/)
  })

  test('of the wrong type are rejected, and a key is not shown', () => {
    // @ts-expect-error the key is not a string on purpose
    expect(() => anthropic({ apiKey: { secret: 'abc' } })).toThrow(/apiKey must be a string/)
  })
})

describe('an answer that is not streamed', () => {
  test('equals the fold of the streamed one', async () => {
    const whole = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-haiku-4-5',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 's' },
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 9 },
    }
    const { adapter, calls } = stubbed({ body: JSON.stringify(whole) })
    const response = await adapter.generate?.(request(), { requestId: 'run' })
    const streamed = named(
      head(),
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
      ...text(1, 'Hel', 'lo'),
      {
        type: 'content_block_start',
        index: 2,
        content_block: { type: 'tool_use', id: 't', name: 'f', input: {} },
      },
      {
        type: 'content_block_delta',
        index: 2,
        delta: { type: 'input_json_delta', partial_json: '{"a":1}' },
      },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    )
    expect(response).toEqual(await fold(streamed))
    expect(calls[0]?.body['stream']).toBe(false)
    expect(calls[0]?.headers.get('accept')).toBe('application/json')
  })

  test.each([
    ['without a type', JSON.stringify({ content: [{ type: 'text', text: 'Hello' }] })],
    ['streamed all the same', hello],
  ])('is read when it is %s', async (_name, body) => {
    const response = await stubbed({ body }).adapter.generate?.(request())
    expect(response?.outputText).toBe('Hello')
  })
})

describe('a body', () => {
  test('contains the settings of the request and nothing else', async () => {
    expect(await bodyOf({ maxTokens: 5 })).toEqual({
      model: 'claude-haiku-4-5',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    })
  })
})

describe('a connection', () => {
  const open = named(head(), {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'text', text: 'Once' },
  })

  test('is closed when the stream is left early', async () => {
    await using server = await serve((_request, response) => startSse(response, open))
    const adapter = anthropic({ baseUrl: `${server.url}/v1` })
    for await (const batch of adapter.stream(request())) {
      expect(batch[0]).toMatchObject({ type: 'message_started' })
      break
    }
    await server.hungUp()
    expect(server.requests[0]).toMatchObject({ method: 'POST', path: '/v1/messages' })
  })

  test('is closed when the call is cancelled, and the events so far stay', async () => {
    await using server = await serve((_request, response) => startSse(response, open))
    const adapter = anthropic({ baseUrl: `${server.url}/v1` })
    const controller = new AbortController()
    const events: ModelEvent[] = []
    for await (const batch of adapter.stream(request(), { signal: controller.signal })) {
      events.push(...batch)
      controller.abort()
    }
    await server.hungUp()
    expect(events.map(({ type }) => type)).toEqual(['message_started', 'text_delta', 'error'])
    expect(events.at(-1)).toMatchObject({ error: { kind: 'stream', reason: 'cancelled' } })
  })

  test('that is cancelled before it answers rejects', async () => {
    await using server = await serve(() => undefined)
    const adapter = anthropic({ baseUrl: `${server.url}/v1` })
    const controller = new AbortController()
    const pending = eventsOf(adapter, request(), { signal: controller.signal })
    controller.abort()
    await expect(pending).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
  })

  test('that breaks in the middle of an answer is truncated', async () => {
    await using server = await serve((_request, response) => {
      startSse(response, open)
      setImmediate(() => response.destroy())
    })
    const events = await eventsOf(anthropic({ baseUrl: `${server.url}/v1` }))
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      error: { kind: 'stream', reason: 'truncated' },
    })
  })

  test('that cannot be made is a network error', async () => {
    const adapter = anthropic({ baseUrl: 'http://127.0.0.1:1/v1' })
    await expect(eventsOf(adapter)).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'network_error',
      retryable: true,
    })
  })
})
