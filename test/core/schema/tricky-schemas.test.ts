import { describe, expect, test } from 'vitest'
import {
  anthropicFormat,
  anthropicStrict,
  geminiJson,
  geminiOpenApi,
  openaiStrict,
  type SchemaDialect,
} from '../../../src/core/schema/dialects.ts'
import { schemaIssues } from '../../../src/core/schema/json-schema.ts'
import { lowerSchema, type LoweredSchema } from '../../../src/core/schema/lower-schema.ts'
import { isObject } from '../../../src/core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../../src/core/types/json.ts'
import { sampleOf } from '../../support/schema-samples.ts'
import {
  anthropicStrictProblems,
  geminiJsonProblems,
  geminiOpenApiProblems,
  openaiStrictProblems,
  plainProblems,
  type SubsetCheck,
} from '../../support/strict-subsets.ts'
import { rawSchemas, trickySchemas } from '../../support/tricky-schemas.ts'

const dialects: readonly (readonly [string, SchemaDialect | 'plain', SubsetCheck])[] = [
  ['openai_strict', openaiStrict, openaiStrictProblems],
  ['anthropic_strict', anthropicStrict, anthropicStrictProblems],
  ['anthropic_format', anthropicFormat, anthropicStrictProblems],
  ['gemini_json', geminiJson, geminiJsonProblems],
  ['gemini_open_api', geminiOpenApi, geminiOpenApiProblems],
  ['plain', 'plain', plainProblems],
]

const derived = Object.entries(trickySchemas).map(
  ([name, schema]) =>
    [
      name,
      schema['~standard'].jsonSchema?.input({ target: 'draft-2020-12' }) as JsonObject,
    ] as const,
)
const all = [...derived, ...Object.entries(rawSchemas)]

describe.each(dialects)('%s', (name, dialect, problems) => {
  test.each(all)(
    `${name}: %s is inside the documented subset, or is refused by name`,
    (_name, schema) => {
      for (const use of ['answer', 'tool'] as const) {
        const lowered = attempt(schema, dialect, use)
        if (lowered === undefined) continue
        const check = lowered.warnings.length > 0 ? plainProblems : problems
        expect(check(lowered.schema), JSON.stringify(lowered.schema)).toEqual([])
        expect(JSON.parse(JSON.stringify(lowered.schema))).toEqual(lowered.schema)
      }
    },
  )

  test(`${name}: values of the libraries' schemas go there and back`, async () => {
    let trips = 0
    for (const [title, schema] of derived) {
      const lowered = attempt(schema, dialect, 'answer')
      if (lowered === undefined) continue
      const form = readable(lowered.schema)
      for (let seed = 1; seed <= 12; seed++) {
        const value = sampleOf(schema, seed)
        const validated = await trickySchemas[title]?.['~standard'].validate(structuredClone(value))
        if (validated === undefined || validated.issues !== undefined) continue
        const sent = lowered.wrapped
          ? { value: encode(inner(lowered.schema), value, lowered.schema) }
          : encode(lowered.schema, value, lowered.schema)
        const told = `${title} ${JSON.stringify({ value, sent })}`
        expect(schemaIssues(form, sent), told).toEqual([])
        const back = lowered.restore === undefined ? sent : lowered.restore(sent)
        // A property that may be left out and may be null is not told apart: null is legal there.
        expect(
          isObject(back) && isObject(value) ? { ...nullsOf(back), ...value } : value,
          told,
        ).toEqual(back)
        expect(
          (await trickySchemas[title]?.['~standard'].validate(structuredClone(back)))?.issues,
          told,
        ).toBe(undefined)
        trips++
      }
    }
    expect(trips).toBeGreaterThan(150)
  })

  test(`${name}: a wrong value stays wrong`, async () => {
    for (const [title, schema] of derived) {
      const lowered = attempt(schema, dialect, 'answer')
      if (lowered === undefined || /any|unknown|json|loose|catch/.test(title)) continue
      for (const wrong of [{ '§': [1] }, { value: { '§': 1 } }, { value: [[null]] }]) {
        const back = lowered.restore === undefined ? wrong : lowered.restore(wrong)
        const original = await trickySchemas[title]?.['~standard'].validate(structuredClone(wrong))
        const restored = await trickySchemas[title]?.['~standard'].validate(back)
        if (original?.issues === undefined) continue
        const isUnwrapped =
          lowered.wrapped && JSON.stringify(back) === JSON.stringify(wrong['value'])
        if (!isUnwrapped)
          expect(restored?.issues, `${title} ${JSON.stringify(wrong)}`).toBeDefined()
      }
    }
  })
})

