import type { JsonObject } from '../../data/json.ts'

/** The value as a JSON object, if it is one. Only values that JSON.parse gave are asked about. */
export function asObject(value: unknown): JsonObject | undefined {
  // JSON.parse gives nothing but JSON, so an object of it is a JSON object.
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined
}

/** The value as a list, empty if it is none. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The value as a text that says something. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The value as a count. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
