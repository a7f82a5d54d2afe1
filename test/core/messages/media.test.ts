import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { base64ToBytes, bytesToBase64 } from '../../../src/core/base/base64.ts'
import {
  fileFromBase64,
  fileFromBytes,
  fileFromId,
  fileFromUrl,
  imageFromBase64,
  imageFromBytes,
  imageFromDataUri,
  imageFromUrl,
} from '../../../src/core/messages/media.ts'
import { filePart, user } from '../../../src/core/messages/messages.ts'
import { sniffMimeType, typeProblem } from '../../../src/core/messages/sniff.ts'
import { base64Problem } from '../../../src/core/schema/validate.ts'
import { mpegFile, mpegFrames, sineWav, wav64 } from '../../models/audio.ts'
import { refusalOf } from '../../support/refusals.ts'

const starts = {
  'image/png': [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 73],
  'image/jpeg': [0xff, 0xd8, 0xff, 0xe0, 0, 16, 74, 70],
  'image/gif': [...Buffer.from('GIF89a'), 1, 0, 1, 0],
  'image/webp': [...Buffer.from('RIFF'), 36, 0, 0, 0, ...Buffer.from('WEBPVP8 ')],
}

const png = Uint8Array.from(starts['image/png'])

describe('base64', () => {
  test('agrees with Node for all bytes, both ways', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const base64 = bytesToBase64(bytes)
        expect(base64).toBe(Buffer.from(bytes).toString('base64'))
        expect(base64ToBytes(base64)).toEqual(new Uint8Array(bytes))
        if (bytes.length > 0) expect(base64Problem(base64)).toBeUndefined()
      }),
    )
  })

  test('asks the runtime first', () => {
    const bytes = Object.assign(new Uint8Array(3), { toBase64: () => 'native' })
    expect(bytesToBase64(bytes)).toBe('native')
  })

  test('encodes large images at once', () => {
    const bytes = new Uint8Array(3_000_001).fill(7)
    expect(bytesToBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
  })

  test.each<[string, string]>([
    ['', 'is empty'],
    ['data:image/png;base64,AAAA', 'is a data URI; use imageFromDataUri'],
    ['AAAA AAA', 'is not base64: character 5 is " "'],
    ['AA-_', 'is not base64: character 3 is "-"'],
    ['A===', 'is not base64: character 2 is "="'],
    ['AA=A', 'is not base64: character 3 is "="'],
    ['AAAAA', 'is not base64: its length, 5, is not a multiple of 4 (is the padding missing?)'],
  ])('%j %s', (text, problem) => {
    expect(base64Problem(text)).toBe(problem)
  })
})

test.each(Object.entries(starts))(
  '%s is known by its first bytes, also in base64',
  (type, bytes) => {
    const image = Uint8Array.from(bytes)
    expect(sniffMimeType(image)).toBe(type)
    expect(sniffMimeType(bytesToBase64(image))).toBe(type)
    expect(imageFromBytes(image)).toStrictEqual({
      type: 'base64',
      base64: Buffer.from(bytes).toString('base64'),
      mimeType: type,
    })
    expect(imageFromBase64(bytesToBase64(image)).mimeType).toBe(type)
  },
)

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text)

test.each<[string, Uint8Array, string | undefined]>([
  ['application/pdf', ascii('%PDF-1.7\n'), undefined],
  ['application/pdf', ascii('\n\n%PDF-1.7\n'), undefined],
  ['application/pdf', ascii('<html>'), 'is declared as application/pdf, but its bytes are not'],
  ['audio/wav', ascii('RIFF----WAVEfmt '), undefined],
  ['audio/wav', ascii('ID3 and a longer tag'), 'is declared as audio/wav, but its bytes are not'],
  ['audio/mpeg', ascii('ID3'), undefined],
  ['audio/mpeg', Uint8Array.of(0xff, 0xfb, 0x90), undefined],
  ['audio/flac', ascii('fLaC'), undefined],
  ['video/mp4', ascii('....ftypisom'), undefined],
  ['video/webm', Uint8Array.of(0x1a, 0x45, 0xdf, 0xa3), undefined],
  ['image/heic', ascii('....ftypheic'), undefined],
  ['image/heic', png, 'is declared as image/heic, but its bytes are image/png'],
  ['text/plain', ascii('héllo'), undefined],
  ['text/plain', Uint8Array.of(65, 0, 66), 'is declared as text/plain, but its bytes are not'],
  ['application/json', png, 'is declared as application/json, but its bytes are image/png'],
  ['application/x-unheard-of', ascii('anything'), undefined],
  ['image/png', Uint8Array.of(1, 2, 3), undefined],
  ['image/png', ascii('not a png'), 'is declared as image/png, but its bytes are not'],
  [
    'application/x-unheard-of',
    png,
    'is declared as application/x-unheard-of, but its bytes are image/png',
  ],
])('bytes that are declared as %s are judged by their start', (mimeType, bytes, problem) => {
  expect(typeProblem(mimeType, bytes)).toBe(problem)
  expect(typeProblem(mimeType, bytesToBase64(bytes))).toBe(problem)
})

