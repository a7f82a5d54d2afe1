import { ValidationError, type ValidationErrorReason } from '../errors/errors.ts'
import { printable } from '../errors/redact.ts'
import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'

/**
 * Returns the problems of a value, with paths relative to it. A valid value makes no list.
 *
 * At most `maxIssues` problems are returned, and a check stops looking when it has found them. So a check is linear in the
 * size of the value, and its problems are few and short, however bad the value is.
 */
export type Check = (value: unknown) => readonly Issue[]

/** How many problems of a value are reported. */
export const maxIssues = 50

/** How deep a JSON value may be nested. */
export const maxDepth = 500

/** The result of a check that found no problem. */
export const fine: readonly Issue[] = Object.freeze([])

/** A check by a predicate. `wording` completes the sentence "must be …". */
export function must(wording: string, test: (value: unknown) => boolean): Check {
  return (value) => (test(value) ? fine : refuse(wording, value))
}

/** Any function. */
export const anyFunction: Check = must('a function', (value) => typeof value === 'function')

/** A source of time. */
export const anyClock: Check = /* @__PURE__ */ must('a clock', isObject)

/** A signal, of this or another realm. */
export const anySignal: Check = /* @__PURE__ */ must(
  'an AbortSignal',
  (value) => isObject(value) && 'aborted' in value,
)

/** The problem of a value of the wrong kind. `wording` completes the sentence "must be …". */
export function refuse(wording: string, value: unknown): readonly Issue[] {
  return [{ path: '', problem: `must be ${wording}, not ${describe(value)}` }]
}

/** The problems of a member, with the member's key put before their paths. */
export function within(key: string | number, issues: readonly Issue[]): readonly Issue[] {
  if (issues.length === 0) return fine
  const name = typeof key === 'string' && /^[A-Za-z_$][\w$]*$/.test(key)
  const place = name
    ? brief(key)
    : `[${printable(JSON.stringify(typeof key === 'string' ? cut(key) : key))}]`
  return issues.map(({ path, problem }) => ({
    path: shortPath(path === '' || path.startsWith('[') ? place + path : `${place}.${path}`),
    problem,
  }))
}

/** Both lists as one, of at most `maxIssues`. No new list is created when one of them is empty. */
export function join(left: readonly Issue[], right: readonly Issue[]): readonly Issue[] {
  if (right.length === 0) return left
  if (left.length === 0) return right
  const room = maxIssues - left.length
  return room <= 0 ? left : [...left, ...right.slice(0, room)]
}

/** Whether there are so many problems that a check stops looking for more. */
export function isFull(issues: readonly Issue[]): boolean {
  return issues.length >= maxIssues
}

/** A name or id of the checked value, short enough for a problem, and without control characters. */
export function brief(text: string): string {
  return printable(cut(text))
}

function cut(text: string): string {
  return text.length > 64 ? `${text.slice(0, 64)}…` : text
}

/** Paths are cut at their end: where a problem begins is what helps. */
function shortPath(path: string): string {
  return path.length > 240 ? `${path.slice(0, 240)}…` : path
}

/** The checks of an object's members, by name. */
export type Checks = Readonly<Record<string, Check>>

/** Plain data with these members and no others. A key with the value `undefined` is a problem: JSON would drop it. */
export function shape(required: Checks, optional: Checks = {}): Check {
  const requiredKeys = Object.keys(required)
  const looksRight = members({ ...required, ...optional }, () => [
    { path: '', problem: 'must be absent or have a value, not undefined' },
  ])
  return (value) => {
    let issues = looksRight(value)
    if (!isPlainObject(value)) return issues
    for (const key of requiredKeys) {
      if (!(key in value)) issues = join(issues, [{ path: key, problem: 'is missing' }])
    }
    return issues
  }
}

/** The keys of `T` that may be absent. */
type OptionalKey<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T]

/** `shape` for a type. It does not compile unless every field of `T` has its check. */
export function shapeOf<T extends object>(
  required: Readonly<Record<Exclude<keyof T, OptionalKey<T>>, Check>>,
  optional: Readonly<Record<OptionalKey<T>, Check>>,
): Check {
  return shape(required, optional)
}

/** An object of options: every member may be absent or `undefined`, and no other key is allowed. */
export function optionsOf(optional: Checks): Check {
  return members(optional, () => fine)
}

