import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mimeTypeOf } from '../../../src/core/messages/sniff.ts'
import {
  fileFromBase64,
  fileFromBytes,
  fileFromId,
  fileFromPath,
  fileFromUrl,
  filePart,
  imageFromBytes,
  imageFromId,
  imageFromUrl,
  imageToBytes,
  imageToDataUri,
  toolResult,
  user,
  ValidationError,
} from '../../../src/index.ts'
import { refusalOf } from '../../support/refusals.ts'

const pdf = new TextEncoder().encode('%PDF-1.7')
const base64 = Buffer.from(pdf).toString('base64')

describe('a file', () => {
  test('is plain data: bytes, a URL, or an id', () => {
    const inline = { type: 'base64', base64, mimeType: 'application/pdf' }
    expect(fileFromBytes(pdf, 'application/pdf')).toStrictEqual(inline)
    expect(fileFromBytes(pdf.slice().buffer, 'application/pdf')).toStrictEqual(inline)
    expect(fileFromBase64(base64, 'application/pdf', { name: 'a.pdf' })).toStrictEqual({
      ...inline,
      name: 'a.pdf',
    })
    expect(fileFromUrl('https://a.b/c.pdf')).toStrictEqual({
      type: 'url',
      url: 'https://a.b/c.pdf',
    })
    expect(fileFromUrl(new URL('https://a.b/c'), 'text/plain', { name: 'c.txt' })).toStrictEqual({
      type: 'url',
      url: 'https://a.b/c',
      mimeType: 'text/plain',
      name: 'c.txt',
    })
    expect(fileFromId('file-1', 'openai')).toStrictEqual({
      type: 'id',
      id: 'file-1',
      provider: 'openai',
    })
    expect(imageFromId('file-1', 'openai', { mimeType: 'image/png' })).toStrictEqual({
      type: 'id',
      id: 'file-1',
      provider: 'openai',
      mimeType: 'image/png',
    })
  })

  test('is a part of a message, with settings of its own', () => {
    const file = fileFromId('file-1', 'anthropic')
    const providerOptions = { anthropic: { cache_control: { type: 'ephemeral' } } }
    const part = filePart(file, { providerOptions })
    expect(user([part]).content).toStrictEqual([{ type: 'file', file, providerOptions }])
  })

  test('from a path holds the bytes, and of the path only the name', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'allm-files-'))
    try {
      const path = join(folder, 'report.pdf')
      await writeFile(path, pdf)
      const file = { type: 'base64', base64, mimeType: 'application/pdf', name: 'report.pdf' }
      expect(await fileFromPath(path)).toStrictEqual(file)
      expect(await fileFromPath(path, { name: 'q3.pdf' })).toStrictEqual({
        ...file,
        name: 'q3.pdf',
      })
      await writeFile(join(folder, 'notes'), 'hello')
      const notes = join(folder, 'notes')
      await expect(fileFromPath(notes)).rejects.toThrow('pass it, such as "application/pdf"')
      expect((await fileFromPath(notes, { mimeType: 'text/plain' })).name).toBe('notes')
      await expect(fileFromPath(notes, { mimeType: 'application/pdf' })).rejects.toThrow(
        'is declared as application/pdf, but its bytes are not',
      )
      await expect(fileFromPath(path, { maxBytes: 3 })).rejects.toThrow('at most 3 are read')
      await expect(fileFromPath(folder, { mimeType: 'text/plain' })).rejects.toBeInstanceOf(
        ValidationError,
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})

test.each<[string, () => unknown, string, string]>([
  [
    'no bytes',
    () => fileFromBytes(new Uint8Array(), 'text/plain'),
    'bytes',
    'must be a non-empty Uint8Array, not an empty one',
  ],
  [
    'a type in short',
    () => fileFromBytes(pdf, 'pdf'),
    'mimeType',
    'must be a media type such as "application/pdf", not "pdf"',
  ],
  [
    'bytes of another type',
    () => fileFromBytes(pdf, 'audio/wav'),
    'mimeType',
    'is declared as audio/wav, but its bytes are application/pdf',
  ],
  [
    'base64 that is none',
    () => fileFromBase64('AAA', 'text/plain'),
    'base64',
    'is not base64: its length, 3, is not a multiple of 4 (is the padding missing?)',
  ],
  [
    'a path for a URL',
    () => fileFromUrl('/etc/passwd'),
    'url',
    'must be an http or https URL, not "/etc/passwd"',
  ],
  ['no id', () => fileFromId('', 'openai'), 'id', 'must be a non-empty string, not ""'],
  [
    'an unknown option',
    () => fileFromUrl('https://a.b', 'text/plain', { title: 'a' } as never),
    '',
    'unknown key title; known keys are name',
  ],
])('%s is refused with the way out', (_name, make, path, problem) => {
  expect(refusalOf(make)).toEqual([{ path, problem }])
})

test('a tool result by hand is refused when its bytes are of another type', () => {
  const file = { type: 'base64', base64: btoa('root:x:0:0'), mimeType: 'application/pdf' } as const
  expect(refusalOf(() => toolResult('c1', [{ type: 'file', file }]))).toEqual([
    {
      path: 'content[0]',
      problem: 'is declared as application/pdf, but its bytes are not',
    },
  ])
})

test('an image or a file is given back as bytes and as a data URI', () => {
  const file = fileFromBytes(pdf, 'application/pdf')
  expect(imageToBytes(file)).toEqual(new Uint8Array(pdf))
  expect(imageToDataUri(file)).toBe(`data:application/pdf;base64,${base64}`)
  const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)
  expect(imageToBytes(imageFromBytes(png))).toEqual(png)
  expect(() => imageToBytes(imageFromUrl('https://a.b'))).toThrow('type must be base64, not "url"')
})

test.each([
  ['report.PDF', 'application/pdf'],
  ['https://a.b/c.mp3?x=.png#y.wav', 'audio/mpeg'],
  ['archive.tar.gz', undefined],
  ['notes', undefined],
  ['a.constructor', undefined],
])('the type of %s is %s', (name, type) => {
  expect(mimeTypeOf(name)).toBe(type)
})
