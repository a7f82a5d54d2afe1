import { isObject } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

/** Members of a body. A member without a value is left out. */
type Members = Readonly<Record<string, JsonValue | undefined>>

/**
 * Builds a body from the members that each field of the request becomes.
 *
 * Every field needs an entry, `{}` when it is not sent, so that a new field is a compile error in each renderer.
 */
export function requestBody<T>(fields: Readonly<Record<keyof T, Members>>): JsonObject {
  const body: Record<string, JsonValue> = {}
  for (const members of Object.values<Members>(fields)) {
    for (const [name, value] of Object.entries(members)) {
      if (value !== undefined) body[name] = value
    }
  }
  return body
}

/** How `providerOptions` are merged over a rendered body. */
export interface MergeRule {
  /** Lists at the top level that are added to; every other list is replaced. */
  readonly addedTo: readonly string[]
  /**
   * `deep`: objects are merged member by member, all the way down. `same_type`: one level down, and an object whose `type`
   * differs replaces the other.
   */
  readonly objects: 'deep' | 'same_type'
}

/** The body with provider options merged over it. */
export function mergeOptions(
  body: JsonObject,
  options: JsonObject | undefined,
  rule: MergeRule,
): JsonObject {
  if (options === undefined) return body
  const merge = rule.objects === 'deep' ? mergeDeep : mergeSameType
  const merged: Record<string, JsonValue> = { ...body }
  for (const [key, value] of Object.entries(options)) {
    const known = merged[key]
    merged[key] =
      rule.addedTo.includes(key) && isList(known) && isList(value)
        ? [...known, ...value.filter((item) => !known.includes(item))]
        : merge(known, value)
  }
  return merged
}

function mergeDeep(known: JsonValue | undefined, over: JsonValue): JsonValue {
  if (!isObject(known) || !isObject(over)) return over
  const merged: Record<string, JsonValue> = { ...known }
  for (const [key, value] of Object.entries(over)) merged[key] = mergeDeep(merged[key], value)
  return merged
}

function mergeSameType(known: JsonValue | undefined, over: JsonValue): JsonValue {
  if (!isObject(known) || !isObject(over)) return over
  return 'type' in over && known['type'] !== over['type'] ? over : { ...known, ...over }
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}
