import { describe, expect, test } from 'vitest'
import { ValidationError } from '../../src/errors/errors.ts'
import { bytesToBase64 } from '../../src/make/media.ts'
import type { Image } from '../../src/types/media.ts'
import type { Message } from '../../src/types/message.ts'
import type { ModelRequest } from '../../src/types/request.ts'
import type { ImageLimits } from '../../src/vision/fetch-image.ts'
import { hasImages, resolveImages } from '../../src/vision/resolve-images.ts'
import { makePng } from './make-png.ts'

const common = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']
const providers: readonly ImageLimits[] = [
  { provider: 'openai', maxBytes: 20 * 1024 * 1024, mimeTypes: common },
  { provider: 'anthropic', maxBytes: 5 * 1024 * 1024, mimeTypes: common },
  {
    provider: 'gemini',
    maxBytes: 7 * 1024 * 1024,
    mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  },
]
const limits: ImageLimits = { provider: 'anthropic', maxBytes: 1000, mimeTypes: common }

const png = bytesToBase64(makePng({ width: 2, height: 2 }))
const jpeg = bytesToBase64(Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 16))
const inline: Image = { type: 'base64', base64: png, mimeType: 'image/png' }

describe('hasImages', () => {
  test('is true as soon as one part of one message is an image', () => {
    expect(hasImages(request({ role: 'user', content: [text('a'), image(inline)] }))).toBe(true)
  })

  test('is false for text, whether it is in parts or not', () => {
    const messages: Message[] = [
      { role: 'user', content: 'a' },
      { role: 'user', content: [text('b')] },
    ]
    expect(hasImages(request(...messages))).toBe(false)
    expect(hasImages(request())).toBe(false)
  })
})

describe('images that a provider takes', () => {
  test('leave the request as it is: the same object', async () => {
    const asked = request(
      { role: 'system', content: 'Look.' },
      { role: 'user', content: [text('a'), image(inline)] },
      { role: 'user', content: [image({ type: 'url', url: 'https://example.com/a.png?x=1' })] },
    )
    expect(await resolveImages(asked, limits)).toBe(asked)
  })

  test.each([
    ['16 bits', makePng({ width: 2, height: 2, bitDepth: 16 })],
    ['alpha', makePng({ width: 2, height: 2, colorType: 6 })],
    ['16 bits and alpha', makePng({ width: 2, height: 2, bitDepth: 16, colorType: 6 })],
  ])('include a PNG with %s, unchanged', async (_name, bytes) => {
    const asked = request({ role: 'user', content: [image(pngImage(bytes))] })
    expect(await resolveImages(asked, limits)).toBe(asked)
  })

  test('include bytes that no signature is known of: the provider judges them', async () => {
    const broken = makePng({ width: 2, height: 2 })
    broken[0] = 0x09
    const asked = request({ role: 'user', content: [image(pngImage(broken))] })
    expect(await resolveImages(asked, limits)).toBe(asked)
  })

  test('get the type that their bytes tell when none was declared', async () => {
    // As in a message that was saved elsewhere.
    const untyped = { type: 'base64', base64: jpeg } as Image
    const { messages } = await resolveImages(
      request({ role: 'user', content: [image(untyped)] }),
      limits,
    )
    expect(messages[0]?.content).toEqual([
      image({ type: 'base64', base64: jpeg, mimeType: 'image/jpeg' }),
    ])
  })
})

describe('an image in a file', () => {
  const bytes = makePng({ width: 2, height: 2 })
  const file: Image = { type: 'file', path: 'cat.png', width: 2, metadata: { from: 'disk' } }

  test('is read when the request is sent, and is inline from then on', async () => {
    const asked = request(
      { role: 'user', content: 'before' },
      { role: 'user', content: [text('this'), { ...image(file), detail: 'low' }], name: 'me' },
      { role: 'user', content: [image(inline)] },
    )
    const paths: [string, number][] = []
    const resolved = await resolveImages(asked, limits, (path, maxBytes) => {
      paths.push([path, maxBytes])
      return Promise.resolve(bytes)
    })
    expect(paths).toEqual([['cat.png', 1000]])
    expect(resolved.messages[1]).toEqual({
      role: 'user',
      name: 'me',
      content: [
        text('this'),
        {
          type: 'image',
          detail: 'low',
          image: { ...inline, width: 2, metadata: { from: 'disk' } },
        },
      ],
    })
    expect(resolved.messages[0]).toBe(asked.messages[0])
    expect(resolved.messages[2]).toBe(asked.messages[2])
    expect(asked.messages[1]?.content[1]).toEqual({ ...image(file), detail: 'low' })
  })

  test.each<[string, () => Promise<Uint8Array>, string]>([
    [
      'is not there',
      () => Promise.reject(new Error('ENOENT: no such file')),
      'cannot be read from cat.png: ENOENT: no such file',
    ],
    ['is empty', () => Promise.resolve(new Uint8Array()), 'is an empty file, cat.png'],
    [
      'is too large',
      () => Promise.resolve(new Uint8Array(1001)),
      'has 1001 bytes; anthropic accepts at most 1000',
    ],
    [
      'is of no known type',
      () => Promise.resolve(Uint8Array.of(1, 2, 3)),
      'has no mimeType, and its bytes are of no known type',
    ],
  ])('that %s is a problem', async (_name, readFile, problem) => {
    const asked = request({ role: 'user', content: [image(file)] })
    expect(await issuesOf(resolveImages(asked, limits, readFile))).toEqual([
      { path: 'messages[0].content[0]', problem },
    ])
  })
})

