import { describe, expect, test } from 'vitest'
import type { Image } from '../../src/core/types/media.ts'
import { createEngine } from '../../src/engine/model-call/engine.ts'
import { geminiImages } from '../../src/gemini.ts'
import { editImage, generateImage, imageVariations } from '../../src/models/images.ts'
import { openaiImages } from '../../src/openai.ts'
import { fakeImages } from '../../src/testing/fakes/fake-images.ts'
import { fake } from '../../src/testing/fakes/fake.ts'
import { makePng } from '../providers/vision/make-png.ts'
import { adapterOf, cat, dog, inline, json, request, stubFetch } from './support.ts'

describe('an image call', () => {
  test('makes a request of a prompt and its options', async () => {
    const adapter = fakeImages({ script: [['ok', [cat]]] })
    const engine = createEngine({ imageAdapter: adapter, imageModel: 'painter', model: 'talker' })
    const response = await generateImage(engine, 'a cat', {
      n: 2,
      size: { width: 10, height: 20 },
      quality: 'high',
      providerOptions: { openai: { user: 'u' } },
      metadata: { mine: 1 },
      requestId: 'r1',
    })
    expect(adapter.calls[0]?.request).toEqual({
      operation: 'generate',
      prompt: 'a cat',
      model: 'painter',
      n: 2,
      size: { width: 10, height: 20 },
      quality: 'high',
      responseFormat: 'base64',
      inputImages: [],
      providerOptions: { openai: { user: 'u' } },
      metadata: { mine: 1 },
    })
    expect(response).toMatchObject({
      requestId: 'r1',
      images: [cat],
      usage: { images: 1 },
      metadata: { mine: 1 },
    })
  })

  test('takes a whole request, over which its options go', async () => {
    const adapter = fakeImages({ script: [['ok', [cat]]] })
    const engine = createEngine({
      imageAdapter: adapter,
      imageModel: 'c',
      metadata: { e: 1, r: 1 },
    })
    const asked = request({
      operation: 'edit',
      model: 'b',
      inputImages: [cat],
      n: 3,
      providerOptions: { openai: { user: 'a', seed: 1 } },
      metadata: { r: 2, o: 2 },
    })
    await generateImage(engine, asked, {
      model: 'a',
      mask: cat,
      providerOptions: { openai: { user: 'b' } },
      metadata: { o: 3 },
    })
    expect(adapter.calls[0]?.request).toEqual({
      ...asked,
      model: 'a',
      mask: cat,
      providerOptions: { openai: { user: 'b', seed: 1 } },
      metadata: { e: 1, r: 2, o: 3 },
    })
  })

  test('edits one image or several, with a mask', async () => {
    const adapter = fakeImages({
      script: [
        ['ok', [cat]],
        ['ok', [cat]],
      ],
    })
    const engine = createEngine({ imageAdapter: adapter })
    await editImage(engine, cat, 'a hat', { mask: dog })
    await editImage(engine, [cat, dog], 'both')
    const [one, several] = adapter.calls.map((call) => call.request)
    expect(one).toMatchObject({ operation: 'edit', prompt: 'a hat', inputImages: [cat], mask: dog })
    expect(several).toMatchObject({ operation: 'edit', inputImages: [cat, dog] })
    expect(several).not.toHaveProperty('mask')
  })

  test('makes variations where they are offered', async () => {
    const adapter = fakeImages({ script: [['ok', [dog]]] })
    const { images } = await imageVariations(createEngine({ imageAdapter: adapter }), cat, { n: 4 })
    expect(images).toEqual([dog])
    expect(adapter.calls[0]?.request).toMatchObject({
      operation: 'variation',
      inputImages: [cat],
      n: 4,
    })
  })
})

describe('headers', () => {
  const image = inline(makePng({ width: 2, height: 2 }))
  const base64 = image.type === 'base64' ? image.base64 : ''
  const adapters = {
    openai: {
      adapter: openaiImages,
      answer: () => json({ created: 1, data: [{ b64_json: base64 }] }),
    },
    gemini: {
      adapter: geminiImages,
      answer: () =>
        json({
          candidates: [
            {
              content: { parts: [{ inlineData: { mimeType: 'image/png', data: base64 } }] },
              finishReason: 'STOP',
            },
          ],
        }),
    },
  }

  test.each(Object.entries(adapters))(
    'of a call to %s override those of the adapter; those of the engine are for its chat',
    async (_name, { adapter, answer }) => {
      const { fetch, calls } = stubFetch(answer)
      const engine = createEngine({
        imageAdapter: adapter({ apiKey: 'k', fetch, headers: { 'x-a': 'adapter', 'x-b': 'b' } }),
        imageModel: 'painter',
        headers: { 'x-chat': 'only' },
      })
      await generateImage(engine, 'a cat', { headers: { 'X-A': 'call', 'x-c': 'c' } })
      await editImage(engine, image, 'a dog', { headers: { 'x-c': 'edit' } })
      const seen = calls.map(({ headers }) =>
        ['x-a', 'x-b', 'x-c', 'x-chat'].map((name) => headers.get(name)),
      )
      expect(seen).toEqual([
        ['call', 'b', 'c', null],
        ['adapter', 'b', 'edit', null],
      ])
    },
  )
})

