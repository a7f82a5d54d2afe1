import {
  APICallError,
  EmptyResponseBodyError,
  InvalidPromptError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from 'ai'
import { describe, expect, test } from 'vitest'
import { fromAiSdk } from '../../../src/ai-sdk.ts'
import { createEngine, generate, isAllmError, streamGenerate } from '../../../src/index.ts'
import { createFakeServer } from '../../../src/server.ts'
import { providers } from '../../newer/support/ai-sdk-harness.ts'
import { serve } from '../../support/http-server.ts'
import { finish, playedModel, responseOf, said } from './model.ts'

const call = {
  url: 'https://parrot.example/v1',
  requestBodyValues: { prompt: 'a private question' },
}

function refusal(statusCode: number, facts: object = {}): APICallError {
  return new APICallError({ message: 'no', ...call, statusCode, ...facts })
}

/** What a call to a model that throws rejects with. */
async function thrownFor(error: unknown): Promise<unknown> {
  const model = playedModel([])
  model.doStream = async () => {
    throw error
  }
  const engine = createEngine({ adapter: fromAiSdk(model), retry: false })
  return generate(engine, 'hi').catch((failure: unknown) => failure)
}

describe('a failure before the answer', () => {
  test.each<[string, unknown, object]>([
    [
      'a status',
      refusal(429),
      { kind: 'adapter', reason: 'rate_limited', status: 429, retryable: true },
    ],
    ['401', refusal(401), { reason: 'authentication_failed', status: 401, retryable: false }],
    ['503', refusal(503), { reason: 'provider_unavailable', status: 503 }],
    ['529', refusal(529), { reason: 'provider_unavailable', status: 529 }],
    ['a redirect', refusal(307), { reason: 'unknown', status: 307 }],
    [
      'a header with the wait',
      refusal(429, { responseHeaders: { 'retry-after': '7', 'x-request-id': 'r1' } }),
      { retryAfterMs: 7000, metadata: { providerRequestId: 'r1' } },
    ],
    [
      'a date with the wait',
      refusal(503, {
        responseHeaders: {
          'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT',
          date: 'Thu, 01 Jan 2026 00:00:00 GMT',
        },
      }),
      { retryAfterMs: 9000 },
    ],
    [
      'a body with the wait',
      refusal(429, {
        responseBody:
          '{"error":{"code":429,"message":"slow down","details":[{"retryDelay":"2.5s"}]}}',
      }),
      { message: 'slow down', retryAfterMs: 2500 },
    ],
    [
      'a used-up quota',
      refusal(429, { responseBody: '{"error":{"code":"insufficient_quota","message":"pay"}}' }),
      { reason: 'rate_limited', retryable: false, metadata: { code: 'insufficient_quota' } },
    ],
    [
      'a prompt that is too long',
      refusal(400, { message: 'prompt is too long: 300000 tokens' }),
      { reason: 'context_length_exceeded', message: 'prompt is too long: 300000 tokens' },
    ],
    [
      'a page of a proxy',
      refusal(502, { message: '', responseBody: '<html>Bad gateway</html>' }),
      { reason: 'provider_unavailable', message: 'parrot.chat answered 502' },
    ],
    [
      'headers that are none',
      refusal(500, { responseHeaders: { 'not a name': 'x' } }),
      { reason: 'provider_unavailable' },
    ],
    [
      'nobody who answers',
      new APICallError({
        message: 'Cannot connect to API: connect ECONNREFUSED',
        ...call,
        cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
        isRetryable: true,
      }),
      { reason: 'network_error', retryable: true, metadata: { code: 'ECONNREFUSED' } },
    ],
    [
      'a call without a cause',
      new APICallError({ message: 'gone', ...call }),
      { reason: 'network_error' },
    ],
    [
      'no key',
      new LoadAPIKeyError({ message: 'no key' }),
      { kind: 'engine', reason: 'missing_key' },
    ],
    [
      'what the provider cannot do',
      new UnsupportedFunctionalityError({ functionality: 'video' }),
      {
        reason: 'unsupported_feature',
        message: "parrot.chat: 'video' functionality not supported.",
      },
    ],
    [
      'a bad prompt',
      new InvalidPromptError({ message: 'bad', prompt: 'private' }),
      { reason: 'invalid_request' },
    ],
    [
      'no such model',
      new NoSuchModelError({ modelId: 'x', modelType: 'languageModel' }),
      { reason: 'invalid_request' },
    ],
    ['an empty body', new EmptyResponseBodyError(), { reason: 'malformed_response' }],
    [
      'a body that cannot be read',
      refusal(200, { cause: new JSONParseError({ text: '<', cause: new Error('bad') }) }),
      { reason: 'malformed_response' },
    ],
    ['a bug', new TypeError('x is not a function'), { reason: 'unknown', retryable: false }],
    ['a text', 'no', { reason: 'unknown', message: 'no' }],
    ['nothing', undefined, { reason: 'unknown', message: 'parrot.chat answered with an error' }],
    [
      'a gateway',
      Object.assign(new Error('who are you?'), { statusCode: 401 }),
      { reason: 'authentication_failed' },
    ],
  ])('by %s', async (_what, error, expected) => {
    const failure = await thrownFor(error)
    expect(failure).toMatchObject({ provider: 'parrot.chat', ...expected })
    expect(
      isAllmError(failure) && JSON.stringify([failure.toJSON(), failure.cause ?? null]),
    ).not.toContain('private')
  })
})

describe('a failure in the middle', () => {
  const validation = (value: unknown): TypeValidationError =>
    new TypeValidationError({ value, cause: new Error('expected a list') })

  test.each<[string, unknown, object]>([
    [
      'a type',
      { type: 'overloaded_error', message: 'busy' },
      { kind: 'adapter', reason: 'provider_unavailable', message: 'busy' },
    ],
    [
      'a code',
      { error: { code: 'rate_limit_exceeded', message: 'try again in 2s' } },
      { reason: 'rate_limited', retryAfterMs: 2000 },
    ],
    [
      'a status',
      { message: 'busy', statusCode: 503, data: { code: 503, message: 'busy' } },
      { reason: 'provider_unavailable', status: 503 },
    ],
    ['a text', 'out of words', { reason: 'unknown', message: 'out of words' }],
    ['a refusal', refusal(429, { message: 'slow down' }), { reason: 'rate_limited', status: 429 }],
    [
      'an event that has an error',
      validation({ error: { type: 'server_error', message: 'oh' } }),
      { reason: 'provider_unavailable', message: 'oh' },
    ],
    [
      'an event that is not JSON',
      new JSONParseError({ text: '{"a', cause: new Error('end') }),
      { kind: 'stream', reason: 'malformed_event' },
    ],
    [
      'an event that is a piece of an answer',
      validation({ choices: 'none' }),
      { kind: 'stream', reason: 'malformed_event' },
    ],
    [
      'data that is wrong',
      new InvalidResponseDataError({ data: {}, message: 'odd' }),
      { kind: 'stream', reason: 'malformed_event' },
    ],
    [
      'a broken connection',
      refusal(200, { cause: new TypeError('terminated') }),
      { kind: 'stream', reason: 'truncated' },
    ],
  ])('by an error part: %s', async (_what, error, expected) => {
    await expect(
      responseOf([...said('so far'), { type: 'error', error }, finish()]),
    ).rejects.toMatchObject({
      partial: { outputText: 'so far' },
      ...expected,
    })
  })

  test('by a stream that breaks', async () => {
    await expect(
      responseOf([...said('so far'), new TypeError('terminated')]),
    ).rejects.toMatchObject({
      kind: 'stream',
      reason: 'truncated',
      partial: { outputText: 'so far' },
    })
    await expect(responseOf([new TypeError('terminated')])).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'network_error',
    })
  })

  test('is none if the model only does not know an event that is no piece of an answer', async () => {
    const unknown = { type: 'error', error: validation({ type: 'usage_note', text: 'x' }) }
    expect((await responseOf([unknown, ...said('all'), unknown, finish()])).outputText).toBe('all')
  })

  test('does not quote an event whole', async () => {
    const text = `{"a": "${'x'.repeat(10_000)}`
    const error = new JSONParseError({ text, cause: new Error('end') })
    const failure: unknown = await responseOf([{ type: 'error', error }]).catch(
      (one: unknown) => one,
    )
    expect(isAllmError(failure) && JSON.stringify(failure).length).toBeLessThan(2000)
  })
})

