import type { JsonObject, JsonValue } from '../types/json.ts'

/** Whether a JSON value is an object. */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The JSON object that a text holds; an empty one when it holds none. */
export function parseJsonObject(text: string): JsonObject {
  try {
    // JSON.parse gives nothing but JSON.
    const value = JSON.parse(text) as JsonValue
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** A place that takes one string takes a string as it is, and anything else as JSON. */
export function asString(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
