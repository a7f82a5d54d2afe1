import fc from 'fast-check'
import { expect, test } from 'vitest'
import { renderWire } from '../../../../src/server.ts'
import type { WireFrame } from '../../../../src/testing/server/wire-format.ts'
import { joinFrames, rechunk } from '../../../../src/testing/server/wire.ts'

const frames: fc.Arbitrary<WireFrame[]> = fc.array(
  fc
    .tuple(
      fc.uint8Array({ minLength: 1, maxLength: 30 }),
      fc.option(fc.integer({ min: 1, max: 9 })),
    )
    .map(([bytes, delayMs]) => (delayMs === null ? { bytes } : { bytes, delayMs })),
)

const bytesOf = (list: readonly WireFrame[]): number[] => list.flatMap(({ bytes }) => [...bytes])

const waitsOf = (list: readonly WireFrame[]): number[] =>
  list.flatMap(({ delayMs }) => delayMs ?? [])

test('cutting changes neither the bytes nor the waits', () => {
  fc.assert(
    fc.property(frames, fc.integer(), fc.integer({ min: 1, max: 50 }), (list, seed, maxBytes) => {
      const cut = rechunk(list, { seed, maxBytes })

      expect(bytesOf(cut)).toEqual(bytesOf(list))
      expect(waitsOf(cut)).toEqual(waitsOf(list))
      expect(cut.every(({ bytes }) => bytes.length >= 1 && bytes.length <= maxBytes)).toBe(true)
    }),
  )
})

test('the same seed cuts at the same places, another at others', () => {
  const { frames: list } = renderWire('anthropic', [['text', 'hello']], { stream: true })
  const sizes = (seed: number): number[] =>
    rechunk(list, { seed, maxBytes: 50 }).map(({ bytes }) => bytes.length)

  expect(sizes(1)).toEqual(sizes(1))
  expect(sizes(1)).not.toEqual(sizes(2))
})

test('a cut may fall inside a character', () => {
  const { frames: list } = renderWire('gemini', [['text', '🦊🦊🦊']], {
    stream: true,
    chunking: { seed: 3, maxBytes: 4 },
  })
  const broken = list.filter(({ bytes }) => new TextDecoder().decode(bytes).includes('�'))

  expect(broken.length).toBeGreaterThan(0)
})

test('a wait goes with the first of the bytes that waited', () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
  const list = [{ bytes: bytes('ab') }, { bytes: bytes('cd'), delayMs: 5 }, { bytes: bytes('ef') }]

  expect(rechunk(list, { seed: 1, maxBytes: 1 }).map(({ delayMs }) => delayMs ?? 0)).toEqual([
    0, 0, 5, 0, 0, 0,
  ])
  expect(joinFrames(list)).toEqual([{ bytes: bytes('ab') }, { bytes: bytes('cdef'), delayMs: 5 }])
})