/** What a server may say in place of an answer. Models of the AI SDK read all of them as an answer without content. */
const bodies: readonly (readonly [string, string, string])[] = [
  ['a page', 'text/html', '<html><body>Log in, please.</body></html>'],
  [
    'a page that says it is a stream',
    'text/event-stream',
    '<html><body>Log in, please.</body></html>',
  ],
  ['JSON', 'application/json', '{"ok":true}'],
  ['nothing', 'text/event-stream', ''],
  ['comments', 'text/event-stream', ': ping\n\n: ping\n\n'],
  ['half an event', 'text/event-stream', 'data: {"choices":[{"delta":{"content":"Hel'],
  ['an event that is not JSON', 'text/event-stream', 'data: not json\n\n'],
  ['a list', 'text/event-stream', 'data: [1,2]\n\ndata: [DONE]\n\n'],
  ['an empty event', 'text/event-stream', 'data: {}\n\n'],
  ['only the end marker', 'text/event-stream', 'data: [DONE]\n\n'],
]

describe.each(Object.entries(providers))('a body that is no answer, to %s', (_name, { model }) => {
  test.each(bodies)('%s is a failure', async (_what, type, body) => {
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': type }).end(body)
    })
    const { url } = server
    const fake = { openaiBaseUrl: url, anthropicBaseUrl: url, geminiBaseUrl: url }
    // The providers read the addresses alone.
    const settings = { server: fake as never, apiKey: 'none', fetch }
    const engine = createEngine({ adapter: fromAiSdk(model(settings, 'm')), retry: false })
    await expect(generate(engine, 'hi')).rejects.toMatchObject({
      reason: expect.stringMatching(/^(?:truncated|malformed_response)$/) as string,
    })
    expect(server.requests).toHaveLength(1)
  })
})

