import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AdapterError } from '../../../src/core/errors/errors.ts'
import {
  anthropicFormat,
  anthropicStrict,
  geminiJson,
  geminiOpenApi,
  openaiStrict,
  type SchemaDialect,
} from '../../../src/core/schema/dialects.ts'
import { lowerSchema } from '../../../src/core/schema/lower-schema.ts'
import type { JsonObject, JsonValue } from '../../../src/core/types/json.ts'
import { sampleSchema, sampleValue } from '../../support/schema-arbitraries.ts'

const text = { type: 'string' }
const object = (properties: JsonObject, beside: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...beside,
})
const closed = (properties: JsonObject, beside: JsonObject = {}): JsonObject =>
  object(properties, { additionalProperties: false, ...beside })

/** The schema of a property, in an object that every dialect takes as a root. */
function property(schema: JsonValue, dialect: SchemaDialect): unknown {
  const { schema: lowered } = lowerSchema(object({ p: schema }), dialect)
  return (lowered['properties'] as JsonObject)['p']
}

describe('OpenAI, strict', () => {
  test.each<[string, JsonObject, JsonObject]>([
    ['a closed object stays as it is', closed({ a: text }), closed({ a: text })],
    ['an object is closed', object({ a: text }), closed({ a: text })],
    ['an object may be empty', { type: 'object', properties: {} }, closed({})],
    [
      'keywords that are enforced stay',
      { type: 'integer', minimum: 0, maximum: 9, multipleOf: 3 },
      { type: 'integer', minimum: 0, maximum: 9, multipleOf: 3 },
    ],
    [
      'keywords that are refused are told in the description',
      { type: 'string', minLength: 2, format: 'uri', description: 'A place.' },
      { type: 'string', description: 'A place.\n\n{minLength: 2, format: "uri"}' },
    ],
    ['a format that is enforced stays', { ...text, format: 'uuid' }, { ...text, format: 'uuid' }],
    [
      'a pattern that looks around is told, unless the format says it',
      object({
        a: { ...text, pattern: '^(?!x)' },
        b: { ...text, pattern: '^(?!\\.)', format: 'email' },
      }),
      closed({
        a: { ...text, description: '{pattern: "^(?!x)"}' },
        b: { ...text, format: 'email' },
      }),
    ],
    ['a pattern stays', { ...text, pattern: '^a+$' }, { ...text, pattern: '^a+$' }],
    ['a keyword that says nothing is dropped', { $comment: 'c', ...text, 'x-a': 1 }, text],
    ['one of is any of', { oneOf: [text, { type: 'null' }] }, { anyOf: [text, { type: 'null' }] }],
    ['a constant has a type', { const: 'a' }, { ...text, enum: ['a'] }],
    [
      'values of several types are choices',
      { enum: ['a', 1, null, true] },
      {
        anyOf: [
          { ...text, enum: ['a'] },
          { type: 'integer', enum: [1] },
          { type: 'null' },
          { type: 'boolean', enum: [true] },
        ],
      },
    ],
    [
      'parts are merged',
      { allOf: [object({ a: text }), object({ b: { type: 'number' } })] },
      closed({ a: text, b: { type: 'number' } }),
    ],
    [
      'a map with listed keys is an object',
      {
        type: 'object',
        propertyNames: { enum: ['a'] },
        additionalProperties: text,
        required: ['a'],
      },
      closed({ a: text }),
    ],
  ])('%s', (_claim, schema, expected) => {
    expect(property(schema, openaiStrict)).toEqual(expected)
  })

  test('a property that may be left out is required and may be null; restoring drops that null', () => {
    const { schema, strict, restore } = lowerSchema(
      {
        type: 'object',
        properties: {
          a: { ...text, description: 'A' },
          b: { type: ['string', 'null'] },
          c: { enum: ['x'] },
          d: { anyOf: [text, { type: 'number' }] },
          e: object({ f: text }, { required: [] }),
        },
        required: [],
      },
      openaiStrict,
    )
    const f = { type: ['string', 'null'] }
    expect(schema).toEqual(
      closed({
        a: { type: ['string', 'null'], description: 'A' },
        b: { type: ['string', 'null'] },
        c: { anyOf: [{ ...text, enum: ['x'] }, { type: 'null' }] },
        d: { anyOf: [text, { type: 'number' }, { type: 'null' }] },
        e: { ...closed({ f }), type: ['object', 'null'] },
      }),
    )
    expect(strict).toBe(true)
    const none = { a: null, b: null, c: null, d: null, e: null }
    expect(restore?.(none)).toEqual({ b: null })
    expect(restore?.({ ...none, e: { f: null } })).toEqual({ b: null, e: {} })
    expect(restore?.({ ...none, a: 'x', e: { f: 'y' } })).toEqual({
      a: 'x',
      b: null,
      e: { f: 'y' },
    })
  })

  test.each([
    [
      'a choice that the value fits as it is keeps its null',
      { a: 'x', b: null },
      { a: 'x', b: null },
    ],
    [
      'an item of a list too',
      { a: 'x', list: [{ c: null }, { c: 'y' }] },
      { a: 'x', list: [{}, { c: 'y' }] },
    ],
    ['a value that fits no choice is left alone', { a: 1, b: null }, { a: 1, b: null }],
  ])('%s, in every form', (_claim, value, expected) => {
    const schema = {
      anyOf: [
        object({ a: text, b: text }, { required: ['a'] }),
        object({ a: text, b: { type: 'null' } }),
        object({ a: text, list: { type: 'array', items: object({ c: text }, { required: [] }) } }),
      ],
    }
    for (const dialect of [openaiStrict, 'plain'] as const) {
      const { restore } = lowerSchema(schema, dialect)
      expect(restore?.({ value })).toEqual(expected)
    }
  })

  test('choices inside choices that fit in too many ways are given up in time', () => {
    const node = { $ref: '#/$defs/node' }
    const branch = (x: string): JsonObject => object({ next: node, [x]: text }, { required: [] })
    const schema = { $defs: { node: { anyOf: [branch('x'), branch('y')] } }, ...object({ node }) }
    let value: JsonObject = { z: 1, x: 1 }
    for (let depth = 0; depth < 60; depth++) value = { next: value }
    expect(lowerSchema(schema, 'plain').restore?.({ node: value })).toEqual({ node: value })
  })

  test('the nulls of a choice are dropped by the choice that was taken', () => {
    const choices = {
      oneOf: [
        object({ k: { const: 'a' }, x: text }, { required: ['k'] }),
        object({ k: { const: 'b' }, x: { type: ['string', 'null'] } }),
      ],
    }
    const { wrapped, restore } = lowerSchema(choices, openaiStrict)
    expect(wrapped).toBe(true)
    expect(restore?.({ value: { k: 'a', x: null } })).toEqual({ k: 'a' })
    expect(restore?.({ value: { k: 'b', x: null } })).toEqual({ k: 'b', x: null })
  })

  test('a schema may contain itself', () => {
    const tree = { type: 'object', properties: { v: text, next: { $ref: '#' } }, required: ['v'] }
    const { schema, restore } = lowerSchema(tree, openaiStrict)
    const node = closed({ v: text, next: { anyOf: [{ $ref: '#/$defs/root' }, { type: 'null' }] } })
    expect(schema).toEqual({ ...node, $defs: { root: node } })
    expect(restore?.({ v: 'a', next: { v: 'b', next: null } })).toEqual({
      v: 'a',
      next: { v: 'b' },
    })
  })

  test.each<[string, JsonObject, JsonObject]>([
    ['a list', { type: 'array', items: text }, { type: 'array', items: text }],
    ['a choice', { anyOf: [text, { type: 'null' }] }, { anyOf: [text, { type: 'null' }] }],
    ['a text', text, text],
  ])('%s at the root is wrapped', (_name, schema, value) => {
    const lowered = lowerSchema(schema, openaiStrict)
    expect(lowered).toMatchObject({ schema: closed({ value }), wrapped: true, strict: true })
    expect(lowered.restore?.({ value: ['a'] })).toEqual(['a'])
    expect(lowered.restore?.('not wrapped')).toBe('not wrapped')
  })

  test.each<[string, JsonObject, string]>([
    ['a record', { type: 'object', additionalProperties: text }, 'has properties of any name'],
    ['an object of anything', { type: 'object' }, 'has properties of any name'],
    [
      'an open object',
      object({ a: text }, { additionalProperties: true }),
      'may have properties of other names',
    ],
    ['any value', {}, 'allows values of any type'],
    ['a list of anything', { type: 'array' }, 'is a list of values of any type'],
    ['a tuple', { type: 'array', prefixItems: [text] }, 'is a tuple'],
    ['a negation', { not: text }, 'uses not'],
    [
      'names by pattern',
      { type: 'object', patternProperties: { a: text } },
      'uses patternProperties',
    ],
    ['an object as a value', { enum: [{}] }, 'lists an object or array as a value'],
  ])('%s is sent in the plain form, with a warning', (_name, schema, problem) => {
    const whole = object({ p: schema })
    expect(lowerSchema(whole, openaiStrict, { path: 'x' })).toEqual({
      schema: problem.includes('list of values') ? object({ p: { ...schema, items: {} } }) : whole,
      strict: false,
      wrapped: false,
      warnings: [{ path: 'x.properties.p', problem }],
    })
  })
})

