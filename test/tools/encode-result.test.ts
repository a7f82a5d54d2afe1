import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainJson } from '../../src/tools/json.ts'
import { encodeJson, encodeResult } from '../../src/tools/results.ts'

class Point {
  readonly x = 1
  readonly #hidden = 2
  get sum(): number {
    return this.x + this.#hidden
  }
}

class Secret {
  readonly #hidden = 2
  get value(): number {
    return this.#hidden
  }
}

describe('the default encoder', () => {
  test.each([
    ['a string as it is', 'plain "text"', 'plain "text"'],
    ['an empty string', '', ''],
    ['undefined', undefined, 'null'],
    ['null', null, 'null'],
    ['a number', 1.5, '1.5'],
    ['negative zero', -0, '0'],
    ['a boolean', false, 'false'],
    ['an object', { a: [1, 'b', null] }, '{"a":[1,"b",null]}'],
    ['a member that is undefined', { a: undefined, b: 1 }, '{"b":1}'],
    ['an item that is undefined', [undefined, 1], '[null,1]'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a date inside', { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ['an object that writes itself', { toJSON: () => ({ a: 1 }) }, '{"a":1}'],
    ['an address', new URL('https://example.test/a'), '"https://example.test/a"'],
    ['an object of a class', new Point(), '{"x":1}'],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ['a member named __proto__', JSON.parse('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1}}'],
    ['one object in two places', ((o) => ({ a: o, b: o }))({ n: 1 }), '{"a":{"n":1},"b":{"n":1}}'],
  ])('writes %s', (_what, value, text) => {
    expect(encodeJson(value)).toBe(text)
  })

  const cycle: Record<string, unknown> = { name: 'a' }
  cycle['self'] = [cycle]
  let deep: unknown = 1
  for (let level = 0; level < 1000; level++) deep = [deep]

  test.each([
    ['a Map', { rows: [new Map()] }, 'rows[0] is a Map'],
    ['a Set', new Set([1]), 'the value is a Set'],
    ['a function', { a: { run: () => 1 } }, 'a.run is a function'],
    ['a symbol', [Symbol('s')], '[0] is a symbol'],
    ['a bigint', { n: 1n }, 'n is a bigint'],
    ['NaN', { n: Number.NaN }, 'n is NaN'],
    ['infinity', [1, Number.POSITIVE_INFINITY], '[1] is Infinity'],
    ['a cycle', cycle, 'self[0] refers to itself'],
    ['a promise', { later: Promise.resolve(1) }, 'later is a Promise'],
    ['an error', { e: new TypeError('x') }, 'e is an Error; throw it, or return fail(reason)'],
    ['bytes', { bytes: new Uint8Array(2) }, 'bytes holds bytes; write them as base64'],
    ['a regular expression', [/x/], '[0] is a RegExp'],
    ['a boxed string', [new Object('abc')], '[0] is a String'],
    ['an object that hides all', { s: new Secret() }, 's is a Secret without fields of its own'],
    ['a key that is no word', { 'a b': new Map() }, '["a b"] is a Map'],
  ])('refuses %s by its place', (_what, value, problem) => {
    expect(() => encodeJson(value)).toThrow(new TypeError(problem))
  })

  test('refuses what is nested beyond reason instead of running out of stack', () => {
    expect(() => encodeJson(deep)).toThrow(/is nested too deeply$/)
  })

  test('passes on what a getter or toJSON throws', () => {
    const broken = {
      get a(): number {
        throw new Error('no a')
      },
    }

    expect(() => encodeJson(broken)).toThrow('no a')
  })

  test('knows no negative zero, as JSON does not', () => {
    expect(plainJson([-0, { zero: -0, at: new Date(0) }])).toEqual([
      0,
      { zero: 0, at: '1970-01-01T00:00:00.000Z' },
    ])
    expect(plainJson(-0)).toBe(0)
  })

  test('copies JSON values exactly, and shares nothing with them', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const copy = plainJson(value)
        expect(JSON.stringify(copy)).toBe(JSON.stringify(value))
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value)
      }),
    )
  })
})

describe('an encoder of one’s own', () => {
  const given = (content: unknown): unknown =>
    content === 'rejecting' ? Promise.reject(new Error('nobody waits for this')) : content

  test('writes what it likes, and events hold the value or a description of it', () => {
    expect(encodeResult({ a: 1 }, () => 'A')).toEqual({ content: 'A', json: { a: 1 } })
    expect(encodeResult(new Map([['a', 1]]), () => 'A')).toEqual({
      content: 'A',
      json: [['a', 1]],
    })
  })

  test.each([
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object', {}, 'object'],
    ['a promise', 'rejecting', 'object'],
  ])('has to give a string, not %s', (_what, content, word) => {
    expect(() => encodeResult(1, () => given(content) as string)).toThrow(
      `the encoder gave ${word} in place of a string`,
    )
  })
})
