import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { ImageRequest } from '../../../src/core/types/media.ts'
import { openaiImages } from '../../../src/openai.ts'
import {
  inline,
  json,
  parseMultipart,
  request,
  stubFetch,
  textFields,
  type FormPart,
  type SentCall,
} from '../../models/support.ts'
import { makePng } from '../vision/make-png.ts'

const cat = makePng({ width: 3, height: 2 })
const deep = makePng({ width: 3, height: 2, bitDepth: 16, colorType: 6 })
const jpeg = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 16, 13, 10, 45, 45)
const answered = (): Response => json({ data: [{ b64_json: 'iVBORw0KGgo=' }] })

/** Edits with a stubbed `fetch` and gives what was sent. */
async function edit(fields: Partial<ImageRequest>): Promise<readonly SentCall[]> {
  const { fetch, calls } = stubFetch(answered)
  const asked = request({ operation: 'edit', model: 'gpt-image-1', ...fields })
  await openaiImages({ apiKey: 'k', fetch }).generate(asked)
  return calls
}

function partsOf(call: SentCall | undefined): ReturnType<typeof parseMultipart> {
  if (call === undefined) throw new Error('nothing was sent')
  return parseMultipart(call.bytes, call.headers.get('content-type'))
}

describe('the form of an edit', () => {
  test('has one image as image, whose bytes are the same', async () => {
    const [call] = await edit({ inputImages: [inline(cat)], size: '1024x1024', quality: 'low' })
    expect(call?.url).toBe('https://api.openai.com/v1/images/edits')
    expect(call?.headers.get('content-type')).toMatch(/^multipart\/form-data; boundary=/)
    const parts = partsOf(call)
    expect(textFields(parts)).toEqual({
      prompt: 'a cat',
      model: 'gpt-image-1',
      n: '1',
      size: '1024x1024',
      quality: 'low',
    })
    const image = parts.find(({ filename }) => filename !== undefined)
    expect(image).toMatchObject({
      name: 'image',
      filename: 'image-1.png',
      contentType: 'image/png',
    })
    expect(image?.bytes.equals(cat)).toBe(true)
  })

  test('has several images as image[] in their order, and the mask', async () => {
    const mask = makePng({ width: 3, height: 2, colorType: 6 })
    const [call] = await edit({
      inputImages: [inline(deep), inline(jpeg, 'image/jpeg'), inline(cat)],
      mask: inline(mask),
    })
    const files = partsOf(call).filter(({ filename }) => filename !== undefined)
    expect(files.map(({ name, filename, contentType }) => [name, filename, contentType])).toEqual([
      ['image[]', 'image-1.png', 'image/png'],
      ['image[]', 'image-2.jpeg', 'image/jpeg'],
      ['image[]', 'image-3.png', 'image/png'],
      ['mask', 'mask.png', 'image/png'],
    ])
    for (const [index, bytes] of [deep, jpeg, cat, mask].entries()) {
      expect(files[index]?.bytes.equals(bytes)).toBe(true)
    }
  })

  test('is also read by the platform', async () => {
    const [call] = await edit({
      inputImages: [inline(cat), inline(deep)],
      prompt: 'äöü "quoted"\r\n--',
    })
    const headers = { 'content-type': call?.headers.get('content-type') ?? '' }
    const form = await new Response(new Uint8Array(call?.bytes ?? []), { headers }).formData()
    expect(form.get('prompt')).toBe('äöü "quoted"\r\n--')
    const images = form.getAll('image[]').filter((value) => typeof value !== 'string')
    expect(images.map(({ size }) => size)).toEqual([cat.byteLength, deep.byteLength])
  })

  test('arrives whole over a real connection', async () => {
    const noise = Uint8Array.from({ length: 3_000_000 }, (_, index) => (index * 2654435761) >>> 24)
    noise.set(cat.subarray(0, 8))
    let received: readonly FormPart[] = []
    const server = createServer((incoming, response) => {
      const pieces: Buffer[] = []
      incoming.on('data', (piece: Buffer) => pieces.push(piece))
      incoming.on('end', () => {
        received = parseMultipart(Buffer.concat(pieces), incoming.headers['content-type'] ?? null)
        response.end(JSON.stringify({ data: [{ b64_json: 'iVBORw0KGgo=' }] }))
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const { port } = server.address() as AddressInfo
      const adapter = openaiImages({ baseUrl: `http://127.0.0.1:${port}/v1` })
      const inputImages = [inline(noise), inline(cat)]
      await adapter.generate(request({ operation: 'edit', model: 'gpt-image-1', inputImages }))
      const files = received.filter(({ filename }) => filename !== undefined)
      expect(files.map(({ bytes }) => bytes.byteLength)).toEqual([3_000_000, cat.byteLength])
      expect(files[0]?.bytes.equals(noise)).toBe(true)
    } finally {
      server.close()
    }
  })

  test('has the provider options as text, and no field for null', async () => {
    const openai = { input_fidelity: 'high', output_compression: 50, x: { y: [1] }, z: null }
    const [call] = await edit({ inputImages: [inline(cat)], providerOptions: { openai } })
    expect(textFields(partsOf(call))).toMatchObject({
      input_fidelity: 'high',
      output_compression: '50',
      x: '{"y":[1]}',
    })
    expect(partsOf(call).map(({ name }) => name)).not.toContain('z')
  })

  test('for dall-e-2 has the form of the answer, and no style', async () => {
    const [call] = await edit({ model: 'dall-e-2', inputImages: [inline(cat)], style: 'vivid' })
    expect(textFields(partsOf(call))).toEqual({
      prompt: 'a cat',
      model: 'dall-e-2',
      n: '1',
      response_format: 'b64_json',
    })
  })
})

describe('an input image', () => {
  test('at a URL is not fetched unless the adapter was told to', async () => {
    const { fetch, calls } = stubFetch(answered)
    const inputImages = [{ type: 'url', url: 'https://example.com/cat.png' } as const]
    const asked = request({ operation: 'edit', model: 'gpt-image-1', inputImages })
    await expect(openaiImages({ apiKey: 'k', fetch }).generate(asked)).rejects.toMatchObject({
      reason: 'invalid_request',
      message:
        'inputImages[0] is a URL that this adapter would have to fetch itself, which it does only with the option fetchImages',
    })
    const elsewhere = (url: URL): boolean => url.hostname === 'images.example.com'
    const later = (() => Promise.resolve(true)) as unknown as () => boolean
    for (const fetchImages of [elsewhere, later]) {
      await expect(
        openaiImages({ apiKey: 'k', fetch, fetchImages }).generate(asked),
      ).rejects.toMatchObject({
        message: 'inputImages[0] is a URL that the option fetchImages does not allow',
      })
    }
    expect(() => openaiImages({ fetchImages: 'all' as never })).toThrow('fetchImages must be')
    expect(calls).toEqual([])
  })

  test('at a URL is fetched through the injected fetch, without the key', async () => {
    const { fetch, calls } = stubFetch(() => new Response(new Uint8Array(cat)), answered)
    const inputImages = [{ type: 'url', url: 'https://example.com/cat.png' } as const]
    const asked = request({ operation: 'edit', model: 'gpt-image-1', inputImages })
    await openaiImages({ apiKey: 'k', fetch, fetchImages: true, headers: { 'x-a': 'b' } }).generate(
      asked,
    )
    expect(calls.map(({ url }) => url)).toEqual([
      'https://example.com/cat.png',
      'https://api.openai.com/v1/images/edits',
    ])
    expect(Object.fromEntries(calls[0]?.headers ?? [])).toEqual({ accept: 'image/*' })
    expect(partsOf(calls[1]).at(-1)?.bytes.equals(cat)).toBe(true)
  })

  test.each([
    'http://127.0.0.1/cat.png',
    'http://2130706433/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:127.0.0.1]/',
    'http://localhost./',
  ])('at %s is not fetched', async (url) => {
    const { fetch, calls } = stubFetch(answered)
    const asked = request({
      operation: 'edit',
      model: 'gpt-image-1',
      inputImages: [{ type: 'url', url }],
    })
    await expect(
      openaiImages({ apiKey: 'k', fetch, fetchImages: true }).generate(asked),
    ).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'invalid_request',
      message: 'inputImages[0] has a URL that has a host that is not public',
    })
    expect(calls).toEqual([])
  })

  test.each<[string, Partial<ImageRequest>, string]>([
    [
      'of another type',
      { inputImages: [inline(cat), inline(cat, 'image/tiff')] },
      'inputImages[1] is image/tiff; openai accepts image/png, image/jpeg, image/webp',
    ],
    [
      'whose content does not match its type',
      { inputImages: [inline(jpeg, 'image/png')] },
      'inputImages[0] is declared as image/png, but its bytes are image/jpeg',
    ],
    [
      'that is too large for its model',
      { model: 'dall-e-2', inputImages: [inline(new Uint8Array(4 * 1024 * 1024 + 1))] },
      'inputImages[0] has 4194305 bytes; openai accepts at most 4194304',
    ],
    [
      'that is uploaded',
      { inputImages: [{ type: 'id', id: 'file-1', provider: 'openai' }] },
      'inputImages[0] is a file at the provider; pass its bytes',
    ],
    [
      'whose mask has no transparent pixels',
      { inputImages: [inline(cat)], mask: inline(makePng({ width: 3, height: 2, bitDepth: 16 })) },
      'mask has no transparent pixels: it needs an alpha channel',
    ],
    [
      'whose mask has another size',
      { inputImages: [inline(cat)], mask: inline(makePng({ width: 2, height: 2, colorType: 6 })) },
      'mask is 2x2 and inputImages[0] is 3x2: their sizes must be equal',
    ],
  ])('%s is refused before anything is sent', async (_name, fields, message) => {
    const { fetch, calls } = stubFetch(answered)
    const asked = request({ operation: 'edit', model: 'gpt-image-1', ...fields })
    await expect(
      openaiImages({ apiKey: 'k', fetch, fetchImages: true }).generate(asked),
    ).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'invalid_request',
      message,
    })
    expect(calls).toEqual([])
  })

  test.each<[string, (png: Uint8Array) => Uint8Array]>([
    ['cut off', (png) => png.slice(0, -20)],
    ['with a broken header', (png) => png.map((byte, at) => (at === 24 ? 7 : byte))],
  ])(
    'that is a PNG %s goes out as it is, as image and as mask: the provider judges it',
    async (_name, broken) => {
      const bytes = broken(cat)
      const [call] = await edit({ inputImages: [inline(bytes)], mask: inline(bytes.slice(0, 20)) })
      const image = partsOf(call).find(({ filename }) => filename !== undefined)
      expect(image?.bytes.equals(bytes)).toBe(true)
    },
  )
})
