import { describe, expect, test } from 'vitest'
import type { ImageRequest } from '../../../src/core/types/media.ts'
import { geminiImages } from '../../../src/gemini.ts'
import { inline, json, request, sentJson, stubFetch } from '../../models/support.ts'
import { makePng } from '../vision/make-png.ts'

const png = makePng({ width: 3, height: 2 })
const { base64 } = inline(png) as { base64: string }
const part = { inlineData: { mimeType: 'image/png', data: base64 } }
const answered = (): Response =>
  json({ candidates: [{ content: { parts: [part] }, finishReason: 'STOP' }] })

/** Sends a request and returns its body. */
async function bodyOf(fields: Partial<ImageRequest>): Promise<Record<string, unknown>> {
  const { fetch, calls } = stubFetch(answered)
  const asked = request({ model: 'gemini-2.5-flash-image', ...fields })
  await geminiImages({ apiKey: 'k', fetch }).generate(asked)
  return sentJson(calls.at(-1))
}

/** The result of a call that gets this answer. */
function answer(body: unknown, status = 200): Promise<unknown> {
  const { fetch } = stubFetch(() => json(body, status))
  const asked = request({ model: 'gemini-2.5-flash-image', metadata: { mine: true } })
  return geminiImages({ apiKey: 'k', fetch }).generate(asked, { requestId: 'r1' })
}

describe('the body of a request', () => {
  test('asks for text and an image', async () => {
    expect(await bodyOf({})).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
      generationConfig: { responseModalities: ['TEXT', 'IMAGE'] },
    })
  })

  test('of an edit has the images after the prompt, in their order', async () => {
    const deep = makePng({ width: 2, height: 2, bitDepth: 16, colorType: 6 })
    const inputImages = [inline(png), inline(deep)]
    expect(await bodyOf({ operation: 'edit', inputImages })).toMatchObject({
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'a cat' },
            part,
            { inlineData: { mimeType: 'image/png', data: Buffer.from(deep).toString('base64') } },
          ],
        },
      ],
    })
  })

  test('of an edit has an image that was fetched from its URL', async () => {
    const { fetch, calls } = stubFetch(() => new Response(new Uint8Array(png)), answered)
    const inputImages = [{ type: 'url', url: 'https://example.com/cat.png' } as const]
    const asked = request({ operation: 'edit', model: 'gemini-3-pro-image', inputImages })
    await geminiImages({ apiKey: 'k', fetch, fetchImages: true }).generate(asked)
    expect(calls[0]?.headers.has('x-goog-api-key')).toBe(false)
    expect(sentJson(calls[1])).toMatchObject({ contents: [{ parts: [{ text: 'a cat' }, part] }] })
  })

  test('of an edit of large images is the same JSON', async () => {
    const large = new Uint8Array(2_500_001).fill(65)
    large.set(Buffer.from('RIFFsizeWEBP'))
    const prompt = 'a "cat"\n\u0000 – 🐈'
    const inputImages = [inline(large, 'image/webp'), inline(large, 'image/webp')]
    const data = Buffer.from(large).toString('base64')
    const body = await bodyOf({ operation: 'edit', prompt, inputImages })
    const image = { inlineData: { mimeType: 'image/webp', data } }
    expect(body['contents']).toEqual([{ role: 'user', parts: [{ text: prompt }, image, image] }])
  })

  test('asks for a candidate for each image', async () => {
    expect(await bodyOf({ n: 3 })).toMatchObject({ generationConfig: { candidateCount: 3 } })
  })

  test('leaves out settings that Gemini has no parameter for, and the response lists them', async () => {
    const settings = { quality: 'high', style: 'vivid', background: 'opaque' } as const
    expect(await bodyOf(settings)).toEqual(await bodyOf({}))
    const { fetch } = stubFetch(answered)
    const asked = request({ model: 'gemini-2.5-flash-image', ...settings, background: 'auto' })
    const { warnings } = await geminiImages({ apiKey: 'k', fetch }).generate(asked)
    expect(warnings.map(({ setting }) => setting)).toEqual(['quality', 'style'])
  })

  test('ends with the provider options, merged object by object', async () => {
    const gemini = {
      generationConfig: { imageConfig: { imageSize: '2K' }, seed: 7 },
      safetySettings: [],
    }
    expect(await bodyOf({ size: '16:9', providerOptions: { gemini } })).toMatchObject({
      generationConfig: {
        responseModalities: ['TEXT', 'IMAGE'],
        imageConfig: { aspectRatio: '16:9', imageSize: '2K' },
        seed: 7,
      },
      safetySettings: [],
    })
  })

  test.each<[ImageRequest['size'], object | undefined]>([
    [undefined, undefined],
    ['auto', undefined],
    ['1:1', { aspectRatio: '1:1' }],
    ['21:9', { aspectRatio: '21:9' }],
    ['1024x1024', { aspectRatio: '1:1' }],
    ['1536x1024', { aspectRatio: '3:2' }],
    ['1024×1536', { aspectRatio: '2:3' }],
    ['1792x1024', { aspectRatio: '16:9' }],
    ['1024x1792', { aspectRatio: '9:16' }],
    [{ width: 800, height: 600 }, { aspectRatio: '4:3' }],
    [{ width: 1080, height: 1350 }, { aspectRatio: '4:5' }],
    [{ width: 4096, height: 1024 }, { aspectRatio: '4:1' }],
    ['2k', { imageSize: '2K' }],
    ['0.5K', { imageSize: '0.5K' }],
  ])('has for the size %o: %o', async (size, imageConfig) => {
    const body = await bodyOf(size === undefined ? {} : { size })
    expect(body['generationConfig']).toEqual({
      responseModalities: ['TEXT', 'IMAGE'],
      ...(imageConfig === undefined ? {} : { imageConfig }),
    })
  })
})

