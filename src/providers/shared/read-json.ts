import { isObject } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

// The readers take values that come from JSON.parse, which makes nothing but JSON. This is why the casts are right.

/** The value if it is an object. */
export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? (value as JsonObject) : undefined
}

/** The value if it is a list, else an empty list. */
export function asList(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []
}

/** The value if it is a string that is not empty. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The value if it is a finite number. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
