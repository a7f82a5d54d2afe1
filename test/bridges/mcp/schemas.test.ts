import { describe, expect, test } from 'vitest'
import { foreignIssues } from '../../../src/bridges/mcp/schemas.ts'
import type { JsonObject, JsonValue } from '../../../src/index.ts'

/** A pattern that takes for ever on this text. */
const pattern = '^(a+)+$'
const slow = `${'a'.repeat(60)}!`

const isTaken = (schema: JsonObject, value: JsonValue): boolean =>
  foreignIssues(schema, value).length === 0

describe('a schema without its patterns', () => {
  test.each<[string, JsonObject]>([
    ['of a member', { properties: { a: { type: 'string', pattern } } }],
    ['of an item', { properties: { a: { items: { pattern } }, b: { pattern } } }],
    ['of a name', { patternProperties: { [pattern]: { type: 'string' } } }],
    ['of additional names', { patternProperties: { [pattern]: {} }, additionalProperties: false }],
    ['of names by a schema', { propertyNames: { pattern } }],
    ['of a definition', { $defs: { x: { pattern } }, properties: { a: { $ref: '#/$defs/x' } } }],
    [
      'of a reference to a place',
      { properties: { a: { $ref: '#/properties/b' }, b: { pattern } } },
    ],
    [
      'of data that a reference leads to',
      { properties: { a: { $ref: '#/default' } }, default: { type: 'string', pattern } },
    ],
    [
      'of names in data that a reference leads to',
      {
        allOf: [{ $ref: '#/examples/0' }],
        examples: [{ patternProperties: { [pattern]: false }, additionalProperties: false }],
      },
    ],
    ['of an alternative', { anyOf: [{ properties: { a: { pattern } } }, { required: ['c'] }] }],
    ['of two alternatives', { oneOf: [{ propertyNames: { pattern } }, { required: ['a'] }] }],
    ['of what must not be', { not: { properties: { a: { pattern: '^b' } }, required: ['a'] } }],
    ['of a condition', { if: { properties: { a: { pattern: '^b' } } }, then: false }],
    [
      'of things that are counted',
      { properties: { list: { contains: { pattern: '^b' }, maxContains: 1 } } },
    ],
  ])('runs none, and takes what the whole one may take: %s', (_title, schema) => {
    const value = { a: slow, b: slow, [slow]: slow, list: ['x', 'y', 'b'] }
    expect(isTaken(schema, value)).toBe(true)
  })

  test.each<[string, JsonObject, JsonValue]>([
    ['the type beside it', { properties: { a: { type: 'string', pattern } } }, { a: 5 }],
    ['the length beside it', { properties: { a: { pattern, maxLength: 9 } } }, { a: slow }],
    ['what is required', { properties: { a: { pattern } }, required: ['b'] }, { a: slow }],
    [
      'alternatives that are all wrong',
      { oneOf: [{ required: ['b'] }, { required: ['c'] }], properties: { a: { pattern } } },
      { a: slow },
    ],
    [
      'additional members',
      { properties: { a: { pattern } }, additionalProperties: false },
      { b: 1 },
    ],
    [
      'a member that is called pattern',
      { properties: { pattern: { type: 'string' } }, required: ['pattern'] },
      { pattern: 5 },
    ],
    ['data that looks like one', { const: { pattern: 'x' } }, {}],
    ['a list of data', { enum: [{ pattern: 'x' }] }, { pattern: 'y' }],
  ])('still checks %s', (_title, schema, value) => {
    expect(isTaken(schema, value)).toBe(false)
  })

  test('checks all if it has none, and the one that was given is not changed', () => {
    const plain = { type: 'object', not: { required: ['b'] } }
    expect(isTaken(plain, { b: 1 })).toBe(false)
    const given = { properties: { a: { pattern } } }
    isTaken(given, { a: slow })
    expect(given).toEqual({ properties: { a: { pattern } } })
  })

  test('keeps members called __proto__ as members', () => {
    const schema = JSON.parse(
      '{"properties":{"__proto__":{"type":"string","pattern":"x"},"a":{"pattern":"x"}}}',
    ) as JsonObject
    expect(isTaken(schema, JSON.parse('{"__proto__":5}') as JsonObject)).toBe(false)
  })
})
