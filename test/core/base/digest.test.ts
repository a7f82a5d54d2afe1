import { expect, test } from 'vitest'
import { digestOf } from '../../../src/core/base/digest.ts'

test('a digest does not depend on the order of members, as a store may change it', () => {
  expect(digestOf({ a: 1, b: { c: [1, 2], d: null } })).toBe(
    digestOf({ b: { d: null, c: [1, 2] }, a: 1 }),
  )
})

test('values that differ have different digests', () => {
  const values = Array.from({ length: 20_000 }, (_, euros) => ({
    euros,
    to: `account ${euros % 7}`,
  }))
  expect(new Set(values.map(digestOf)).size).toBe(values.length)
  expect(digestOf([1, 2])).not.toBe(digestOf([2, 1]))
  expect(digestOf({ a: '1' })).not.toBe(digestOf({ a: 1 }))
})