describe('the plain form', () => {
  test('keeps every keyword, except patterns that look around and the name of the draft', () => {
    const schema = {
      $schema: 's',
      type: 'object',
      properties: { a: { not: { pattern: '(?=x)', minLength: 1 } }, pattern: { const: '(?=x)' } },
    }
    expect(lowerSchema(schema, 'plain').schema).toEqual({
      type: 'object',
      properties: {
        a: { not: { minLength: 1, description: '{pattern: "(?=x)"}' } },
        pattern: { const: '(?=x)' },
      },
    })
  })

  test('wraps a root that is not an object, and its references move with it', () => {
    const schema = {
      anyOf: [text, { type: 'array', items: { $ref: '#' } }, { $ref: '#/$defs/n' }],
      $defs: { n: { type: 'number' } },
    }
    expect(lowerSchema(schema, 'plain')).toMatchObject({
      wrapped: true,
      schema: {
        type: 'object',
        properties: {
          value: {
            anyOf: [
              text,
              { type: 'array', items: { $ref: '#/properties/value' } },
              { $ref: '#/$defs/n' },
            ],
          },
        },
        $defs: { n: { type: 'number' } },
      },
    })
  })

  test.each<[string, JsonObject, JsonObject]>([
    ['no type', {}, { type: 'object' }],
    [
      'a reference',
      { $ref: '#/$defs/a', $defs: { a: object({}) } },
      { ...object({}), $defs: { a: object({}) } },
    ],
    ['parts', { allOf: [object({ a: text }), object({ b: text })] }, object({ b: text, a: text })],
  ])('the arguments of a tool with %s are an object', (_name, schema, expected) => {
    const { schema: lowered, wrapped } = lowerSchema(schema, 'plain', { use: 'tool' })
    expect(wrapped).toBe(false)
    expect(lowered).toMatchObject({ type: 'object' })
    expect(new Set(Object.keys(lowered))).toEqual(new Set(Object.keys(expected)))
  })
})

