import { request as httpRequest } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ValidationError } from '../../../../src/index.ts'
import {
  createFakeServer,
  createRecordingProxy,
  type FakeServer,
  type FakeServerOptions,
  type RecordingProxy,
  type RecordingProxyOptions,
  type RequestNote,
} from '../../../../src/server.ts'
import type { WireFormat } from '../../../../src/testing/server/wire-format.ts'
import { serve } from '../../../support/http-server.ts'
import { call, smallest } from '../../server/client.ts'
import { cited, greeting, parallelCalls, thinking } from '../../server/scripts.ts'
import { rawCall, type RawAnswer } from './raw.ts'

function upstreamOf(server: FakeServer): NonNullable<RecordingProxyOptions['upstream']> {
  return {
    openai: server.openaiBaseUrl,
    anthropic: server.anthropicBaseUrl,
    gemini: server.geminiBaseUrl,
  }
}

const formats: readonly WireFormat[] = ['openai_chat', 'openai_responses', 'anthropic', 'gemini']

const paths: Readonly<Record<WireFormat, string>> = {
  openai_chat: '/v1/chat/completions',
  openai_responses: '/v1/responses',
  anthropic: '/v1/messages',
  gemini: '/v1beta/models/gemini-x:generateContent',
}

const keys: Readonly<Record<string, string>> = {
  authorization: 'Bearer sk-secret-of-the-test',
  'x-api-key': 'sk-secret-of-the-test',
  'x-goog-api-key': 'sk-secret-of-the-test',
  'anthropic-version': '2023-06-01',
}

function asked(
  server: { readonly url: string },
  format: WireFormat,
  stream: boolean,
): Promise<RawAnswer | undefined> {
  const isGemini = format === 'gemini'
  const path =
    stream && isGemini ? '/v1beta/models/gemini-x:streamGenerateContent?alt=sse' : paths[format]
  const body = { ...smallest[format], ...(stream && !isGemini ? { stream } : {}) }
  return rawCall(server.url + path, {
    headers: { 'content-type': 'application/json', ...keys },
    body: JSON.stringify(body),
  })
}

/** The answer of a fake server, and that of another one behind a proxy. */
async function bothWays(
  options: FakeServerOptions,
  ask: (server: { readonly url: string }) => Promise<RawAnswer | undefined>,
): Promise<readonly [RawAnswer | undefined, RawAnswer | undefined]> {
  await using direct = await createFakeServer(options)
  await using behind = await createFakeServer(options)
  await using proxy = await createRecordingProxy({ upstream: upstreamOf(behind) })
  return [await ask(direct), await ask(proxy)]
}

const answers: Readonly<Record<string, FakeServerOptions>> = {
  text: { script: greeting },
  'two calls': { script: parallelCalls },
  reasoning: { script: thinking('sealed') },
  sources: { script: cited('anthropic', { type: 'x' }) },
  'a rate limit': { script: [['preflight_error', 'rate_limited', { retryAfterMs: 1500 }]] },
  'a refusal': { faults: [{ status: 529, message: 'busy' }], script: greeting },
  'a failure in mid-stream': {
    script: [
      ['text_delta', 'half'],
      ['error_event', 'provider_unavailable', {}],
    ],
  },
  'a cut': {
    script: [
      ['text_delta', 'half'],
      ['stream_error', 'truncated', { by: 'reset' }],
    ],
  },
  'a clean end too early': {
    script: [
      ['text_delta', 'half'],
      ['stream_error', 'truncated', { by: 'end' }],
    ],
  },
  'a redirect': {
    script: [['preflight_error', 'unknown', { status: 307, location: 'http://127.0.0.1:1/' }]],
  },
  'broken bytes': { script: greeting, faults: [{ malformedAt: 1 }] },
  'odd pieces': { script: greeting, chunking: { seed: 7, maxBytes: 5 } },
}

