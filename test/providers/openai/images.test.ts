import { describe, expect, test } from 'vitest'
import type { ImageRequest } from '../../../src/core/types/media.ts'
import { openaiImages } from '../../../src/openai.ts'
import { inline, json, request, sentJson, stubFetch } from '../../models/support.ts'
import { makePng } from '../vision/make-png.ts'

const png = makePng({ width: 3, height: 2 })
const { base64 } = inline(png) as { base64: string }
const answered = (): Response => json({ created: 1, data: [{ b64_json: base64 }] })

/** Sends a request and gives the body that it was rendered to. */
async function bodyOf(fields: Partial<ImageRequest>): Promise<unknown> {
  const { fetch, calls } = stubFetch(answered)
  await openaiImages({ apiKey: 'k', fetch }).generate(request(fields))
  return sentJson(calls[0])
}

describe('the body of a generation', () => {
  const wishes = {
    size: { width: 1536, height: 1024 },
    quality: 'high',
    style: 'vivid',
    background: 'transparent',
  } as const

  test.each([
    ['gpt-image-1', { size: '1536x1024', quality: 'high', background: 'transparent' }],
    ['gpt-image-2-2026-04-21', { size: '1536x1024', quality: 'high', background: 'transparent' }],
    ['chatgpt-image-latest', { size: '1536x1024', quality: 'high', background: 'transparent' }],
    ['dall-e-2', { size: '1536x1024', response_format: 'b64_json' }],
    ['dall-e-3', { size: '1536x1024', quality: 'hd', style: 'vivid', response_format: 'b64_json' }],
    [
      'grok-2-image',
      {
        size: '1536x1024',
        quality: 'high',
        style: 'vivid',
        background: 'transparent',
        response_format: 'b64_json',
      },
    ],
  ])('for %s has the parameters of its family', async (model, expected) => {
    expect(await bodyOf({ model, n: 2, ...wishes })).toEqual({
      model,
      prompt: 'a cat',
      n: 2,
      ...expected,
    })
  })

  test.each([
    ['gpt-image-1', 'standard', 'medium'],
    ['gpt-image-1', 'hd', 'high'],
    ['gpt-image-1', 'low', 'low'],
    ['gpt-image-2.5-flare', 'xhigh', 'xhigh'],
    ['dall-e-3', 'medium', 'standard'],
    ['dall-e-3', 'high', 'hd'],
    ['dall-e-3', 'auto', 'auto'],
  ])('sends %s for the quality %s: %s', async (model, quality, word) => {
    expect(await bodyOf({ model, quality })).toMatchObject({ quality: word })
  })

  test('leaves out settings that the family has no parameter for, and names them', async () => {
    const { fetch } = stubFetch(answered)
    const adapter = openaiImages({ apiKey: 'k', fetch })
    const asked = request({ model: 'dall-e-2', ...wishes, background: 'auto' })
    const { warnings } = await adapter.generate(asked)
    expect(warnings).toEqual([
      { setting: 'quality', problem: 'dall-e-2 has no parameter for it' },
      { setting: 'style', problem: 'dall-e-2 has no parameter for it' },
    ])
  })

  test('has no parameter that was not given', async () => {
    expect(await bodyOf({ model: 'gpt-image-1' })).toEqual({
      model: 'gpt-image-1',
      prompt: 'a cat',
      n: 1,
    })
  })

  test('asks for a URL if the family can return one', async () => {
    const body = await bodyOf({ model: 'dall-e-3', responseFormat: 'url', size: 'auto' })
    expect(body).toMatchObject({ response_format: 'url', size: 'auto' })
  })

  test('ends with the provider options, which override the others', async () => {
    const openai = { output_format: 'webp', output_compression: 80, moderation: 'low', n: 3 }
    const body = await bodyOf({ model: 'gpt-image-1', providerOptions: { openai } })
    expect(body).toEqual({ model: 'gpt-image-1', prompt: 'a cat', ...openai })
  })

  test('of a provider with another name takes the options of both', async () => {
    const { fetch, calls } = stubFetch(answered)
    const baseUrl = 'https://xai.example/v1/?api-version=7'
    const adapter = openaiImages({ baseUrl, fetch, provider: 'xai' })
    const providerOptions = { openai: { user: 'a' }, xai: { user: 'b' } }
    const response = await adapter.generate(request({ model: 'grok', providerOptions }))
    expect(sentJson(calls[0])).toMatchObject({ user: 'b' })
    expect(response.provider).toBe('xai')
    expect(calls[0]?.url).toBe('https://xai.example/v1/images/generations?api-version=7')
  })
})