describe('Anthropic', () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      'objects are closed at every depth, and optional properties stay optional',
      { type: 'object', properties: { a: { properties: {} } } },
      {
        type: 'object',
        properties: { a: closed({}) },
        required: [],
        additionalProperties: false,
      },
    ],
    [
      'bounds are told in the description',
      { type: 'integer', description: 'Age', minimum: 0, maximum: 150 },
      { type: 'integer', description: 'Age\n\n{minimum: 0, maximum: 150}' },
    ],
    [
      'the bounds of an integer that is safe go without saying',
      { type: 'integer', minimum: -9007199254740991, maximum: 9007199254740991 },
      { type: 'integer' },
    ],
    [
      'a property may have the name of a keyword',
      object({ minimum: { type: 'number' } }),
      closed({ minimum: { type: 'number' } }),
    ],
    [
      'a pattern is told, but not beside its format',
      { ...text, format: 'date', pattern: 'x' },
      { ...text, format: 'date' },
    ],
    [
      'references are resolved',
      {
        anyOf: [{ $ref: '#/properties/p/$defs/n' }, { const: null }],
        $defs: { n: { type: 'number', multipleOf: 2 } },
      },
      { anyOf: [{ type: 'number', description: '{multipleOf: 2}' }, { type: 'null' }] },
    ],
  ])('%s', (_claim, schema, expected) => {
    expect(property(schema, anthropicStrict)).toEqual(expected)
    expect(property(schema, anthropicFormat)).toEqual(expected)
  })

  test('a map in a format is a list of its entries, and a tuple an object with its positions', () => {
    const { schema, restore } = lowerSchema(
      object({
        scores: { type: 'object', additionalProperties: { type: 'number' } },
        pair: { type: 'array', prefixItems: [text, { type: 'number' }], items: false, minItems: 2 },
      }),
      anthropicFormat,
    )
    expect(schema).toEqual(
      closed({
        scores: { type: 'array', items: closed({ key: text, value: { type: 'number' } }) },
        pair: closed({ '0': text, '1': { type: 'number' } }),
      }),
    )
    const sent = {
      scores: [
        { key: 'a', value: 1 },
        { key: '__proto__', value: 2 },
      ],
      pair: { '1': 2, '0': 'x' },
    }
    expect(restore?.(sent)).toEqual({ scores: JSON.parse('{"a":1,"__proto__":2}'), pair: ['x', 2] })
  })

  test.each<[string, JsonObject]>([
    ['a map', { type: 'object', additionalProperties: text }],
    [
      'a schema that contains itself',
      { type: 'object', properties: { next: { $ref: '#/properties/p' } } },
    ],
    ['any value', {}],
  ])('%s in a strict tool is sent in the plain form', (_name, schema) => {
    const lowered = lowerSchema(object({ p: schema }), anthropicStrict, { use: 'tool' })
    expect(lowered).toMatchObject({ schema: object({ p: schema }), strict: false })
    expect(lowered.warnings).toHaveLength(1)
  })

  test.each<[string, JsonObject, string]>([
    [
      'a schema that contains itself',
      { type: 'object', properties: { a: { $ref: '#' } } },
      'schema.properties.a is recursive',
    ],
    ['any value', object({ a: {} }), 'schema.properties.a allows values of any type'],
    [
      'an open object',
      object({ a: text }, { additionalProperties: {} }),
      'schema may have properties of other names',
    ],
  ])('%s in a format is refused by name', (_name, schema, words) => {
    expect(() => lowerSchema(schema, anthropicFormat)).toThrow(words)
  })
})

