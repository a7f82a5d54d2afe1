import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { schemaIssues } from '../../../src/core/schema/json-schema.ts'
import type { Issue } from '../../../src/core/types/error-data.ts'
import type { JsonObject, JsonValue } from '../../../src/core/types/json.ts'
import { sampleSchema, sampleValue } from '../../support/schema-arbitraries.ts'

test('it agrees with ajv on arbitrary schemas and values', () => {
  let legal = 0
  let illegal = 0
  fc.assert(
    fc.property(
      sampleSchema,
      fc.tuple(sampleSchema, sampleSchema),
      fc.array(sampleValue, { minLength: 6, maxLength: 6 }),
      (top, [one, two], values) => {
        const $defs = { one: withoutReferences(one), 't/wo': withoutReferences(two) }
        const schema = typeof top === 'boolean' ? top : { ...top, $defs }
        const oracle = ajv().compile(schema)
        for (const value of values) {
          const expected = oracle(value)
          expect(schemaIssues(schema, value).length === 0).toBe(expected)
          if (expected) legal++
          else illegal++
        }
      },
    ),
    { numRuns: 600 },
  )
  expect(Math.min(legal, illegal)).toBeGreaterThan(300)
})

function ajv(): Ajv2020 {
  const made = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false })
  // What it keeps for unevaluatedProperties breaks the code that it generates for some conditionals.
  made.opts.unevaluated = false
  return made
}

/** A definition that refers to itself for the same value has no end in ajv. */
function withoutReferences(schema: JsonObject | boolean): JsonObject | boolean {
  return JSON.parse(JSON.stringify(schema).replaceAll('$ref', '$comment')) as JsonObject | boolean
}

const rows: readonly [string, JsonObject | boolean, unknown, readonly Issue[]][] = [
  ['a type', { type: 'string' }, 5, [{ path: '', problem: 'must be a string, not 5' }]],
  [
    'several types',
    { type: ['string', 'null'] },
    [],
    [{ path: '', problem: 'must be a string or null, not an empty list' }],
  ],
  ['an integer', { type: 'integer' }, 1.5, [{ path: '', problem: 'must be an integer, not 1.5' }]],
  ['words', { enum: ['c', 'f'] }, 'k', [{ path: '', problem: 'must be one of "c", "f", not "k"' }]],
  [
    'a constant',
    { const: { a: 1 } },
    { a: 2 },
    [{ path: '', problem: 'must be {"a":1}, not an object' }],
  ],
  ['a missing member', { required: ['city'] }, {}, [{ path: 'city', problem: 'is missing' }]],
  [
    'a member deep inside',
    { properties: { days: { items: { properties: { n: { minimum: 1 } } } } } },
    { days: [{}, { n: 0 }] },
    [{ path: 'days[1].n', problem: 'must be at least 1, not 0' }],
  ],
  [
    'an unknown member',
    { properties: { city: true }, additionalProperties: false },
    { cty: 'Bonn' },
    [{ path: '', problem: 'unknown key cty; did you mean city?' }],
  ],
  [
    'a length in characters',
    { maxLength: 2 },
    '👍👍👍',
    [{ path: '', problem: 'must have at most 2 characters, not 3' }],
  ],
  ['a pattern', { pattern: '^a' }, 'b', [{ path: '', problem: 'must match ^a, not "b"' }]],
  [
    'repeated items',
    { uniqueItems: true },
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
    [{ path: '', problem: 'must not contain an item twice' }],
  ],
  ['what is not allowed at all', false, 1, [{ path: '', problem: 'is not allowed' }]],
  [
    'what must not match',
    { not: { type: 'null' } },
    null,
    [{ path: '', problem: 'must not match the schema of not' }],
  ],
  [
    'too many alternatives',
    { oneOf: [true, true, false] },
    1,
    [{ path: '', problem: 'must match exactly one schema of oneOf, not 2' }],
  ],
  [
    'alternatives of plain types',
    { anyOf: [{ type: 'string' }, { type: 'null' }] },
    5,
    [{ path: '', problem: 'must be a string, not 5, or must be null, not 5' }],
  ],
  [
    'the nearest alternative',
    {
      anyOf: [
        { properties: { kind: { const: 'a' }, n: { type: 'number' } }, required: ['n'] },
        { properties: { kind: { const: 'b' } }, required: ['m'] },
      ],
    },
    { kind: 'b' },
    [{ path: 'm', problem: 'is missing' }],
  ],
]

