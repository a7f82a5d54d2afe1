import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import * as mini from 'zod/mini'
import { outcomeBrand } from '../../../src/core/contracts/tool.ts'
import { askUser, fail, halt } from '../../../src/core/messages/outcomes.ts'
import { toToolSpec } from '../../../src/core/messages/requests.ts'
import { validateTool } from '../../../src/core/schema/validate.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { tool } from '../../../src/engine/tools/tool.ts'
import { refusalOf } from '../../support/refusals.ts'

const base = { name: 'weather', description: 'The weather.' }

const cityOnly = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
}

test('a tool of plain JSON Schema has its defaults and nothing else', () => {
  expect(tool({ ...base, schema: cityOnly, handler: undefined })).toStrictEqual({
    ...base,
    schema: cityOnly,
    manual: false,
    compact: false,
    idempotent: false,
  })
})

test('every option is kept', () => {
  const handler = (): number => 1
  const options = {
    ...base,
    schema: cityOnly,
    handler,
    manual: true,
    compact: true,
    summary: 's',
    timeoutMs: 5,
    idempotent: true,
    strict: true,
  }
  expect(tool(options)).toStrictEqual(options)
})

describe.each([
  ['Zod', z.object({ city: z.string() })],
  ['ArkType', type({ city: 'string' })],
  ['Valibot', toStandardJsonSchema(v.object({ city: v.string() }))],
])('a schema of %s', (_name, schema) => {
  test('becomes JSON Schema, and is kept to validate with', () => {
    const made = tool({ ...base, schema })
    expect(made.schema).toMatchObject(cityOnly)
    expect(made.schema).not.toHaveProperty('$schema')
    expect(made.input).toBe(schema)
    expect(validateTool(made)).toEqual([])
  })

  test('leaves the specification plain data', () => {
    const spec = toToolSpec(tool({ ...base, schema, strict: true }))
    expect(Object.keys(spec)).toEqual(['name', 'description', 'schema', 'strict'])
    expect(JSON.parse(JSON.stringify(spec))).toStrictEqual(spec)
  })
})

test('the schema says what goes in: a default is optional, a transform is what it was made from', () => {
  const schema = z.object({ days: z.string().transform(Number), unit: z.string().default('c') })
  expect(tool({ ...base, schema }).schema).toMatchObject({
    properties: { days: { type: 'string' }, unit: { type: 'string', default: 'c' } },
    required: ['days'],
  })
})

const notSchema =
  "is not JSON Schema; write { type: 'object', properties: { city: { type: 'string' } } }, or use a schema of Zod"

