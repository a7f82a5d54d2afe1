import { AdapterError } from '../../errors/errors.ts'
import { isObject } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

/**
 * A plain schema in the older form, a subset of OpenAPI 3.0: one type in capitals, `nullable` instead of the type `null`.
 *
 * Tuples, maps and values of any type do not exist in it and are `unsupported_feature`. An `enum` of numbers goes into the
 * description.
 */
export function openApiSchema(schema: JsonObject, place: SchemaPlace): JsonObject {
  const { nullable, type, choices } = alternatives(schema, place)
  const [only] = choices
  const alone = choices.length === 1 && only !== undefined
  if (type === undefined && choices.length === 0) {
    if (nullable) return { type: 'NULL' }
    throw unsupported(place, 'allows values of any type')
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
  /** The only type, if there are no choices. */
  readonly type: string | undefined
  readonly choices: readonly JsonObject[]
}

/** Removes `null` from the types and from `anyOf`. */
function alternatives(schema: JsonObject, place: SchemaPlace): Alternatives {
  const { type, anyOf } = schema
  const written = (isList(type) ? type : [type ?? typeByMembers(schema)]).filter(
    (name) => typeof name === 'string',
  )
  const types = written.filter((name) => name !== 'null')
  const members = isList(anyOf) ? anyOf.filter((member) => isObject(member)) : []
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

/** The type of a schema that does not name one. Every schema of this form has a type. */
function typeByMembers(schema: JsonObject): string | null {
  if ('properties' in schema) return 'object'
  return 'items' in schema || 'prefixItems' in schema ? 'array' : null
}

/** The keywords beside the choices, which apply to each of them. */
function shared(schema: JsonObject): JsonObject {
  const { anyOf: _anyOf, nullable: _nullable, ...rest } = schema
  return Object.fromEntries(Object.entries(rest).filter(([key]) => !annotations.has(key)))
}

/** The schema of one of several types, with the values of that type. */
function forType(schema: JsonObject, type: string): JsonObject {
  const { enum: values, ...rest } = schema
  if (!isList(values)) return { ...rest, type }
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

/** Only strings can be in an `enum`; other values are listed in the description. */
function listed({ enum: values, description }: JsonObject, type: string): JsonObject {
  if (!isList(values)) return {}
  if (type === 'string') return { enum: values.map(String) }
  const words = `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`
  return { description: typeof description === 'string' ? `${description} (${words})` : words }
}

function listMembers(schema: JsonObject, place: SchemaPlace): JsonObject {
  if (schema['prefixItems'] !== undefined) throw unsupported(place, 'is a tuple')
  const { items } = schema
  if (!isObject(items)) throw unsupported(place, 'is a list of values of any type')
  return { items: openApiSchema(items, inside(place, 'items')) }
}

function objectMembers(schema: JsonObject, place: SchemaPlace): JsonObject {
  const { properties, required, additionalProperties } = schema
  if (isObject(additionalProperties) && Object.keys(additionalProperties).length > 0) {
    throw unsupported(place, 'has properties of any name')
  }
  if (!isObject(properties) || Object.keys(properties).length === 0) return {}
  const members = Object.entries(properties).map(([name, member]): [string, JsonValue] => [
    name,
    isObject(member) ? openApiSchema(member, inside(place, 'properties', name)) : member,
  ])
  const known = isList(required)
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
 * Keywords that only narrow a value (`pattern`, `multipleOf`, `uniqueItems`, …) are left to the validation of the value: Gemini
 * ignores those that it does not know, and those that it would refuse are dropped. Keywords that describe a value and that
 * Gemini does not support (recursion, `not`, `if`, `patternProperties`, …) are `unsupported_feature`, with their path.
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

/** Inlined references can multiply. A schema with more nodes than this is refused. */
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
  if (!isObject(node)) throw unsupported(place, 'allows no value')
  walk.size.nodes++
  if (walk.size.nodes > maxNodes)
    throw unsupported(place, 'is too large with its references inlined')
  const { $ref, allOf, ...rest } = node
  const bases = visitList(allOf, inside(place, 'allOf'), walk)
  if ($ref !== undefined) bases.unshift(visitRef($ref, place, walk))
  // Keywords beside a reference come last and take precedence.
  return [...bases, visitOwn(rest, place, walk)].reduce((left, right) =>
    mergeSchemas(left, right, place),
  )
}

function visitRef(ref: JsonValue, place: SchemaPlace, walk: Walk): JsonObject {
  const target = resolveRef(walk.root, ref, place)
  const name = JSON.stringify(ref)
  if (walk.refs.includes(name) || target === walk.root) {
    throw unsupported(place, `is recursive: ${name} contains itself`)
  }
  return visit(target, place, { ...walk, refs: [...walk.refs, name] })
}

/** Everything except `$ref` and `allOf`. */
function visitOwn(node: JsonObject, place: SchemaPlace, walk: Walk): JsonObject {
  for (const key of refused) {
    if (key in node) throw unsupported(place, `uses ${key}`)
  }
  const result: Record<string, JsonValue> = {}
  for (const key of copied) {
    const value = node[key]
    if (value !== undefined) result[key] = value
  }
  const { properties, items, prefixItems, additionalProperties, anyOf, oneOf } = node
  if (anyOf !== undefined && oneOf !== undefined) throw unsupported(place, 'has anyOf and oneOf')
  if (isObject(properties)) result['properties'] = visitProperties(properties, place, walk)
  // Older drafts write a tuple as a list of items.
  const tuple = prefixItems ?? (isList(items) ? items : undefined)
  if (tuple !== undefined) {
    result['prefixItems'] = visitList(tuple, inside(place, 'prefixItems'), walk)
  }
  if (items !== undefined && !isList(items) && items !== false) {
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
  if (!isList(list)) return []
  return list.map((member: JsonValue, index) => visit(member, inside(place, index), walk))
}

/**
 * The legal values as `enum`, with their type if it is missing.
 *
 * Gemini takes strings and numbers only: `null` becomes a choice of its own, and a choice of booleans is any boolean.
 */
function withValues(schema: JsonObject, node: JsonObject, place: SchemaPlace): JsonObject {
  const values = node['const'] === undefined ? node['enum'] : [node['const']]
  if (!isList(values)) return schema
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
  if (typeof value === 'object') throw unsupported(place, 'lists an object or array as a value')
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value
}

/**
 * One schema that means the same as two in `allOf`. Title, description and default are those of the second.
 *
 * Schemas that cannot be merged are refused.
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
  if (key === 'properties' && isObject(left) && isObject(right)) {
    return mergeProperties(left, right, place)
  }
  if (key === 'required' && isList(left) && isList(right)) {
    return [...new Set([...left, ...right])]
  }
  if (JSON.stringify(left) === JSON.stringify(right)) return left
  // Each side closes its own object and means the merged one: properties of the other side stay legal.
  if (key === 'additionalProperties') return left !== false && right !== false
  if (key === 'type' && (left === 'integer' || right === 'integer')) {
    if (left === 'number' || right === 'number') return 'integer'
  }
  throw unsupported(place, `combines two different values of ${key}`)
}

function mergeProperties(left: JsonObject, right: JsonObject, place: SchemaPlace): JsonObject {
  const result: Record<string, JsonValue> = { ...left }
  for (const [name, schema] of Object.entries(right)) {
    const known = result[name]
    const both = isObject(known) && isObject(schema)
    result[name] = both ? mergeSchemas(known, schema, inside(place, 'properties', name)) : schema
  }
  return result
}

/** The target of a `$ref` inside its own schema: `#`, `#/$defs/Name`. A target elsewhere is refused. */
function resolveRef(root: JsonObject, ref: JsonValue, place: SchemaPlace): JsonValue {
  const pointer = typeof ref === 'string' ? decode(ref) : undefined
  if (pointer !== '#' && pointer?.startsWith('#/') !== true) {
    throw unsupported(place, `refers to ${JSON.stringify(ref)}, which is outside the schema`)
  }
  let target: JsonValue | undefined = root
  for (const step of pointer.split('/').slice(1)) {
    target = member(target, step.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  if (target === undefined) throw unsupported(place, `refers to ${pointer}, which does not exist`)
  return target
}

function member(value: JsonValue | undefined, key: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
  // A list is indexed by the digits of the pointer, as an object by its keys.
  return (value as JsonObject)[key]
}

function decode(ref: string): string | undefined {
  try {
    return decodeURIComponent(ref)
  } catch {
    return undefined
  }
}

/** The place of a schema in a request, for error messages. */
interface SchemaPlace {
  readonly provider: string
  /** As in code: `tools[0].schema.properties.name`. */
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

/** The error of a schema that Gemini does not support. Nothing was sent. */
function unsupported({ provider, path }: SchemaPlace, problem: string): AdapterError {
  const message = `${provider} does not support this schema: ${path} ${problem}`
  return new AdapterError('unsupported_feature', message, { provider, metadata: { path } })
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}
