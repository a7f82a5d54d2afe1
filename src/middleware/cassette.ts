import { ValidationError } from '../errors/errors.ts'
import { assertValid, isFull, join, within } from '../schema/checks.ts'
import { cassetteIssues, type Cassette, type CassetteCall } from '../testing/cassette.ts'
import type { Script } from '../testing/script.ts'
import type { Issue } from '../types/error-data.ts'
import type { JsonValue } from '../types/json.ts'
import { redactorOf, type Redactor } from './redaction.ts'

/**
 * A cassette as text: JSON with one entry of a script on a line, for people to read and to compare.
 *
 * A cassette that is not legal throws a `ValidationError`, and so does one that holds something that looks like a secret; the problems name
 * the places, and the option of `record` that leaves it out.
 */
export function stringifyCassette(cassette: Cassette): string {
  assertValid('invalid_script', cassetteIssues(cassette))
  const secrets = secretsIn(cassette)
  if (secrets.length > 0) throw new ValidationError('invalid_script', secrets)
  // A legal cassette is JSON.
  return `${printed(cassette as unknown as JsonValue, 0)}\n`
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

/** The places of a cassette that hold something that looks like a secret. */
export function secretsIn({ calls }: Cassette): readonly Issue[] {
  const redactor = redactorOf()
  let issues: readonly Issue[] = []
  calls.forEach((call, index) => {
    issues = join(issues, within('calls', within(index, secretsInCall(call, redactor))))
  })
  return issues
}

function secretsInCall(call: CassetteCall, redactor: Redactor): readonly Issue[] {
  const { script, ...rest } = call
  // A call is JSON.
  const besides = secretsInValue(rest as unknown as JsonValue, redactor)
  const entries = secretsInValue(script as unknown as JsonValue, redactor)
  const pieces = [...joinedPieces(script)].flatMap(([name, text]) =>
    withAdvice(`in the pieces of ${name}`, suspicionOf(text, redactor)),
  )
  return join(besides, within('script', entries.length > 0 ? entries : pieces))
}

/** The texts of an answer that came in pieces: a secret may begin in one and end in another. */
function joinedPieces(script: Script): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  const add = (name: string, piece: string): void => {
    texts.set(name, (texts.get(name) ?? '') + piece)
  }
  for (const entry of script) {
    const [tag] = entry
    if (tag === 'text' || tag === 'text_delta' || tag === 'reasoning') {
      add(tag === 'reasoning' ? tag : 'text', entry[1])
    } else if (tag === 'tool_call_delta') add(`the call ${entry[1].id}`, entry[1].argumentsDelta)
  }
  return texts
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
