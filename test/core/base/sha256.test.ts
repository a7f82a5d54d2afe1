import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sha256 } from '../../../src/core/base/sha256.ts'

function platform(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

test('a text has the digest that the platform gives it', () => {
  for (let length = 0; length < 260; length++) {
    const text = 'x'.repeat(length)
    expect(sha256(text)).toBe(platform(text))
  }
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), (text) => {
      expect(sha256(text)).toBe(platform(text))
    }),
    { numRuns: 200 },
  )
})
