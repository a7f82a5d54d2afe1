import { describe, expect, test } from 'vitest'
import { openaiImages } from '../../../src/openai.ts'
import { virtualClock } from '../../../src/testing/fakes/virtual-clock.ts'
import { inline, json, request, stubFetch } from '../../models/support.ts'
import { makePng } from '../vision/make-png.ts'

const asked = request({ model: 'gpt-image-1' })

function refused(answer: () => Response, apiKey = 'sk-test-1234567890'): Promise<unknown> {
  const { fetch } = stubFetch(answer)
  return openaiImages({ apiKey, fetch }).generate(asked, { requestId: 'r1' })
}

describe('a refusal of the API is an ImageAdapterError', () => {
  const error = (fields: object): object => ({ error: { message: 'No.', ...fields } })

  test.each<[string, number, object, object]>([
    [
      'a bad key',
      401,
      error({ code: 'invalid_api_key' }),
      { reason: 'authentication_failed', retryable: false },
    ],
    ['no access', 403, error({}), { reason: 'authentication_failed' }],
    [
      'too many calls',
      429,
      error({ code: 'rate_limit_exceeded' }),
      { reason: 'rate_limited', retryable: true },
    ],
    [
      'an empty purse',
      429,
      error({ code: 'insufficient_quota' }),
      { reason: 'rate_limited', retryable: false },
    ],
    [
      'a bad parameter',
      400,
      error({ param: 'size' }),
      { reason: 'invalid_request', metadata: { param: 'size' } },
    ],
    ['a policy', 400, error({ code: 'content_policy_violation' }), { reason: 'content_filter' }],
    [
      'moderation',
      400,
      error({ code: 'moderation_blocked', type: 'image_generation_user_error' }),
      { reason: 'content_filter', metadata: { code: 'moderation_blocked' } },
    ],
    ['an unknown model', 404, error({ code: 'model_not_found' }), { reason: 'invalid_request' }],
    ['a broken server', 500, error({}), { reason: 'provider_unavailable', retryable: true }],
    ['no server', 503, {}, { reason: 'provider_unavailable' }],
  ])('%s', async (_name, status, body, expected) => {
    await expect(refused(() => json(body, status))).rejects.toMatchObject({
      name: 'ImageAdapterError',
      kind: 'image_adapter',
      provider: 'openai',
      requestId: 'r1',
      status,
      ...expected,
    })
  })

  test('keeps the time to wait', async () => {
    await expect(refused(() => json({}, 429, { 'retry-after': '7' }))).rejects.toMatchObject({
      retryAfterMs: 7000,
    })
  })

  test('does not show a key that it repeats', async () => {
    const key = 'an-odd-key-of-mine'
    const body = { error: { message: `Incorrect API key provided: ${key}` } }
    const failure = await refused(() => json(body, 401), key).catch((thrown: unknown) => thrown)
    expect(JSON.stringify(failure)).not.toContain(key)
    const inside = await refused(() => json(body), key).catch((thrown: unknown) => thrown)
    expect(inside).toMatchObject({ name: 'ImageAdapterError', reason: 'authentication_failed' })
    expect(JSON.stringify(inside)).not.toContain(key)
  })
})

describe('an answer without images', () => {
  test.each<[string, unknown, string]>([
    ['with an empty list was filtered', { data: [] }, 'content_filter'],
    [
      'with items that hold nothing is malformed',
      { data: [{ revised_prompt: 'A cat.' }] },
      'malformed_response',
    ],
    [
      'with bytes that are not base64 is malformed',
      { data: [{ b64_json: 'no base64' }] },
      'malformed_response',
    ],
    ['without a list is malformed', { created: 1 }, 'malformed_response'],
    ['that is not an object is malformed', 'cat', 'malformed_response'],
  ])('%s', async (_name, body, reason) => {
    await expect(refused(() => json(body))).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason,
      status: 200,
    })
  })

  test('that is not JSON is malformed', async () => {
    await expect(refused(() => new Response('<html>'))).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'malformed_response',
    })
  })

  test('in one of several items keeps the others', async () => {
    const { fetch } = stubFetch(() =>
      json({ data: [{ b64_json: '' }, { url: 'https://a.example/' }] }),
    )
    const { images, usage } = await openaiImages({ apiKey: 'k', fetch }).generate(asked)
    expect(images).toEqual([{ type: 'url', url: 'https://a.example/' }])
    expect(usage).toEqual({ images: 1 })
  })
})

describe('a connection', () => {
  test('that breaks is a network error', async () => {
    const fetch = (): Promise<Response> => Promise.reject(new TypeError('fetch failed'))
    await expect(openaiImages({ apiKey: 'k', fetch }).generate(asked)).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'network_error',
      retryable: true,
    })
  })

  test('that breaks while an input image is fetched is a network error too', async () => {
    const fetch = (): Promise<Response> => Promise.reject(new TypeError('fetch failed'))
    const url = 'https://example.com/cat.png?signature=secret'
    const edit = request({
      operation: 'edit',
      model: 'gpt-image-1',
      inputImages: [{ type: 'url', url }],
    })
    const failure = await openaiImages({ apiKey: 'k', fetch, fetchImages: true })
      .generate(edit)
      .catch((error: unknown) => error)
    expect(failure).toMatchObject({ name: 'ImageAdapterError', reason: 'network_error' })
    expect(JSON.stringify(failure)).not.toContain('secret')
  })

  test('that redirects is not followed', async () => {
    const away = (): Response =>
      new Response(null, { status: 307, headers: { location: 'https://b.example' } })
    await expect(refused(away)).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'invalid_request',
    })
  })

  test.each([
    ['of a call', [], 'gpt-image-1'],
    [
      'of the fetch of an input image',
      [{ type: 'url', url: 'https://example.com/cat.png' } as const],
      'gpt-image-1',
    ],
  ])('%s that takes too long is a timeout', async (_name, inputImages, model) => {
    const clock = virtualClock()
    const fetch = (_url: string, { signal }: RequestInit): Promise<Response> =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      })
    const operation = inputImages.length === 0 ? 'generate' : 'edit'
    const adapter = openaiImages({ apiKey: 'k', fetch, fetchImages: true })
    await expect(
      adapter.generate(request({ operation, model, inputImages }), {
        clock,
        requestTimeoutMs: 5000,
      }),
    ).rejects.toMatchObject({ name: 'ImageAdapterError', reason: 'timeout', retryable: true })
  })

  test('that is stopped is cancelled', async () => {
    const stop = new AbortController()
    const fetch = (_url: string, { signal }: RequestInit): Promise<Response> =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
        stop.abort()
      })
    const edit = request({
      operation: 'edit',
      model: 'gpt-image-1',
      inputImages: [inline(makePng({ width: 1, height: 1 }))],
    })
    await expect(
      openaiImages({ apiKey: 'k', fetch }).generate(edit, { signal: stop.signal }),
    ).rejects.toMatchObject({ name: 'StreamError', reason: 'cancelled' })
  })
})