describe('an unsupported request is refused before anything is sent', () => {
  test.each<[string, Partial<ImageRequest>, object]>([
    [
      'a variation',
      { operation: 'variation', inputImages: [inline(png)] },
      { reason: 'unsupported_operation', metadata: { operation: 'variation' } },
    ],
    [
      'a mask',
      { operation: 'edit', inputImages: [inline(png)], mask: inline(png) },
      { reason: 'unsupported_feature', metadata: { feature: 'mask' } },
    ],
    [
      'a URL instead of bytes',
      { responseFormat: 'url' },
      { reason: 'invalid_request', metadata: { responseFormat: 'url' } },
    ],
    [
      'a size without a near ratio',
      { size: { width: 1000, height: 300 } },
      { reason: 'invalid_request', metadata: { size: { width: 1000, height: 300 } } },
    ],
    ['a size that is not a size', { size: 'large' }, { reason: 'invalid_request' }],
  ])('%s', async (_name, fields, expected) => {
    const { fetch, calls } = stubFetch(answered)
    // No key is given: the request is refused before one is looked up.
    const asked = request({ model: 'gemini-2.5-flash-image', ...fields })
    await expect(
      geminiImages({ fetch }).generate(asked, { requestId: 'r1' }),
    ).rejects.toMatchObject({
      name: 'ImageAdapterError',
      provider: 'gemini',
      requestId: 'r1',
      ...expected,
    })
    expect(calls).toEqual([])
  })

  test.each<[string, ImageRequest['inputImages'], string]>([
    [
      'a GIF',
      [inline(png), inline(Buffer.from('GIF89a..'), 'image/gif')],
      'inputImages[1] is image/gif; gemini accepts image/png, image/jpeg, image/webp, image/heic, image/heif',
    ],
    [
      'an image on this machine',
      [{ type: 'url', url: 'http://0x7f000001/' }],
      'inputImages[0] has a URL that has a host that is not public',
    ],
  ])('%s', async (_name, inputImages, message) => {
    const { fetch, calls } = stubFetch(answered)
    const asked = request({ operation: 'edit', model: 'gemini-2.5-flash-image', inputImages })
    await expect(
      geminiImages({ apiKey: 'k', fetch, fetchImages: true }).generate(asked),
    ).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'invalid_request',
      message,
    })
    expect(calls).toEqual([])
  })

  test('a call without a key, or without a model', async () => {
    const { fetch, calls } = stubFetch(answered)
    const asked = request({ model: 'gemini-2.5-flash-image' })
    await expect(geminiImages({ fetch }).generate(asked)).rejects.toMatchObject({
      reason: 'missing_key',
    })
    await expect(geminiImages({ fetch, apiKey: 'k' }).generate(request())).rejects.toMatchObject({
      reason: 'missing_model',
    })
    expect(calls).toEqual([])
  })
})

