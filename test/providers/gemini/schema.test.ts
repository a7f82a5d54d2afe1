import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AdapterError } from '../../../src/errors/errors.ts'
import { openApiSchema, plainSchema } from '../../../src/providers/gemini/schema.ts'
import type { JsonObject, JsonValue } from '../../../src/types/json.ts'
import { sampleSchema, sampleValue } from '../../support/schema-arbitraries.ts'

const place = { provider: 'gemini', path: 'tools[0].schema' }

const plain = (schema: JsonObject): JsonObject => plainSchema(schema, place)

const openApi = (schema: JsonObject): JsonObject => openApiSchema(plain(schema), place)

describe('the older form', () => {
  test.each<readonly [string, JsonObject, JsonObject]>([
    [
      'types are in capitals',
      { type: 'array', items: { type: 'integer' }, minItems: 1 },
      { type: 'ARRAY', items: { type: 'INTEGER' }, minItems: 1 },
    ],
    ['so it is in a list', { enum: ['a', null] }, { type: 'STRING', enum: ['a'], nullable: true }],
    ['null is a mark', { type: ['string', 'null'] }, { type: 'STRING', nullable: true }],
    [
      'a choice of one and null is that one',
      { anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }], description: 'd' },
      { type: 'STRING', minLength: 1, description: 'd', nullable: true },
    ],
    [
      'several types are choices',
      { type: ['string', 'integer'], description: 'd', enum: ['a', 1] },
      {
        description: 'd',
        anyOf: [
          { type: 'STRING', enum: ['a'] },
          { type: 'INTEGER', description: 'one of 1' },
        ],
      },
    ],
    [
      'what stands beside choices holds for each',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        anyOf: [{ properties: { b: { type: 'string' } } }, { required: ['a'] }],
      },
      {
        anyOf: [
          { type: 'OBJECT', properties: { a: { type: 'STRING' }, b: { type: 'STRING' } } },
          { type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['a'] },
        ],
      },
    ],
    [
      'numbers to choose from are told in words',
      { type: 'number', enum: [1, 2.5], description: 'Rate' },
      { type: 'NUMBER', description: 'Rate (one of 1, 2.5)' },
    ],
    [
      'only known formats are kept',
      {
        type: 'object',
        properties: {
          a: { type: 'string', format: 'date-time' },
          b: { type: 'string', format: 'email' },
        },
      },
      {
        type: 'OBJECT',
        properties: { a: { type: 'STRING', format: 'date-time' }, b: { type: 'STRING' } },
      },
    ],
    [
      'a member that is required and not named is not required',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a', 'b'],
        additionalProperties: false,
      },
      { type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['a'] },
    ],
    [
      'a type that is not written is found',
      { properties: { a: { items: { enum: ['x'] } } } },
      {
        type: 'OBJECT',
        properties: { a: { type: 'ARRAY', items: { type: 'STRING', enum: ['x'] } } },
      },
    ],
    [
      'an object of anything stays one',
      { type: 'object', additionalProperties: true },
      { type: 'OBJECT' },
    ],
  ])('%s', (_claim, schema, expected) => {
    expect(openApi(schema)).toEqual(expected)
  })

  test.each<readonly [string, JsonObject, string]>([
    [
      'a tuple',
      { properties: { a: { prefixItems: [{ type: 'string' }] } } },
      'tools[0].schema.properties.a is a tuple',
    ],
    [
      'a map',
      { type: 'object', additionalProperties: { type: 'string' } },
      'tools[0].schema has properties of any name',
    ],
    [
      'any value',
      { properties: { a: {} } },
      'tools[0].schema.properties.a allows values of any type',
    ],
    ['a list of anything', { type: 'array' }, 'tools[0].schema is a list of values of any type'],
  ])('%s is not supported', (_name, schema, words) => {
    expect(() => openApi(schema)).toThrow(words)
  })

  test('every legal value stays legal', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
    let kept = 0
    const values = fc.array(sampleValue, { maxLength: 8 })
    fc.assert(
      fc.property(sampleSchema, values, (schema, samples) => {
        const whole: JsonObject = {
          allOf: [schema],
          $defs: { one: true, 't/wo': { type: 'string' } },
        }
        const reduced = attempt(() => openApi(whole))
        if (reduced === undefined || !isTyped(plain(whole))) return
        const back = toJsonSchema(reduced)
        for (const value of samples.filter((sample) => ajv.validate(whole, sample))) {
          expect(ajv.validate(back, value), JSON.stringify({ reduced, value })).toBe(true)
          kept++
        }
      }),
      { numRuns: 500 },
    )
    expect(kept).toBeGreaterThan(0)
  })
})

