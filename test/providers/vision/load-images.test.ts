import { describe, expect, test } from 'vitest'
import { bytesToBase64 } from '../../../src/core/base/base64.ts'
import {
  base64Slices,
  imageBase64,
  imageBlob,
  imageHead,
  loadImage,
  loadInputs,
} from '../../../src/providers/vision/load-images.ts'
import { makePng } from './make-png.ts'

const limits = { provider: 'openai', maxBytes: 3_000_000, mimeTypes: ['image/png'] }

const png = makePng({ width: 4, height: 4, bitDepth: 16, colorType: 6 })

const inline = { type: 'base64', base64: bytesToBase64(png), mimeType: 'image/png' } as const

describe('a loaded image', () => {
  test('has the same bytes from base64 and from an address', async () => {
    const fetch = (): Promise<Response> => Promise.resolve(new Response(new Uint8Array(png)))
    const sources = [inline, { type: 'url', url: 'https://example.com/' }] as const
    for (const source of sources) {
      const { loaded } = loadedOf(await loadImage(source, limits, { fetch, fetchImages: true }))
      expect(loaded.mimeType).toBe('image/png')
      expect(imageBase64(loaded)).toBe(inline.base64)
      expect([...imageHead(loaded, 30)]).toEqual([...png.subarray(0, 30)])
      const blob = imageBlob(loaded)
      expect(blob.type).toBe('image/png')
      expect(new Uint8Array(await blob.arrayBuffer())).toEqual(png)
    }
  })

  test('of many slices of base64 is put together in their order', async () => {
    const bytes = Uint8Array.from({ length: 2_000_001 }, (_, index) => index % 251)
    const blob = imageBlob({ mimeType: 'image/png', content: bytesToBase64(bytes) })
    expect(blob.size).toBe(bytes.byteLength)
    expect(Buffer.from(await blob.arrayBuffer()).equals(bytes)).toBe(true)
  })

  test.each([[1], [2], [3], [1000], [73_727, 73_728, 73_729]])(
    'in pieces of %o bytes gives the same base64, slice by slice',
    (...lengths) => {
      const bytes = Uint8Array.from({ length: 1_600_001 }, (_, index) => index % 251)
      const pieces: Uint8Array[] = []
      for (let at = 0; at < bytes.byteLength;) {
        const length = lengths[pieces.length % lengths.length] ?? 1
        // Many small pieces in the beginning are enough.
        const end = pieces.length < 50 ? at + length : bytes.byteLength
        pieces.push(bytes.subarray(at, end))
        at = end
      }
      const slices = [...base64Slices({ content: pieces })]
      expect(slices.join('') === Buffer.from(bytes).toString('base64')).toBe(true)
      expect(Math.max(...slices.map((slice) => slice.length))).toBeLessThanOrEqual(96 * 1024)
      expect([...imageHead({ content: pieces }, 100)]).toEqual([...bytes.subarray(0, 100)])
    },
  )

  test('over shared memory becomes a blob as well', async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(png.byteLength))
    shared.set(png)
    const blob = imageBlob({ mimeType: 'image/png', content: [shared] })
    expect(new Uint8Array(await blob.arrayBuffer())).toEqual(png)
  })
})

describe('the inputs of an edit', () => {
  test('are loaded in their order, the mask beside them', async () => {
    const source = { ...inline, metadata: { n: 1 } }
    const inputs = await loadInputs({ inputImages: [source, inline], mask: inline }, { limits })
    expect(inputs.images).toHaveLength(2)
    expect(inputs.mask).toEqual({ mimeType: 'image/png', content: inline.base64 })
  })

  test('have all their problems in one error that names each place', async () => {
    const inputImages = [inline, { ...inline, mimeType: 'image/tiff' }]
    const mask = { type: 'url', url: 'http://127.0.0.1/mask.png' } as const
    await expect(
      loadInputs({ inputImages, mask }, { limits, requestId: 'r1', fetchImages: true }),
    ).rejects.toMatchObject({
      name: 'ImageAdapterError',
      reason: 'invalid_request',
      provider: 'openai',
      requestId: 'r1',
      message:
        'inputImages[1] is image/tiff; openai accepts image/png; mask has a URL that has a host that is not public',
      metadata: { issues: [{ path: 'inputImages[1]' }, { path: 'mask' }] },
    })
  })
})

function loadedOf<T>(outcome: T): Extract<T, { loaded: unknown }> {
  expect(outcome).toHaveProperty('loaded')
  return outcome as Extract<T, { loaded: unknown }>
}
