import { keyNames } from '../../core/errors/redact.ts'
import { assertValid, isFull, join, within } from '../../core/schema/checks.ts'
import { sameJson } from '../../core/schema/json-schema.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import {
  cassetteIssues,
  requestDefaults,
  type Cassette,
  type CassetteCall,
} from '../fakes/cassette.ts'
import type { ScriptEntry } from '../fakes/script.ts'
import {
  pieceOf,
  piecesOf,
  redactorOf,
  redactRequest,
  redacted,
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
  return cassetteWriter()(cassette)
}

/** Does what `stringifyCassette` does, again and again: a call that was written before is not looked at again. */
export function cassetteWriter(): (cassette: Cassette) => string {
  const known = new WeakMap<CassetteCall, string>()
  const seen = new WeakSet()
  return ({ version, calls }) => {
    const texts = calls.map((call, at) => {
      const text = known.get(call)
      if (text !== undefined) return text
      // Only this call is looked at, under its place.
      const issues = cassetteIssues({ version, calls: [call] }, at)
      assertValid('invalid_script', issues.length > 0 ? issues : secretsInCall(call, at, seen))
      const made = printed(savedCall(call, at, calls), 4)
      known.set(call, made)
      return made
    })
    const list = texts.length === 0 ? '[]' : `[\n    ${texts.join(',\n    ')}\n  ]`
    return `{\n  "version": ${version},\n  "calls": ${list}\n}\n`
  }
}

/** How many calls before it a call is compared with. */
const reach = 16

/**
 * A call as it is written. A conversation is sent again with every call: of a request that goes on from an earlier one only what is new is
 * written, so that a cassette grows with the conversation and not with its square.
 */
function savedCall(call: CassetteCall, at: number, calls: readonly CassetteCall[]): JsonValue {
  const { provider, model, format, request, ...rest } = call
  for (let after = at - 1; after >= 0 && after >= at - reach; after--) {
    const earlier = calls[after]?.request
    if (earlier === undefined || !goesOn(request, earlier)) continue
    const { messages, ...others } = request
    const changed = Object.entries(others).filter(
      ([name, value]) => !sameJson(value, Reflect.get(earlier, name)),
    )
    const added = messages.slice(earlier.messages.length)
    const saved = { after, ...Object.fromEntries(changed), messages: added }
    return asJson({ provider, model, format, request: saved, ...rest })
  }
  const said = Object.entries(request).filter(([name, value]) => !isEmptyDefault(name, value))
  return asJson({ provider, model, format, request: Object.fromEntries(said), ...rest })
}

/** Whether a request is an earlier one with more messages. Nothing that the earlier one has may be missing. */
function goesOn(request: ModelRequest, earlier: ModelRequest): boolean {
  const { length } = earlier.messages
  return (
    length > 0 &&
    length <= request.messages.length &&
    earlier.messages.every((message, at) => sameJson(message, request.messages[at])) &&
    Object.keys(earlier).every((name) => name in request)
  )
}

function isEmptyDefault(name: string, value: unknown): boolean {
  const defaults: Readonly<Record<string, unknown>> = requestDefaults
  return name in defaults && sameJson(value, defaults[name])
}

/** A call is JSON, without what is undefined in it. */
function asJson(value: Readonly<Record<string, unknown>>): JsonValue {
  return defined(value) as JsonValue
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
    /\b(?:password|passwd|passphrase|secret|access[ _-]?token)["']?\s*[:=]\s*["']?(?=[^\s"']{0,255}\d)(?=[^\s"']{0,255}[a-z])[^\s"',;[]{8,}/i,
  ],
]

/** The patterns of all of them. */
export const secretPatterns: readonly RegExp[] = secretShapes.map(([, pattern]) => pattern)

/** The places of a call that hold something that looks like a secret. `at` is its place in the cassette; the messages in `seen` were found clean before. */
export function secretsInCall(
  call: CassetteCall,
  at: number,
  seen: WeakSet<object>,
): readonly Issue[] {
  const redactor = redactorOf()
  const { script, request, ...rest } = call
  const { messages, ...others } = request
  const asked = messages.map((message, index) => {
    if (seen.has(message)) return []
    const found = secretsInValue(message as unknown as JsonValue, redactor)
    if (found.length === 0) seen.add(message)
    return within('request', within('messages', within(index, found)))
  })
  // A call is JSON.
  const besides = secretsInValue({ ...rest, request: others } as unknown as JsonValue, redactor)
  const entries = script.flatMap((entry, index) =>
    within(index, secretsInValue(besidePiece(entry), redactor)),
  )
  const pieces = [...piecesOf(script)].flatMap(([name, places]) => {
    const text = places.map((place) => pieceOf(script[place])).join('')
    return withAdvice(`in ${name}`, suspicionOf(text, redactor))
  })
  const answer = within('script', [...entries, ...pieces])
  return within('calls', within(at, [...asked.flat(), ...besides, ...answer]))
}

/** An entry without its piece of a text, which is looked at together with the others. */
function besidePiece(entry: ScriptEntry): JsonValue {
  // An entry is JSON.
  const items = entry as unknown as readonly JsonValue[]
  return pieceOf(entry) === '' ? items : items.toSpliced(1, 1, null)
}

function secretsInValue(value: JsonValue, redactor: Redactor): readonly Issue[] {
  if (typeof value === 'string') return withAdvice('', suspicionOf(value, redactor))
  if (typeof value !== 'object' || value === null) return []
  let issues: readonly Issue[] = []
  for (const [name, member] of Object.entries(value)) {
    if (isFull(issues)) break
    // Only the provider can read it, and random letters look like anything.
    if (name === 'opaque' || name === 'base64') continue
    const isNamed = typeof member === 'string' && keyNames.test(name) && member !== redacted
    const inside = isNamed
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
