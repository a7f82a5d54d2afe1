import { isJsonList, isJsonObject } from './json-kind.ts'
import { mergeSchemas } from './merge-schemas.ts'
import { resolveRef } from './resolve-ref.ts'
import { inexpressible, inside, type SchemaPlace } from './schema-place.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

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