/** Whether every schema with members names its type; without one, the older form has to guess it. */
function isTyped(schema: JsonObject): boolean {
  const members = ['properties', 'items', 'prefixItems'].some((key) => key in schema)
  return (
    (!members || 'type' in schema) &&
    Object.values(schema).every((value) => typeof value !== 'object' || isTypedWithin(value))
  )
}

function isTypedWithin(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.every((item: JsonValue) => isTypedWithin(item))
  return typeof value !== 'object' || value === null || isTyped(value as JsonObject)
}

/** The older form as JSON Schema, to validate with. */
function toJsonSchema(schema: JsonObject): JsonObject {
  const { type, nullable, properties, items, anyOf, ...rest } = schema
  const name = typeof type === 'string' ? type.toLowerCase() : undefined
  const value: JsonObject = {
    ...rest,
    ...(name === undefined ? {} : { type: name }),
    ...(properties === undefined ? {} : { properties: mapMembers(properties as JsonObject) }),
    ...(items === undefined ? {} : { items: toJsonSchema(items as JsonObject) }),
    ...(anyOf === undefined ? {} : { anyOf: (anyOf as JsonObject[]).map(toJsonSchema) }),
  }
  return nullable === true ? { anyOf: [value, { type: 'null' }] } : value
}

function mapMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(members).map(([key, member]) => [key, toJsonSchema(member as JsonObject)]),
  )
}

function attempt(work: () => JsonObject): JsonObject | undefined {
  try {
    return work()
  } catch (error) {
    expect(error).toMatchObject({ kind: 'adapter', reason: 'unsupported_feature' })
    return undefined
  }
}

test('the schema of a schema library is supported in both forms', () => {
  const node = z.object({
    name: z.string().min(1).describe('A name'),
    age: z.int().positive().optional(),
    mail: z.email().nullable(),
    kind: z.enum(['a', 'b']).default('a'),
    tags: z.array(z.string()).max(3),
    shape: z.discriminatedUnion('type', [
      z.object({ type: z.literal('circle'), r: z.number() }),
      z.object({ type: z.literal('square'), side: z.number() }),
    ]),
    both: z.intersection(z.object({ x: z.number() }), z.object({ y: z.boolean() })),
  })
  const schema = z.toJSONSchema(node) as JsonObject
  expect(plain(schema)).toMatchObject({
    type: 'object',
    properties: { shape: { anyOf: [{}, {}] } },
  })
  expect(openApi(schema)).toMatchObject({
    type: 'OBJECT',
    properties: {
      mail: { type: 'STRING', nullable: true },
      both: { type: 'OBJECT', properties: { x: { type: 'NUMBER' }, y: { type: 'BOOLEAN' } } },
    },
  })
})

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
      'a schema that contains itself',
      { type: 'object', properties: { child: { $ref: '#' } } },
      'tools[0].schema.properties.child is recursive: "#" contains itself',
    ],
    [
      'a definition that contains itself',
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
      'tools[0].schema.properties.a allows no value',
    ],
    [
      'two types at once',
      { allOf: [{ type: 'string' }, { type: 'object' }] },
      'tools[0].schema combines two different values of type',
    ],
    [
      'a list of objects to choose from',
      { enum: [{}] },
      'tools[0].schema lists an object or array as a value',
    ],
  ])('%s is not supported', (_name, schema, words) => {
    const told = (): JsonObject => plain(schema)
    expect(told).toThrow(AdapterError)
    expect(told).toThrow(words)
    expect(told).toThrow(
      expect.objectContaining({ reason: 'unsupported_feature', provider: 'gemini' }),
    )
  })

  test('references that multiply are refused in time', () => {
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

  test('every legal value stays legal', () => {
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
