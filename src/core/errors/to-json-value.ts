import type { JsonValue } from '../types/json.ts'

/**
 * Any value as JSON, for the `cause` and the `metadata` of errors. A value that JSON cannot hold becomes a short text; a member named
 * `__proto__` is left out.
 *
 * Never throws: a cycle, a getter that throws and a depth beyond eight are described instead.
 */
export function toJsonValue(value: unknown, depth = 0, above: readonly unknown[] = []): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      // JSON does not keep the sign of -0.
      return Number.isFinite(value) ? value + 0 : String(value)
    case 'bigint':
    case 'symbol':
    case 'undefined':
      return String(value)
    case 'function':
      return `[function ${value.name}]`
    case 'object':
      return value === null ? null : objectToJson(value, depth, above)
  }
}

/** A thrown value as a text: the message of an error, a text as it is. Never throws. */
export function thrownText(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message
    if (typeof thrown === 'string') return thrown
  } catch {
    // Its message cannot be read.
  }
  return 'a value that is not an Error was thrown'
}

function objectToJson(value: object, depth: number, above: readonly unknown[]): JsonValue {
  if (above.includes(value)) return '[cycle]'
  if (depth > 8) return '[too deep]'
  const path = [...above, value]
  try {
    if (value instanceof Error) return errorFacts(value, depth, path)
    if (Array.isArray(value)) return value.map((item) => toJsonValue(item, depth + 1, path))
    if (value instanceof Date)
      return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
    if (value instanceof Map || value instanceof Set)
      return toJsonValue([...value], depth + 1, path)
    const members = Object.entries(value).filter(
      ([key, member]) => member !== undefined && key !== '__proto__',
    )
    return Object.fromEntries(
      members.map(([key, member]) => [key, toJsonValue(member, depth + 1, path)]),
    )
  } catch {
    return '[unreadable]'
  }
}

function errorFacts(error: Error, depth: number, path: readonly unknown[]): JsonValue {
  const facts: Record<string, JsonValue> = { name: error.name, message: error.message }
  if ('code' in error && typeof error.code === 'string') facts['code'] = error.code
  if (error.cause !== undefined) facts['cause'] = toJsonValue(error.cause, depth + 1, path)
  return facts
}
