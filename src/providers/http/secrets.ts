import type { AllmError } from '../../core/errors/errors.ts'
import { mapTexts } from '../../core/errors/redact.ts'
import { toJsonValue } from '../../core/errors/to-json-value.ts'
import type { HttpCall } from './call.ts'

/**
 * The one filter around everything that leaves a call: it knows the secrets of the call by value, whatever they look like.
 *
 * Secrets are those that the call names (`secrets`, `apiKey`), and the values of the headers and query parameters that carry
 * credentials, judged by their name, or by the look of a token under any name. Of a signature of AWS its parts are secret too. A
 * value of fewer than 4 characters, or one that is the provider's name, is not a secret: removing it would only make messages
 * unreadable.
 */
export interface Secrets {
  /** Removes the secrets from a text. One of fewer than 8 characters is found as a whole word only. */
  readonly clean: (text: string) => string
  /** Removes the secrets from message, stack, metadata and cause of an error, and returns the error. */
  readonly cleanError: <E extends AllmError>(error: E) => E
  /**
   * Makes the filter of a body's text, which is fed chunk by chunk. It removes secrets of at least 16 characters, so that
   * nothing decoded from the body has one, and costs one search of each chunk. Shorter ones may be words of an answer.
   */
  readonly bodyFilter: () => BodyFilter
}

const mark = '[redacted]'

/** The names of headers and query parameters whose values are secret. */
const secretNames =
  /(?:^|[-_])(?:authorization|auth|key|apikey|token|secret|pass|password|passphrase|cookie|signature|sig|credentials?)$/i

/** The names of headers whose values look like a token and are none. */
const publicNames = /trace|request|correlation|span|idempotency|[-_](?:id|date)$/i

/** Returns the text that is clean so far. A chunk that may end inside a secret is held back until the next one. */
export type BodyFilter = (chunk: string, last: boolean) => string

/** The filter of the last call, and what it was made of. The next call of the adapter mostly has the same secrets. */
let last: { readonly of: string; readonly filter: Secrets } | undefined

/** The secrets of a call. */
export function secretsOf(call: SecretCall): Secrets {
  const { provider, url, headers, secrets, apiKey } = call
  const of = JSON.stringify([provider, url, headers, secrets, apiKey])
  if (last?.of !== of) last = { of, filter: makeFilter(secretValues(call)) }
  return last.filter
}

function makeFilter(values: readonly string[]): Secrets {
  const all = values.flatMap(spellings)
  // Nearly no text has a secret: a pattern is compiled for one that does.
  const clean = (text: string): string =>
    all.reduce(
      (rest, secret) => (rest.includes(secret) ? rest.replace(secretPattern(secret), mark) : rest),
      text,
    )
  const long = values.filter(({ length }) => length >= 16).flatMap(spellings)
  return {
    clean,
    cleanError: (error) => (all.length === 0 ? error : cleanError(error, clean)),
    bodyFilter: () => bodyFilter(long),
  }
}

/** A model in the process has no address. */
type SecretCall = Pick<HttpCall, 'provider' | 'headers' | 'secrets' | 'apiKey'> & {
  readonly url?: string | undefined
}

/** What stands before a credential in a header. */
const scheme = /^(?:Basic|Bearer|Token|(?:Api[-_]?)?Key)\s+/i

/** What is secret by itself in a signature of AWS: the id of the key, and the signature. */
const signed = /(?<=(?:Credential|Signature)=)[^/,]+/g

/** The values that must not leave the call, the longest first: one may be a part of another. */
function secretValues(call: SecretCall): string[] {
  const { provider, url = '', headers = {}, secrets, apiKey = '' } = call
  const values = Object.entries(headers)
  if (URL.canParse(url)) {
    const { searchParams, password } = new URL(url)
    values.push(...searchParams, ['password', orAsItIs(decodeURIComponent, password)])
  }
  const found = values
    .filter(([name, value]) => secretNames.test(name) || isToken(name, value))
    .flatMap(([, value]) => [value].concat(value.match(signed) ?? []))
  const all = [...found, ...(secrets ?? []), apiKey]
    .map((value) => value.replace(scheme, '').trim())
    .filter((secret) => secret.length >= 4 && secret !== provider)
  return [...new Set(all)].toSorted((a, b) => b.length - a.length)
}

