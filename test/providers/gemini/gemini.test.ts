import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import { gemini } from '../../../src/gemini.ts'
import { sendJson, serve, startSse } from '../../support/http-server.ts'
import {
  chunk,
  eventsOf,
  generated,
  lastChunk,
  request,
  sseBody,
  stubbed,
  stubFetch,
} from './support.ts'

const answer = { body: sseBody([lastChunk([{ text: 'Hello' }])]) }

const whole = { body: JSON.stringify(lastChunk([{ text: 'Hello' }])) }

describe('where a request goes', () => {
  test.each([
    [
      {},
      'gemini-2.5-flash',
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash',
    ],
    [
      { apiVersion: 'v1' },
      'gemini-2.5-flash',
      'https://generativelanguage.googleapis.com/v1/models/gemini-2.5-flash',
    ],
    [{ baseUrl: 'http://127.0.0.1:1/v1beta/' }, 'x', 'http://127.0.0.1:1/v1beta/models/x'],
    [{}, 'tunedModels/a?b', 'https://generativelanguage.googleapis.com/v1beta/tunedModels/a%3Fb'],
  ])('%o and %s', async (options, model, url) => {
    const streamed = stubbed(answer, options)
    await eventsOf(streamed.adapter, request({ model }))
    expect(streamed.sent[0]?.url).toBe(`${url}:streamGenerateContent?alt=sse`)
    const asked = stubbed(whole, options)
    await generated(asked.adapter, request({ model }))
    expect(asked.sent[0]?.url).toBe(`${url}:generateContent`)
    expect(asked.sent[0]?.body).toEqual(streamed.sent[0]?.body)
  })

  test('headers of the adapter options override the default ones', async () => {
    const headers = { 'X-Goog-Api-Key': 'other', 'x-extra': '1' }
    const { adapter, sent } = stubbed(answer, { headers })
    await eventsOf(adapter)
    expect(Object.fromEntries(sent[0]?.headers ?? [])).toEqual({
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'x-goog-api-key': 'other',
      'x-extra': '1',
    })
  })

  test('a request without a model is refused', async () => {
    const { model: _model, ...unnamed } = request()
    const { adapter } = stubbed(answer)
    expect(adapter.needsModel).toBe(true)
    await expect(eventsOf(adapter, unnamed)).rejects.toMatchObject({ reason: 'missing_model' })
  })

  test('an option that does not exist is refused by name', () => {
    const options = { baseURL: 'x' } as object
    expect(() => gemini(options)).toThrow('unknown key baseURL; did you mean baseUrl?')
  })
})

describe('the key', () => {
  const keyOf = async (own: string | undefined, given: string | undefined, baseUrl?: string) => {
    const { fetch, sent } = stubFetch(answer)
    await eventsOf(gemini({ fetch, apiKey: own, baseUrl }), request(), { apiKey: given })
    return sent[0]
  }

  test.each([
    ['own', undefined, 'own'],
    ['own', 'given', 'given'],
    ['own', ' ', 'own'],
    [undefined, 'given', 'given'],
  ])('%s and %s: %s is sent, in a header only', async (own, given, expected) => {
    const sent = await keyOf(own, given)
    expect(sent?.headers.get('x-goog-api-key')).toBe(expected)
    expect(sent?.url).not.toContain(expected)
  })

  test('a missing key is refused if one is required, after the request was checked', async () => {
    await expect(keyOf(undefined, undefined)).rejects.toMatchObject({
      kind: 'engine',
      reason: 'missing_key',
      provider: 'gemini',
    })
    const image = { type: 'id', id: 'files/a', provider: 'openai' } as const
    const messages = [{ role: 'user', content: [{ type: 'image', image }] }] as const
    await expect(eventsOf(gemini(), request({ messages }))).rejects.toMatchObject({
      kind: 'validation',
      issues: [{ path: 'messages[0].content[0]' }],
    })
  })

  test('at another address a key is optional', async () => {
    const sent = await keyOf(undefined, undefined, 'http://127.0.0.1:1/v1beta')
    expect(sent?.headers.has('x-goog-api-key')).toBe(false)
  })

  test.each([
    [{}, { required: true, own: false }],
    [{ apiKey: 'own-key' }, { required: true, own: true }],
    [{ apiVersion: 'v1' }, { required: true, own: false }],
    [{ baseUrl: 'http://127.0.0.1:1/v1beta' }, { required: false, own: false }],
    [{ headers: { 'X-Goog-Api-Key': 'own-key' } }, { required: false, own: false }],
  ])('%o has the key need %o, and does not show the key', (options, key) => {
    const adapter = gemini(options)
    expect(adapter.key).toEqual(key)
    expect(inspect(adapter, { depth: 9, showHidden: true })).not.toContain('own-key')
  })
})

