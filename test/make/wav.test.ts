import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sampleFormatOf, wavChunks, wavComment, wavFile, wavHeader } from '../../src/make/wav.ts'
import { sineWav } from '../models/audio.ts'

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
