import { ValidationError } from '../errors/errors.ts'
import { assertValid, isFull, join, within } from '../schema/checks.ts'
import { cassetteIssues, type Cassette, type CassetteCall } from '../testing/cassette.ts'
import type { Issue } from '../types/error-data.ts'
import type { JsonValue } from '../types/json.ts'
import {
  pieceOf,
  piecesOf,
  redactorOf,
  redactRequest,
  redactScript,
  type RedactionRules,
  type Redactor,
} from './redaction.ts'

/**
 * A cassette as text: JSON with one entry of a script on a line, for people to read and to compare.
 *
 * A cassette that is not legal throws a `ValidationError`, and so does one that holds something that looks like a secret; the problems name
 * the places, and the option of `record` that leaves it out.
 */
export function stringifyCassette(cassette: Cassette): string {
  assertValid('invalid_script', cassetteIssues(cassette))
  const secrets = cassette.calls.flatMap(secretsInCall)
  if (secrets.length > 0) throw new ValidationError('invalid_script', secrets)
  // A legal cassette is JSON.
  return `${printed(cassette as unknown as JsonValue, 0)}\n`
}

/**
 * A cassette without what the rules name, in its requests and in its answers. The keys of providers are left out by their look; `record`
 * knows them by value, too.
 */
export function redactCassette(cassette: Cassette, rules: RedactionRules): Cassette {
  const redactor = redactorOf(rules)
  const clean = (call: CassetteCall): CassetteCall => ({
    ...call,
    request: redactRequest(call.request, redactor),
    script: redactScript(call.script, redactor),
  })
  return { ...cassette, calls: cassette.calls.map(clean) }
}

/** How wide a line may be. */
const lineWidth = 110

/** JSON in which a list or an object that fits on a line is on one. */
function printed(value: JsonValue, indent: number): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const inner = indent + 2
  const isList = Array.isArray(value)
  const items = isList
    ? value.map((item: JsonValue) => printed(item, inner))
    : Object.entries(value).map(
        ([name, item]) => `${JSON.stringify(name)}: ${printed(item, inner)}`,
      )
  const [open, close] = isList ? '[]' : '{}'
  const line = items.join(', ')
  const isEntry = isList && typeof value[0] === 'string'
  const fits = indent + line.length < lineWidth || isEntry
  if (items.length === 0 || (fits && !line.includes('\n'))) return `${open}${line}${close}`
  const start = `\n${' '.repeat(inner)}`
  return `${open}${start}${items.join(`,${start}`)}\n${' '.repeat(indent)}${close}`
}

/** What looks like a secret and is not an API key: those are left out without being asked for. */
const secretShapes: readonly (readonly [string, RegExp])[] = [
  ['an AWS access key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/],
  ['a GitHub token', /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/],
  ['a GitLab token', /\bglpat-[\w-]{16,}/],
  ['a Slack token', /\bxox[abeoprs]-[\w-]{10,}/],
  ['a Stripe key', /\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,}/],
  ['a SendGrid key', /\bSG\.[\w-]{16,}\.[\w-]{16,}/],
  ['an npm token', /\bnpm_[A-Za-z0-9]{30,}/],
  ['a private key', /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----/],
  ['a signed address', /[?&](?:X-Amz-Signature|X-Goog-Signature|sig|signature)=[\w%+/=-]{16,}/i],
  [
    'a password',
    /\b(?:password|passwd|passphrase|secret|access[ _-]?token)["']?\s*[:=]\s*["']?(?=[^\s"']*\d)(?=[^\s"']*[a-z])[^\s"',;[]{8,}/i,
  ],
]

/** The patterns of all of them. */
export const secretPatterns: readonly RegExp[] = secretShapes.map(([, pattern]) => pattern)

/** The places of a call that hold something that looks like a secret. `at` is its place in the cassette. */
export function secretsInCall(call: CassetteCall, at: number): readonly Issue[] {
  const redactor = redactorOf()
  const { script, ...rest } = call
  // A call is JSON.
  const besides = secretsInValue(rest as unknown as JsonValue, redactor)
  const entries = secretsInValue(script as unknown as JsonValue, redactor)
  const pieces = [...piecesOf(script)].flatMap(([name, places]) => {
    const text = places.map((at) => pieceOf(script[at])).join('')
    return withAdvice(`in the pieces of ${name}`, suspicionOf(text, redactor))
  })
  const answer = within('script', entries.length > 0 ? entries : pieces)
  return within('calls', within(at, join(besides, answer)))
}

function secretsInValue(value: JsonValue, redactor: Redactor): readonly Issue[] {
  if (typeof value === 'string') return withAdvice('', suspicionOf(value, redactor))
  if (typeof value !== 'object' || value === null) return []
  let issues: readonly Issue[] = []
  for (const [name, member] of Object.entries(value)) {
    if (isFull(issues)) break
    // Only the provider can read it, and random letters look like anything.
    if (name === 'opaque' || name === 'base64') continue
    const inside =
      typeof member === 'string' && redactor.data({ [name]: member })[name] !== member
        ? withAdvice('', 'a secret by its name')
        : secretsInValue(member, redactor)
    issues = join(issues, within(Array.isArray(value) ? Number(name) : name, inside))
  }
  return issues
}

function suspicionOf(text: string, redactor: Redactor): string | undefined {
  const shape = secretShapes.find(([, pattern]) => pattern.test(text))
  return shape?.[0] ?? (redactor.text(text) === text ? undefined : 'an API key')
}

function withAdvice(place: string, suspicion: string | undefined): readonly Issue[] {
  if (suspicion === undefined) return []
  const where = place === '' ? '' : `${place} `
  const problem = `${where}holds what looks like ${suspicion}; name it in redact ({ names } or { patterns }), so that it is left out`
  return [{ path: '', problem }]
}