test.each(rows)(
  'the problem of %s is readable and has its place',
  (_name, schema, value, issues) => {
    expect(schemaIssues(schema, value)).toEqual(issues)
  },
)

test.each<[JsonObject, JsonValue, boolean]>([
  [{ contains: { type: 'string' } }, [], false],
  [{ contains: { type: 'string' } }, [1, 'a'], true],
  [{ contains: { type: 'string' }, minContains: 0 }, [], true],
  [{ contains: { type: 'string' }, minContains: 2 }, ['a', 1], false],
  [{ contains: { type: 'string' }, maxContains: 1 }, ['a', 'b'], false],
  [{ prefixItems: [{ type: 'string' }], contains: { type: 'string' } }, [], false],
  [{ contains: false }, 'no list', true],
])('contains: %j takes %j: %s', (schema, value, legal) => {
  expect(schemaIssues(schema, value).length === 0).toBe(legal)
})

test('a recursive schema is followed as deep as the value goes', () => {
  const schema: JsonObject = {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: { name: { type: 'string' }, children: { items: { $ref: '#/$defs/node' } } },
        required: ['name'],
      },
    },
  }
  const leaf = { name: 'leaf' }
  expect(schemaIssues(schema, { name: 'a', children: [{ name: 'b', children: [leaf] }] })).toEqual(
    [],
  )
  expect(
    schemaIssues(schema, { name: 'a', children: [leaf, { children: [{ name: 1 }] }] }),
  ).toEqual([
    { path: 'children[1].children[0].name', problem: 'must be a string, not 1' },
    { path: 'children[1].name', problem: 'is missing' },
  ])
})

describe('many ways through the references of a small schema', () => {
  const depth = 60
  const to = (level: number): JsonObject => ({ $ref: `#/$defs/d${level}` })
  const schemaOf = (level: (index: number) => JsonObject, last: JsonObject): JsonObject => ({
    properties: { a: to(0) },
    $defs: {
      ...Object.fromEntries(
        Array.from({ length: depth }, (_, index) => [`d${index}`, level(index)]),
      ),
      [`d${depth}`]: last,
    },
  })
  const text = { type: 'string' }
  const next = (index: number): JsonObject => to(index + 1)

  test.each<[string, JsonObject]>([
    ['anyOf', schemaOf((index) => ({ anyOf: [next(index), next(index)] }), text)],
    ['allOf', schemaOf((index) => ({ allOf: [next(index), next(index)] }), text)],
    ['if', schemaOf((index) => ({ if: next(index), then: true, else: next(index) }), text)],
    [
      'texts that differ',
      schemaOf(
        (index) => ({
          anyOf: [
            { anyOf: [next(index), { const: 'a' }] },
            { anyOf: [next(index), { const: 'b' }] },
          ],
        }),
        text,
      ),
    ],
    [
      'a circle',
      schemaOf((index) => ({ anyOf: [next(index), next(index)] }), {
        allOf: [{ anyOf: [to(0), to(1)] }, text],
      }),
    ],
  ])('%s: a definition judges the same value once', (_name, schema) => {
    const [issue, ...others] = schemaIssues(schema, { a: 5 })
    expect(issue?.path).toBe('a')
    expect(issue?.problem).toMatch(/^must be a string, not 5/)
    expect(issue?.problem.length).toBeLessThan(1100)
    expect(others.length).toBeLessThan(50)
    expect(schemaIssues(schema, { a: 'text' })).toEqual([])
  })

  test('a definition judges each value anew, and equal values alike', () => {
    const schema = { items: { $ref: '#/$defs/n' }, $defs: { n: { type: 'number', minimum: 3 } } }
    expect(schemaIssues(schema, [2, 3, 2, 'a']).map(({ path }) => path)).toEqual([
      '[0]',
      '[2]',
      '[3]',
    ])
  })
})

