import type { JsonValue } from '../types/json.ts'
import type { HttpFailure } from './call.ts'

/** The headers that carry a key. */
const keyHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'api-key',
  'x-api-key',
  'x-goog-api-key',
])

/**
 * Makes a filter that removes the keys of a call from a text, whatever they look like.
 *
 * Errors redact everything that looks like a key. This filter also finds a key that does not look like one.
 */
export function secretFilter(headers: Readonly<Record<string, string>>): (text: string) => string {
  const secrets = Object.entries(headers)
    .filter(([name]) => keyHeaders.has(name.toLowerCase()))
    .map(([, value]) => value.replace(/^(?:Bearer|Basic)\s+/i, ''))
    .filter((secret) => secret !== '')
    .map(secretPattern)
  return (text) => secrets.reduce((rest, secret) => rest.replace(secret, '[redacted]'), text)
}

/** A short key, such as a test server's, may be part of any word. It is only found as a whole word. */
function secretPattern(secret: string): RegExp {
  const literal = secret.replaceAll(/[^\w\s]/g, String.raw`\$&`)
  return new RegExp(secret.length < 8 ? String.raw`(?<!\w)${literal}(?!\w)` : literal, 'g')
}

/** A failure with the keys of its call removed from message and metadata. */
export function withoutSecrets(
  failure: HttpFailure,
  headers: Readonly<Record<string, string>>,
): HttpFailure {
  const clean = secretFilter(headers)
  const { metadata } = failure
  return {
    ...failure,
    message: clean(failure.message),
    ...(metadata === undefined ? {} : { metadata: cleanMembers(metadata, clean) }),
  }
}

/** An object with the keys removed from its texts, at any depth. */
export function cleanMembers(
  members: Readonly<Record<string, unknown>>,
  clean: (text: string) => string,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, cleanValue(value, clean)]),
  )
}

function cleanValue(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value)
  if (Array.isArray(value)) return value.map((item: JsonValue) => cleanValue(item, clean))
  if (typeof value !== 'object' || value === null) return value
  return cleanMembers({ ...value }, clean)
}