describe('a call', () => {
  test('has the model in its URL and the key in a header only', async () => {
    const { fetch, calls } = stubFetch(answered)
    const adapter = geminiImages({ fetch, apiKey: 'AIza-own' })
    await adapter.generate(request({ model: 'gemini-3-pro-image' }))
    expect(calls[0]?.url).toBe(
      'https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro-image:generateContent',
    )
    expect(calls[0]?.headers.get('x-goog-api-key')).toBe('AIza-own')
    expect(JSON.stringify(adapter)).not.toContain('AIza-own')
    expect(adapter.supportedOperations()).toEqual(['generate', 'edit'])
    expect(adapter.needsModel).toBe(true)
  })

  test('returns the images of all candidates, the text beside them, and the usage', async () => {
    const body = {
      responseId: 'id_1',
      modelVersion: 'gemini-3-pro-image',
      candidates: [
        {
          content: {
            parts: [
              { text: 'I think.', thought: true },
              { inlineData: { mimeType: 'image/png', data: 'AAAA' }, thought: true },
              { text: 'Here ' },
              part,
              { text: 'you are.' },
            ],
          },
          finishReason: 'STOP',
        },
        { content: { parts: [{ inlineData: { mimeType: 'image/jpeg', data: '/9j/AAAA' } }] } },
      ],
      usageMetadata: {
        promptTokenCount: 5,
        candidatesTokenCount: 10,
        thoughtsTokenCount: 2,
        totalTokenCount: 17,
        serviceTier: 'standard',
      },
    }
    expect(await answer(body)).toEqual({
      requestId: 'r1',
      id: 'id_1',
      model: 'gemini-3-pro-image',
      provider: 'gemini',
      images: [
        { type: 'base64', base64, mimeType: 'image/png', width: 3, height: 2 },
        { type: 'base64', base64: '/9j/AAAA', mimeType: 'image/jpeg' },
      ],
      warnings: [],
      usage: {
        images: 2,
        inputTokens: 5,
        outputTokens: 12,
        totalTokens: 17,
        extra: { serviceTier: 'standard' },
      },
      metadata: { outputText: 'Here you are.', mine: true },
    })
  })
})

describe('an answer without an image', () => {
  const ended = (finishReason: string, more: object = {}): object => ({
    candidates: [{ finishReason, ...more }],
  })

  test.each<[string, unknown, object]>([
    [
      'whose prompt was blocked',
      { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } },
      {
        reason: 'content_filter',
        metadata: { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } },
      },
    ],
    [
      'whose image was blocked',
      ended('IMAGE_SAFETY', { finishMessage: 'Unsafe.' }),
      {
        reason: 'content_filter',
        message: 'gemini made no image (IMAGE_SAFETY): Unsafe.',
        metadata: { finishReason: 'IMAGE_SAFETY' },
      },
    ],
    [
      'that has text instead',
      ended('STOP', { content: { parts: [{ text: 'Which cat?' }] } }),
      { reason: 'malformed_response', message: 'gemini made no image (STOP): Which cat?' },
    ],
    [
      'that says so',
      ended('NO_IMAGE'),
      { reason: 'malformed_response', message: 'gemini made no image (NO_IMAGE)' },
    ],
    ['that is empty', {}, { reason: 'malformed_response' }],
    ['that is null', null, { reason: 'malformed_response' }],
    [
      'whose bytes are not base64',
      ended('STOP', { content: { parts: [{ inlineData: { data: 'no base64' } }] } }),
      { reason: 'malformed_response' },
    ],
    [
      'that reports an error inside a success',
      { error: { code: 503, message: 'Overloaded.', status: 'UNAVAILABLE' } },
      { reason: 'provider_unavailable', retryable: true },
    ],
  ])('%s', async (_name, body, expected) => {
    await expect(answer(body)).rejects.toMatchObject({
      name: 'ImageAdapterError',
      provider: 'gemini',
      requestId: 'r1',
      ...expected,
    })
  })
})

test.each([
  [400, { message: 'API key not valid.' }, 'authentication_failed'],
  [400, { message: 'Bad size.' }, 'invalid_request'],
  [403, {}, 'authentication_failed'],
  [404, {}, 'invalid_request'],
  [429, { details: [{ retryDelay: '3s' }] }, 'rate_limited'],
  [503, {}, 'provider_unavailable'],
])('a refusal with %d and %o is an ImageAdapterError', async (status, error, reason) => {
  await expect(answer({ error }, status)).rejects.toMatchObject({
    name: 'ImageAdapterError',
    reason,
    status,
    requestId: 'r1',
  })
})