describe('Gemini, JSON Schema', () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      'references are resolved, and what stands beside one holds',
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
      'parts are merged',
      {
        allOf: [
          closed({ a: { type: 'number', minimum: 1 } }),
          closed({ a: { type: 'integer', minimum: 2 }, b: true }),
        ],
        description: 'both',
      },
      {
        type: 'object',
        properties: { a: { type: 'integer', minimum: 2 }, b: {} },
        required: ['a', 'b'],
        additionalProperties: false,
        description: 'both',
      },
    ],
    [
      'null among values is a choice of its own',
      { type: ['string', 'null'], enum: ['a', null] },
      { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] },
    ],
    [
      'a boolean value is told',
      { const: true },
      { type: 'boolean', description: '{enum: [true]}' },
    ],
    ['a tuple of an older draft is one of the newer', { items: [text] }, { prefixItems: [text] }],
    [
      'a map keeps its values',
      { type: 'object', propertyNames: text, additionalProperties: { type: 'number' } },
      { type: 'object', additionalProperties: { type: 'number' } },
    ],
    [
      'what only narrows is told when Gemini has no word for it',
      { type: 'array', items: {}, uniqueItems: true, $comment: 'x' },
      { type: 'array', items: {}, description: '{uniqueItems: true}' },
    ],
    [
      'a member may have the name of a keyword',
      { type: 'object', properties: { $ref: text, not: text } },
      { type: 'object', properties: { $ref: text, not: text } },
    ],
    [
      'a schema may contain itself in a property that may be left out',
      { type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } } },
      {
        type: 'object',
        properties: { children: { type: 'array', items: { $ref: '#/$defs/root' } } },
        $defs: {
          root: {
            type: 'object',
            properties: { children: { type: 'array', items: { $ref: '#/$defs/root' } } },
          },
        },
      },
    ],
    ['a list may be the root', { type: 'array', items: text }, { type: 'array', items: text }],
  ])('%s', (_claim, schema, expected) => {
    expect(lowerSchema(schema, geminiJson).schema).toEqual(expected)
  })

  test.each<[string, JsonObject, string]>([
    [
      'a schema that contains itself in a required property',
      object({ child: { $ref: '#' } }),
      'schema.properties.child is recursive: "#" contains itself, which is possible only inside a property that may be left out',
    ],
    ['a schema that is itself', { anyOf: [{ $ref: '#' }] }, 'schema.anyOf[0] is recursive'],
    [
      'a reference to elsewhere',
      { $ref: 'https://example.com/a.json' },
      'schema refers to "https://example.com/a.json"',
    ],
    [
      'a reference to nothing',
      { anyOf: [{ $ref: '#/$defs/none' }] },
      'schema.anyOf[0] refers to #/$defs/none, which does not exist',
    ],
    ['a negation', { properties: { 'a-b': { not: {} } } }, 'schema.properties["a-b"] uses not'],
    ['a condition', { if: {}, then: {} }, 'schema uses if'],
    ['nothing at all', { properties: { a: false } }, 'schema.properties.a allows no value'],
    [
      'two types at once',
      { allOf: [text, { type: 'object' }] },
      'schema combines two different values of type',
    ],
    [
      'a list of objects to choose from',
      { enum: [{}] },
      'schema lists an object or array as a value',
    ],
  ])('%s is refused by name', (_name, schema, words) => {
    const lowered = (): unknown => lowerSchema(schema, geminiJson, { provider: 'gemini' })
    expect(lowered).toThrow(AdapterError)
    expect(lowered).toThrow(words)
    expect(lowered).toThrow(
      expect.objectContaining({ reason: 'unsupported_feature', provider: 'gemini' }),
    )
  })

  test('references that multiply are refused in time', () => {
    const level = (next: number): JsonObject =>
      object({ a: { $ref: `#/$defs/l${next}` }, b: { $ref: `#/$defs/l${next}` } })
    const $defs = Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [`l${index}`, level(index + 1)]),
    )
    const schema = { $ref: '#/$defs/l0', $defs: { ...$defs, l40: text } }
    expect(() => lowerSchema(schema, geminiJson)).toThrow('is too large')
  })
})

