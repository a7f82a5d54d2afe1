import { isObject } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { flatten, hasType, isList, itemsOf, listOf, typesOf } from './flatten-schema.ts'

/**
 * Makes the function that takes a model's `null` for a property that is left out: such a `null` is dropped where the schema
 * lets the property be absent and does not allow `null` for it. Among choices a value that fits one as it is stays as it is.
 *
 * Returns `undefined` for a schema without such a property. A part of a schema that cannot be read allows every value.
 */
export function absentNulls(schema: JsonObject): ((value: JsonValue) => JsonValue) | undefined {
  if (!hasOptional(schema)) return undefined
  return (value) => {
    try {
      return dropped(schema, value, walkThrough(schema))
    } catch {
      // Too deep, or too many choices inside choices: the validation judges the value as it is.
      return value
    }
  }
}

/** Whether a schema names a property that it does not require, at any depth. */
function hasOptional(node: JsonValue): boolean {
  if (isList(node)) return node.some(hasOptional)
  if (!isObject(node)) return false
  const required = new Set(listOf(node['required']))
  return namesOf(node).some((name) => !required.has(name)) || Object.values(node).some(hasOptional)
}

/** The names of the properties that a schema knows. */
function namesOf({ properties, propertyNames }: JsonObject): readonly JsonValue[] {
  const listed = isObject(propertyNames) ? listOf(propertyNames['enum']) : []
  return isObject(properties) ? [...Object.keys(properties), ...listed] : listed
}

/** What is known of a schema, and how often a part of it was looked at. */
interface Walk {
  readonly root: JsonObject
  steps: number
  /** The parts of the schema that were read, without references and `allOf`. */
  readonly flat: Map<JsonValue, JsonObject>
  /** The names of the properties that may be left out, by the parts that name them. */
  readonly optional: Map<JsonObject, ReadonlySet<JsonValue>>
}

/** The beginning of a walk through a schema. */
export function walkThrough(root: JsonObject, steps = 0): Walk {
  return { root, steps, flat: new Map(), optional: new Map() }
}

/** Choices that contain themselves can be tried in more ways than there is time for. */
const maxSteps = 200_000

/** How a value may differ from a schema that it fits. */
interface Way {
  /** A `null` may stand for a property that is left out. */
  readonly nulls: boolean
  /** There may be properties that the schema is silent about. */
  readonly others: boolean
  /** There may be properties of any other name, whatever the schema says about them. */
  readonly open?: boolean
}

/** The ways in which the choice that a value was meant for is found, the strictest first. */
const ways: readonly Way[] = [
  { nulls: false, others: false },
  { nulls: true, others: false },
  { nulls: false, others: true },
  { nulls: true, others: true },
]

const withoutNulls: Way = { nulls: false, others: true }

function dropped(node: JsonValue, value: JsonValue, walk: Walk): JsonValue {
  const schema = readable(node, walk)
  let result = value
  for (const choices of [schema['anyOf'], schema['oneOf']]) {
    let choice: JsonValue | undefined
    for (const way of ways) {
      choice ??= listOf(choices).find((one) => fits(one, result, walk, way))
    }
    if (choice !== undefined) result = dropped(choice, result, walk)
  }
  if (isList(result)) {
    return result.map((item, index) => dropped(itemOf(schema, index), item, walk))
  }
  if (!isObject(result)) return result
  return Object.fromEntries(
    Object.entries(result).flatMap(([name, member]) =>
      isAbsent(schema, name, member, walk)
        ? []
        : [[name, dropped(memberOf(schema, name, withoutNulls), member, walk)]],
    ),
  )
}

function isAbsent(schema: JsonObject, name: string, member: JsonValue, walk: Walk): boolean {
  return (
    member === null &&
    optionalOf(schema, walk).has(name) &&
    !fits(memberOf(schema, name, withoutNulls), null, walk, withoutNulls)
  )
}

function optionalOf(schema: JsonObject, { optional }: Walk): ReadonlySet<JsonValue> {
  let names = optional.get(schema)
  if (names === undefined) {
    const required = new Set(listOf(schema['required']))
    names = new Set(namesOf(schema).filter((name) => !required.has(name)))
    optional.set(schema, names)
  }
  return names
}

/** Whether a value has the form of a schema. What only narrows a value is not looked at. */
export function fits(node: JsonValue, value: JsonValue, walk: Walk, way: Way): boolean {
  if (node === false) return false
  const schema = readable(node, walk)
  const { anyOf, oneOf, type, required, enum: list, const: constant } = schema
  const fit = (inner: JsonValue, member: JsonValue): boolean => fits(inner, member, walk, way)
  for (const choices of [anyOf, oneOf]) {
    if (isList(choices) && !choices.some((choice) => fit(choice, value))) return false
  }
  const values = constant === undefined ? list : [constant]
  if (!hasType(value, typesOf(type)) || (isList(values) && !isListed(values, value))) return false
  if (isList(value)) return value.every((item, index) => fit(itemOf(schema, index), item))
  if (!isObject(value)) return true
  return (
    listOf(required).every((name) => typeof name !== 'string' || Object.hasOwn(value, name)) &&
    Object.entries(value).every(
      ([name, member]) =>
        (way.nulls && isAbsent(schema, name, member, walk)) ||
        fit(memberOf(schema, name, way), member),
    )
  )
}

function isListed(values: readonly JsonValue[], value: JsonValue): boolean {
  const text = JSON.stringify(value)
  return values.some((one) => JSON.stringify(one) === text)
}

/** A schema without references and `allOf`. */
function readable(node: JsonValue, walk: Walk): JsonObject {
  walk.steps++
  if (walk.steps > maxSteps) throw new RangeError('too many choices')
  let schema = walk.flat.get(node)
  if (schema === undefined) {
    try {
      schema = flatten(node, { provider: '', path: '', root: walk.root, refs: [] }).schema
    } catch {
      schema = {}
    }
    walk.flat.set(node, schema)
  }
  return schema
}

function itemOf(schema: JsonObject, index: number): JsonValue {
  const { positions = [], rest = true } = itemsOf(schema)
  return positions[index] ?? rest
}

/** The schema of a member. */
function memberOf(schema: JsonObject, name: string, { others, open }: Way): JsonValue {
  const { properties, patternProperties, additionalProperties } = schema
  if (isObject(properties) && Object.hasOwn(properties, name)) return properties[name] ?? true
  if (open || patternProperties !== undefined) return true
  return additionalProperties ?? (others || properties === undefined)
}