describe('keys', () => {
  const said = { message: 'the key not-a-known-form is wrong' }

  test.each(Object.entries(providers))(
    '%s: its own key is in no error',
    async (_name, { model }) => {
      await using server = await createFakeServer({
        scripts: [
          [['preflight_error', 'authentication_failed', { status: 401, ...said }]],
          [
            ['text_delta', 'so far'],
            ['error_event', 'provider_unavailable', said],
          ],
        ],
        validateRequests: false,
      })
      const own = model({ server, apiKey: 'not-a-known-form', fetch }, 'm')
      const engine = createEngine({ adapter: fromAiSdk(own), retry: false })
      for (let calls = 0; calls < 2; calls++) {
        const failure: unknown = await generate(engine, 'hi').catch((error: unknown) => error)
        expect(isAllmError(failure) && failure.message).toBe('the key [redacted] is wrong')
        expect(JSON.stringify(failure)).not.toContain('not-a-known-form')
      }
    },
  )

  test('a key in headers that are still being made causes no unhandled rejection', async () => {
    const config = { headers: () => Promise.reject(new Error('no token')) }
    const model = Object.assign(playedModel([[...said2, finish()]]), { config })
    expect((await generate(createEngine({ adapter: fromAiSdk(model) }), 'hi')).outputText).toBe(
      'ok',
    )
  })

  test('a redirect is not followed by a fetch that does not', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(307, { location: 'http://127.0.0.1:9/stolen' }).end()
    })
    const careful: typeof fetch = (url, init) => fetch(url, { ...init, redirect: 'manual' })
    const fake = { anthropicBaseUrl: server.url } as never
    const { model } = providers['anthropic.messages'] ?? {}
    const own = model?.({ server: fake, apiKey: 'none', fetch: careful }, 'm')
    const engine = createEngine({ adapter: fromAiSdk(own as never), retry: false })
    await expect(generate(engine, 'hi')).rejects.toMatchObject({ status: 307 })
  })
})

const said2 = said('ok')

test('an answer is too large by its files and items too', async () => {
  const big = { type: 'file', mediaType: 'audio/wav', data: 'a'.repeat(2000) }
  const engine = createEngine({ adapter: fromAiSdk(playedModel([[big, finish()]])) })
  const stream = streamGenerate(engine, 'hi', { maxResponseBytes: 1000 })
  await expect(stream.result).rejects.toMatchObject({ reason: 'too_large' })
})
