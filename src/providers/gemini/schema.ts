import { AdapterError } from '../../errors/errors.ts'
import { isJsonList, isJsonObject } from './wire.ts'
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

/**
 * A schema in the part of JSON Schema that Gemini reads: references inlined, `allOf` merged, `const` as `enum`,
 * `oneOf` as `anyOf`.
 *
 * Keywords that only narrow a value (`pattern`, `multipleOf`, `uniqueItems`, …) are left to whoever validates it: Gemini
 * passes over those that it does not know, and those that it would refuse are dropped. What describes a value
 * and can not be said (recursion, `not`, `if`, `patternProperties`, …) is `unsupported_feature`, with its place.
 */
export function plainSchema(schema: JsonObject, place: SchemaPlace): JsonObject {
  return visit(schema, place, { root: schema, refs: [], size: { nodes: 0 } })
}

interface Walk {
  readonly root: JsonObject
  /** The references that are being inlined, outermost first. */
  readonly refs: readonly string[]
  readonly size: { nodes: number }
}

/** Inlined references can multiply; beyond this many schemas no model would read them. */
const maxNodes = 5000

const refused: readonly string[] = [
  'not',
  'if',
  'then',
  'else',
  'patternProperties',
  'dependentSchemas',
  '$dynamicRef',
  '$recursiveRef',
]

const copied: readonly string[] = [
  'type',
  'title',
  'description',
  'default',
  'example',
  'format',
  'required',
  'propertyOrdering',
  'minimum',
  'maximum',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minLength',
  'maxLength',
  'pattern',
  'nullable',
]

function visit(node: JsonValue | undefined, place: SchemaPlace, walk: Walk): JsonObject {
  if (node === true) return {}
  if (!isJsonObject(node)) throw inexpressible(place, 'admits no value')
  walk.size.nodes++
  if (walk.size.nodes > maxNodes)
    throw inexpressible(place, 'is too large with its references inlined')
  const { $ref, allOf, ...rest } = node
  const bases = visitList(allOf, inside(place, 'allOf'), walk)
  if ($ref !== undefined) bases.unshift(visitRef($ref, place, walk))
  // What stands beside a reference is said last and holds.
  return [...bases, visitOwn(rest, place, walk)].reduce((left, right) =>
    mergeSchemas(left, right, place),
  )
}

function visitRef(ref: JsonValue, place: SchemaPlace, walk: Walk): JsonObject {
  const target = resolveRef(walk.root, ref, place)
  const name = JSON.stringify(ref)
  if (walk.refs.includes(name) || target === walk.root) {
    throw inexpressible(place, `is recursive: ${name} holds itself`)
  }
  return visit(target, place, { ...walk, refs: [...walk.refs, name] })
}

/** Everything but `$ref` and `allOf`. */
function visitOwn(node: JsonObject, place: SchemaPlace, walk: Walk): JsonObject {
  for (const key of refused) {
    if (key in node) throw inexpressible(place, `uses ${key}`)
  }
  const result: Record<string, JsonValue> = {}
  for (const key of copied) {
    const value = node[key]
    if (value !== undefined) result[key] = value
  }
  const { properties, items, prefixItems, additionalProperties, anyOf, oneOf } = node
  if (anyOf !== undefined && oneOf !== undefined) throw inexpressible(place, 'has anyOf and oneOf')
  if (isJsonObject(properties)) result['properties'] = visitProperties(properties, place, walk)
  // Older drafts write a tuple as a list of items.
  const tuple = prefixItems ?? (isJsonList(items) ? items : undefined)
  if (tuple !== undefined) {
    result['prefixItems'] = visitList(tuple, inside(place, 'prefixItems'), walk)
  }
  if (items !== undefined && !isJsonList(items) && items !== false) {
    result['items'] = visit(items, inside(place, 'items'), walk)
  }
  if (additionalProperties !== undefined) {
    const within = inside(place, 'additionalProperties')
    result['additionalProperties'] =
      typeof additionalProperties === 'boolean'
        ? additionalProperties
        : visit(additionalProperties, within, walk)
  }
  const choices = anyOf ?? oneOf
  if (choices !== undefined) result['anyOf'] = visitList(choices, inside(place, 'anyOf'), walk)
  return withValues(result, node, place)
}

function visitProperties(properties: JsonObject, place: SchemaPlace, walk: Walk): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      visit(schema, inside(place, 'properties', name), walk),
    ]),
  )
}

function visitList(list: JsonValue | undefined, place: SchemaPlace, walk: Walk): JsonObject[] {
  if (!isJsonList(list)) return []
  return list.map((member: JsonValue, index) => visit(member, inside(place, index), walk))
}

/**
 * The legal values as `enum`, with their type where it is not written.
 *
 * Gemini lists strings and numbers only: `null` becomes a choice of its own, and a choice of booleans is any boolean.
 */
