import { ValidationError, type ValidationErrorReason } from '../errors/errors.ts'
import type { Issue } from '../types/error-data.ts'

/** Looks at a value and gives its problems, with paths relative to it. A legal value costs no allocation. */
export type Check = (value: unknown) => readonly Issue[]

/** What a check gives when there is nothing to say. */
export const fine: readonly Issue[] = Object.freeze([])

/** A check by a predicate; `wording` ends the sentence "must be …". */
export function must(wording: string, test: (value: unknown) => boolean): Check {
  return (value) => (test(value) ? fine : refuse(wording, value))
}

/** Any function. */
export const anyFunction: Check = must('a function', (value) => typeof value === 'function')

/** The one problem of a value that is not what it must be. */
export function refuse(wording: string, value: unknown): readonly Issue[] {
  return [{ path: '', problem: `must be ${wording}, not ${describe(value)}` }]
}

/** The problems of a member, with the member's place put before their paths. */
export function within(key: string | number, issues: readonly Issue[]): readonly Issue[] {
  if (issues.length === 0) return fine
  const name = typeof key === 'string' && /^[A-Za-z_$][\w$]*$/.test(key)
  const place = name ? key : `[${JSON.stringify(key)}]`
  return issues.map(({ path, problem }) => ({
    path: path === '' || path.startsWith('[') ? place + path : `${place}.${path}`,
    problem,
  }))
}

/** Both lists as one; no list is made when one of them is empty. */
export function join(left: readonly Issue[], right: readonly Issue[]): readonly Issue[] {
  if (right.length === 0) return left
  return left.length === 0 ? right : [...left, ...right]
}

/**
 * The same check, but an object that has passed is not looked into again.
 *
 * Data is readonly, so a history that grows is walked once and not at every step.
 */
export function remembered(check: Check): Check {
  const passed = new WeakSet()
  return (value) => {
    if (typeof value !== 'object' || value === null) return check(value)
    if (passed.has(value)) return fine
    const issues = check(value)
    if (issues.length === 0) passed.add(value)
    return issues
  }
}

/** The checks of an object's members, by name. */
export type Checks = Readonly<Record<string, Check>>

/** Plain data with these members and no others. A key that holds `undefined` is a problem: JSON would drop it. */
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

/** An object of options: every member may be absent or `undefined`, none may be unknown. */
export function optionsOf(optional: Checks): Check {
  return members(optional, () => fine)
}

function members(table: Checks, onUndefined: Check): Check {
  const checks = new Map(Object.entries(table))
  return (value) => {
    if (!isPlainObject(value)) return refuse('an object', value)
    let issues = fine
    for (const key in value) {
      const member = value[key]
      const check = checks.get(key)
      if (check === undefined) issues = join(issues, [unknownKey(key, [...checks.keys()])])
      else issues = join(issues, within(key, (member === undefined ? onUndefined : check)(member)))
    }
    return issues
  }
}

/** A list whose items all pass. */
export function listOf(item: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return refuse('a list', value)
    let issues = fine
    for (let index = 0; index < value.length; index++) {
      issues = join(issues, within(index, item(value[index])))
    }
    return issues
  }
}

/** An object whose members all pass, under whatever names. */
export function recordOf(member: Check): Check {
  return (value) => {
    if (!isPlainObject(value)) return refuse('an object', value)
    let issues = fine
    for (const key in value) issues = join(issues, within(key, member(value[key])))
    return issues
  }
}

/** A member of a union: its `type` names the shape that it must have. */
export function tagged(shapes: Checks): Check {
  return (value) => {
    if (!isPlainObject(value)) return refuse('an object', value)
    const { type } = value
    const check = typeof type === 'string' && Object.hasOwn(shapes, type) ? shapes[type] : undefined
    return check?.(value) ?? wrongTag(type, Object.keys(shapes))
  }
}

function wrongTag(type: unknown, tags: readonly string[]): readonly Issue[] {
  return within('type', refuse(`one of ${tags.join(', ')}`, type))
}

/** The `type` of a member of a union, which `tagged` has looked at already. */
export const tag: Check = () => fine

/** Any string. */
export const text: Check = must('a string', (value) => typeof value === 'string')

/** A string with at least one character. */
export const someText: Check = must(
  'a string that is not empty',
  (value) => typeof value === 'string' && value !== '',
)

