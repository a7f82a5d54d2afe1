import { describe } from './describe.ts'
import { allDifferent, sameJson } from './same-json.ts'
import { formats } from './schema-formats.ts'

/** Looks at a value by one keyword alone; gives the problem, or `undefined`. An argument of the wrong kind asserts nothing. */
export type Assertion = (argument: unknown, value: unknown) => string | undefined

/** What a value is measured by; `undefined` when the keyword does not concern it. */
type Measure = (value: unknown) => number | undefined

const size: Measure = (value) => (typeof value === 'number' ? value : undefined)
const items: Measure = (value) => (Array.isArray(value) ? value.length : undefined)
const members: Measure = (value) => (isObject(value) ? Object.keys(value).length : undefined)
const characters: Measure = (value) => (typeof value === 'string' ? codePoints(value) : undefined)

const atLeast = (measured: number, limit: number): boolean => measured >= limit
const atMost = (measured: number, limit: number): boolean => measured <= limit

/** The keywords that look at nothing but the value and their own argument. */
export const assertions: Readonly<Record<string, Assertion>> = {
  minimum: bound(size, atLeast, 'be at least', ''),
  maximum: bound(size, atMost, 'be at most', ''),
  exclusiveMinimum: bound(size, (measured, limit) => measured > limit, 'be more than', ''),
  exclusiveMaximum: bound(size, (measured, limit) => measured < limit, 'be less than', ''),
  multipleOf: bound(size, isMultiple, 'be a multiple of', ''),
  minLength: bound(characters, atLeast, 'have at least', ' characters'),
  maxLength: bound(characters, atMost, 'have at most', ' characters'),
  minItems: bound(items, atLeast, 'have at least', ' items'),
  maxItems: bound(items, atMost, 'have at most', ' items'),
  minProperties: bound(members, atLeast, 'have at least', ' members'),
  maxProperties: bound(members, atMost, 'have at most', ' members'),
  const: (wanted, value) =>
    sameJson(wanted, value) ? undefined : `must be ${say(wanted)}, not ${describe(value)}`,
  enum: (words, value) =>
    !Array.isArray(words) || words.some((word) => sameJson(word, value))
      ? undefined
      : `must be one of ${words.slice(0, 24).map(say).join(', ')}, not ${describe(value)}`,
  pattern: (pattern, value) =>
    typeof value !== 'string' || matches(pattern, value)
      ? undefined
      : `must match ${String(pattern)}, not ${describe(value)}`,
  format: (name, value) =>
    typeof value !== 'string' || typeof name !== 'string' || formats[name]?.(value) !== false
      ? undefined
      : `must be a ${name}, not ${describe(value)}`,
  uniqueItems: (wanted, value) =>
    wanted !== true || !Array.isArray(value) || allDifferent(value)
      ? undefined
      : 'must not hold an item twice',
}

function bound(
  measure: Measure,
  holds: (measured: number, limit: number) => boolean,
  verb: string,
  unit: string,
): Assertion {
  return (limit, value) => {
    const measured = measure(value)
    if (measured === undefined || typeof limit !== 'number' || holds(measured, limit))
      return undefined
    return `must ${verb} ${limit}${unit}, not ${measured}`
  }
}

/** Whether a text matches a pattern; a pattern that can not be compiled matches everything. */
export function matches(pattern: unknown, text: string): boolean {
  if (typeof pattern !== 'string') return true
  try {
    return new RegExp(pattern, 'u').test(text)
  } catch {
    return true
  }
}

/** Whether a value is an object and no list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Fractions are compared with a little room: 19.99 is a multiple of 0.01. */
function isMultiple(value: number, of: number): boolean {
  const times = value / of
  return of <= 0 || Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times))
}

function codePoints(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0)
}

function say(value: unknown): string {
  return JSON.stringify(value)
}
