import type { JsonObject, JsonValue } from '../../types/json.ts'

/** Whether a JSON value is an object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