/** A boolean. */
export const flag: Check = must('true or false', (value) => typeof value === 'boolean')

/** An integer of at least 0. */
export const integer: Check = must(
  'an integer of at least 0',
  (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
)

/** An integer of at least 1. */
export const count: Check = must(
  'a positive integer',
  (value) => typeof value === 'number' && Number.isSafeInteger(value) && value > 0,
)

/** One of some words. */
export function oneOf(words: readonly string[]): Check {
  return must(
    `one of ${words.join(', ')}`,
    (value) => typeof value === 'string' && words.includes(value),
  )
}

/** A number between two bounds, both included. */
export function between(least: number, most: number): Check {
  return must(
    `a number from ${least} to ${most}`,
    (value) => typeof value === 'number' && value >= least && value <= most,
  )
}

/** A deadline. Timers take no more than 2^31 - 1 ms: beyond it they fire at once. */
export const timeoutMs: Check = must(
  'a positive number of milliseconds, at most 2147483647',
  (value) => typeof value === 'number' && value > 0 && value <= 2_147_483_647,
)

/** A JSON value. Whatever JSON can not hold is named with its place: a `Map`, `NaN`, a function, a cycle. */
export const json: Check = (value) => jsonIssues(value, [])

/** A JSON object. */
export const jsonObject: Check = (value) =>
  isPlainObject(value) ? jsonIssues(value, []) : refuse('a JSON object', value)

function jsonIssues(value: unknown, above: readonly unknown[]): readonly Issue[] {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return fine
  if (typeof value === 'number' && Number.isFinite(value)) return fine
  const list = Array.isArray(value)
  if (!list && !isPlainObject(value)) {
    return [{ path: '', problem: `must be a JSON value, not ${describe(value)}` }]
  }
  if (above.includes(value)) {
    return [{ path: '', problem: 'must be a JSON value, not a cycle: it holds itself' }]
  }
  const path = [...above, value]
  let issues = fine
  if (list) {
    for (let index = 0; index < value.length; index++) {
      issues = join(issues, within(index, jsonIssues(value[index], path)))
    }
  } else {
    for (const key in value) issues = join(issues, within(key, jsonIssues(value[key], path)))
  }
  return issues
}

/**
 * One problem for each key of `value` that is not legal, with the nearest legal key where one is near.
 *
 * `path` is the place of `value` itself. What is not an object has no keys and no problems here.
 */
export function unknownKeys(
  value: unknown,
  legalKeys: readonly string[],
  path: string = '',
): readonly Issue[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.keys(value)
    .filter((key) => !legalKeys.includes(key))
    .map((key) => unknownKey(key, legalKeys, path))
}

/** The problem of one key that is not legal. */
export function unknownKey(key: string, legalKeys: readonly string[], path: string = ''): Issue {
  const near = nearest(key, legalKeys)
  const advice = near === undefined ? `legal are ${legalKeys.join(', ')}` : `did you mean ${near}?`
  return { path, problem: `unknown key ${key}; ${advice}` }
}

/** The word that was probably meant; `undefined` when none is near. Case, `_` and `-` do not count. */
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

/** How many letters have to be changed, added or taken away (Levenshtein), one row at a time. */
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

/** A value in a few words, for a problem's text: strings and numbers as they are, anything else by its kind. */
export function describe(value: unknown): string {
  if (typeof value === 'string') {
    return JSON.stringify(value.length > 48 ? `${value.slice(0, 48)}…` : value)
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

/** Whether a value is an object as a literal or JSON makes it: no class instance, no list. Realms do not matter. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Throws a `ValidationError` that holds every problem; returns when there is none. */
export function assertValid(reason: ValidationErrorReason, issues: readonly Issue[]): void {
  if (issues.length > 0) throw new ValidationError(reason, issues)
}

/** The error of a constructor with one problem: what was refused, where, and what to write instead. */
export function refusal(
  reason: ValidationErrorReason,
  path: string,
  problem: string,
  cause?: unknown,
): ValidationError {
  return new ValidationError(reason, [{ path, problem }], { cause })
}

/** Throws when options are no object, or have a key that is not legal; the nearest that is legal is named. */
export function assertOptions(
  reason: ValidationErrorReason,
  options: unknown,
  legalKeys: readonly string[],
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw refusal(reason, '', `options must be an object, not ${describe(options)}`)
  }
  assertValid(reason, unknownKeys(options, legalKeys))
}