describe('before anything is sent', () => {
  const neverCalled = adapterOf(() => Promise.reject(new Error('was called')))
  const engine = createEngine({ imageAdapter: neverCalled })

  test('an engine without an image adapter is refused, whatever its chat slot has', async () => {
    const chatOnly = createEngine({ adapter: fake({ script: [] }), model: 'talker' })
    await expect(generateImage(chatOnly, 'a cat')).rejects.toMatchObject({
      name: 'EngineError',
      reason: 'no_image_adapter',
    })
  })

  test('what is not an engine is refused', async () => {
    await expect(generateImage({} as typeof engine, 'a cat')).rejects.toMatchObject({
      reason: 'invalid_engine',
    })
  })

  test('an option that does not exist is refused with the one that was meant', async () => {
    await expect(
      generateImage(engine, 'a cat', { qualty: 'high' } as object),
    ).rejects.toMatchObject({
      name: 'ValidationError',
      reason: 'invalid_options',
      issues: [{ problem: 'unknown key qualty; did you mean quality?' }],
    })
  })

  test('an option of chat calls is refused', async () => {
    await expect(generateImage(engine, 'a cat', { maxTurns: 3 } as object)).rejects.toThrow(
      'maxTurns',
    )
  })

  test.each<[string, () => Promise<unknown>, string]>([
    ['an empty prompt', () => generateImage(engine, ''), 'prompt'],
    ['no images at all', () => generateImage(engine, 'a', { n: 0 }), 'n'],
    ['an edit of nothing', () => editImage(engine, [], 'a hat'), 'inputImages'],
    ['a mask without an edit', () => generateImage(engine, 'a', { mask: cat }), 'mask'],
    ['an image that is none', () => editImage(engine, {} as Image, 'a'), 'inputImages[0].type'],
    ['no image', () => imageVariations(engine, undefined as unknown as Image), 'inputImages[0]'],
    ['no request', () => generateImage(engine, undefined as unknown as string), ''],
  ])('%s is refused', async (_name, call, path) => {
    const error = await call().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'ValidationError', reason: 'invalid_image_request' })
    expect((error as { issues: { path: string }[] }).issues.map((issue) => issue.path)).toContain(
      path,
    )
  })

  test('a missing model is refused only by an adapter that needs one', async () => {
    const needy = adapterOf(() => Promise.reject(new Error('was called')), { needsModel: true })
    const withChatModel = createEngine({ imageAdapter: needy, model: 'talker' })
    await expect(generateImage(withChatModel, 'a cat')).rejects.toMatchObject({
      name: 'EngineError',
      reason: 'missing_model',
      provider: 'test',
    })
  })

  test('a missing key is refused', async () => {
    const provider = 'nobody-has-a-key-for-this'
    const keyed = adapterOf(() => Promise.reject(new Error('was called')), {
      provider,
      key: { required: true, own: false },
    })
    await expect(generateImage(createEngine({ imageAdapter: keyed }), 'a')).rejects.toMatchObject({
      name: 'EngineError',
      reason: 'missing_key',
      provider,
    })
  })

  test('an operation that is not offered is refused by the adapter, without a model or a key', async () => {
    const { fetch, calls } = stubFetch(() => json({}))
    const real = createEngine({ imageAdapter: openaiImages({ fetch }) })
    await expect(imageVariations(real, cat)).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'unsupported_operation',
      metadata: { operation: 'variation' },
    })
    expect(calls).toEqual([])
  })
})

describe('keys', () => {
  test('of the call go before those of the engine, and are in no result', async () => {
    const seen: (string | undefined)[] = []
    const adapter = adapterOf(
      (asked, options) => {
        seen.push(options?.apiKey)
        const { metadata } = asked
        return Promise.resolve({
          requestId: 'r',
          provider: 'test',
          images: [cat],
          usage: { images: 1 },
          warnings: [],
          metadata,
        })
      },
      { key: { required: true, own: false } },
    )
    const engine = createEngine({ imageAdapter: adapter, keys: { test: 'of-the-engine' } })
    const first = await generateImage(engine, 'a')
    const second = await generateImage(engine, 'a', { apiKey: 'of-the-call' })
    expect(seen).toEqual(['of-the-engine', 'of-the-call'])
    expect(JSON.stringify([engine, first, second])).not.toMatch(/of-the/)
  })
})