test.each<[string, JsonObject]>([
  ['a reference to itself', { $ref: '#' }],
  ['a reference round a corner', { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { $ref: '#' } } }],
  ['a reference to nowhere', { $ref: '#/nowhere' }],
  ['a reference to elsewhere', { $ref: 'https://example.com/schema' }],
  ['a reference that cannot be decoded', { $ref: '#/%' }],
  ['a pattern that is none', { pattern: '(', patternProperties: { '[': { not: true } } }],
  [
    'arguments of the wrong kind',
    {
      type: 5,
      enum: 'a',
      minimum: 'x',
      items: 3,
      anyOf: {},
      properties: [],
      required: 'a',
      format: 1,
    },
  ],
  ['names of the prototype', { toString: 1, constructor: false, hasOwnProperty: {} }],
  ['keywords that are not known', { unevaluatedProperties: false, 'x-order': 1 }],
])('a schema with %s asserts nothing and does not throw', (_name, schema) => {
  for (const value of [null, 'text', 3, ['a'], { a: 1 }]) {
    if ('patternProperties' in schema && typeof value === 'object') continue
    expect(schemaIssues(schema, value)).toEqual([])
  }
})

test('a fraction is a multiple in spite of how computers count', () => {
  expect(schemaIssues({ multipleOf: 0.01 }, 19.99)).toEqual([])
  expect(schemaIssues({ multipleOf: 0.1 }, 0.3)).toEqual([])
  expect(schemaIssues({ multipleOf: 0.01 }, 19.995)).toHaveLength(1)
})

describe('formats', () => {
  const oracle = addFormats.default(new Ajv2020({ strict: false }))
  const texts: Readonly<Record<string, readonly string[]>> = {
    date: [
      '2024-02-29',
      '2023-02-29',
      '2024-13-01',
      '2024-1-1',
      '2024-04-31',
      '',
      '2024-01-01T00:00:00Z',
    ],
    'date-time': [
      '2024-02-29T12:00:00Z',
      '2024-02-29T12:00:00.123+02:00',
      '2024-02-29',
      '2024-02-30T00:00:00Z',
      '2024-01-01T24:00:00Z',
      '2024-01-01T12:00:00',
      '2024-01-01 12:00:00z',
    ],
    email: ['a@b.co', 'a.b+c@d-e.org', 'a@b', '@b.co', 'a@', 'a b@c.de', 'a@-b.de', 'a..b@c.de'],
    uri: [
      'https://a.b/c?d=e#f',
      'mailto:a@b.c',
      'urn:x:y',
      '/relative',
      'a b',
      'http://a b',
      '',
      'x',
    ],
    uuid: [
      '123e4567-e89b-12d3-a456-426614174000',
      '123E4567-E89B-12D3-A456-426614174000',
      '123e4567e89b12d3a456426614174000',
      'x',
    ],
  }
  const cases = Object.entries(texts).flatMap(([format, list]) =>
    list.map((text) => [format, text] as const),
  )

  test.each(cases)('%s says of %j what ajv-formats says', (format, text) => {
    const schema = { format }
    expect(schemaIssues(schema, text).length === 0).toBe(oracle.validate(schema, text))
  })

  test('any other format is a remark', () => {
    expect(schemaIssues({ format: 'hostname' }, 'not a host name')).toEqual([])
  })
})

