import type { JsonObject, JsonValue } from '../../data/json.ts'

/** The lists that are added to, not replaced, so that a built-in tool does not drive out the request's own. */
const addedTo: ReadonlySet<string> = new Set(['tools', 'include'])

/**
 * The body with provider options merged over it.
 *
 * Objects are merged member by member; `tools` and `include` at the top are added to; everything else is replaced.
 */
export function mergeBody(body: JsonObject, over: JsonObject | undefined): JsonObject {
  if (over === undefined) return body
  const result: Record<string, JsonValue> = { ...body }
  for (const [key, value] of Object.entries(over)) {
    const known = result[key]
    result[key] =
      addedTo.has(key) && Array.isArray(known) && Array.isArray(value)
        ? [...known, ...value.filter((item: JsonValue) => !known.includes(item))]
        : mergeValue(known, value)
  }
  return result
}

function mergeValue(known: JsonValue | undefined, over: JsonValue): JsonValue {
  if (!isObject(known) || !isObject(over)) return over
  const result: Record<string, JsonValue> = { ...known }
  for (const [key, value] of Object.entries(over)) result[key] = mergeValue(result[key], value)
  return result
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