/** Whether a value looks like a token: one piece of it is long and mixes letters and digits, as no word or date does. */
function isToken(name: string, value: string): boolean {
  if (publicNames.test(name) || /\s|:\/\//.test(value.replace(scheme, '').trim())) return false
  return value.split(/[^A-Za-z0-9]/).some((piece) => piece.length >= 16 && /\d\D|\D\d/.test(piece))
}

/** A secret as it may be written: in JSON, in JSON with escaped slashes, in a URL, in base64 with or without padding, as it is. */
function spellings(secret: string): readonly string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const all = [
    json.replaceAll('/', String.raw`\/`),
    json,
    orAsItIs(encodeURIComponent, secret),
    orAsItIs(btoa, secret).replace(/=+$/, ''),
    secret,
  ]
  return [...new Set(all)]
}

/** A text in another form. One that has none, such as a lone surrogate in a URL, is taken as it is. */
function orAsItIs(convert: (text: string) => string, text: string): string {
  try {
    return convert(text)
  } catch {
    return text
  }
}

/** A short secret, such as a test server's, may be part of any word. */
function secretPattern(secret: string): RegExp {
  const literal = secret.replaceAll(/[^\w\s]/g, String.raw`\$&`)
  return new RegExp(secret.length < 8 ? String.raw`(?<!\w)${literal}(?!\w)` : literal, 'g')
}

/** Cleans an error in place, so that it stays the same error. The stack repeats the message. */
function cleanError<E extends AllmError>(error: E, clean: (text: string) => string): E {
  const { message, stack = '', metadata, cause } = error
  // The cause may be the error of a foreign library: it is not changed but replaced by its description.
  const foreign = mentions(cause, clean) ? { cause: mapTexts(toJsonValue(cause), clean) } : {}
  return Object.assign(error, {
    message: clean(message),
    stack: clean(stack),
    metadata: mapTexts(metadata, clean),
    ...foreign,
  })
}

/** How much of a value is searched. Larger ones, such as a socket with all that it holds, count as secret. */
const mostValues = 2000

/** Whether a secret is, or may be, anywhere in a value, also in properties that only a printed value shows. */
function mentions(
  value: unknown,
  clean: (text: string) => string,
  seen: Set<unknown> = new Set(),
): boolean {
  if (typeof value === 'string') return clean(value) !== value
  if (typeof value !== 'object' || value === null || seen.has(value)) return false
  if (seen.add(value).size > mostValues) return true
  try {
    if (!isOpen(value)) return true
    return Reflect.ownKeys(value).some(
      (name) => mentions(name, clean, seen) || mentions(Reflect.get(value, name), clean, seen),
    )
  } catch {
    return true
  }
}

/** Whether all that a value holds is in its properties. A `Map`, `Headers` or a `Request` print what theirs do not have. */
function isOpen(value: object): boolean {
  return (
    value instanceof Error || /t (?:Object|Array)]$/.test(Object.prototype.toString.call(value))
  )
}

function bodyFilter(secrets: readonly string[]): BodyFilter {
  if (secrets.length === 0) return (chunk) => chunk
  let held = ''
  return (chunk, last) => {
    let text = held + chunk
    held = ''
    for (const secret of secrets) {
      if (text.includes(secret)) text = text.replaceAll(secret, mark)
    }
    const cut = last ? 0 : Math.max(...secrets.map((secret) => begunAtEnd(text, secret)))
    if (cut === 0) return text
    held = text.slice(-cut)
    return text.slice(0, -cut)
  }
}

/** The number of characters at the end of a text that a secret begins with. Most chunks end with a line, and no secret has one. */
function begunAtEnd(text: string, secret: string): number {
  if (text.endsWith('\n')) return 0
  for (let count = Math.min(secret.length - 1, text.length); count > 0; count--) {
    if (text.endsWith(secret.slice(0, count))) return count
  }
  return 0
}
