import type { JsonObject, JsonValue } from '../data/json.ts'

/**
 * The shapes of keys, masked forms included: `sk-…`, `sk-ant-…`, `AIza…`, `xai-…`, `gsk_…`, bearer headers,
 * and `key=` in addresses. A provider that echoes part of a key masks it with stars.
 */
const keyShapes: readonly RegExp[] = [
  /\b(?:sk|pk|rk)-[A-Za-z0-9_*.-]{6,}[A-Za-z0-9*]/g,
  /\b(?:gsk|xai|hf|nvapi|r8|csk)[-_][A-Za-z0-9_*-]{8,}/g,
  /\bAIza[A-Za-z0-9_*-]{10,}/g,
  /\bAQ\.[A-Za-z0-9_*-]{16,}/g,
  /\bya29\.[A-Za-z0-9_*.-]{10,}/g,
  /\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+/g,
  /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/*=-]{8,}/gi,
  /\b((?:x-)?(?:goog-)?api[-_]?key["']?\s*[:=]\s*["']?)[A-Za-z0-9._*~+/-]{8,}/gi,
  /([?&](?:key|api_key|access_token)=)[^&\s"']+/gi,
]

/** Replaces everything in a text that has the shape of a key. */
export function redact(text: string): string {
  let result = text
  for (const shape of keyShapes) {
    result = result.replace(shape, (_match: string, lead: unknown) =>
      typeof lead === 'string'
        ? `${lead}${/^(?:bearer|basic)$/i.test(lead) ? ' ' : ''}[redacted]`
        : '[redacted]',
    )
  }
  return result
}

/** The names under which a key may travel in structured data. */
const keyNames =
  /^(?:authorization|proxy-authorization|(?:x-)?(?:goog-)?api[-_]?key|apikey|access_token|secret)$/i

/** Redacts every string in a JSON value, and the whole value of a member that is named like a key. */
export function redactJson(value: JsonValue): JsonValue {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: JsonValue) => redactJson(item))
  return redactObject(value as JsonObject)
}

/** `redactJson` for an object. */
export function redactObject(value: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = {}
  for (const [key, member] of Object.entries(value)) {
    result[key] =
      keyNames.test(key) && typeof member === 'string' ? '[redacted]' : redactJson(member)
  }
  return result
}
