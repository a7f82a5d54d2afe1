import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
import type { JsonObject } from '../../src/core/types/json.ts'
import type { StandardSchema } from '../../src/core/types/standard-schema.ts'

interface Tree {
  readonly v: string
  readonly children?: readonly Tree[] | undefined
}

const zodTree: z.ZodType<Tree> = z.object({
  v: z.string(),
  get children() {
    return z.array(zodTree).optional()
  },
})

interface Row {
  readonly id: number
  readonly rows: readonly Row[]
}

const strictTree: z.ZodType<Row> = z.object({
  id: z.number(),
  get rows() {
    return z.array(strictTree)
  },
})

interface ValibotTree {
  readonly v: string
  readonly next?: ValibotTree | undefined
}

const valibotTree: v.GenericSchema<ValibotTree> = v.object({
  v: v.string(),
  next: v.optional(v.lazy(() => valibotTree)),
})

const address = z.object({ street: z.string(), zip: z.string().optional() })

/** Schemas of the libraries that are hard on one provider or another. */
export const trickySchemas: Readonly<Record<string, StandardSchema>> = {
  'zod: optional, nullable, both and with a default': z.object({
    a: z.string().optional(),
    b: z.string().nullable(),
    c: z.string().nullish(),
    d: z.string().default('x'),
    e: z.enum(['p', 'q']).optional(),
    f: z.literal(true).optional(),
  }),
  'zod: nested optional objects': z.object({
    home: address.optional(),
    work: z.object({ at: address.partial() }).partial(),
  }),
  'zod: an empty object': z.object({}),
  'zod: a record': z.object({ scores: z.record(z.string(), z.number()) }),
  'zod: a record at the root': z.record(z.string(), z.object({ n: z.number().optional() })),
  'zod: a record with listed keys': z.record(z.enum(['a', 'b']), z.number()),
  'zod: a partial record': z.partialRecord(z.enum(['a', 'b']), z.number()),
  'zod: a record of keys with a pattern': z.object({
    r: z.record(z.string().regex(/^[a-z]+$/), z.boolean()),
  }),
  'zod: a loose object': z.looseObject({ a: z.string() }),
  'zod: a strict object': z.strictObject({ a: z.string() }),
  'zod: a catch-all': z.object({ a: z.string() }).catchall(z.number()),
  'zod: any value': z.object({ a: z.any(), b: z.unknown().optional() }),
  'zod: a list of unknown': z.object({ list: z.array(z.unknown()) }),
  'zod: json': z.json(),
  'zod: a list at the root': z.array(z.object({ x: z.string().optional() })),
  'zod: a union at the root': z.union([z.string(), z.number()]),
  'zod: a discriminated union at the root': z.discriminatedUnion('k', [
    z.object({ k: z.literal('a'), x: z.string().optional() }),
    z.object({ k: z.literal('b'), x: z.string().nullable() }),
  ]),
  'zod: a text at the root': z.string(),
  'zod: an enum at the root': z.enum(['yes', 'no']),
  'zod: null at the root': z.object({ a: z.string() }).nullable(),
  'zod: mixed literals': z.object({ l: z.literal(['a', 1, null, true]) }),
  'zod: a boolean literal': z.object({ ok: z.literal(false) }),
  'zod: a tuple': z.object({ at: z.tuple([z.string(), z.number()]) }),
  'zod: a tuple with more': z.object({ at: z.tuple([z.string()], z.number()) }),
  'zod: an intersection': z.object({
    both: z.intersection(z.object({ x: z.number() }), z.object({ y: z.boolean().optional() })),
  }),
  'zod: an intersection of unions': z.intersection(
    z.object({ id: z.string() }),
    z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]),
  ),
  'zod: formats': z.object({
    mail: z.email(),
    when: z.iso.datetime(),
    day: z.iso.date(),
    id: z.uuid(),
    site: z.url(),
    ip: z.ipv4(),
  }),
  'zod: a pattern that looks around': z.object({ p: z.string().regex(/^(?=.*[a-z])[a-z0-9]+$/) }),
  'zod: bounds': z.object({
    s: z.string().min(1).max(9),
    n: z.number().gt(0).lt(10).multipleOf(0.5),
    i: z.int().min(1),
    l: z.array(z.string()).min(1).max(3),
  }),
  'zod: a tree': zodTree,
  'zod: a tree that needs its branches': strictTree,
  'zod: a list of trees': z.array(zodTree),
  'zod: descriptions and a transform': z.object({
    n: z.string().describe('A number').transform(Number),
    m: z.preprocess((value) => value, z.number()).describe('Any'),
  }),
  'valibot: optional and nullable': toStandardJsonSchema(
    v.object({ a: v.optional(v.string()), b: v.nullable(v.number()), c: v.nullish(v.boolean()) }),
  ),
  'valibot: a record': toStandardJsonSchema(v.object({ r: v.record(v.string(), v.number()) })),
  'valibot: a variant': toStandardJsonSchema(
    v.variant('type', [
      v.object({ type: v.literal('circle'), r: v.number() }),
      v.object({ type: v.literal('square'), side: v.optional(v.number()) }),
    ]),
  ),
  'valibot: a tree': toStandardJsonSchema(valibotTree),
  'valibot: a tuple and a picklist': toStandardJsonSchema(
    v.object({ t: v.strictTuple([v.string(), v.boolean()]), p: v.picklist(['a', 'b', 3]) }),
  ),
  'valibot: email and bounds': toStandardJsonSchema(
    v.object({
      mail: v.pipe(v.string(), v.email()),
      n: v.pipe(v.number(), v.minValue(1), v.maxValue(5)),
    }),
  ),
  'arktype: optional, union and bounds': type({
    name: 'string > 0',
    'nick?': 'string',
    'age?': '0 < number < 150',
    kind: "'a' | 'b' | 1",
  }),
  'arktype: a record': type({ scores: type({ '[string]': 'number' }) }),
  'arktype: a union of objects': type({ k: "'a'", 'x?': 'string' }).or({ k: "'b'", y: 'number' }),
  'arktype: a list at the root': type({ 'x?': 'string' }).array(),
  'arktype: a text that is an email': type({ mail: 'string.email', id: 'string.uuid' }),
}

