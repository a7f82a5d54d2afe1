import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/data/json.ts'
import { AdapterError } from '../../../src/errors/adapter-error.ts'
import { plainSchema } from '../../../src/providers/gemini/plain-schema.ts'
import { sampleSchema, sampleValue } from '../../support/schema-arbitraries.ts'

const place = { provider: 'gemini', path: 'tools[0].schema' }
const plain = (schema: JsonObject): JsonObject => plainSchema(schema, place)

describe('JSON Schema as Gemini reads it', () => {
  test.each<readonly [string, JsonObject, JsonObject]>([
    [
      'references are inlined, and what stands beside one holds',
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: {
          home: { $ref: '#/$defs/address', description: 'Where one lives' },
          work: { $ref: '#/definitions/a~1b%20c' },
        },
        $defs: {
          address: { type: 'object', properties: { city: { $ref: '#/$defs/city' } } },
          city: { type: 'string', description: 'x' },
        },
        definitions: { 'a/b c': { type: 'integer' } },
      },
      {
        type: 'object',
        properties: {
          home: {
            type: 'object',
            properties: { city: { type: 'string', description: 'x' } },
            description: 'Where one lives',
          },
          work: { type: 'integer' },
        },
      },
    ],
    [
      'the same reference twice is no recursion',
      {
        properties: { a: { $ref: '#/$defs/x' }, b: { $ref: '#/$defs/x' } },
        $defs: { x: { type: 'string' } },
      },
      { properties: { a: { type: 'string' }, b: { type: 'string' } } },
    ],
    [
      'what is said in pieces is said at once',
      {
        allOf: [
          {
            type: 'object',
            properties: { a: { type: 'number' } },
            required: ['a'],
            additionalProperties: false,
          },
          {
            type: 'object',
            properties: { a: { type: 'integer' }, b: true },
            required: ['b'],
            additionalProperties: false,
          },
        ],
        description: 'both',
      },
      {
        type: 'object',
        properties: { a: { type: 'integer' }, b: {} },
        required: ['a', 'b'],
        additionalProperties: false,
        description: 'both',
      },
    ],
    ['a constant is a list of one', { const: 'a' }, { type: 'string', enum: ['a'] }],
    ['numbers may be listed', { enum: [1, 2] }, { type: 'integer', enum: [1, 2] }],
    [
      'null in a list is a choice of its own',
      { type: ['string', 'null'], enum: ['a', null] },
      { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] },
    ],
    ['booleans are not listed', { const: true }, { type: 'boolean' }],
    [
      'one of is any of',
      { oneOf: [{ type: 'string' }, { type: 'null' }] },
      { anyOf: [{ type: 'string' }, { type: 'null' }] },
    ],
    [
      'a tuple of an older draft is one of the newer',
      { items: [{ type: 'string' }] },
      { prefixItems: [{ type: 'string' }] },
    ],
    [
      'a map keeps its values',
      {
        type: 'object',
        propertyNames: { type: 'string' },
        additionalProperties: { type: 'number' },
      },
      { type: 'object', additionalProperties: { type: 'number' } },
    ],
    [
      'what only narrows is dropped when Gemini has no word for it',
      { type: 'array', items: {}, uniqueItems: true, contains: {}, $comment: 'x' },
      { type: 'array', items: {} },
    ],
    [
      'a member may have the name of a keyword',
      {
        type: 'object',
        properties: {
          additionalProperties: { type: 'string' },
          $ref: { type: 'string' },
          not: { type: 'string' },
        },
      },
      {
        type: 'object',
        properties: {
          additionalProperties: { type: 'string' },
          $ref: { type: 'string' },
          not: { type: 'string' },
        },
      },
    ],
  ])('%s', (_claim, schema, expected) => {
    expect(plain(schema)).toEqual(expected)
  })

  test.each<readonly [string, JsonObject, string]>([
    [
      'a schema that holds itself',
      { type: 'object', properties: { child: { $ref: '#' } } },
      'tools[0].schema.properties.child is recursive: "#" holds itself',
    ],
    [
      'a definition that holds itself',
      {
        $ref: '#/$defs/node',
        $defs: { node: { properties: { next: { items: { $ref: '#/$defs/node' } } } } },
      },
      'tools[0].schema.properties.next.items is recursive',
    ],
    [
      'a reference to elsewhere',
      { $ref: 'https://example.com/a.json' },
      'tools[0].schema refers to "https://example.com/a.json"',
    ],
    [
      'a reference to nothing',
      { anyOf: [{ $ref: '#/$defs/none' }] },
      'tools[0].schema.anyOf[0] refers to #/$defs/none, which does not exist',
    ],
    [
      'a negation',
      { properties: { 'a-b': { not: {} } } },
      'tools[0].schema.properties["a-b"] uses not',
    ],
    ['a condition', { if: {}, then: {} }, 'tools[0].schema uses if'],
    [
      'names by pattern',
      { patternProperties: { '^a': {} } },
      'tools[0].schema uses patternProperties',
    ],
    [
      'nothing at all',
      { properties: { a: false } },
      'tools[0].schema.properties.a admits no value',
    ],
    [
      'two types at once',
      { allOf: [{ type: 'string' }, { type: 'object' }] },
      'tools[0].schema combines two different values of type',
    ],
    [
      'a list of objects to choose from',
      { enum: [{}] },
      'tools[0].schema lists a value that is no scalar',
    ],
  ])('%s can not be told', (_name, schema, words) => {
    const told = (): JsonObject => plain(schema)
    expect(told).toThrow(AdapterError)
    expect(told).toThrow(words)
    expect(told).toThrow(
      expect.objectContaining({ reason: 'unsupported_feature', provider: 'gemini' }),
    )
  })

  test('references that multiply without end are refused in time', () => {
    const level = (next: number): JsonObject => ({
      type: 'object',
      properties: { a: { $ref: `#/$defs/l${next}` }, b: { $ref: `#/$defs/l${next}` } },
    })
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`l${index}`, level(index + 1)]),
    )
    const schema = { $ref: '#/$defs/l0', $defs: { ...$defs, l40: { type: 'string' } } }
    expect(() => plain(schema)).toThrow('is too large with its references inlined')
  })

  test('whatever was legal stays legal', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
    let kept = 0
    const values = fc.array(sampleValue, { maxLength: 8 })
    fc.assert(
      fc.property(sampleSchema, sampleSchema, values, (schema, one, samples) => {
        const whole: JsonObject = { allOf: [schema], $defs: { one, 't/wo': { type: 'string' } } }
        const reduced = attempt(() => plain(whole))
        if (reduced === undefined) return
        for (const value of samples.filter((sample) => accepts(ajv, whole, sample))) {
          expect(ajv.validate(reduced, value), JSON.stringify({ reduced, value })).toBe(true)
          kept++
        }
      }),
      { numRuns: 200 },
    )
    expect(kept).toBeGreaterThan(20)
  })
})

/** Whether ajv takes a value. It has no answer for a schema that refers to itself at the same place: its code calls itself. */
function accepts(ajv: Ajv2020, schema: JsonObject, value: unknown): boolean {
  try {
    return ajv.validate(schema, value)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

function attempt(work: () => JsonObject): JsonObject | undefined {
  try {
    return work()
  } catch (error) {
    expect(error).toMatchObject({ kind: 'adapter', reason: 'unsupported_feature' })
    return undefined
  }
}