describe.each(providers)('$provider', (of) => {
  const user = (bad: Image): ModelRequest =>
    request({ role: 'user', content: 'before' }, { role: 'user', content: [text('a'), image(bad)] })

  test('an image that is one byte too large is refused by message and part', async () => {
    const base64 = base64OfSize(of.maxBytes + 1)
    expect(await issuesOf(resolveImages(user({ ...inline, base64 }), of))).toEqual([
      {
        path: 'messages[1].content[1]',
        problem: `has ${of.maxBytes + 1} bytes; ${of.provider} accepts at most ${of.maxBytes}`,
      },
    ])
  })

  test('an image of exactly the largest size passes', async () => {
    const asked = user({ ...inline, base64: base64OfSize(of.maxBytes) })
    expect(await resolveImages(asked, of)).toBe(asked)
  })

  test('a type that it does not take is refused with those that it takes', async () => {
    const bmp: Image = { ...inline, mimeType: 'image/bmp' }
    expect(await issuesOf(resolveImages(user(bmp), of))).toEqual([
      {
        path: 'messages[1].content[1]',
        problem: `is image/bmp; ${of.provider} accepts ${of.mimeTypes.join(', ')}`,
      },
    ])
  })
})

describe('problems', () => {
  test.each<[string, Image, string]>([
    [
      'a JPEG that is declared as a PNG',
      { ...inline, base64: jpeg },
      'is declared as image/png, but its bytes are image/jpeg',
    ],
    ['no bytes', { ...inline, base64: '' }, 'has no bytes'],
    ['no base64', { ...inline, base64: 'iVBORw0K Go=' }, 'is not base64: character 9 is " "'],
    [
      'no padding',
      { ...inline, base64: 'iVBORw0KGgo' },
      'is not base64: its length, 11, is not a multiple of 4 (is the padding missing?)',
    ],
    [
      'a data URI',
      { type: 'url', url: 'data:image/png;base64,AAAA' },
      'has a URL that is not http or https',
    ],
    [
      'a path as an address',
      { type: 'url', url: '/tmp/cat.png' },
      'has a URL that is not http or https',
    ],
  ])('%s', async (_name, bad, problem) => {
    const asked = request({ role: 'user', content: [image(bad)] })
    expect(await issuesOf(resolveImages(asked, limits))).toEqual([
      { path: 'messages[0].content[0]', problem },
    ])
  })

  test('of all messages are in one error, which names each of them', async () => {
    const asked = request(
      { role: 'system', content: [text('a'), image(inline)] },
      { role: 'user', content: [image({ ...inline, mimeType: 'image/tiff' }), image(inline)] },
      { role: 'user', content: [text('b'), image({ type: 'url', url: 'ftp://example.com/a' })] },
    )
    const error = await resolveImages(asked, limits).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ValidationError)
    expect(error).toMatchObject({
      reason: 'invalid_request',
      issues: [
        {
          path: 'messages[0].content[1]',
          problem: 'is an image; a system message can contain only text',
        },
        { path: 'messages[1].content[0]' },
        { path: 'messages[2].content[1]' },
      ],
    })
  })
})

function request(...messages: readonly Message[]): ModelRequest {
  return { messages, tools: [], providerOptions: {}, metadata: {} }
}

function text(of: string): { type: 'text'; text: string } {
  return { type: 'text', text: of }
}

function image(of: Image): { type: 'image'; image: Image } {
  return { type: 'image', image: of }
}

function pngImage(bytes: Uint8Array): Image {
  return { type: 'base64', base64: bytesToBase64(bytes), mimeType: 'image/png' }
}

/** The base64 of so many zeros, with a PNG's signature before them. */
function base64OfSize(size: number): string {
  const rest = size % 3
  const groups = 'AAAA'.repeat(Math.floor(size / 3) - 3)
  return `iVBORw0KGgoA${groups}${['', 'AA==', 'AAA='][rest]}`
}

async function issuesOf(refused: Promise<unknown>): Promise<unknown> {
  const error = await refused.catch((thrown: unknown) => thrown)
  return error instanceof ValidationError ? error.issues : error
}
