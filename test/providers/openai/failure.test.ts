import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { AdapterOptions } from '../../../src/core/contracts/adapter.ts'
import { AdapterError } from '../../../src/core/errors/errors.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { openai } from '../../../src/openai.ts'
import { virtualClock } from '../../../src/testing/fakes/virtual-clock.ts'
import { sendJson, sendSse, serve, serveByHand, sse, startSse } from '../../support/http-server.ts'
import { chunk } from './chunk.ts'
import type { Api } from './decode.ts'
import { readAll, request } from './request.ts'

const apis: readonly Api[] = ['chat', 'responses']

/** The error of a call when the server answers like this. */
async function failure(
  api: Api,
  answer: (response: ServerResponse) => unknown,
  how: 'stream' | 'generate' = 'stream',
): Promise<AdapterError> {
  await using server = await serve((_request, response) => answer(response))
  const adapter = openai({ api, baseUrl: server.url, apiKey: 'plain-word' })
  const options = { requestId: 'run' }
  const error = await (
    how === 'stream'
      ? readAll(adapter.stream(request(), options))
      : adapter.generate?.(request(), options)
  )?.catch((thrown: unknown) => thrown)
  if (!(error instanceof AdapterError)) throw new Error(`no AdapterError: ${JSON.stringify(error)}`)
  return error
}

const body = (fields: JsonObject): JsonObject => ({ error: { message: 'no', ...fields } })

/** Error responses: status, body, reason, whether a retry may help. */
const refusals: readonly (readonly [number, JsonObject, string, boolean])[] = [
  [401, body({ code: 'invalid_api_key' }), 'authentication_failed', false],
  [403, body({ type: 'invalid_request_error' }), 'authentication_failed', false],
  [400, body({ code: 'invalid_api_key' }), 'authentication_failed', false],
  [429, body({ code: 'rate_limit_exceeded' }), 'rate_limited', true],
  [429, body({ code: 'insufficient_quota' }), 'rate_limited', false],
  [402, body({}), 'authentication_failed', false],
  [405, body({}), 'invalid_request', false],
  [409, body({}), 'invalid_request', false],
  [415, body({}), 'invalid_request', false],
  [400, body({ type: 'invalid_request_error' }), 'invalid_request', false],
  [404, body({ code: 'model_not_found' }), 'invalid_request', false],
  [422, body({}), 'invalid_request', false],
  [400, body({ code: 'content_filter' }), 'content_filter', false],
  [400, body({ code: 'content_policy_violation' }), 'content_filter', false],
  [400, body({ code: 'context_length_exceeded' }), 'context_length_exceeded', false],
  [400, body({ type: 'exceed_context_size_error' }), 'context_length_exceeded', false],
  [
    400,
    body({ message: "This model's maximum context length is 9 tokens" }),
    'context_length_exceeded',
    false,
  ],
  [500, body({}), 'provider_unavailable', true],
  [502, body({}), 'provider_unavailable', true],
  [503, body({}), 'provider_unavailable', true],
  [504, body({}), 'provider_unavailable', true],
  [529, body({}), 'provider_unavailable', true],
  [408, body({}), 'timeout', true],
  [418, body({}), 'unknown', false],
]

describe.each(apis)('an error response of %s', (api) => {
  test.each([
    [503, {}, 'false', false],
    [429, {}, 'false', false],
    [409, {}, 'true', true],
    [429, { code: 'insufficient_quota' }, 'true', false],
    [503, {}, 'perhaps', true],
  ])('%d %j with x-should-retry: %s', async (status, fields, word, retryable) => {
    const headers = { 'x-should-retry': word }
    const error = await failure(
      api,
      (response) => sendJson(response, body(fields), { status, headers }),
      'stream',
    )
    expect(error).toMatchObject({ status, retryable })
  })

  test.each(refusals)('%d %j is %s', async (status, said, reason, retryable) => {
    for (const how of ['stream', 'generate'] as const) {
      const error = await failure(api, (response) => sendJson(response, said, { status }), how)
      expect(error).toMatchObject({
        reason,
        retryable,
        status,
        provider: 'openai',
        requestId: 'run',
      })
    }
  })
})

