import fc from 'fast-check'
import type { JsonObject, JsonValue } from '../../src/core/types/json.ts'

const key = fc.constantFrom('a', 'b', 'ab', 'x-1')
const small = fc.integer({ min: 0, max: 4 })
const pattern = fc.constantFrom('^a', 'b$', '^\\p{L}+$', '[0-9]')
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'object', 'array', 'null')
const leaves: readonly JsonValue[] = [
  null,
  true,
  false,
  0,
  1,
  2,
  3.5,
  -1,
  4,
  '',
  'a',
  'ab',
  'é',
  '👍👍',
  '7',
]
const leaf = fc.constantFrom(...leaves)

/** JSON values with little variety, so that a schema has a chance to match. */
export const sampleValue: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(key, fc.constant('zz')), tie('value'), {
      maxKeys: 4,
      noNullPrototype: true,
    }),
  ),
})).value

type AnySchema = JsonObject | boolean

/**
 * JSON Schemas of up to four keywords at each level. References point into `$defs`, at `one` and `t/wo`.
 *
 * `contains` is not among them: ajv ignores it for an empty list together with some other keywords.
 */
export const sampleSchema: fc.Arbitrary<AnySchema> = fc.letrec<{
  any: AnySchema
  object: JsonObject
}>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    { weight: 1, arbitrary: fc.boolean() },
    { weight: 6, arbitrary: tie('object') },
  ),
  object: someOf(keywords(tie('any'))),
})).any

function someOf(members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> {
  return fc
    .uniqueArray(fc.constantFrom(...Object.keys(members)), { minLength: 1, maxLength: 4 })
    .chain((names) => {
      const chosen = names.map((name) => [name, members[name]])
      return fc.record(Object.fromEntries(chosen))
    })
}

function keywords(sub: fc.Arbitrary<AnySchema>): Record<string, fc.Arbitrary<unknown>> {
  const list = fc.array(sub, { minLength: 1, maxLength: 3 })
  const words = fc.uniqueArray(leaf, { minLength: 1, maxLength: 3 })
  return {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: words,
    const: leaf,
    properties: fc.dictionary(key, sub, { maxKeys: 3, noNullPrototype: true }),
    required: fc.uniqueArray(key, { maxLength: 3 }),
    additionalProperties: sub,
    patternProperties: fc.dictionary(pattern, sub, { maxKeys: 2, noNullPrototype: true }),
    propertyNames: sub,
    minProperties: small,
    maxProperties: small,
    items: sub,
    prefixItems: list,
    minItems: small,
    maxItems: small,
    uniqueItems: fc.boolean(),
    minimum: small,
    maximum: small,
    exclusiveMinimum: small,
    exclusiveMaximum: small,
    multipleOf: fc.integer({ min: 1, max: 4 }),
    minLength: small,
    maxLength: small,
    pattern,
    anyOf: list,
    oneOf: list,
    allOf: list,
    not: sub,
    if: sub,
    then: sub,
    else: sub,
    $ref: fc.constantFrom('#/$defs/one', '#/$defs/t~1wo'),
    title: fc.constant('a remark'),
  }
}