test.each(mpegFrames)('a file of %s is audio/mpeg', (_name, second) => {
  const bytes = mpegFile(second)
  for (const mimeType of ['audio/mpeg', 'audio/mp3']) {
    expect(typeProblem(mimeType, bytes)).toBeUndefined()
    const file = fileFromBytes(bytes, mimeType)
    expect(user([filePart(file)]).content).toMatchObject([{ type: 'file', file: { mimeType } }])
  }
  expect(typeProblem('audio/wav', bytes)).toBe('is declared as audio/wav, but its bytes are not')
})

test.each(['RF64', 'BW64'] as const)(
  'a WAV file of lengths of 64 bits, %s, is audio/wav',
  (name) => {
    const bytes = wav64(name, sineWav(0.01))
    for (const mimeType of ['audio/wav', 'audio/x-wav']) {
      expect(typeProblem(mimeType, bytes)).toBeUndefined()
      expect(fileFromBytes(bytes, mimeType).mimeType).toBe(mimeType)
    }
    expect(typeProblem('audio/flac', bytes)).toBe(
      'is declared as audio/flac, but its bytes are not',
    )
  },
)

test.each(['', '?', 'AAAA', 'UklGRiQAAABXQVZF'])('%j is not a known image', (base64) => {
  expect(sniffMimeType(base64)).toBeUndefined()
})

test('bytes may come as a buffer or as a view into one', () => {
  const buffer = new ArrayBuffer(png.length + 4)
  const view = new Uint8Array(buffer, 4)
  view.set(png)
  const expected = imageFromBytes(png)
  expect(imageFromBytes(view)).toEqual(expected)
  expect(imageFromBytes(buffer.slice(4))).toEqual(expected)
})

test('an image by address is not looked at', () => {
  expect(imageFromUrl('https://a.b/c')).toStrictEqual({ type: 'url', url: 'https://a.b/c' })
  expect(imageFromUrl(new URL('http://a.b/c'), { mimeType: 'image/png' })).toStrictEqual({
    type: 'url',
    url: 'http://a.b/c',
    mimeType: 'image/png',
  })
})

test('a data URI is taken apart; parameters of its type are dropped', () => {
  const base64 = bytesToBase64(png)
  const image = { type: 'base64', base64, mimeType: 'image/png' }
  expect(imageFromDataUri(`data:image/png;base64,${base64}`)).toStrictEqual(image)
  expect(imageFromDataUri(`DATA:IMAGE/PNG;charset=utf-8;BASE64,${base64}`)).toStrictEqual(image)
  expect(imageFromDataUri(`data:;base64,${bytesToBase64(png)}`).mimeType).toBe('image/png')
})