describe('an error response', () => {
  test('keeps its message, codes, request id and waiting time', async () => {
    const said = body({
      message: 'Slow down.',
      type: 'tokens',
      code: 'rate_limit_exceeded',
      param: 'p',
    })
    const headers = { 'x-request-id': 'req_1', 'retry-after': '7' }
    const error = await failure('chat', (response) =>
      sendJson(response, said, { status: 429, headers }),
    )
    expect(error.toJSON()).toEqual({
      kind: 'adapter',
      reason: 'rate_limited',
      message: 'Slow down.',
      metadata: {
        code: 'rate_limit_exceeded',
        type: 'tokens',
        param: 'p',
        providerRequestId: 'req_1',
      },
      requestId: 'run',
      provider: 'openai',
      status: 429,
      retryAfterMs: 7000,
      retryable: true,
    })
  })

  test.each([
    ['Please try again in 1.5s.', 1500],
    ['Please try again in 6m0s.', 360_000],
    ['Please try again in 120ms.', 120],
    ['Please try again in 1h0m2.5s.', 3_602_500],
    ['Please try again later.', undefined],
  ])('%s', async (message, ms) => {
    const error = await failure('chat', (response) =>
      sendJson(response, body({ message }), { status: 429 }),
    )
    expect(error.retryAfterMs).toBe(ms)
  })

  test.each<[string, string]>([
    ['<html>Bad gateway</html>', 'openai answered 502: Bad gateway'],
    ['', 'openai answered 502'],
    ['{"error":"out of order"}', 'out of order'],
    ['{"message":"out of order"}', 'out of order'],
    ['{"detail":"out of order"}', 'out of order'],
    ['[{"error":{"message":"out of order"}}]', 'out of order'],
    ['null', 'openai answered 502: null'],
  ])('%s has the message: %s', async (text, message) => {
    const error = await failure('chat', (response) => response.writeHead(502).end(text))
    expect(error).toMatchObject({ reason: 'provider_unavailable', message })
  })

  test('inside a stream does not show the key either', async () => {
    const said = body({ message: 'Is plain-word yours?', param: 'plain-word' })
    const error = await failure('chat', (response) => sendSse(response, sse(said)))
    expect(error.message).toBe('Is [redacted] yours?')
    expect(JSON.stringify(error)).not.toContain('plain-word')
  })

  test('never shows the key, masked or not', async () => {
    const said = body({
      message: 'Incorrect key: plain-word, also sk-proj-********9900.',
      code: 'plain-word',
    })
    const error = await failure('responses', (response) =>
      sendJson(response, said, { status: 401 }),
    )
    expect(JSON.stringify(error)).not.toMatch(/plain-word|9900/)
  })
})

describe.each(apis)('an answer in place of a stream of %s', (api) => {
  test.each<[string, (response: ServerResponse) => unknown]>([
    ['malformed_response', (response) => response.end('hello')],
    [
      'malformed_response',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    ],
    ['malformed_response', (response) => sendSse(response, sse('{"half":'))],
    ['malformed_response', (response) => sendSse(response, sse('7'))],
    ['network_error', (response) => response.destroy()],
    ['rate_limited', (response) => sendSse(response, sse(body({ code: 'rate_limit_exceeded' })))],
    ['provider_unavailable', (response) => sendSse(response, sse(body({ code: 502 })))],
    [
      'invalid_request',
      (response) => sendSse(response, `event: error\n${sse(body({ status_code: 400 }))}`),
    ],
    ['provider_unavailable', (response) => sendJson(response, body({ type: 'server_error' }))],
    ['unknown', (response) => sendSse(response, sse(body({ code: 'who_knows' })))],
  ])('%s (%#)', async (reason, answer) => {
    const error = await failure(api, answer)
    expect(error).toMatchObject({ kind: 'adapter', reason, provider: 'openai', requestId: 'run' })
  })
})

/** The first event of an answer that has content. */
const begun: Readonly<Record<Api, JsonObject>> = {
  chat: chunk({ content: 'Part' }),
  responses: {
    type: 'response.output_text.delta',
    output_index: 0,
    content_index: 0,
    delta: 'Part',
  },
}

