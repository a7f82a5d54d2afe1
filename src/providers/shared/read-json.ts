import { isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import { usageFields, type Usage } from '../../core/types/response.ts'

// The readers take values that come from JSON.parse, which makes nothing but JSON. This is why the casts are right.

/** The JSON object in a piece of an answer. Anything else is a `SyntaxError`. */
export function parseChunk(data: string): JsonObject {
  const chunk = asObject(JSON.parse(data))
  if (chunk === undefined) throw new SyntaxError('a chunk is not a JSON object')
  return chunk
}

/** The value if it is an object. */
export function asObject(value: unknown): JsonObject | undefined {
  return isObject(value) ? (value as JsonObject) : undefined
}

/** The value if it is a list, else an empty list. */
export function asList(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []
}

/** The error of a member that carries content and is something else: its event cannot be read, and an answer without it would look complete. */
export function wrongMember(name: string, wanted: string): TypeError {
  return new TypeError(`${name} is not ${wanted}`)
}

/** The value if it is a string that is not empty. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * The arguments of a call, or a piece of them, as text. A few servers send them as an object. Any other value becomes text that is not
 * an object, so that the call is refused instead of run without arguments.
 */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

/** The value if it is a finite number. */
export function asCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/**
 * The counts that were sent, as usage; `undefined` if there is none. Without a `totalTokens` of the provider's it is the sum of
 * input and output, if both are known.
 */
export function asUsage(
  counts: Readonly<Partial<Record<keyof Usage, unknown>>>,
  extra?: JsonObject,
): Usage | undefined {
  const usage: { -readonly [Field in keyof Usage]: Usage[Field] } = {}
  for (const field of usageFields) {
    const count = asCount(counts[field])
    if (count !== undefined) usage[field] = count
  }
  const { inputTokens, outputTokens } = usage
  if (inputTokens !== undefined && outputTokens !== undefined) {
    usage.totalTokens ??= inputTokens + outputTokens
  }
  if (extra !== undefined && Object.keys(extra).length > 0) usage.extra = extra
  return Object.keys(usage).length === 0 ? undefined : usage
}