test.each<[string, () => unknown, string, string | RegExp]>([
  [
    'a schema of plain Valibot',
    // @ts-expect-error the compiler says so too
    () => tool({ ...base, schema: v.object({}) }),
    'schema',
    /^of valibot cannot be converted to JSON Schema; .*toStandardJsonSchema of @valibot\/to-json-schema/,
  ],
  [
    'a schema of zod/mini',
    // @ts-expect-error the compiler says so too
    () => tool({ ...base, schema: mini.object({}) }),
    'schema',
    /of zod cannot be converted to JSON Schema; use withJsonSchema/,
  ],
  [
    'a schema of a list',
    // @ts-expect-error the compiler says so too
    () => tool({ ...base, schema: z.array(z.string()) }),
    'schema',
    'must describe an object, because the arguments of a tool are one',
  ],
  [
    'a schema of an object or null',
    // @ts-expect-error the compiler says so too
    () => tool({ ...base, schema: z.object({}).nullable() }),
    'schema',
    'must describe an object, because the arguments of a tool are one',
  ],
  [
    'plain JSON Schema of a text',
    () => tool({ ...base, schema: { type: 'string' } }),
    'schema',
    'must describe an object, because the arguments of a tool are one',
  ],
  [
    'a schema that JSON Schema cannot express',
    () =>
      tool({
        ...base,
        schema: z.object({ n: z.number(), d: z.array(z.object({ at: z.date() })) }),
      }),
    'schema.d[].at',
    /^of zod cannot be converted to JSON Schema: Date .*; use a type that JSON has, or withJsonSchema/,
  ],
  [
    'a name with a space',
    () => tool({ ...base, name: 'the weather', schema: {} }),
    'name',
    'must be 1 to 64 letters, digits, _ or -, not "the weather"',
  ],
  [
    'a reserved name',
    () => tool({ ...base, name: 'auto', schema: {} }),
    'name',
    'must not be auto: that is a mode of toolChoice',
  ],
  ['no description', () => tool({ name: 'x', schema: {} } as never), 'description', 'is missing'],
  ['no schema', () => tool(base as never), 'schema', 'is missing'],
  ...(
    [
      ['parameters', 'schema'],
      ['inputSchema', 'schema'],
      ['input_schema', 'schema'],
      ['execute', 'handler'],
      ['run', 'handler'],
      ['func', 'handler'],
    ] as const
  ).map(([key, meant]): [string, () => unknown, string, string] => [
    `${key}, as other libraries have it,`,
    () => tool({ ...base, schema: {}, [key]: {} }),
    '',
    `unknown key ${key}; did you mean ${meant}?`,
  ]),
  [
    'a key that nobody knows',
    () => tool({ ...base, schema: {}, colour: 'red' } as never),
    '',
    /^unknown key colour; known keys are name, /,
  ],
  [
    'a list of types in place of a schema',
    () => tool({ ...base, schema: { city: 'string' } }),
    'schema',
    notSchema,
  ],
  [
    'properties without the object around them',
    () => tool({ ...base, schema: { city: { type: 'string' } } }),
    'schema',
    notSchema,
  ],
  [
    'a property that is no schema',
    () => tool({ ...base, schema: { type: 'object', properties: { city: 'string' } } }),
    'schema.properties.city',
    notSchema,
  ],
  [
    'a property of a property that is no schema',
    () => tool({ ...base, schema: { properties: { at: { properties: { city: ['string'] } } } } }),
    'schema.properties.at.properties.city',
    notSchema,
  ],
  [
    'properties that are a list',
    () => tool<JsonObject>({ ...base, schema: { type: 'object', properties: ['city'] } }),
    'schema.properties',
    'must be an object, not a list',
  ],
  ...(
    [
      [
        'type: "strng"',
        { properties: { a: { type: 'strng' } } },
        'properties.a.type',
        /one of string, number, .* not "strng"/,
      ],
      [
        'type: a list with a typo',
        { properties: { a: { type: ['string', 'nul'] } } },
        'properties.a.type[1]',
        /not "nul"/,
      ],
      ['required: "a"', { required: 'a' }, 'required', /must be a list/],
      ['required: [1]', { required: [1] }, 'required[0]', /must be a string/],
      ['enum: "a"', { properties: { a: { enum: 'a' } } }, 'properties.a.enum', /must be a list/],
      [
        'items: "string"',
        { properties: { a: { items: 'string' } } },
        'properties.a.items',
        notSchema,
      ],
      [
        'minimum: "0"',
        { properties: { a: { minimum: '0' } } },
        'properties.a.minimum',
        /must be a number/,
      ],
      [
        'pattern: 5',
        { properties: { a: { pattern: 5 } } },
        'properties.a.pattern',
        /must be a string/,
      ],
      [
        'pattern: "("',
        { properties: { a: { pattern: '(' } } },
        'properties.a.pattern',
        'must be a regular expression, not "("',
      ],
      [
        'uniqueItems: "yes"',
        { properties: { a: { uniqueItems: 'yes' } } },
        'properties.a.uniqueItems',
        /true or false/,
      ],
      [
        'enum: []',
        { properties: { a: { enum: [] } } },
        'properties.a.enum',
        'must be a list of values, not an empty list',
      ],
      [
        'a reference with a typo',
        { properties: { a: { $ref: '#/$defs/Ammount' } }, $defs: { Amount: {}, Day: {} } },
        'properties.a.$ref',
        'must lead to a schema, not "#/$defs/Ammount"; did you mean #/$defs/Amount? (definitions: #/$defs/Amount, #/$defs/Day)',
      ],
      [
        'a reference to another place for definitions',
        { properties: { a: { items: { $ref: '#/definitions/Day' } } }, $defs: { Day: {} } },
        'properties.a.items.$ref',
        'must lead to a schema, not "#/definitions/Day"; did you mean #/$defs/Day? (definitions: #/$defs/Day)',
      ],
      [
        'a reference to a name, which is not followed',
        { properties: { a: { $ref: '#Day' } }, definitions: { Day: {} } },
        'properties.a.$ref',
        'must lead to a schema, not "#Day"; did you mean #/definitions/Day? (definitions: #/definitions/Day)',
      ],
      [
        'a reference to what is not a schema',
        { properties: { a: { $ref: '#/type' } } },
        'properties.a.$ref',
        'must lead to a schema, not "#/type" (definitions: none)',
      ],
      ['anyOf: {}', { properties: { a: { anyOf: {} } } }, 'properties.a.anyOf', /must be a list/],
      ['a typo in $defs', { $defs: { a: { type: 'text' } } }, '$defs.a.type', /not "text"/],
      [
        'a typo in items of a list',
        { properties: { a: { items: [{ type: 'text' }] } } },
        'properties.a.items[0].type',
        /not "text"/,
      ],
    ] as const
  ).map(([name, schema, path, problem]): [string, () => unknown, string, string | RegExp] => [
    name,
    () => tool<JsonObject>({ ...base, schema: { type: 'object', ...schema } }),
    `schema.${path}`,
    problem,
  ]),
  [
    'a misspelt option',
    () => tool({ ...base, schema: {}, timeout: 5 } as never),
    '',
    'unknown key timeout; did you mean timeoutMs?',
  ],
  ['nothing', () => tool(undefined as never), '', 'options must be an object, not undefined'],
])('%s is refused with the way out', (_name, make, path, problem) => {
  expect(refusalOf(make)).toEqual([
    { path, problem: typeof problem === 'string' ? problem : expect.stringMatching(problem) },
  ])
})

