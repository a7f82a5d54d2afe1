import type { JsonObject, JsonValue } from '../../types/json.ts'

/** The value as a JSON object, if it is one. Only values that JSON.parse gave are asked about. */
export function asObject(value: unknown): JsonObject | undefined {
  // JSON.parse gives nothing but JSON, so an object of it is a JSON object.
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : undefined
}

/** The value as a list, empty if it is none. */
export function asList(value: unknown): readonly JsonValue[] {
  // JSON.parse gives nothing but JSON, so a list of it is a list of JSON.
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []
}

/** The value as a text that says something. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The value as a count. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** What a stream carries that is no object can not be a chunk. */
export function chunkObject(value: unknown): JsonObject {
  const chunk = asObject(value)
  if (chunk === undefined) throw new SyntaxError('a chunk is no JSON object')
  return chunk
}
