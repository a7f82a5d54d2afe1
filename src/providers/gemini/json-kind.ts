import type { JsonObject, JsonValue } from '../../types/json.ts'

/** Whether a value that came from JSON is an object: no list, no `null`. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value that came from JSON is a list. */
export function isJsonList(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value)
}