describe('a whole answer', () => {
  const unreadable = { functionCall: { name: 'find', partialArgs: [{ jsonPath: '$' }] } }

  test('is the fold of a streamed one', async () => {
    const parts = [
      { text: 'Hm', thought: true, thoughtSignature: 'S1' },
      { text: 'Hello', thoughtSignature: 'S2' },
      { functionCall: { name: 'add', args: { a: 1 } }, thoughtSignature: 'S3' },
      { functionCall: { name: 'add', args: { a: 1 } } },
    ]
    const body = {
      ...lastChunk(parts),
      usageMetadata: { promptTokenCount: 3, thoughtsTokenCount: 4 },
    }
    const response = await generated(stubbed({ body: JSON.stringify(body) }).adapter)
    const pieces = parts.map((part) => chunk([part]))
    const { usageMetadata } = body
    const streamed = stubbed({ body: sseBody([...pieces, { ...lastChunk(), usageMetadata }]) })
    expect(response).toEqual(collectEventsSync(await eventsOf(streamed.adapter)))
    expect(response).toMatchObject({ requestId: 'run', id: 'answer-1', finishReason: 'tool_calls' })
  })

  test.each([
    ['without candidates', '{}'],
    ['that is a text', '"hello"'],
    ['that is not JSON', 'hello'],
    ['that is empty', ''],
    ['that breaks off', whole.body.slice(0, -10)],
    ['that cannot be read', JSON.stringify(lastChunk([unreadable]))],
  ])('%s is malformed', async (_name, body) => {
    await expect(generated(stubbed({ body }).adapter)).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'malformed_response',
    })
  })

  test('without an end is malformed, and its content is kept as partial', async () => {
    const body = JSON.stringify(chunk([{ text: 'Hel' }]))
    await expect(generated(stubbed({ body }).adapter)).rejects.toMatchObject({
      reason: 'malformed_response',
      partial: { outputText: 'Hel' },
    })
  })

  test('that is an error rejects with it', async () => {
    const body = JSON.stringify({ error: { code: 503, message: 'Overloaded.' } })
    await expect(generated(stubbed({ body }).adapter)).rejects.toMatchObject({
      reason: 'provider_unavailable',
    })
  })
})

describe('on a real connection', () => {
  const open = () =>
    serve((_request, response) => startSse(response, sseBody([chunk([{ text: 'Hel' }])])))

  test('nothing is sent before the stream is read', async () => {
    await using server = await open()
    gemini({ baseUrl: server.url }).stream(request())
    await new Promise((resolve) => setImmediate(resolve))
    expect(server.requests).toEqual([])
  })

  test('leaving a stream closes the connection', async () => {
    await using server = await open()
    const adapter = gemini({ baseUrl: server.url })
    const types: string[] = []
    for await (const batch of adapter.stream(request())) {
      types.push(...batch.map(({ type }) => type))
      break
    }
    await server.hungUp()
    expect(types).toEqual(['message_started', 'text_delta'])
  })

  test('an abort closes the connection, and is the last event', async () => {
    await using server = await open()
    const controller = new AbortController()
    const events: ModelEvent[] = []
    const { signal } = controller
    for await (const batch of gemini({ baseUrl: server.url }).stream(request(), { signal })) {
      events.push(...batch)
      controller.abort()
    }
    await server.hungUp()
    expect(events.at(-1)).toMatchObject({ error: { kind: 'stream', reason: 'cancelled' } })
  })

  test('returning while a read is pending closes the connection', async () => {
    await using server = await open()
    const stream = gemini({ baseUrl: server.url }).stream(request())[Symbol.asyncIterator]()
    await stream.next()
    const pending = stream.next()
    await stream.return?.()
    await server.hungUp()
    expect(await pending).toEqual({ done: true, value: undefined })
  })

  test('a whole answer can be aborted too', async () => {
    await using server = await serve((_request, response) => response.flushHeaders())
    const controller = new AbortController()
    const { signal } = controller
    const response = gemini({ baseUrl: server.url }).generate?.(request(), { signal })
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    await expect(response).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
    await server.hungUp()
  })

  test('a list of JSON objects from the streaming address is read', async () => {
    await using server = await serve((_request, response) => {
      sendJson(response, [chunk([{ text: 'Hel' }]), lastChunk([{ text: 'lo' }])])
    })
    const response = collectEventsSync(await eventsOf(gemini({ baseUrl: server.url })))
    expect(response.outputText).toBe('Hello')
  })
})