test('what each provider gets of the hard schemas', () => {
  const table = all.map(([title, schema]) => {
    const cells = dialects.map(([, dialect]) => {
      const lowered = attempt(schema, dialect, 'answer')
      if (lowered === undefined) return 'refused'
      if (lowered.warnings.length > 0) return 'plain'
      return lowered.restore === undefined ? 'same' : lowered.wrapped ? 'wrapped' : 'restored'
    })
    return [title, ...cells].join(' | ')
  })
  expect(table).toMatchSnapshot()
})

function attempt(
  schema: JsonObject,
  dialect: SchemaDialect | 'plain',
  use: 'answer' | 'tool',
): LoweredSchema | undefined {
  try {
    return lowerSchema(schema, dialect, { use })
  } catch (error) {
    expect(error).toMatchObject({ kind: 'adapter', reason: 'unsupported_feature' })
    return undefined
  }
}

function nullsOf(value: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member === null))
}

function inner(schema: JsonObject): JsonObject {
  return (schema['properties'] as JsonObject)['value'] as JsonObject
}

/** What a model writes by a lowered schema to say a value of the original. */
function encode(schema: JsonObject, value: JsonValue, root: JsonObject): JsonValue {
  const { $ref, anyOf, properties, items } = schema
  if (typeof $ref === 'string' && isObject(root['$defs'])) {
    return encode(root['$defs'][$ref.slice(8)] as JsonObject, value, root)
  }
  if (Array.isArray(anyOf)) {
    const choices = anyOf as JsonObject[]
    for (const choice of choices) {
      const sent = encode(choice, value, root)
      const whole = { ...choice, $defs: root['$defs'] ?? {} }
      if (schemaIssues(readable(whole), sent).length === 0) return sent
    }
    return value
  }
  if (isObject(value) && isObject(items) && !isObject(properties)) {
    const entry = items['properties']
    if (!isObject(entry)) return value
    return Object.entries(value).map(([key, member]) => ({
      key,
      value: encode(entry['value'] as JsonObject, member, root),
    }))
  }
  if (Array.isArray(value) && isObject(properties))
    return encode(schema, Object.fromEntries(value.entries()), root)
  if (Array.isArray(value)) {
    return isObject(items) ? value.map((item: JsonValue) => encode(items, item, root)) : value
  }
  if (!isObject(value) || !isObject(properties)) return value
  const sent: Record<string, JsonValue> = {}
  const required = Array.isArray(schema['required']) ? schema['required'] : []
  for (const [name, member] of Object.entries(properties)) {
    const own = value[name]
    if (own !== undefined) sent[name] = encode(member as JsonObject, own, root)
    else if (required.includes(name)) sent[name] = null
  }
  return { ...value, ...sent }
}

/** A lowered schema as ajv reads it: OpenAPI's words become those of JSON Schema. */
function readable(schema: JsonObject): JsonObject {
  const { type, nullable, ...rest } = schema
  const node = Object.fromEntries(
    Object.entries(rest).map(([key, value]): [string, JsonValue] => {
      if (key === 'properties' || key === '$defs') {
        const entries = Object.entries(value as JsonObject)
        return [
          key,
          Object.fromEntries(entries.map(([name, one]) => [name, readable(one as JsonObject)])),
        ]
      }
      if (key === 'items' && isObject(value)) return [key, readable(value)]
      if (key === 'anyOf') return [key, (value as JsonObject[]).map(readable)]
      return [key, value]
    }),
  )
  const typed =
    type === undefined
      ? node
      : { ...node, type: typeof type === 'string' ? type.toLowerCase() : type }
  return nullable === true ? { anyOf: [typed, { type: 'null' }] } : typed
}