describe.each(apis)('a failure after the first event of %s', (api) => {
  const failed = (error: JsonObject): JsonObject =>
    api === 'chat'
      ? { error }
      : { type: 'response.failed', response: { id: 'r', status: 'failed', error } }

  test.each<[string, string, (response: ServerResponse) => unknown]>([
    [
      'adapter',
      'rate_limited',
      (response) =>
        sendSse(response, sse(begun[api], failed({ code: 'rate_limit_exceeded', message: 'x' }))),
    ],
    [
      'adapter',
      'provider_unavailable',
      (response) =>
        sendSse(response, sse(begun[api], failed({ code: 'server_error', message: 'x' }))),
    ],
    [
      'adapter',
      'timeout',
      (response) => sendSse(response, sse(begun[api], failed({ code: 'vector_store_timeout' }))),
    ],
    [
      'adapter',
      'content_filter',
      (response) =>
        sendSse(response, sse(begun[api], { type: 'error', error: { code: 'content_filter' } })),
    ],
    ['stream', 'malformed_event', (response) => sendSse(response, sse(begun[api], '{"half":'))],
    ['stream', 'truncated', (response) => sendSse(response, sse(begun[api]))],
    [
      'stream',
      'truncated',
      (response) => {
        startSse(response, sse(begun[api]))
        response.write('data: ', () => response.destroy())
      },
    ],
  ])('%s %s is the last event, and the text is kept (%#)', async (kind, reason, answer) => {
    await using server = await serve((_request, response) => answer(response))
    const adapter = openai({ api, baseUrl: server.url })
    const events = await readAll(adapter.stream(request(), { requestId: 'run' }))
    expect(events.map(({ type }) => type)).toEqual(['message_started', 'text_delta', 'error'])
    expect(events[2]).toMatchObject({
      error: { kind, reason, provider: 'openai', requestId: 'run' },
    })
  })
})

test('a response that fails before its first content fails the whole call', async () => {
  const created = { type: 'response.created', response: { id: 'r', status: 'in_progress' } }
  const failed = {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error', message: 'x' } },
  }
  const error = await failure('responses', (response) => sendSse(response, sse(created, failed)))
  expect(error).toMatchObject({ reason: 'provider_unavailable', retryable: true })
})

test('a response that was cancelled at the provider is an error', async () => {
  const cancelled = { object: 'response', id: 'r', status: 'cancelled', output: [] }
  const error = await failure('responses', (response) => sendJson(response, cancelled), 'generate')
  expect(error).toMatchObject({ reason: 'unknown', message: 'the response is cancelled' })
})

describe('time and cancellation', () => {
  const open = async (adapterOptions: AdapterOptions) => {
    const slow = await serveByHand()
    const adapter = openai({ api: 'chat', baseUrl: slow.server.url })
    return { slow, stream: adapter.stream(request(), adapterOptions)[Symbol.asyncIterator]() }
  }

  test('no first event within requestTimeoutMs is a timeout that throws', async () => {
    const clock = virtualClock({ auto: false })
    const { slow, stream } = await open({ clock, requestTimeoutMs: 1000 })
    const failed = expect(stream.next()).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'timeout',
      retryable: true,
    })
    startSse(await slow.answer, sse(chunk({ role: 'assistant' })))
    await clock.advance(1000)
    await failed
    await slow.server.hungUp()
    await slow.server.close()
  })

  test('a silence beyond streamTimeoutMs is an AdapterError timeout, and the last event', async () => {
    const clock = virtualClock({ auto: false })
    const { slow, stream } = await open({ clock, streamTimeoutMs: 1000 })
    const first = stream.next()
    startSse(await slow.answer, sse(begun.chat))
    expect((await first).value).toHaveLength(2)
    const last = stream.next()
    await clock.advance(1000)
    expect((await last).value).toMatchObject([{ error: { kind: 'adapter', reason: 'timeout' } }])
    await slow.server.hungUp()
    await slow.server.close()
  })

  test('a signal in the middle is StreamError cancelled, and the last event', async () => {
    const controller = new AbortController()
    const { slow, stream } = await open({ signal: controller.signal })
    const first = stream.next()
    startSse(await slow.answer, sse(begun.chat))
    await first
    controller.abort()
    expect((await stream.next()).value).toMatchObject([
      { error: { kind: 'stream', reason: 'cancelled' } },
    ])
    await slow.server.hungUp()
    await slow.server.close()
  })
})