describe.each(formats)('%s', (format) => {
  test.each(Object.keys(answers))('%s passes unchanged, whole and streamed', async (name) => {
    for (const stream of [false, true]) {
      const [direct, passed] = await bothWays(answers[name] ?? {}, (server) =>
        asked(server, format, stream),
      )
      expect(passed).toEqual(direct)
    }
  })

  test('a request that the provider would refuse is refused the same way', async () => {
    const ask = (server: { readonly url: string }): Promise<RawAnswer | undefined> =>
      rawCall(server.url + paths[format], {
        headers: { 'content-type': 'application/json', ...keys },
        body: '{"nonsense": true}',
      })
    const [direct, passed] = await bothWays({ script: greeting }, ask)
    expect(passed?.status).toBe(400)
    // Anthropic's refusals have an id.
    const text = (answer: RawAnswer | undefined): string =>
      Buffer.from(answer?.body ?? '', 'base64')
        .toString()
        .replace(/"(?:req_fake_1|proxy)"/, '"id"')
    expect(text(passed)).toBe(text(direct))
  })

  test('pieces are passed on as they arrive', async () => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    await using server = await serve(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"one":1}\n\n')
      await released
      response.end('data: {"two":2}\n\n')
    })
    await using proxy = await createRecordingProxy({
      upstream: {
        openai: `${server.url}/v1`,
        anthropic: `${server.url}/v1`,
        gemini: `${server.url}/v1beta`,
      },
    })
    const { body } = await call(proxy as unknown as FakeServer, format, { stream: true })
    const reader = body?.getReader()
    const first = await reader?.read()
    expect(new TextDecoder().decode(first?.value)).toBe('data: {"one":1}\n\n')
    release()
    const second = await reader?.read()
    expect(new TextDecoder().decode(second?.value)).toBe('data: {"two":2}\n\n')
    expect((await reader?.read())?.done).toBe(true)
  })

  test('a client that leaves is noticed by the provider', async () => {
    await using server = await createFakeServer({
      script: [
        ['text', 'one'],
        ['text', 'two'],
        ['finish', 'stop', { open: true }],
      ],
    })
    await using proxy = await createRecordingProxy({ upstream: upstreamOf(server) })
    const leave = new AbortController()
    const { body } = await call(proxy as unknown as FakeServer, format, {
      stream: true,
      signal: leave.signal,
    })
    await body?.getReader().read()
    expect(server.openAnswers).toBe(1)
    leave.abort()
    await server.idle()
    expect(server.openAnswers).toBe(0)
    await proxy.idle()
  })
})