test.each<JsonObject>([
  {},
  { description: 'anything' },
  { $ref: '#/$defs/a', $defs: { a: { type: 'object' } } },
  { type: 'object', properties: { city: {}, all: true, none: false } },
  { properties: { properties: { type: 'string' }, type: { const: 'a' } } },
  { type: 'object', 'x-order': ['a'] },
  { minProperties: 1 },
  { properties: { a: { type: ['string', 'null'], minimum: 0, exclusiveMinimum: true } } },
  { properties: { a: { type: 'array', items: [{ type: 'string' }], additionalItems: false } } },
  {
    properties: { type: { enum: [1] }, required: true, enum: { $ref: '#/$defs/a' } },
    $defs: { a: {} },
  },
  { properties: { a: { $ref: '#' }, b: { $ref: '#/properties/a' }, c: { $ref: 'https://a.b/c' } } },
  { properties: { a: { $ref: '#/%24defs/x~1y' }, $ref: { const: '#/a' } }, $defs: { 'x/y': true } },
  { additionalProperties: { type: 'string' } },
  { anyOf: [{ type: 'object' }, { required: ['a'] }] },
])('the schema %j is legal', (schema) => {
  expect(tool<JsonObject>({ ...base, schema }).schema).toEqual(schema)
})

test('the outcomes of a handler are branded, so that a value that looks like one is not taken for one', () => {
  expect(askUser('Which?', { choices: ['a'] })).toEqual({
    [outcomeBrand]: true,
    type: 'ask_user',
    question: 'Which?',
    options: { choices: ['a'] },
  })
  expect(askUser('Which?')).toMatchObject({ options: {} })
  expect(halt('done', { a: 1 })).toEqual({
    [outcomeBrand]: true,
    type: 'halt',
    reason: 'done',
    result: { a: 1 },
  })
  expect(halt('done')).toMatchObject({ result: null })
  expect(fail('no such city')).toEqual({
    [outcomeBrand]: true,
    type: 'fail',
    reason: 'no such city',
  })
  expect(halt('completed', 1)).toMatchObject({ reason: 'completed' })
})

test.each<[string, () => unknown, string]>([
  ['a question that is empty', () => askUser(''), 'question'],
  ['options with a function', () => askUser('q', { f: () => 1 } as never), 'options.f'],
  ['a reason that is none', () => halt(undefined as never, 1), 'reason'],
  ['a reason that is an Error', () => fail(new Error('x') as never), 'reason'],
])('%s is refused', (_name, make, path) => {
  expect(refusalOf(make)).toMatchObject([{ path }])
})

test('whether a schema describes objects is known at once, however many ways lead through its references', () => {
  const level = (index: number): JsonObject => ({ $ref: `#/$defs/d${index + 1}` })
  const levels = Array.from({ length: 60 }, (_, index) => [
    `d${index}`,
    { anyOf: [level(index), level(index)] },
  ])
  const schemaOf = (last: string): JsonObject => ({
    anyOf: [level(-1)],
    $defs: { ...Object.fromEntries(levels), d60: { type: last } },
  })
  expect(tool<JsonObject>({ ...base, schema: schemaOf('object') }).name).toBe('weather')
  const refused = refusalOf(() => tool<JsonObject>({ ...base, schema: schemaOf('string') }))
  expect(refused[0]?.problem).toContain('must describe an object')
})
