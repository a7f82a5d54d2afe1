import { isObject } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { inside, isList, itemsOf, listOf, mapMembers, unsupported } from './flatten-schema.ts'
import {
  addMembers,
  fitsLowered,
  lower,
  lowerPositions,
  type Draft,
  type OtherForm,
  type Walk,
} from './lower-schema.ts'

/** A tuple as an object with the positions as keys. */
export const asMembers: OtherForm = (schema, result, at) => {
  const { positions = [], rest = false } = itemsOf(schema)
  if (rest !== false) throw unsupported(at, 'is a tuple with more items')
  const members = Object.fromEntries(lowerPositions(positions, at).entries())
  result['type'] = 'object'
  addMembers(result, members, Object.keys(members), at.walk.dialect)
  // Keys that are numbers come in their order.
  mark(result, at.walk, (value) => (isObject(value) ? Object.values(value) : value))
}

/** A map as a list of `{key, value}`. */
export const asEntries: OtherForm = (schema, result, at) => {
  const { walk } = at
  const { additionalProperties, propertyNames } = schema
  const value = lower(additionalProperties, inside(at, 'member', 'additionalProperties'))
  const names = isObject(propertyNames) ? propertyNames : {}
  const key = lower({ ...names, type: 'string' }, inside(at, 'member', 'propertyNames'))
  const entry: Draft = { type: 'object' }
  addMembers(entry, { key, value }, ['key', 'value'], walk.dialect)
  for (const word of ['minProperties', 'maxProperties']) delete result[word]
  result['type'] = 'array'
  result['items'] = entry
  mark(result, walk, (list, given) => {
    if (!fitsLowered(result, given, walk)) return given
    const entries = listOf(list).map(asSchema)
    return Object.fromEntries(
      entries.map(({ key, value: member = null }) => [typeof key === 'string' ? key : '', member]),
    )
  })
}

function mark(schema: Draft, walk: Walk, wayBack: Parameters<Walk['marks']['set']>[1]): void {
  walk.marks.set(schema, wayBack)
  walk.restored = restored
}

/** A value by the original of a lowered schema. */
function restored(schema: JsonValue | undefined, value: JsonValue, walk: Walk): JsonValue {
  const node = asSchema(schema)
  const { $ref, anyOf, properties, items } = node
  if (typeof $ref === 'string') {
    return restored(walk.defs[$ref.slice('#/$defs/'.length)], value, walk)
  }
  if (isList(anyOf)) {
    const choice = anyOf.find((one) => fitsLowered(one, value, walk))
    return choice === undefined ? value : restored(choice, value, walk)
  }
  let result = value
  if (isList(value)) result = value.map((item) => restored(items, item, walk))
  else if (isObject(value) && isObject(properties)) {
    result = mapMembers(value, (member, name) => {
      const own = Object.hasOwn(properties, name) ? properties[name] : undefined
      return restored(own, member, walk)
    })
  }
  return walk.marks.get(node)?.(result, value) ?? result
}

function asSchema(schema: JsonValue | undefined): JsonObject {
  return isObject(schema) ? schema : {}
}