test.each<[string, () => unknown, string, string]>([
  [
    'a data URI for an address',
    () => imageFromUrl('data:image/png;base64,AAAA'),
    'url',
    'is a data URI; use imageFromDataUri',
  ],
  [
    'a path for an address',
    () => imageFromUrl('./cat.png'),
    'url',
    'must be an http or https URL, not "./cat.png"',
  ],
  [
    'a file address',
    () => imageFromUrl('file:///cat.png'),
    'url',
    'must be an http or https URL, not "file:///cat.png"',
  ],
  [
    'a misspelt option',
    () => imageFromUrl('https://a.b', { mimetype: 'x' } as never),
    '',
    'unknown key mimetype; did you mean mimeType?',
  ],
  [
    'no bytes',
    () => imageFromBytes(new Uint8Array()),
    'bytes',
    'must be a non-empty Uint8Array, not an empty one',
  ],
  [
    'a text for bytes',
    () => imageFromBytes('AAAA' as never),
    'bytes',
    'must be a non-empty Uint8Array, not "AAAA"',
  ],
  [
    'bytes of no known type',
    () => imageFromBytes(Uint8Array.of(1, 2, 3)),
    'mimeType',
    'cannot be recognized from the first bytes; pass it, such as "image/png"',
  ],
  [
    'a type in short',
    () => imageFromBytes(png, 'png'),
    'mimeType',
    'must be an image type such as "image/png", not "png"',
  ],
  [
    'base64 that is none',
    () => imageFromBase64('AAA', 'image/png'),
    'base64',
    'is not base64: its length, 3, is not a multiple of 4 (is the padding missing?)',
  ],
  [
    'base64 that is bytes',
    () => imageFromBase64(png as never),
    'base64',
    'must be a base64 string, not a Uint8Array',
  ],
  [
    'a data URI that is none',
    () => imageFromDataUri('image/png;base64,AAAA'),
    'uri',
    'must be a data URI, not "image/png;base64,AAAA"',
  ],
  [
    'a data URI in plain text',
    () => imageFromDataUri('data:image/svg+xml,<svg/>'),
    'uri',
    'must contain base64, as in data:image/png;base64,…',
  ],
  [
    'a data URI that is not an image',
    () => imageFromDataUri('data:text/plain;base64,AAAA'),
    'mimeType',
    'must be an image type such as "image/png", not "text/plain"',
  ],
  [
    'bytes of another type than declared',
    () => imageFromBytes(Uint8Array.from(starts['image/jpeg']), 'image/png'),
    'mimeType',
    'is declared as image/png, but its bytes are image/jpeg',
  ],
  [
    'a text that is declared as an image',
    () =>
      imageFromBytes(new TextEncoder().encode('root:x:0:0:root:/root:/bin/bash\n'), 'image/png'),
    'mimeType',
    'is declared as image/png, but its bytes are not',
  ],
  [
    'a data URI of another type than declared',
    () => imageFromDataUri(`data:image/webp;base64,${bytesToBase64(png)}`),
    'mimeType',
    'is declared as image/webp, but its bytes are image/png',
  ],
])('%s is refused with the way out', (_name, make, path, problem) => {
  expect(refusalOf(make)).toEqual([{ path, problem }])
})

describe('a type', () => {
  const webm = Uint8Array.from([0x1a, 0x45, 0xdf, 0xa3, 1, 2, 3])

  test('may have parameters and capitals, as browsers send it', () => {
    expect(fileFromBytes(webm, 'audio/webm;codecs=opus').mimeType).toBe('audio/webm')
    expect(fileFromBase64(bytesToBase64(webm), ' Audio/WebM ; codecs="opus"').mimeType).toBe(
      'audio/webm',
    )
    expect(fileFromUrl('https://a.example/a', 'AUDIO/WAV').mimeType).toBe('audio/wav')
    expect(fileFromId('f1', 'openai', { mimeType: 'Text/Plain;charset=utf-8' }).mimeType).toBe(
      'text/plain',
    )
    expect(imageFromBytes(png, 'IMAGE/PNG;q=1').mimeType).toBe('image/png')
    expect(imageFromUrl('https://a.example/a', { mimeType: 'Image/PNG' }).mimeType).toBe(
      'image/png',
    )
  })

  test.each(['', ';codecs=opus', 'audio', 7])('%j is refused', (mimeType) => {
    expect(() => fileFromBytes(webm, mimeType as string)).toThrow('must be a media type')
  })

  test('of a file without bytes is not looked at', () => {
    for (const make of [imageFromBytes, fileFromBytes]) {
      expect(() => make(new Uint8Array(), 'image/png')).toThrow('not an empty one')
      expect(() => make(new ArrayBuffer(0), 'image/png')).toThrow('not an empty one')
      expect(() => make('a' as never, 'image/png')).toThrow('not "a"')
    }
  })
})
