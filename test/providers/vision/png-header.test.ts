import { describe, expect, test } from 'vitest'
import { pngHeader } from '../../../src/providers/vision/png-header.ts'
import { makePng, type PngOptions } from './make-png.ts'

const size = { width: 3, height: 2 }

describe('the header of a PNG', () => {
  test.each<[string, PngOptions, { bitDepth: number; alpha: boolean | undefined }]>([
    ['8 bits', size, { bitDepth: 8, alpha: false }],
    ['16 bits', { ...size, bitDepth: 16 }, { bitDepth: 16, alpha: false }],
    ['16 bits with alpha', { ...size, bitDepth: 16, colorType: 6 }, { bitDepth: 16, alpha: true }],
    ['alpha', { ...size, colorType: 6 }, { bitDepth: 8, alpha: true }],
    ['grey with alpha', { ...size, colorType: 4 }, { bitDepth: 8, alpha: true }],
    ['grey', { ...size, colorType: 0 }, { bitDepth: 8, alpha: false }],
    ['a palette', { ...size, colorType: 3 }, { bitDepth: 8, alpha: false }],
    ['a transparent colour', { ...size, transparentColor: true }, { bitDepth: 8, alpha: true }],
    [
      'a palette with transparency',
      { ...size, colorType: 3, transparentColor: true },
      { bitDepth: 8, alpha: true },
    ],
  ])('tells %s', (_name, options, expected) => {
    expect(pngHeader(makePng(options))).toEqual({ ...size, ...expected })
  })

  test('does not say that nothing is transparent when the bytes end before the pixels', () => {
    const png = makePng({ ...size, comment: 5000 })
    expect(pngHeader(png)?.alpha).toBe(false)
    expect(pngHeader(png.subarray(0, 4096))).toEqual({ ...size, bitDepth: 8, alpha: undefined })
  })

  test.each<[string, (png: Uint8Array) => Uint8Array]>([
    ['nothing', () => new Uint8Array()],
    ['a signature only', (png) => png.subarray(0, 8)],
    ['a header cut in two', (png) => png.subarray(0, 20)],
    ['a signature without its high bit', (png) => changed(png, 0, 0x09)],
    ['line ends that were translated', (png) => changed(png, 4, 0x0a)],
    ['another chunk first', (png) => changed(png, 12, 0x4a)],
    ['a width of 0', (png) => changed(png, 19, 0)],
    ['a depth that does not exist', (png) => changed(png, 24, 7)],
  ])('of %s is not there', (_name, broken) => {
    expect(pngHeader(broken(makePng(size)))).toBeUndefined()
  })

  test('is found also when the bytes are a part of a larger buffer', () => {
    const png = makePng(size)
    const buffer = new Uint8Array(png.byteLength + 7)
    buffer.set(png, 7)
    expect(pngHeader(buffer.subarray(7))).toMatchObject(size)
  })
})

function changed(png: Uint8Array, at: number, byte: number): Uint8Array {
  const copy = png.slice()
  copy[at] = byte
  return copy
}