function members(table: Checks, onUndefined: Check): Check {
  const checks = new Map(Object.entries(table))
  return eachMember((member, key) => {
    const check = checks.get(key)
    if (check === undefined) return [unknownKey(key, [...checks.keys()])]
    return within(key, (member === undefined ? onUndefined : check)(member))
  })
}

/** Plain data whose members all pass. */
function eachMember(look: (member: unknown, key: string) => readonly Issue[]): Check {
  return (value) => {
    if (!isPlainObject(value)) return refuse('an object', value)
    let issues = fine
    for (const key in value) {
      if (isFull(issues)) break
      issues = join(issues, look(value[key], key))
    }
    return issues
  }
}

/** A list whose items all pass. */
export function listOf(item: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return refuse('a list', value)
    let issues = fine
    for (let index = 0; index < value.length && !isFull(issues); index++) {
      issues = join(issues, within(index, item(value[index])))
    }
    return issues
  }
}

/** An object with any keys, whose members all pass. */
export function recordOf(check: Check): Check {
  return eachMember((member, key) => within(key, check(member)))
}

/** The fields of `T`, those that must be there and those that may be absent, with their checks. */
type Fields<T> = readonly [
  required: Readonly<Record<Exclude<keyof T, OptionalKey<T>>, Check>>,
  optional?: Readonly<Record<OptionalKey<T>, Check>>,
]

/** A member of the union `T`: its `type` selects its other fields. Every field of every member of the union needs its check. */
export function tagged<T extends { readonly type: string }>(byType: {
  readonly [Type in T['type']]: Fields<Omit<Extract<T, { readonly type: Type }>, 'type'>>
}): Check {
  const checks = new Map<unknown, Check>(
    Object.entries<readonly [Checks, Checks?]>(byType).map(([type, [required, optional]]) => [
      type,
      // The type has been checked by finding the others.
      shape({ type: () => fine, ...required }, optional),
    ]),
  )
  return (value) => {
    if (!isPlainObject(value)) return refuse('an object', value)
    const { type } = value
    const check = checks.get(type)
    if (check !== undefined) return check(value)
    return within('type', refuse(`one of ${[...checks.keys()].join(', ')}`, type))
  }
}

/** Any string. */
export const text: Check = must('a string', (value) => typeof value === 'string')

/** Any string. The problem does not show the value, which may be a key. */
export const secretText: Check = (value) =>
  typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }]

/** A string with at least one character. */
export const someText: Check = must(
  'a non-empty string',
  (value) => typeof value === 'string' && value !== '',
)

/** A boolean. */
export const flag: Check = must('true or false', (value) => typeof value === 'boolean')