describe('Gemini, OpenAPI', () => {
  test.each<[string, JsonObject, JsonObject]>([
    [
      'types are in capitals',
      { type: 'array', items: { type: 'integer' }, minItems: 1 },
      { type: 'ARRAY', items: { type: 'INTEGER' }, minItems: 1 },
    ],
    [
      'values have one type',
      { enum: ['a', null] },
      { type: 'STRING', enum: ['a'], nullable: true },
    ],
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
          { type: 'INTEGER', description: '{enum: [1]}' },
        ],
      },
    ],
    [
      'what stands beside choices holds for each',
      {
        type: 'object',
        properties: { a: text },
        anyOf: [{ properties: { b: text } }, { required: ['a'] }],
      },
      {
        anyOf: [
          { type: 'OBJECT', properties: { a: { type: 'STRING' }, b: { type: 'STRING' } } },
          { type: 'OBJECT', properties: { a: { type: 'STRING' } }, required: ['a'] },
        ],
      },
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
      'a map is a list of its entries',
      { type: 'object', additionalProperties: { type: 'number' } },
      {
        type: 'ARRAY',
        items: {
          type: 'OBJECT',
          properties: { key: { type: 'STRING' }, value: { type: 'NUMBER' } },
          required: ['key', 'value'],
        },
      },
    ],
  ])('%s', (_claim, schema, expected) => {
    expect(lowerSchema(schema, geminiOpenApi).schema).toEqual(expected)
  })

  test.each<[string, JsonObject, string]>([
    ['any value', { properties: { a: {} } }, 'schema.properties.a allows values of any type'],
    ['a list of anything', { type: 'array' }, 'schema is a list of values of any type'],
    [
      'an object of anything',
      { type: 'object', additionalProperties: true },
      'schema has properties of any name',
    ],
    [
      'a schema that contains itself',
      { type: 'object', properties: { a: { $ref: '#' } } },
      'schema.properties.a is recursive',
    ],
  ])('%s is refused by name', (_name, schema, words) => {
    expect(() => lowerSchema(schema, geminiOpenApi)).toThrow(words)
  })
})

test('every value of a schema stays a value of its form for Gemini', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })
  let kept = 0
  const values = fc.array(sampleValue, { maxLength: 8 })
  fc.assert(
    fc.property(sampleSchema, sampleSchema, values, (schema, one, samples) => {
      const whole: JsonObject = { allOf: [schema], $defs: { one, 't/wo': text } }
      const lowered = attempt(whole, geminiJson)
      if (lowered === undefined) return
      for (const value of samples.filter((sample) => accepts(ajv, whole, sample))) {
        expect(ajv.validate(lowered, value), JSON.stringify({ lowered, value })).toBe(true)
        kept++
      }
    }),
    { numRuns: 300, seed: 20261116 },
  )
  expect(kept).toBeGreaterThan(20)
})

function attempt(schema: JsonObject, dialect: SchemaDialect): JsonObject | undefined {
  try {
    return lowerSchema(schema, dialect).schema
  } catch (error) {
    expect(error).toMatchObject({ kind: 'adapter', reason: 'unsupported_feature' })
    return undefined
  }
}

/** Whether ajv takes a value. It has no answer for a schema that refers to itself at the same place: its code calls itself. */
function accepts(ajv: Ajv2020, schema: JsonObject, value: unknown): boolean {
  try {
    return ajv.validate(schema, value)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}