describe('what passes', () => {
  test('a key reaches the provider, with every other header, and the body as it was written', async () => {
    await using server = await serve((_request, response) => response.end('{}'))
    await using proxy = await createRecordingProxy({
      upstream: { openai: `${server.url}/base/v1` },
    })
    const body = '{ "model": "gpt-4o",\n "messages": [{"role":"user","content":"w\\u00f6rld"}] }'
    await rawCall(`${proxy.url}/v1/chat/completions?beta=1`, {
      headers: {
        ...keys,
        'content-type': 'application/json',
        'X-Custom': 'yes',
        'accept-encoding': 'gzip',
      },
      body,
    })
    const [request] = server.requests
    expect(request).toMatchObject({
      method: 'POST',
      path: '/base/v1/chat/completions?beta=1',
      body,
    })
    expect(request?.headers).toMatchObject({
      authorization: keys['authorization'],
      'x-custom': 'yes',
      'accept-encoding': 'gzip',
      host: new URL(server.url).host,
    })
  })

  test('an encoded answer passes encoded', async () => {
    const bytes = gzipSync('{"id":"x"}')
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      response.end(bytes)
    })
    await using proxy = await createRecordingProxy({ upstream: { openai: `${server.url}/v1` } })
    const answer = await asked(proxy, 'openai_chat', false)
    expect(answer?.body).toBe(bytes.toString('base64'))
    expect(answer?.headers).toContain('content-encoding: gzip')
  })

  test('other requests pass too, and are told of', async () => {
    const skipped: RequestNote[] = []
    await using server = await createFakeServer({ models: ['mine'] })
    await using proxy = await createRecordingProxy({
      upstream: upstreamOf(server),
      onNote: (one) => skipped.push(one),
    })
    const models = await fetch(`${proxy.url}/v1/models?key=k`, {
      headers: { authorization: 'Bearer k' },
    })
    expect(await models.json()).toMatchObject({ data: [{ id: 'mine' }] })
    const unknown = await fetch(`${proxy.url}/v1/batches`, {
      method: 'POST',
      body: 'x'.repeat(100_000),
    })
    expect(unknown.status).toBe(404)
    expect(skipped.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /v1/models',
      'POST /v1/batches',
    ])
  })

  test('a path without its version is taken, and one of another version is kept', async () => {
    await using server = await serve((_request, response) => response.end('{}'))
    const upstream = {
      anthropic: `${server.url}/v1`,
      gemini: `${server.url}/v1beta`,
      openai: `${server.url}/api`,
    }
    await using proxy = await createRecordingProxy({ upstream, validateRequests: false })
    for (const path of ['/messages', '/v1alpha/models/m:generateContent', '/v1/chat/completions']) {
      await rawCall(proxy.url + path, { headers: keys, body: '{}' })
    }
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/v1/messages',
      '/v1alpha/models/m:generateContent',
      '/api/chat/completions',
    ])
  })

  test('a provider that is not named is not passed on to', async () => {
    await using server = await createFakeServer({ script: greeting })
    await using proxy = await createRecordingProxy({ upstream: { openai: server.openaiBaseUrl } })
    expect((await asked(proxy, 'anthropic', false))?.status).toBe(404)
    expect(server.requests).toEqual([])
  })

  test('a target that is no path names no other host', async () => {
    await using other = await serve((_request, response) => response.end('{}'))
    await using proxy = await createRecordingProxy({
      upstream: { openai: 'http://127.0.0.1:1/v1' },
    })
    const status = await new Promise((resolve) => {
      const { hostname, port } = new URL(proxy.url)
      const path = `${other.url}/v1/models`
      httpRequest({ hostname, port, path, agent: false }, ({ statusCode }) =>
        resolve(statusCode),
      ).end()
    })
    expect(status).toBe(404)
    expect(other.requests).toEqual([])
  })

  test('a provider that cannot be reached is a connection that breaks', async () => {
    await using server = await serve((_request, response) => response.destroy())
    await using proxy = await createRecordingProxy({ upstream: { openai: `${server.url}/v1` } })
    expect(await asked(proxy, 'openai_chat', false)).toBeUndefined()
  })

  test('without checks, what the provider answers decides', async () => {
    await using server = await createFakeServer({ script: greeting, validateRequests: false })
    await using proxy = await createRecordingProxy({
      upstream: upstreamOf(server),
      validateRequests: false,
    })
    const answer = await rawCall(`${proxy.url}/v1/chat/completions`, {
      headers: keys,
      body: '{"odd":1}',
    })
    expect(answer?.status).toBe(200)
  })
})

describe('the proxy', () => {
  test('listens on loopback only, and tells programs where it is', async () => {
    await using proxy = await createRecordingProxy()
    expect(proxy.url).toBe(`http://127.0.0.1:${proxy.port}`)
    expect(proxy.environment).toEqual({
      OPENAI_BASE_URL: `${proxy.url}/v1`,
      ANTHROPIC_BASE_URL: proxy.url,
      GOOGLE_GEMINI_BASE_URL: proxy.url,
    })
    await using one = await createRecordingProxy({
      upstream: { gemini: 'http://127.0.0.1:1/v1beta' },
    })
    expect(Object.keys(one.environment)).toEqual(['GOOGLE_GEMINI_BASE_URL'])
  })

  test('closing ends what is open, on both sides', async () => {
    await using server = await createFakeServer({
      script: [
        ['text', 'one'],
        ['finish', 'stop', { open: true }],
      ],
    })
    const proxy: RecordingProxy = await createRecordingProxy({ upstream: upstreamOf(server) })
    const { body } = await call(proxy as unknown as FakeServer, 'openai_chat', { stream: true })
    const reader = body?.getReader()
    await reader?.read()
    await proxy.close()
    await server.idle()
    expect(server.openAnswers).toBe(0)
    await expect(
      (async () => {
        while ((await reader?.read())?.done === false);
      })(),
    ).rejects.toThrow()
  })

  test.each([
    [{ upstream: { openai: 'nowhere' } }, 'upstream.openai must be an http or https URL'],
    [{ upsteam: {} }, 'did you mean upstream?'],
    [{ port: 70_000 }, 'port must be a port'],
  ])('%j is refused', async (options, words) => {
    const made = createRecordingProxy(options as RecordingProxyOptions)
    await expect(made).rejects.toThrow(ValidationError)
    await expect(createRecordingProxy(options as RecordingProxyOptions)).rejects.toThrow(words)
  })
})