test('a pattern of the older syntax is checked too', () => {
  const schema = { pattern: String.raw`^\d+\-\d+$` }
  expect(schemaIssues(schema, '1-2')).toEqual([])
  expect(schemaIssues(schema, '12')).toHaveLength(1)
})

describe('uniqueItems', () => {
  const isUnique = (...items: readonly unknown[]): boolean =>
    schemaIssues({ uniqueItems: true }, items).length === 0

  test.each<[string, readonly unknown[]]>([
    [
      'members in another order',
      [
        { a: 1, b: { c: 1, d: 2 } },
        { b: { d: 2, c: 1 }, a: 1 },
      ],
    ],
    ['numbers that JSON writes in two ways', [[JSON.parse('1')], [JSON.parse('1.0')]]],
    ['0 and -0', [{ a: 0 }, { a: -0 }]],
    ['0 and -0 alone', [0, -0]],
    ['lists', [[1, [2]], 'x', [1, [2]]]],
  ])('takes %s for equal', (_what, items) => {
    expect(isUnique(...items)).toBe(false)
  })

  test.each<[string, readonly unknown[]]>([
    ['a number and its text', [{ a: 1 }, { a: '1' }]],
    ['null and a text', [[null], ['null']]],
    ['a list and an object with its indexes', [['x'], { 0: 'x' }]],
    ['a text that looks like two members', [{ a: '1","b":"2' }, { a: '1', b: '2' }]],
    ['lists of lists', [[[1], 2], [[1, 2]], [1, 2]]],
    ['false, 0 and an empty text', [false, 0, '', null, [], {}]],
  ])('tells %s apart', (_what, items) => {
    expect(isUnique(...items)).toBe(true)
  })

  test('has a problem with items that are nested too deeply, and does not throw', () => {
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(schemaIssues({ uniqueItems: true }, [deep])).toEqual([
      { path: '', problem: 'must not be nested deeper than 500 levels' },
    ])
  })
})

describe('a pattern is not run on a text of more than 10000 characters', () => {
  const problem = 'must have at most 10000 characters: a pattern is not run on more'
  const long = 'a'.repeat(10_001)

  test('of a value', () => {
    const schema = { properties: { a: { pattern: '^a+$' } } }
    expect(schemaIssues(schema, { a: 'a'.repeat(10_000) })).toEqual([])
    expect(schemaIssues(schema, { a: long })).toEqual([{ path: 'a', problem }])
    expect(schemaIssues({ pattern: '(a+)+(a+)+b' }, long)).toEqual([{ path: '', problem }])
  })

  test('of a name', () => {
    const schema = { patternProperties: { '^b': false } }
    const [issue] = schemaIssues(schema, { [long]: 1 })
    expect(issue).toMatchObject({ problem })
    expect(schemaIssues({ ...schema, additionalProperties: false }, { [long]: 1 })).not.toEqual([])
  })

  test('and a pattern that is too large to be used is ignored', () => {
    expect(schemaIssues({ pattern: `^${'x'.repeat(1_000_000)}$` }, 'a')).toEqual([])
  })

  test('and a text without a pattern may have any length', () => {
    expect(schemaIssues({ type: 'string' }, long)).toEqual([])
  })
})

test('problems are at most 50 and short, however long the schema and the value are', () => {
  const word = 'x'.repeat(100_000)
  const names = Array.from({ length: 1000 }, (_, index) => `k${index}`)
  const value = Object.fromEntries(names.map((name) => [name, 1]))
  for (const [schema, judged] of [
    [{ required: names }, {}],
    [{ additionalProperties: false }, value],
    [{ additionalProperties: { const: word } }, value],
    [{ items: { enum: [word, word] } }, names],
    [{ items: { pattern: `^${word.slice(0, 5000)}$` } }, names],
  ] as const) {
    const issues = schemaIssues(schema, judged)
    expect(issues).toHaveLength(50)
    expect(JSON.stringify(issues).length).toBeLessThan(150_000)
  }
})
