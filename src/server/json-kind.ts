import type { JsonObject, JsonValue } from '../types/json.ts'

/** The name of a value's kind, as JSON has it. */
export function kindOf(value: JsonValue | undefined): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** A value inside a sentence. */
export function shown(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined')
}

/** The objects of a list; what is no object is an empty one, and what is no list has none. */
export function objectsOf(value: JsonValue | undefined): readonly JsonObject[] {
  if (!Array.isArray(value)) return []
  return value.map((item: JsonValue) => objectOf(item))
}

/** The value when it is an object, else an empty one. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  // The kind was looked at, and a list is not of it.
  return kindOf(value) === 'object' ? (value as JsonObject) : {}
}
