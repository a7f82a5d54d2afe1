import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { openai } from '../../../src/openai.ts'
import { sendJson, sendSse, serve, sse, startSse } from '../../support/http-server.ts'
import { chunk } from './chunk.ts'
import { readAll, request, sentBody } from './request.ts'

const done = sse(chunk({ content: 'hi' }), chunk({}, 'stop'), '[DONE]')

describe('the address and the headers of a call', () => {
  test.each([
    ['gpt-4o', undefined, '/v1/chat/completions'],
    ['gpt-5', undefined, '/v1/responses'],
    ['gpt-5', 'chat', '/v1/chat/completions'],
    ['gpt-4o', 'responses', '/v1/responses'],
  ] as const)('%s with api %s goes to %s', async (model, api, path) => {
    const { url } = await sentBody(request({ model }), api === undefined ? {} : { api })
    expect(url).toBe(`https://api.openai.com${path}`)
  })

  test.each([
    ['https://example.com/openai/v1', 'https://example.com/openai/v1/chat/completions'],
    ['https://example.com/openai/v1/', 'https://example.com/openai/v1/chat/completions'],
    [
      'https://example.com/v1?api-version=1',
      'https://example.com/v1/chat/completions?api-version=1',
    ],
  ])('%s is extended to %s', async (baseUrl, expected) => {
    expect((await sentBody(request(), { baseUrl })).url).toBe(expected)
  })

  test('key, organization, project and own headers are sent; own headers override the others', async () => {
    await using server = await serve((_request, response) => sendSse(response, done))
    const adapter = openai({
      baseUrl: server.url,
      apiKey: 'own',
      organization: 'org',
      project: 'proj',
      headers: { 'X-Mine': '1', Accept: '*/*' },
    })
    await readAll(adapter.stream(request()))
    await readAll(adapter.stream(request(), { apiKey: 'of-the-call' }))
    expect(server.requests.map(({ headers }) => headers['authorization'])).toEqual([
      'Bearer own',
      'Bearer of-the-call',
    ])
    expect(server.requests[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'openai-organization': 'org',
      'openai-project': 'proj',
      'x-mine': '1',
      accept: '*/*',
    })
  })

  test('nothing is sent before the first batch is read', async () => {
    await using server = await serve((_request, response) => sendSse(response, done))
    const stream = openai({ baseUrl: server.url }).stream(request())
    expect(server.requests).toHaveLength(0)
    await readAll(stream)
    expect(server.requests).toHaveLength(1)
  })
})

describe('keys', () => {
  test.each([
    [{}, { required: true, own: false }],
    [{ apiKey: 'k' }, { required: true, own: true }],
    [{ baseUrl: 'http://localhost/v1' }, { required: false, own: false }],
    [{ baseUrl: 'https://api.openai.com/v1/' }, { required: true, own: false }],
    [{ apiKey: '' }, { required: true, own: false }],
  ])('openai(%j) has the key need %j', (options, need) => {
    expect(openai(options).key).toEqual(need)
  })

  test('OpenAI itself is not called without a key', async () => {
    const fetch = () => Promise.reject(new Error('called'))
    const adapter = openai({ fetch })
    await expect(readAll(adapter.stream(request()))).rejects.toMatchObject({
      kind: 'engine',
      reason: 'missing_key',
      provider: 'openai',
    })
    await expect(adapter.generate?.(request())).rejects.toMatchObject({ reason: 'missing_key' })
  })

  test('another server is called without a key', async () => {
    await using server = await serve((_request, response) => sendSse(response, done))
    await readAll(openai({ baseUrl: server.url, provider: 'llamacpp' }).stream(request()))
    expect(server.requests[0]?.headers['authorization']).toBeUndefined()
  })

  test('the adapter does not show its own key', () => {
    const adapter = openai({ apiKey: 'very-secret' })
    const shown = `${JSON.stringify(adapter)}${inspect(adapter, { depth: 9, showHidden: true })}`
    expect(shown).not.toContain('very-secret')
  })
})

describe('options', () => {
  test('an unknown option is refused by name, with the option that was meant', () => {
    // A caller without types may pass anything.
    const options = { baseURL: 'http://localhost' } as object
    expect(() => openai(options)).toThrow('unknown key baseURL; did you mean baseUrl?')
  })

  test.each([
    [{ baseUrl: 'localhost' }, 'baseUrl'],
    [{ api: 'completions' }, 'api'],
  ])('%j is refused', (options, path) => {
    expect(() => openai(options as object)).toThrow(
      expect.objectContaining({
        kind: 'validation',
        issues: [{ path, problem: expect.any(String) }],
      }),
    )
  })

  test('a request without a model is refused', async () => {
    const { model: _model, ...nameless } = request()
    await expect(readAll(openai({ apiKey: 'k' }).stream(nameless))).rejects.toMatchObject({
      kind: 'engine',
      reason: 'missing_model',
    })
    expect(openai().needsModel).toBe(true)
  })

  test('the name of a server labels events and errors', async () => {
    await using server = await serve(({ path }, response) =>
      path.startsWith('/bad') ? sendJson(response, {}, { status: 500 }) : sendSse(response, done),
    )
    const adapter = (path: string) => openai({ baseUrl: server.url + path, provider: 'groq' })
    expect((await readAll(adapter('/ok').stream(request())))[0]).toMatchObject({ provider: 'groq' })
    await expect(readAll(adapter('/bad').stream(request()))).rejects.toMatchObject({
      provider: 'groq',
      message: 'groq answered 500: {}',
    })
  })
})

test('a setting that the model’s family refuses is left out, with a warning', async () => {
  const body = { object: 'response', id: 'r', status: 'completed', output: [] }
  await using server = await serve((_request, response) =>
    sendJson(response, body, { headers: { 'x-request-id': 'req_1' } }),
  )
  const adapter = openai({ baseUrl: server.url })
  const answer = await adapter.generate?.(request({ model: 'gpt-5', temperature: 0 }))
  expect(JSON.parse(server.requests[0]?.body ?? '')).not.toHaveProperty('temperature')
  expect(answer?.warnings).toEqual([
    { setting: 'temperature', problem: 'gpt-5 takes no temperature' },
  ])
  expect(answer?.metadata).toEqual({ providerRequestId: 'req_1' })
  const chat = openai({ baseUrl: server.url, api: 'chat' })
  const asked = request({ reasoning: { effort: 'high', summary: true } })
  await chat.generate?.(asked).catch(() => undefined)
  expect(JSON.parse(server.requests[1]?.body ?? '')).not.toHaveProperty('reasoning_effort')
})

describe('stopping', () => {
  test.each(['chat', 'responses'] as const)(
    'leaving a stream of %s closes the connection',
    async (api) => {
      const delta =
        api === 'chat'
          ? chunk({ content: 'hi' })
          : { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'hi' }
      await using server = await serve((_request, response) => startSse(response, sse(delta)))
      for await (const batch of openai({ api, baseUrl: server.url }).stream(request())) {
        expect(batch.at(-1)).toMatchObject({ type: 'text_delta', delta: 'hi' })
        break
      }
      await server.hungUp()
    },
  )

  test('a signal ends generate as cancelled and closes the connection', async () => {
    const controller = new AbortController()
    await using server = await serve(() => controller.abort())
    const adapter = openai({ baseUrl: server.url })
    await expect(
      adapter.generate?.(request(), { signal: controller.signal }),
    ).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
    await server.hungUp()
  })

  test('a stream that is not read sends nothing', () => {
    const fetch = () => Promise.reject(new Error('called'))
    openai({ fetch }).stream(request())
  })
})
