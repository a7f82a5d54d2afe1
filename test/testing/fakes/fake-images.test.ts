import { describe, expect, test, vi } from 'vitest'
import {
  ImageAdapterError,
  imageFromBytes,
  imageFromUrl,
  imageRequest,
  isAllmError,
  ValidationError,
  type ImageRequest,
} from '../../../src/index.ts'
import {
  createScriptCursor,
  fakeImages,
  type FakeImages,
  type FakeImagesOptions,
  type ImageScriptEntry,
} from '../../../src/testing.ts'

const image = imageFromBytes(new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]), 'image/png')
const other = imageFromUrl('https://example.com/x.png')
const request = imageRequest('a kestrel', { metadata: { trace: 't1' } })
const limited = new ImageAdapterError('rate_limited', 'slow down', { retryAfterMs: 7 })

const failureOf = (adapter: FakeImages, given: ImageRequest = request): Promise<unknown> =>
  adapter.generate(given).then(
    () => 'no failure',
    (error: unknown) => error,
  )

describe('an image fake answers from its script', () => {
  test('ok gives the images and a usage that counts them', async () => {
    const response = await fakeImages({ script: [['ok', [image, other]]] }).generate(request)
    expect(response.images).toEqual([image, other])
    expect(response.usage).toEqual({ images: 2 })
    expect(response.provider).toBe('fake')
  })

  test('ok with a usage gives that one', async () => {
    const usage = { images: 1, inputTokens: 30, size: '1024x1024' }
    const script: readonly ImageScriptEntry[] = [['ok', [image], { usage }]]
    expect((await fakeImages({ script }).generate(request)).usage).toEqual(usage)
  })

  test('what the request asks for does not matter', async () => {
    const adapter = fakeImages({ script: [['ok', [image]]] })
    const wanted = imageRequest('four of them', { n: 4 })
    expect((await adapter.generate(wanted)).images).toHaveLength(1)
  })

  test('error rejects with the very error that was given', async () => {
    expect(await failureOf(fakeImages({ script: [['error', limited]] }))).toBe(limited)
  })

  test('error takes the JSON of an error too', async () => {
    const failure = await failureOf(fakeImages({ script: [['error', limited.toJSON()]] }))
    expect(failure).toBeInstanceOf(ImageAdapterError)
    expect(isAllmError(failure) && failure.toJSON()).toEqual(limited.toJSON())
  })

  test('each call takes the next entry', async () => {
    const adapter = fakeImages({
      script: [
        ['ok', [image]],
        ['error', limited],
        ['ok', [other]],
      ],
    })
    expect((await adapter.generate(request)).images).toEqual([image])
    expect(await failureOf(adapter)).toBe(limited)
    expect((await adapter.generate(request)).images).toEqual([other])
    expect([adapter.remaining, adapter.assertDone()]).toEqual([0, undefined])
  })

  test.each([[], [['ok', [image]]] as const])(
    'beyond the last entry it is unknown, with no_scripted_image as the cause: %#',
    async (...script) => {
      const adapter = fakeImages({ script })
      for (let call = 0; call < script.length; call++) await adapter.generate(request)
      expect(await failureOf(adapter)).toMatchObject({
        kind: 'image_adapter',
        reason: 'unknown',
        metadata: { cause: 'no_scripted_image' },
        provider: 'fake',
      })
    },
  )

  test('the returned images are data that no other code can change', async () => {
    const mine = { ...image }
    const adapter = fakeImages({ script: [['ok', [mine]]] })
    Object.assign(mine, { base64: 'changed' })
    const { images } = await adapter.generate(request)
    expect(images).toEqual([image])
    expect(Object.isFrozen(images[0])).toBe(true)
  })
})

describe('retry_until_call', () => {
  test('fails n−1 calls with rate_limited and no wait, then goes on to the next entry', async () => {
    const scriptCursor = createScriptCursor()
    const adapter = fakeImages({
      script: [
        ['retry_until_call', 3],
        ['ok', [image]],
      ],
      scriptCursor,
    })
    for (let call = 0; call < 2; call++) {
      expect(await failureOf(adapter)).toMatchObject({
        reason: 'rate_limited',
        retryAfterMs: 0,
        retryable: true,
      })
      expect(scriptCursor.index).toBe(0)
    }
    expect((await adapter.generate(request)).images).toEqual([image])
    expect(scriptCursor.index).toBe(2)
  })

  test('counts the calls against its own entry', async () => {
    const script: readonly ImageScriptEntry[] = [
      ['retry_until_call', 2],
      ['ok', [image]],
      ['retry_until_call', 2],
      ['ok', [other]],
    ]
    const adapter = fakeImages({ script })
    expect(await failureOf(adapter)).toMatchObject({ reason: 'rate_limited' })
    expect((await adapter.generate(request)).images).toEqual([image])
    expect(await failureOf(adapter)).toMatchObject({ reason: 'rate_limited' })
    expect((await adapter.generate(request)).images).toEqual([other])
  })

  test('with 1 fails nothing, and with nothing behind it the script is at its end', async () => {
    const adapter = fakeImages({ script: [['retry_until_call', 1]] })
    expect(await failureOf(adapter)).toMatchObject({ metadata: { cause: 'no_scripted_image' } })
  })
})

