import type { JsonObject } from '../../types/json.ts'

/** The arguments that a model wrote. No text at all is `{}`; what is not a JSON object is `undefined`. */
export function parseArguments(raw: string): JsonObject | undefined {
  if (raw.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(raw)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    // JSON.parse makes JSON values, and this one is an object.
    return value as JsonObject
  } catch {
    return undefined
  }
}
