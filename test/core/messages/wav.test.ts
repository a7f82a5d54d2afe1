import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  sampleFormatOf,
  wavChunks,
  wavComment,
  wavFile,
  wavGauge,
  wavHeader,
} from '../../../src/core/messages/wav.ts'
import { sineWav, wav64 } from '../../models/audio.ts'

test('a header is that of a file that others wrote', () => {
  const wav = sineWav(0.25, 16_000)
  const header = wavHeader(wav.length - 44, { sampleRate: 16_000, channels: 1 })
  expect(header).toEqual(wav.subarray(0, 44))
})

test('what is written is read back', () => {
  const format = fc.record({
    sampleRate: fc.integer({ min: 1, max: 192_000 }),
    channels: fc.integer({ min: 1, max: 8 }),
  })
  fc.assert(
    fc.property(
      fc.int16Array(),
      format,
      fc.string({ unit: 'grapheme' }),
      (samples, given, comment) => {
        const file = wavFile(samples, given, comment)
        const chunks = wavChunks(file)
        expect(new DataView(file.buffer).getUint32(4, true)).toBe(file.length - 8)
        expect(sampleFormatOf(chunks)).toEqual(given)
        expect(wavComment(chunks)).toBe(comment === '' ? undefined : comment)
        const data = chunks.find(({ name }) => name === 'data')
        expect(data?.bytes.length).toBe(samples.length * 2)
      },
    ),
    { seed: 7 },
  )
})

test('bytes that are no file have no parts, and none throws', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const broken = new Uint8Array([...new TextEncoder().encode('RIFF????WAVE'), ...bytes])
      expect(wavChunks(bytes).length).toBeGreaterThanOrEqual(0)
      const chunks = wavChunks(broken)
      sampleFormatOf(chunks)
      wavComment(chunks)
    }),
    { seed: 7 },
  )
  expect(wavChunks(new Uint8Array())).toEqual([])
})

test('a comment that is cut off does not throw', () => {
  const file = wavFile(new Int16Array(2), { sampleRate: 8000, channels: 1 }, 'Hello')
  for (let length = 0; length < file.length; length++) {
    const chunks = wavChunks(file.subarray(0, length))
    expect(() => [wavComment(chunks), sampleFormatOf(chunks)]).not.toThrow()
  }
})

describe.each(['RF64', 'BW64'] as const)('a file of lengths of 64 bits, %s,', (name) => {
  const samples = Int16Array.from({ length: 300 }, (_, index) => index)
  const format = { sampleRate: 8000, channels: 1 }
  const file = wav64(name, wavFile(samples, format))

  test('has its parts, and its samples are as long as ds64 says', () => {
    const behind = new Uint8Array([
      ...file,
      ...new TextEncoder().encode('LIST'),
      4,
      0,
      0,
      0,
      1,
      2,
      3,
      4,
    ])
    const chunks = wavChunks(behind)
    expect(chunks.map((chunk) => chunk.name)).toEqual(['ds64', 'fmt ', 'data', 'LIST'])
    expect(sampleFormatOf(chunks)).toEqual(format)
    expect(chunks[2]?.bytes.byteLength).toBe(600)
  })

  test('is whole at its last byte and not before, wherever its pieces are cut', () => {
    for (const size of [1, 7, 16, 24, 100, file.length]) {
      const gauge = wavGauge()
      for (let at = 0; at < file.length; at += size) {
        gauge.take(file.subarray(at, at + size))
        const received = Math.min(file.length, at + size)
        expect(received >= gauge.promised()).toBe(received === file.length)
      }
    }
  })

  test.each([0n, 0xffff_ffff_ffff_ffffn])(
    'with a length of %i was written as it came, and promises nothing',
    (length) => {
      const open = Buffer.from(file)
      open.writeBigUInt64LE(length, 20)
      open.writeBigUInt64LE(length, 28)
      const gauge = wavGauge()
      gauge.take(open.subarray(0, 200))
      expect(gauge.promised()).toBeLessThanOrEqual(200)
      expect(wavChunks(open).at(-1)?.bytes.byteLength).toBe(600)
    },
  )

  test('that is cut anywhere throws nowhere', () => {
    for (let length = 0; length < 90; length++) {
      const chunks = wavChunks(file.subarray(0, length))
      expect(() => [wavComment(chunks), sampleFormatOf(chunks)]).not.toThrow()
    }
  })
})