describe('the place in the script', () => {
  test('is the fake’s own: equal scripts do not collide', async () => {
    const script: readonly ImageScriptEntry[] = [
      ['ok', [image]],
      ['ok', [other]],
    ]
    const [one, two] = [fakeImages({ script }), fakeImages({ script })]
    await one.generate(request)
    expect((await two.generate(request)).images).toEqual([image])
  })

  test('can be a cursor that is shared, whose index says how many entries were taken', async () => {
    const scriptCursor = createScriptCursor()
    const script: readonly ImageScriptEntry[] = [
      ['ok', [image]],
      ['ok', [other]],
    ]
    const [one, two] = [fakeImages({ script, scriptCursor }), fakeImages({ script, scriptCursor })]
    expect(scriptCursor.index).toBe(0)
    await one.generate(request)
    expect((await two.generate(request)).images).toEqual([other])
    expect(scriptCursor.index).toBe(2)
  })

  test('entries that are left over are counted, and assertDone fails', () => {
    const adapter = fakeImages({
      script: [
        ['ok', [image]],
        ['ok', [other]],
      ],
    })
    expect(adapter.remaining).toBe(2)
    expect(() => adapter.assertDone()).toThrow(/2 entries were not played/)
  })
})

describe('a response has the facts of the call', () => {
  test('the request id and the model', async () => {
    const adapter = fakeImages({ script: [['ok', [image]]] })
    const drawn = imageRequest('a kestrel', { model: 'painter-1' })
    const response = await adapter.generate(drawn, { requestId: 'r1' })
    expect(response).toMatchObject({ requestId: 'r1', model: 'painter-1' })
  })

  test('the request’s metadata', async () => {
    const response = await fakeImages({ script: [['ok', [image]]] }).generate(request)
    expect(response.metadata).toEqual({ trace: 't1' })
  })

  test('unless the script has its own', async () => {
    const own = { requestId: 'scripted', metadata: { mine: true }, model: 'm', id: 'i' }
    const adapter = fakeImages({ script: [['ok', [image], own]] })
    expect(await adapter.generate(request, { requestId: 'r1' })).toMatchObject(own)
  })

  test('an id that counts the calls when there is none', async () => {
    const adapter = fakeImages({
      script: [
        ['ok', [image]],
        ['ok', [image]],
      ],
    })
    await adapter.generate(request)
    expect((await adapter.generate(request)).requestId).toBe('fake-request-2')
  })
})

describe('a call is captured, then its operation is checked, then the script is read', () => {
  // An operation that the types do not have, as JavaScript may bring it.
  const odd = { ...request, operation: 'upscale' } as unknown as ImageRequest

  test('all three operations are supported', () => {
    expect(fakeImages().supportedOperations()).toEqual(['generate', 'edit', 'variation'])
  })

  test('another operation is refused by name and takes no entry', async () => {
    const adapter = fakeImages({ script: [['ok', [image]]] })
    expect(await failureOf(adapter, odd)).toMatchObject({
      kind: 'image_adapter',
      reason: 'unsupported_operation',
      metadata: { operation: 'upscale' },
    })
    expect(adapter.remaining).toBe(1)
  })

  test('capture is called for every call, also for one that is refused, and changes nothing', async () => {
    const capture = vi.fn<NonNullable<FakeImagesOptions['capture']>>()
    const adapter = fakeImages({ script: [['ok', [image]]], capture })
    await failureOf(adapter, odd)
    await adapter.generate(request, { requestId: 'r1', apiKey: 'sk-secret' })
    expect(capture.mock.calls).toEqual([
      [{ request: odd, options: {} }],
      [{ request, options: { requestId: 'r1' } }],
    ])
  })

  test('the calls are kept as frozen data without a key', async () => {
    const adapter = fakeImages({ script: [['ok', [image]]] })
    await adapter.generate(request, { requestId: 'r1', apiKey: 'sk-secret' })
    expect(adapter.calls).toEqual([{ request, options: { requestId: 'r1' } }])
    expect(Object.isFrozen(adapter.calls[0]?.request.metadata)).toBe(true)
  })

  test('a signal that is aborted stops it before the script is read', async () => {
    const adapter = fakeImages({ script: [['ok', [image]]] })
    await expect(
      adapter.generate(request, { signal: AbortSignal.abort('no') }),
    ).rejects.toMatchObject({ reason: 'cancelled' })
    expect(adapter.remaining).toBe(1)
  })
})

describe('an image script is checked where the fake is made', () => {
  // What the types would refuse.
  const make = (options: unknown) => () => fakeImages(options as FakeImagesOptions)

  test('every legal entry is accepted', () => {
    const script: readonly ImageScriptEntry[] = [
      ['ok', []],
      ['ok', [image], { usage: { images: 1 } }],
      ['error', limited],
      ['retry_until_call', 2],
    ]
    expect(make({ script })).not.toThrow()
    expect(make({})).not.toThrow()
  })

  test.each([
    [{ script: 'ok' }, /script must be a list of entries/],
    [{ script: ['ok'] }, /script\[0\] must be an entry/],
    [{ script: [['okay', []]] }, /unknown tag "okay".*retry_until_call/],
    [{ script: [['ok', image]] }, /script\[0\]\[1\] must be a list/],
    [{ script: [['ok', [{ type: 'png' }]]] }, /script\[0\]\[1\]\[0\]\.type/],
    [{ script: [['ok', [], { usage: { imagse: 1 } }]] }, /did you mean images/],
    [{ script: [['ok', [], {}, 1]] }, /must have 2 or 3 elements/],
    [{ script: [['error', new Error('mine')]] }, /must be an ImageAdapterError/],
    [{ script: [['error', { kind: 'image_adapter', reason: 'tired' }]] }, /reason/],
    [{ script: [['retry_until_call', 0]] }, /must be a positive integer/],
    [{ scriptCursor: 1 }, /scriptCursor must be made by createScriptCursor\(\)/],
    [{ capture: 1 }, /capture must be a function/],
    [{ skript: [] }, /did you mean script/],
  ])('%j is refused', (options, problem) => {
    expect(make(options)).toThrow(ValidationError)
    expect(make(options)).toThrow(problem)
  })
})