/** An integer of at least 0. */
export const nonNegativeInteger: Check = must(
  'an integer of at least 0',
  (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
)

/** An integer of at least 1. */
export const positiveInteger: Check = must(
  'a positive integer',
  (value) => typeof value === 'number' && Number.isSafeInteger(value) && value > 0,
)

/** One of a list of words. */
export function oneOf(words: readonly string[]): Check {
  return must(
    `one of ${words.join(', ')}`,
    (value) => typeof value === 'string' && words.includes(value),
  )
}

/** A number between two bounds, inclusive. */
export function between(least: number, most: number): Check {
  return must(
    `a number from ${least} to ${most}`,
    (value) => typeof value === 'number' && value >= least && value <= most,
  )
}

/** A timeout. A timer of more than 2^31 - 1 ms would fire at once. */
export const timeoutMs: Check = must(
  'a positive number of milliseconds, at most 2147483647',
  (value) => typeof value === 'number' && value > 0 && value <= 2_147_483_647,
)

/**
 * A JSON value. Everything that JSON cannot hold is reported with its path: a `Map`, `NaN`, a function, a cycle. So is a value
 * nested deeper than `maxDepth`, and a member named `__proto__`.
 */
export const json: Check = (value) => jsonIssues(value, new Set())

/** A JSON object. */
export const jsonObject: Check = (value) =>
  isPlainObject(value) ? jsonIssues(value, new Set()) : refuse('a JSON object', value)

function jsonIssues(value: unknown, above: Set<unknown>): readonly Issue[] {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return fine
  if (typeof value === 'number' && Number.isFinite(value)) return fine
  const list = Array.isArray(value)
  if (!list && !isPlainObject(value)) return notJson(describe(value))
  if (above.has(value)) return notJson('a cycle: it contains itself')
  if (above.size >= maxDepth) return notJson(`one nested deeper than ${maxDepth} levels`)
  if (!list && Object.hasOwn(value, '__proto__')) return within('__proto__', unsafeName)
  above.add(value)
  const inside: Check = (member) => jsonIssues(member, above)
  const issues = (list ? listOf(inside) : recordOf(inside))(value)
  above.delete(value)
  return issues
}

/** `Object.assign({}, value)` would take such a member for a prototype. */
const unsafeName: readonly Issue[] = [
  { path: '', problem: 'must be absent: no value may have a member of this name' },
]

function notJson(what: string): readonly Issue[] {
  return [{ path: '', problem: `must be a JSON value, not ${what}` }]
}

/**
 * One problem for each unknown key of `value`, with the known key that was probably meant.
 *
 * `path` is the path of `value` itself. A value that is not an object has no keys, and so no problems here.
 */
export function unknownKeys(
  value: unknown,
  knownKeys: readonly string[],
  path: string = '',
): readonly Issue[] {
  if (!isObject(value)) return []
  return Object.keys(value)
    .filter((key) => !knownKeys.includes(key))
    .slice(0, maxIssues)
    .map((key) => unknownKey(key, knownKeys, path))
}

/** The problem of one unknown key. */
export function unknownKey(key: string, knownKeys: readonly string[], path: string = ''): Issue {
  return { path, problem: `unknown key ${brief(key)}; ${meantKey(key, knownKeys)}` }
}

/** The advice about an unknown key: the one that was probably meant, or all that there are. */
export function meantKey(key: string, knownKeys: readonly string[]): string {
  const near = knownKeys.find((known) => known === elsewhere[key]) ?? nearest(key, knownKeys)
  return near === undefined ? `known keys are ${knownKeys.join(', ')}` : `did you mean ${near}?`
}

/** What other libraries call the options of ours. */
const elsewhere: Readonly<Record<string, string>> = {
  abortSignal: 'signal',
  stopWhen: 'maxTurns',
  maxSteps: 'maxTurns',
  system: 'instructions',
  parameters: 'schema',
  inputSchema: 'schema',
  input_schema: 'schema',
  execute: 'handler',
  run: 'handler',
  func: 'handler',
}

/** The word that was probably meant, or `undefined`. Case, `_` and `-` are ignored. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const wanted = bare(word)
  const limit = Math.floor(Math.min(wanted.length / 2, Math.max(2, wanted.length / 3)))
  let best: string | undefined
  let least = limit + 1
  for (const candidate of words) {
    const distance = editDistance(wanted, bare(candidate))
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

function bare(word: string): string {
  return word.toLowerCase().replaceAll(/[_-]/g, '').slice(0, 64)
}

/** The Levenshtein distance, computed one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}

/** A value in a few words, for the text of a problem: strings and numbers as they are, other values by their kind. */
export function describe(value: unknown): string {
  if (typeof value === 'string') {
    return printable(JSON.stringify(value.length > 48 ? `${value.slice(0, 48)}…` : value))
  }
  if (typeof value === 'object' && value !== null) return describeObject(value)
  const word = typeof value
  return word === 'function' || word === 'symbol' || word === 'bigint' ? `a ${word}` : String(value)
}

function describeObject(value: object): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return 'an object'
  const { name } = value.constructor
  return name === '' ? 'a class instance' : `${/^[AEIO]/.test(name) ? 'an' : 'a'} ${name}`
}

/**
 * Whether a value is an object as a literal or `JSON.parse` makes it.
 *
 * Unlike `isObject` it rejects class instances, which are not plain data. It works across realms.
 */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Throws a `ValidationError` with all problems; returns when there are none. */
export function assertValid(reason: ValidationErrorReason, issues: readonly Issue[]): void {
  if (issues.length > 0) throw new ValidationError(reason, issues)
}

/** A `ValidationError` with one problem. */
export function refusal(
  reason: ValidationErrorReason,
  path: string,
  problem: string,
  cause?: unknown,
): ValidationError {
  return new ValidationError(reason, [{ path, problem }], { cause })
}

/** Throws when `options` is not an object, or has an unknown key; the known key that was probably meant is named. */
export function assertOptions(
  reason: ValidationErrorReason,
  options: unknown,
  knownKeys: readonly string[],
): void {
  if (!isObject(options)) {
    throw refusal(reason, '', `options must be an object, not ${describe(options)}`)
  }
  assertValid(reason, unknownKeys(options, knownKeys))
}
