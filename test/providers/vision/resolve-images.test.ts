import { describe, expect, test } from 'vitest'
import { bytesToBase64 } from '../../../src/core/base/base64.ts'
import { ValidationError } from '../../../src/core/errors/errors.ts'
import type { Image, MediaFile } from '../../../src/core/types/media.ts'
import type { Message } from '../../../src/core/types/message.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import { resolveMedia, type MediaLimits } from '../../../src/providers/vision/resolve-images.ts'
import { makePng } from './make-png.ts'

const maxFileBytes = 2000
const common = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']
const providers: readonly MediaLimits[] = [
  { provider: 'openai', maxBytes: 20 * 1024 * 1024, maxFileBytes, mimeTypes: common },
  { provider: 'anthropic', maxBytes: 5 * 1024 * 1024, maxFileBytes, mimeTypes: common },
  {
    provider: 'gemini',
    maxBytes: 7 * 1024 * 1024,
    maxFileBytes,
    mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  },
]
const limits: MediaLimits = {
  provider: 'anthropic',
  maxBytes: 1000,
  maxFileBytes,
  mimeTypes: common,
}

const png = bytesToBase64(makePng({ width: 2, height: 2 }))
const jpeg = bytesToBase64(Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 16))
const inline: Image = { type: 'base64', base64: png, mimeType: 'image/png' }

describe('images that a provider takes', () => {
  test('leave the request as it is: the same object', async () => {
    const asked = request(
      { role: 'system', content: 'Look.' },
      { role: 'user', content: [text('a'), image(inline)] },
      { role: 'user', content: [image({ type: 'url', url: 'https://example.com/a.png?x=1' })] },
    )
    expect(resolveMedia(asked, limits)).toBe(asked)
  })

  test.each([
    ['16 bits', makePng({ width: 2, height: 2, bitDepth: 16 })],
    ['alpha', makePng({ width: 2, height: 2, colorType: 6 })],
    ['16 bits and alpha', makePng({ width: 2, height: 2, bitDepth: 16, colorType: 6 })],
  ])('include a PNG with %s, unchanged', async (_name, bytes) => {
    const asked = request({ role: 'user', content: [image(pngImage(bytes))] })
    expect(resolveMedia(asked, limits)).toBe(asked)
  })

  test('include an image of the model itself whose bytes have no known signature', () => {
    const broken = makePng({ width: 2, height: 2 })
    broken[0] = 0x09
    const asked = request({ role: 'assistant', content: [image(pngImage(broken))] })
    expect(resolveMedia(asked, limits)).toBe(asked)
  })

  test('get the type that their bytes tell when none was declared', async () => {
    // As in a message that was saved elsewhere.
    const untyped = { type: 'base64', base64: jpeg } as Image
    const { messages } = resolveMedia(request({ role: 'user', content: [image(untyped)] }), limits)
    expect(messages[0]?.content).toEqual([
      image({ type: 'base64', base64: jpeg, mimeType: 'image/jpeg' }),
    ])
  })
})

describe.each(providers)('$provider', (of) => {
  const user = (bad: Image): ModelRequest =>
    request({ role: 'user', content: 'before' }, { role: 'user', content: [text('a'), image(bad)] })

  test('an image that is one byte too large is refused by message and part', async () => {
    const base64 = base64OfSize(of.maxBytes + 1)
    expect(issuesOf(() => resolveMedia(user({ ...inline, base64 }), of))).toEqual([
      {
        path: 'messages[1].content[1]',
        problem: `has ${of.maxBytes + 1} bytes; ${of.provider} accepts at most ${of.maxBytes}`,
      },
    ])
  })

  test('an image of exactly the largest size passes', async () => {
    const asked = user({ ...inline, base64: base64OfSize(of.maxBytes) })
    expect(resolveMedia(asked, of)).toBe(asked)
  })

  test('a type that it does not take is refused with those that it takes', async () => {
    const bmp: Image = { ...inline, mimeType: 'image/bmp' }
    expect(issuesOf(() => resolveMedia(user(bmp), of))).toEqual([
      {
        path: 'messages[1].content[1]',
        problem: `is image/bmp; ${of.provider} accepts ${of.mimeTypes.join(', ')}`,
      },
    ])
  })
})

describe('a file', () => {
  const pdf: MediaFile = { type: 'base64', base64: btoa('%PDF-1.7'), mimeType: 'application/pdf' }
  const asking = (file: MediaFile, role: Message['role'] = 'user'): ModelRequest =>
    request({ role, content: [{ type: 'file', file }] })

  test('that is what it says is sent as it is', () => {
    expect(resolveMedia(asking(pdf), limits).messages[0]?.content).toEqual([
      { type: 'file', file: pdf },
    ])
  })

  test.each<[string, ModelRequest, string]>([
    ['in a system message', asking(pdf, 'system'), 'must be text in a system message'],
    ['without bytes', asking({ ...pdf, base64: '' }), 'has no bytes'],
    [
      'that is too large',
      asking({ ...pdf, base64: 'A'.repeat(4000) }),
      'has 3000 bytes; anthropic accepts at most 2000',
    ],
    [
      'of another type',
      asking({ ...pdf, base64: btoa('root:x:0') }),
      'is declared as application/pdf, but its bytes are not',
    ],
    [
      'at an address that is none',
      asking({ type: 'url', url: 'file:///etc/passwd' }),
      'has a URL that is not http or https',
    ],
    [
      'of another provider',
      asking({ type: 'id', id: 'file-1', provider: 'openai' }),
      'is a file at openai; anthropic cannot see it',
    ],
  ])('%s is refused', (_name, asked, problem) => {
    expect(issuesOf(() => resolveMedia(asked, limits))).toEqual([
      { path: 'messages[0].content[0]', problem },
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
    expect(issuesOf(() => resolveMedia(asked, limits))).toEqual([
      { path: 'messages[0].content[0]', problem },
    ])
  })

  test('of all messages are in one error, which names each of them', async () => {
    const asked = request(
      { role: 'system', content: [text('a'), image(inline)] },
      { role: 'user', content: [image({ ...inline, mimeType: 'image/tiff' }), image(inline)] },
      { role: 'user', content: [text('b'), image({ type: 'url', url: 'ftp://example.com/a' })] },
    )
    expect(issuesOf(() => resolveMedia(asked, limits))).toMatchObject([
      {
        path: 'messages[0].content[1]',
        problem: 'must be text in a system message',
      },
      { path: 'messages[1].content[0]' },
      { path: 'messages[2].content[1]' },
    ])
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

function issuesOf(refused: () => unknown): unknown {
  try {
    return refused()
  } catch (error) {
    return error instanceof ValidationError ? error.issues : error
  }
}