function withValues(schema: JsonObject, node: JsonObject, place: SchemaPlace): JsonObject {
  const values = node['const'] === undefined ? node['enum'] : [node['const']]
  if (!isJsonList(values)) return schema
  const { type: written, ...rest } = schema
  const types = [...new Set(values.map((value) => typeOf(value, place)))]
  const type = written ?? oneOrAll(types)
  const listed = values.filter((value) => typeof value === 'string' || typeof value === 'number')
  if (listed.length === 0 || types.includes('boolean')) return { ...rest, type }
  const valued = types.filter((name) => name !== 'null')
  const nullable = valued.length < types.length && JSON.stringify(type).includes('"null"')
  if (!nullable) return { ...rest, type, enum: listed }
  if ('anyOf' in rest) return { ...rest, type }
  return { ...rest, anyOf: [{ type: oneOrAll(valued), enum: listed }, { type: 'null' }] }
}

function oneOrAll(types: readonly string[]): JsonValue {
  const [only = 'null', ...others] = types
  return others.length === 0 ? only : types
}

function typeOf(value: JsonValue, place: SchemaPlace): string {
  if (value === null) return 'null'
  if (typeof value === 'object') throw inexpressible(place, 'lists a value that is no scalar')
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value
}

/**
 * One schema that says what two say together, as in `allOf`. Of titles, descriptions and defaults the second's hold.
 *
 * Schemas that can not be written as one are refused.
 */
function mergeSchemas(left: JsonObject, right: JsonObject, place: SchemaPlace): JsonObject {
  const result: Record<string, JsonValue> = { ...left }
  for (const [key, value] of Object.entries(right)) {
    const known = result[key]
    if (known === undefined) result[key] = value
    else result[key] = mergeKeyword(key, known, value, place)
  }
  return result
}

function mergeKeyword(
  key: string,
  left: JsonValue,
  right: JsonValue,
  place: SchemaPlace,
): JsonValue {
  if (annotations.has(key)) return right
  if (key === 'properties' && isJsonObject(left) && isJsonObject(right)) {
    return mergeProperties(left, right, place)
  }
  if (key === 'required' && isJsonList(left) && isJsonList(right)) {
    return [...new Set([...left, ...right])]
  }
  if (JSON.stringify(left) === JSON.stringify(right)) return left
  // Each side closes its own object and means the whole by it: what the other names is legal too.
  if (key === 'additionalProperties') return left !== false && right !== false
  if (key === 'type' && (left === 'integer' || right === 'integer')) {
    if (left === 'number' || right === 'number') return 'integer'
  }
  throw inexpressible(place, `combines two different values of ${key}`)
}

function mergeProperties(left: JsonObject, right: JsonObject, place: SchemaPlace): JsonObject {
  const result: Record<string, JsonValue> = { ...left }
  for (const [name, schema] of Object.entries(right)) {
    const known = result[name]
    const both = isJsonObject(known) && isJsonObject(schema)
    result[name] = both ? mergeSchemas(known, schema, inside(place, 'properties', name)) : schema
  }
  return result
}

/** What a `$ref` points at inside its own schema: `#`, `#/$defs/Name`. Whatever is elsewhere is refused. */
function resolveRef(root: JsonObject, ref: JsonValue, place: SchemaPlace): JsonValue {
  const pointer = typeof ref === 'string' ? decode(ref) : undefined
  if (pointer !== '#' && pointer?.startsWith('#/') !== true) {
    throw inexpressible(place, `refers to ${JSON.stringify(ref)}, which is outside the schema`)
  }
  let target: JsonValue | undefined = root
  for (const step of pointer.split('/').slice(1)) {
    target = member(target, step.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  if (target === undefined) throw inexpressible(place, `refers to ${pointer}, which does not exist`)
  return target
}

function member(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  // A list is indexed by the digits of the pointer.
  return (value as JsonObject)[key]
}

function decode(ref: string): string | undefined {
  try {
    return decodeURIComponent(ref)
  } catch {
    return undefined
  }
}

/** Where in a request a schema stands, for the words of an error. */
interface SchemaPlace {
  readonly provider: string
  /** As one would write it in code: `tools[0].schema.properties.name`. */
  readonly path: string
}

/** The place of a member. */
function inside(place: SchemaPlace, ...keys: readonly (string | number)[]): SchemaPlace {
  let { path } = place
  for (const key of keys) {
    path +=
      typeof key === 'string' && /^[A-Za-z_$][\w$]*$/.test(key)
        ? `.${key}`
        : `[${JSON.stringify(key)}]`
  }
  return { ...place, path }
}

/** The error of a schema that Gemini has no words for. Nothing was sent. */
function inexpressible({ provider, path }: SchemaPlace, problem: string): AdapterError {
  const message = `${provider} can not be told this schema: ${path} ${problem}`
  return new AdapterError('unsupported_feature', message, { provider, metadata: { path } })
}