describe('a call', () => {
  test('has the key in a header and nowhere else', async () => {
    const { fetch, calls } = stubFetch(answered)
    const adapter = openaiImages({ fetch, apiKey: 'sk-own-0000000000', headers: { 'X-A': 'b' } })
    const response = await adapter.generate(request({ model: 'gpt-image-1' }), { requestId: 'r1' })
    const [call] = calls
    expect(call?.url).toBe('https://api.openai.com/v1/images/generations')
    expect(call?.method).toBe('POST')
    expect(Object.fromEntries(call?.headers ?? [])).toEqual({
      accept: 'application/json',
      authorization: 'Bearer sk-own-0000000000',
      'content-type': 'application/json',
      'x-a': 'b',
    })
    expect(JSON.stringify([adapter, response, sentJson(call)])).not.toContain('sk-own')
  })

  test('uses its own key before that of the adapter', async () => {
    const { fetch, calls } = stubFetch(answered)
    const adapter = openaiImages({ fetch, apiKey: 'own' })
    await adapter.generate(request({ model: 'gpt-image-1' }), { apiKey: 'of-the-call' })
    expect(calls[0]?.headers.get('authorization')).toBe('Bearer of-the-call')
  })

  test('without a key is refused where one is required', async () => {
    const { fetch, calls } = stubFetch(answered)
    await expect(openaiImages({ fetch }).generate(request())).rejects.toMatchObject({
      name: 'EngineError',
      reason: 'missing_key',
    })
    expect(calls).toEqual([])
    expect(openaiImages({ fetch }).key).toEqual({ required: true, own: false })
    const local = openaiImages({ fetch, baseUrl: 'http://127.0.0.1:1/v1' })
    expect(local.key).toEqual({ required: false, own: false })
    await local.generate(request({ model: 'local' }))
    expect(calls[0]?.headers.has('authorization')).toBe(false)
  })

  test('returns the images with their facts, and the metadata of the request', async () => {
    const usage = {
      input_tokens: 3,
      output_tokens: 4,
      total_tokens: 7,
      input_tokens_details: { text_tokens: 3 },
    }
    const body = {
      created: 1,
      data: [{ b64_json: base64, revised_prompt: 'A cat.' }, { b64_json: 'AAAA' }],
      output_format: 'webp',
      size: '1024x1536',
      quality: 'low',
      usage,
    }
    const { fetch } = stubFetch(() => json(body, 200, { 'x-request-id': 'req_1' }))
    const adapter = openaiImages({ fetch, apiKey: 'k' })
    const asked = request({ model: 'gpt-image-1', metadata: { mine: true } })
    const response = await adapter.generate(asked, { requestId: 'r1' })
    expect(response).toEqual({
      requestId: 'r1',
      model: 'gpt-image-1',
      provider: 'openai',
      images: [
        // Read from the bytes of the image; the answer does not have it.
        {
          type: 'base64',
          base64,
          mimeType: 'image/png',
          width: 3,
          height: 2,
          revisedPrompt: 'A cat.',
        },
        { type: 'base64', base64: 'AAAA', mimeType: 'image/webp', width: 1024, height: 1536 },
      ],
      warnings: [],
      usage: {
        images: 2,
        inputTokens: 3,
        outputTokens: 4,
        totalTokens: 7,
        size: '1024x1536',
        quality: 'low',
        extra: { input_tokens_details: { text_tokens: 3 } },
      },
      metadata: { providerRequestId: 'req_1', mine: true },
    })
    expect(JSON.parse(JSON.stringify(response))).toEqual(response)
  })

  test('makes a request id when none is given', async () => {
    const { fetch } = stubFetch(answered)
    const newId = (kind: string): string => `${kind}-7`
    const adapter = openaiImages({ fetch, apiKey: 'k' })
    expect((await adapter.generate(request(), { newId })).requestId).toBe('request-7')
  })
})

describe('a request that the model cannot answer is refused before anything is sent', () => {
  test.each<[string, Partial<ImageRequest>, object]>([
    [
      'a variation',
      { operation: 'variation', inputImages: [inline(png)] },
      { reason: 'unsupported_operation', metadata: { operation: 'variation' } },
    ],
    [
      'an edit by a model that cannot edit',
      { operation: 'edit', model: 'dall-e-3', inputImages: [inline(png)] },
      { reason: 'unsupported_operation', metadata: { operation: 'edit', model: 'dall-e-3' } },
    ],
    [
      'an address from a model that gives bytes only',
      { model: 'gpt-image-1.5', responseFormat: 'url' },
      { reason: 'invalid_request', metadata: { model: 'gpt-image-1.5', responseFormat: 'url' } },
    ],
    [
      'two images of a model that edits one',
      { operation: 'edit', model: 'dall-e-2', inputImages: [inline(png), inline(png)] },
      { reason: 'invalid_request', metadata: { model: 'dall-e-2', maxImages: 1 } },
    ],
    [
      'a stream',
      { model: 'gpt-image-1', providerOptions: { openai: { stream: true } } },
      { reason: 'unsupported_feature' },
    ],
  ])('%s', async (_name, fields, expected) => {
    const { fetch, calls } = stubFetch(answered)
    // No key is given: the request is refused before one is looked up.
    const refused = openaiImages({ fetch }).generate(request(fields), { requestId: 'r1' })
    await expect(refused).rejects.toMatchObject({
      name: 'ImageAdapterError',
      provider: 'openai',
      requestId: 'r1',
      retryable: false,
      ...expected,
    })
    expect(calls).toEqual([])
  })

  test('an option that does not exist', () => {
    expect(() => openaiImages({ baseURL: 'x' } as object)).toThrow('did you mean baseUrl?')
  })
})

test('the operations are generate and edit, and a model is needed', () => {
  const adapter = openaiImages()
  expect(adapter.supportedOperations()).toEqual(['generate', 'edit'])
  expect(adapter.needsModel).toBe(true)
  expect(adapter.provider).toBe('openai')
})
