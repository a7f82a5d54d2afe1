import { setMember } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'

/**
 * The formats of API keys: `sk-…`, `sk-ant-…`, `AIza…`, `xai-…`, `gsk_…`, bearer headers, `key=` and passwords in URLs, text after "api
 * key:", and text that is masked with stars, which is how providers echo a key.
 */
const keyShapes: readonly RegExp[] = [
  /\b(?:sk|pk|rk)-[A-Za-z0-9_*.-]{6,}[A-Za-z0-9*]/g,
  /\b(?:gsk|xai|hf|nvapi|r8|csk)[-_][A-Za-z0-9_*-]{8,}/g,
  /\bAIza[A-Za-z0-9_*-]{10,}/g,
  /\bAQ\.[A-Za-z0-9_*-]{16,}/g,
  /\bya29\.[A-Za-z0-9_*.-]{10,}/g,
  /\beyJ[\w-]{10,512}\.[\w-]{10,2048}\.[\w-]+/g,
  /\b(Bearer|Basic)\s+[A-Za-z0-9._~+/*=-]{8,}/gi,
  /\b((?:x-)?(?:goog-)?api[-_]?key["']?\s*[:=]\s*["']?)[A-Za-z0-9._*~+/-]{8,}/gi,
  /([?&](?:key|api_key|access_token)=)[^&\s"']+/gi,
  /\b([a-z][a-z0-9+.-]{1,32}:\/\/[^\s:@/]{0,128}:)[^\s@/]{1,256}(?=@)/gi,
  /\b(api[ _-]?key[a-z ]{0,16}: *)(?!\/\/|https?:)[^\s,;"'[]{6,}/gi,
]

/** A key that is masked with stars. In Markdown the same signs are emphasis. A row of stars is tried from its first one only. */
const maskedKey = /[\w-]{2,64}\*{3,}[\w-]*|(?<!\*)\*{3,}[\w-]{2,}/g

/** Replaces everything in a text that looks like an API key. */
export function redact(text: string): string {
  return redactShapes(text, [...keyShapes, maskedKey], () => true)
}

/** A long word with a digit may be a token. */
const tokenShape = /(?=[^\d\s]{0,64}\d)[\w+/=-]{16,}/g

/** Replaces also what only may be a token, in an error of the caller's own code, and cuts a long text. */
export function redactThrown(text: string): string {
  return redact(text).replace(tokenShape, '[redacted]').slice(0, 300)
}

/** Writes control characters and line separators as escapes: a text from outside cannot forge lines of a log or move the cursor of a terminal. */
export function printable(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\u2028\u2029]/gu,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/**
 * Replaces the API keys in a text that a person or a model wrote. Emphasis is not taken for a masked key, nor the word after "basic" or
 * "bearer" for a credential.
 */
export function redactProse(text: string): string {
  return redactShapes(text, keyShapes, isToken)
}

/** Whether a credential is more than a word: it has a digit, or its letters change their case several times. */
function isToken(credential: string): boolean {
  return /\d/.test(credential) || /[a-z][A-Z].*[a-z][A-Z]/.test(credential)
}

function redactShapes(
  text: string,
  shapes: readonly RegExp[],
  isSecret: (credential: string) => boolean,
): string {
  let result = text
  for (const shape of shapes) {
    result = result.replace(shape, (match: string, lead: unknown) => {
      if (typeof lead !== 'string') return '[redacted]'
      if (!/^(?:bearer|basic)$/i.test(lead)) return `${lead}[redacted]`
      return isSecret(match.slice(lead.length)) ? `${lead} [redacted]` : match
    })
  }
  return result
}

/** The property names that may hold a secret in structured data. */
export const keyNames: RegExp =
  /^(?:(?:proxy-)?authorization|(?:x-)?(?:goog-)?api[-_]?key|access[-_]?token|(?:client[-_]?)?secret|password|(?:set-)?cookie)$/i

/** Redacts every string and name in a JSON value, and the whole string of a property whose name stands for a secret. */
export function redactJson<T extends JsonValue>(value: T): T {
  return mapTexts(value, (text, name) => (keyNames.test(name) ? '[redacted]' : redact(text)))
}

/** A JSON value with every text in it, names included, replaced by `change(text, name)`. `name` is the property that has the text, or empty. */
export function mapTexts<T extends JsonValue>(
  value: T,
  change: (text: string, name: string) => string,
): T {
  // The shape stays the same; only texts differ.
  return mapped(value, '', change) as T
}

function mapped(
  value: JsonValue,
  name: string,
  change: (text: string, name: string) => string,
): JsonValue {
  if (typeof value === 'string') return change(value, name)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item: JsonValue) => mapped(item, '', change))
  const result: Record<string, JsonValue> = {}
  for (const [key, member] of Object.entries(value)) {
    setMember(result, change(key, ''), mapped(member, key, change))
  }
  return result
}
