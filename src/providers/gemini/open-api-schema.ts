import { isJsonList, isJsonObject } from './json-kind.ts'
import { mergeSchemas } from './merge-schemas.ts'
import { inexpressible, inside, type SchemaPlace } from './schema-place.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

/**
 * A plain schema in the older form, a subset of OpenAPI 3.0: one type in capitals, `nullable` instead of the type `null`.
 *
 * It has no words for tuples, maps and values of any type, which are `unsupported_feature`. Numbers to choose from go
 * into the description.
 */
export function openApiSchema(schema: JsonObject, place: SchemaPlace): JsonObject {
  const { nullable, type, choices } = alternatives(schema, place)
  const [only] = choices
  const alone = choices.length === 1 && only !== undefined
  if (type === undefined && choices.length === 0) {
    if (nullable) return { type: 'NULL' }
    throw inexpressible(place, 'admits values of any type')
  }
  return {
    ...(alone ? only : {}),
    ...typed(schema, type, place),
    ...(choices.length > 1 ? { anyOf: choices } : {}),
    ...(nullable ? { nullable: true } : {}),
  }
}

interface Alternatives {
  readonly nullable: boolean
  /** The one type, when there are no choices. */
  readonly type: string | undefined
  readonly choices: readonly JsonObject[]
}

/** Takes `null` out of the types and out of `anyOf`. */
function alternatives(schema: JsonObject, place: SchemaPlace): Alternatives {
  const { type, anyOf } = schema
  const written = (isJsonList(type) ? type : [type ?? typeByMembers(schema)]).filter(
    (name) => typeof name === 'string',
  )
  const types = written.filter((name) => name !== 'null')
  const members = isJsonList(anyOf) ? anyOf.filter(isJsonObject) : []
  const valued = members.filter((member) => member['type'] !== 'null')
  const nullable =
    schema['nullable'] === true || types.length < written.length || valued.length < members.length
  if (valued.length === 0 && types.length < 2) return { nullable, type: types[0], choices: [] }
  if (valued.length === 0) {
    const choices = types.map((name) => openApiSchema(forType(shared(schema), name), place))
    return { nullable, type: undefined, choices }
  }
  const within = inside(place, 'anyOf')
  const choices = valued.map((member, index) => {
    const spot = inside(within, index)
    return openApiSchema(mergeSchemas(shared(schema), member, spot), spot)
  })
  return { nullable, type: undefined, choices }
}

/** The type of a schema that does not write it down; every schema has one here. */
function typeByMembers(schema: JsonObject): string | null {
  if ('properties' in schema) return 'object'
  return 'items' in schema || 'prefixItems' in schema ? 'array' : null
}

/** What a schema says beside its choices: it holds for each of them. */
function shared(schema: JsonObject): JsonObject {
  const { anyOf: _anyOf, nullable: _nullable, ...rest } = schema
  return Object.fromEntries(Object.entries(rest).filter(([key]) => !annotations.has(key)))
}

/** The schema of one of several types, with the values of that type. */
function forType(schema: JsonObject, type: string): JsonObject {
  const { enum: values, ...rest } = schema
  if (!isJsonList(values)) return { ...rest, type }
  const own = values.filter((value) => (type === 'string') === (typeof value === 'string'))
  return { ...rest, type, ...(own.length === 0 ? {} : { enum: own }) }
}

const annotations: ReadonlySet<string> = new Set(['title', 'description', 'default', 'example'])

const keywordsOf: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  array: ['minItems', 'maxItems'],
  object: ['minProperties', 'maxProperties', 'propertyOrdering'],
}

const formatsOf: Readonly<Record<string, readonly string[]>> = {
  string: ['date-time', 'enum'],
  number: ['float', 'double'],
  integer: ['int32', 'int64'],
}

function typed(schema: JsonObject, type: string | undefined, place: SchemaPlace): JsonObject {
  const result: Record<string, JsonValue> = {}
  const legal = type === undefined ? [] : (keywordsOf[type] ?? [])
  for (const [key, value] of Object.entries(schema)) {
    if (annotations.has(key) || legal.includes(key)) result[key] = value
  }
  if (type === undefined) return result
  result['type'] = type.toUpperCase()
  const { format } = schema
  if (typeof format === 'string' && formatsOf[type]?.includes(format) === true) {
    result['format'] = format
  }
  return {
    ...result,
    ...listed(schema, type),
    ...(type === 'array' ? listMembers(schema, place) : {}),
    ...(type === 'object' ? objectMembers(schema, place) : {}),
  }
}

/** Only strings can be listed; other values are told in words. */
function listed({ enum: values, description }: JsonObject, type: string): JsonObject {
  if (!isJsonList(values)) return {}
  if (type === 'string') return { enum: values.map(String) }
  const words = `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`
  return { description: typeof description === 'string' ? `${description} (${words})` : words }
}

function listMembers(schema: JsonObject, place: SchemaPlace): JsonObject {
  if (schema['prefixItems'] !== undefined) throw inexpressible(place, 'is a tuple')
  const { items } = schema
  if (!isJsonObject(items)) throw inexpressible(place, 'is a list of values of any type')
  return { items: openApiSchema(items, inside(place, 'items')) }
}

function objectMembers(schema: JsonObject, place: SchemaPlace): JsonObject {
  const { properties, required, additionalProperties } = schema
  if (isJsonObject(additionalProperties) && Object.keys(additionalProperties).length > 0) {
    throw inexpressible(place, 'has members whose names are not known')
  }
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return {}
  const members = Object.entries(properties).map(([name, member]): [string, JsonValue] => [
    name,
    isJsonObject(member) ? openApiSchema(member, inside(place, 'properties', name)) : member,
  ])
  const known = isJsonList(required)
    ? required.filter((name) => typeof name === 'string' && Object.hasOwn(properties, name))
    : []
  return {
    properties: Object.fromEntries(members),
    ...(known.length === 0 ? {} : { required: known }),
  }
}
