import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  anthropicFormat,
  anthropicStrict,
  geminiJson,
  openaiStrict,
  type SchemaDialect,
} from '../../../src/core/schema/dialects.ts'
import { schemaIssues } from '../../../src/core/schema/json-schema.ts'
import { lowerSchema, type LoweredSchema } from '../../../src/core/schema/lower-schema.ts'
import type { JsonObject, JsonValue } from '../../../src/core/types/json.ts'
import { sampleOf } from '../../support/schema-samples.ts'
import {
  anthropicStrictProblems,
  geminiJsonProblems,
  openaiStrictProblems,
  plainProblems,
  type SubsetCheck,
} from '../../support/strict-subsets.ts'

const name = fc.constantFrom('a', 'b', 'c', 'value', 'key')

const leaf: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.constantFrom<JsonObject>(
    { type: 'string' },
    { type: 'string', minLength: 1 },
    { type: 'number' },
    { type: 'integer', maximum: 9 },
    { type: 'boolean' },
    { type: 'null' },
    { type: ['string', 'null'] },
    { const: 'x' },
    { enum: ['x', 'y'] },
    { enum: ['x', 1, null] },
    { $ref: '#' },
    { $ref: '#/$defs/d' },
  ),
)

/** Schemas as the libraries write them: with types, nested, optional, in choices, with references to themselves. */
const schema: fc.Arbitrary<JsonObject> = fc.letrec<{ node: JsonObject; object: JsonObject }>(
  (tie) => ({
    node: fc.oneof(
      { maxDepth: 3 },
      { weight: 4, arbitrary: leaf },
      { weight: 4, arbitrary: tie('object') },
      { weight: 1, arbitrary: tie('node').map((items) => ({ type: 'array', items })) },
      {
        weight: 1,
        arbitrary: fc
          .array(tie('node'), { minLength: 1, maxLength: 3 })
          .map((anyOf) => ({ anyOf })),
      },
      {
        weight: 1,
        arbitrary: tie('node').map((value) => ({ type: 'object', additionalProperties: value })),
      },
      { weight: 1, arbitrary: fc.tuple(tie('object'), tie('object')).map((allOf) => ({ allOf })) },
      {
        weight: 1,
        arbitrary: fc.array(tie('node'), { minLength: 1, maxLength: 2 }).map((prefixItems) => ({
          type: 'array',
          prefixItems,
          items: false,
          minItems: prefixItems.length,
        })),
      },
    ),
    object: fc
      .tuple(
        fc.dictionary(name, tie('node'), { maxKeys: 3, noNullPrototype: true }),
        fc.subarray(['a', 'b', 'c', 'value', 'key']),
      )
      .map(([properties, some]) => ({
        type: 'object',
        properties,
        required: some.filter((one) => one in properties),
      })),
  }),
).node

const wholeSchema = fc
  .tuple(schema, schema)
  .map(([root, d]): JsonObject => ({ ...root, $defs: { d } }))

const dialects: readonly (readonly [string, SchemaDialect, SubsetCheck])[] = [
  ['OpenAI, strict', openaiStrict, openaiStrictProblems],
  ['Anthropic, strict tools', anthropicStrict, anthropicStrictProblems],
  ['Anthropic, formats', anthropicFormat, anthropicStrictProblems],
  ['Gemini, JSON Schema', geminiJson, geminiJsonProblems],
]

test.each(dialects)(
  '%s: random schemas are inside the subset, in the plain form or refused',
  (_name, dialect, problems) => {
    const outcomes = new Map<string, number>()
    fc.assert(
      fc.property(wholeSchema, (whole) => {
        const lowered = attempt(whole, dialect)
        const outcome =
          lowered === undefined ? 'refused' : lowered.warnings.length > 0 ? 'plain' : 'strict'
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
        if (lowered === undefined) return
        const check = outcome === 'plain' ? plainProblems : problems
        expect(check(lowered.schema), JSON.stringify({ whole, lowered })).toEqual([])
      }),
      { numRuns: 1000, seed: 20261116 },
    )
    expect(outcomes.get('strict')).toBeGreaterThan(200)
  },
)

test.each(dialects)(
  '%s: what a model writes by a lowered schema is a value of the original',
  (_name, dialect) => {
    let checked = 0
    fc.assert(
      fc.property(wholeSchema, fc.integer({ min: 1, max: 99 }), (whole, seed) => {
        const lowered = attempt(whole, dialect)
        if (lowered === undefined) return
        const written = sampled(lowered.schema, seed)
        if (written === undefined || !accepts(lowered.schema, written)) return
        const back = lowered.restore === undefined ? written : lowered.restore(written)
        expect(accepts(whole, back), JSON.stringify({ whole, lowered, written, back })).toBe(true)
        checked++
      }),
      { numRuns: 500, seed: 20261116 },
    )
    expect(checked).toBeGreaterThan(100)
  },
)

function sampled(schemaOf: JsonObject, seed: number): JsonValue | undefined {
  try {
    return sampleOf(schemaOf, seed)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function attempt(whole: JsonObject, dialect: SchemaDialect): LoweredSchema | undefined {
  try {
    return lowerSchema(whole, dialect)
  } catch (error) {
    expect(error).toMatchObject({ kind: 'adapter', reason: 'unsupported_feature' })
    return undefined
  }
}

function accepts(schemaOf: JsonObject, value: JsonValue): boolean {
  return schemaIssues(schemaOf, value).length === 0
}
