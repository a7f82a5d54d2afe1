import { asList, asObject } from './wire-value.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

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
    result[key] =
      addedTo.has(key) && Array.isArray(value)
        ? addItems(asList(result[key]), asList(value))
        : mergeValue(result[key], value)
  }
  return result
}

function addItems(known: readonly JsonValue[], over: readonly JsonValue[]): readonly JsonValue[] {
  return [...known, ...over.filter((item) => !known.includes(item))]
}

function mergeValue(known: JsonValue | undefined, over: JsonValue): JsonValue {
  const before = asObject(known)
  const after = asObject(over)
  if (before === undefined || after === undefined) return over
  const result: Record<string, JsonValue> = { ...before }
  for (const [key, value] of Object.entries(after)) result[key] = mergeValue(result[key], value)
  return result
}
