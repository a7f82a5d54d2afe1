import { isObject } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { isList, listOf } from './flatten-schema.ts'
import type { SchemaDialect } from './lower-schema.ts'
import { asEntries, asMembers } from './other-forms.ts'

export type { SchemaDialect } from './lower-schema.ts'

/** OpenAI with `strict: true`. */
export const openaiStrict: SchemaDialect = {
  orPlain: true,
  keywords:
    'title pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems',
  formats: 'date-time time date duration email hostname ipv4 ipv6 uuid',
  enums: 'string number boolean',
  any: false,
  closed: true,
  optional: 'nullable',
  maps: 'refused',
  tuples: 'refused',
  recursion: 'kept',
  objectRoot: true,
}

/** Tools of Anthropic with `strict: true`. */
export const anthropicStrict: SchemaDialect = /* @__PURE__ */ like(openaiStrict, {
  keywords: 'title default',
  formats: 'date-time time date duration email hostname ipv4 ipv6 uuid uri',
  optional: 'kept',
  recursion: 'refused',
  excess: tooManyChoices,
})

/** Anthropic's `output_config.format`, which has no form that is not enforced. */
export const anthropicFormat: SchemaDialect = /* @__PURE__ */ like(anthropicStrict, {
  orPlain: false,
  maps: asEntries,
  tuples: asMembers,
})

/** Gemini's `responseJsonSchema` and `parametersJsonSchema`. Keywords that it does not know are ignored there. */
export const geminiJson: SchemaDialect = {
  orPlain: false,
  keywords:
    'title default example nullable propertyOrdering minimum maximum minItems maxItems minProperties maxProperties minLength maxLength pattern',
  enums: 'string number',
  any: true,
  closed: false,
  optional: 'kept',
  maps: 'kept',
  tuples: 'kept',
  recursion: 'optional',
  objectRoot: false,
}

/** Gemini's older `responseSchema` and `parameters`: a subset of OpenAPI 3.0. */
export const geminiOpenApi: SchemaDialect = /* @__PURE__ */ like(geminiJson, {
  formats: 'date-time enum float double int32 int64',
  enums: 'string',
  any: false,
  maps: asEntries,
  tuples: asMembers,
  recursion: 'refused',
  finish: toOpenApi,
})

/** A dialect that differs from another one in some points. */
function like(other: SchemaDialect, points: Partial<SchemaDialect>): SchemaDialect {
  return { ...other, ...points }
}

/** Anthropic compiles schemas with at most 24 properties that may be left out, and 16 unions. */
function tooManyChoices(schema: JsonObject): string | undefined {
  let optional = 0
  let unions = 0
  JSON.stringify(schema, (_key, node: JsonValue) => {
    const { properties, required, anyOf, type } = isObject(node) ? node : {}
    if (isList(anyOf ?? type)) unions++
    if (isObject(properties)) optional += Object.keys(properties).length - listOf(required).length
    return node
  })
  return optional > 24 || unions > 16
    ? `has ${optional} optional properties and ${unions} unions, of 24 and 16`
    : undefined
}

const openApiKeywords: Readonly<Record<string, string>> = {
  string: 'minLength maxLength pattern format enum',
  number: 'minimum maximum format',
  integer: 'minimum maximum format',
  array: 'minItems maxItems items',
  object: 'minProperties maxProperties propertyOrdering required properties',
}

/** A lowered schema with one type in capitals at each place, and `nullable` instead of the type `null`. */
function toOpenApi(schema: JsonObject): JsonObject {
  const { type, anyOf, nullable, ...rest } = schema
  const types: readonly JsonValue[] = Array.isArray(type) ? type : [type]
  const listed: readonly JsonValue[] = Array.isArray(anyOf)
    ? anyOf
    : types.map((one) => Object.assign({}, types.length > 1 ? rest : schema, { type: one }))
  const choices = listed.filter((one) => isObject(one) && one['type'] !== 'null') as JsonObject[]
  const [only] = choices
  if (only === undefined) return { ...openApiWords(schema, ''), type: 'NULL' }
  const several = choices.length > 1
  return {
    ...(several ? { anyOf: choices.map((one) => toOpenApi(unnamed(one, anyOf))) } : undefined),
    ...(!several && anyOf !== undefined ? toOpenApi(only) : undefined),
    ...(!several && anyOf === undefined ? openApiLeaf(only) : undefined),
    ...openApiWords(schema, ''),
    ...(nullable === true || choices.length < listed.length ? { nullable: true } : undefined),
  }
}

/** One of several types of a schema: what explains the schema is said once, beside the choices. */
function unnamed(choice: JsonObject, anyOf: JsonValue | undefined): JsonObject {
  if (anyOf !== undefined) return choice
  const { title: _title, description: _description, default: _default, ...rest } = choice
  return rest
}

function openApiLeaf(schema: JsonObject): JsonObject {
  const type = typeof schema['type'] === 'string' ? schema['type'] : ''
  const { properties, items, required, ...rest } = openApiWords(schema, type)
  const members = isObject(properties) ? Object.entries(properties) : []
  const result: Record<string, JsonValue> = { ...rest, type: type.toUpperCase() }
  if (isObject(items)) result['items'] = toOpenApi(items)
  if (members.length === 0) return result
  result['properties'] = Object.fromEntries(
    members.map(([name, one]) => [name, isObject(one) ? toOpenApi(one) : one]),
  )
  if (Array.isArray(required) && required.length > 0) result['required'] = required
  return result
}

/** The keywords that explain a schema, and those of its type. */
function openApiWords(schema: JsonObject, type: string): JsonObject {
  const legal = `title description default example ${openApiKeywords[type] ?? ''}`.split(' ')
  return Object.fromEntries(Object.entries(schema).filter(([key]) => legal.includes(key)))
}