/** Plain schemas that no library writes. */
export const rawSchemas: Readonly<Record<string, JsonObject>> = {
  'a reference with a description': {
    type: 'object',
    properties: { a: { $ref: '#/$defs/n', description: 'The first' } },
    $defs: { n: { type: 'object', properties: { x: { type: 'string' } } } },
  },
  'two schemas that contain each other': {
    type: 'object',
    properties: { a: { $ref: '#/$defs/a' } },
    $defs: {
      a: { type: 'object', properties: { b: { $ref: '#/$defs/b' } } },
      b: { type: 'object', properties: { a: { $ref: '#/$defs/a' }, n: { type: 'number' } } },
    },
  },
  'a nullable reference to itself': {
    type: 'object',
    properties: { next: { anyOf: [{ $ref: '#' }, { type: 'null' }] }, v: { type: 'string' } },
    required: ['v'],
  },
  'choices beside shared properties': {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'number' } },
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  'a type with null and values': { type: ['string', 'null'], enum: ['a', 'b', null] },
  'properties by pattern': { type: 'object', patternProperties: { '^x-': { type: 'string' } } },
  'a condition': {
    type: 'object',
    properties: { a: { type: 'string' } },
    if: {},
    then: { required: ['a'] },
  },
  'a negation': { type: 'object', properties: { a: { not: { type: 'string' } } } },
  'many properties that may be left out': wide(30, { type: 'string' }),
  'many properties that may be null': wide(30, { type: ['string', 'null'] }, true),
}

/** An object with many properties of one kind. */
function wide(count: number, property: JsonObject, required = false): JsonObject {
  const names = Array.from({ length: count }, (_, index) => `p${index}`)
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, property])),
    ...(required ? { required: names } : {}),
  }
}
