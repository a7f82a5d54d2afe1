import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import { describe, fine, isFull, join, maxDepth, refuse, unknownKey, within } from './checks.ts'
import { patternOf } from './derive-schema.ts'
import { listOf, targetOf, typeOf } from './flatten-schema.ts'

/**
 * The problems of a value by a JSON Schema (2020-12, the part that tools and formats use).
 *
 * References within the schema are followed, also recursive ones. Unknown and malformed keywords are ignored; nothing
 * throws. `format` is checked for date, date-time, email, uri and uuid. The work grows with the size of the schema and with that of the
 * value, and not with the number of ways through the references: a definition judges the same value once. A pattern is run on at most
 * `maxPatternText` characters; a longer text is a problem. Without `runsPatterns` no pattern of the schema is run, wherever it is: it takes every text.
 */
export function schemaIssues(
  schema: JsonObject | boolean,
  value: unknown,
  runsPatterns: boolean = true,
): readonly Issue[] {
  return check(schema, value, { root: schema, judged: new Map(), runsPatterns })
}

/** The longest text that a pattern of a schema is run on. Many patterns take the square of a text's length, or worse. */
const maxPatternText = 10_000

/** The whole schema, and what the targets of references said about values so far. */
interface Context {
  readonly root: unknown
  readonly judged: Map<unknown, Map<unknown, readonly Issue[]>>
  readonly runsPatterns: boolean
}

function check(schema: unknown, value: unknown, context: Context): readonly Issue[] {
  if (schema === false) return [{ path: '', problem: 'is not allowed' }]
  if (!isObject(schema)) return fine
  const types = typeIssues(schema['type'], value)
  if (types.length > 0) return types
  let issues = fine
  for (const keyword in schema) {
    if (!context.runsPatterns && keyword.startsWith('pattern')) continue
    const argument = schema[keyword]
    const assertion = Object.hasOwn(assertions, keyword) ? assertions[keyword] : undefined
    const problem = assertion?.(argument, value)
    if (problem !== undefined) issues = join(issues, [{ path: '', problem }])
    const applicator = Object.hasOwn(applicators, keyword) ? applicators[keyword] : undefined
    if (applicator !== undefined)
      issues = join(issues, applicator(argument, value, context, schema))
  }
  return issues
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

function typeIssues(type: unknown, value: unknown): readonly Issue[] {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type]
  const known = types.filter((word) => typeof word === 'string' && Object.hasOwn(typeWords, word))
  if (known.length < types.length || known.includes(typeOf(value))) return fine
  if (known.includes('integer') && Number.isInteger(value)) return fine
  return refuse(known.map((word) => typeWords[String(word)]).join(' or '), value)
}

/** Applies other schemas to a value or to its members. `schema` is the object that has the keyword. */
type Applicator = (
  argument: unknown,
  value: unknown,
  context: Context,
  schema: Readonly<Record<string, unknown>>,
) => readonly Issue[]

const applicators: Readonly<Record<string, Applicator>> = {
  $ref: (reference, value, context) => {
    // What is elsewhere, or not there, accepts every value.
    const target = targetOf(reference, context.root)?.target
    const known = context.judged.get(target) ?? new Map<unknown, readonly Issue[]>()
    context.judged.set(target, known)
    let issues = known.get(value)
    if (issues === undefined) {
      // A reference that leads back here with the same value would only repeat its problems.
      known.set(value, fine)
      issues = check(target, value, context)
      known.set(value, issues)
    }
    return issues
  },
  allOf: (schemas, value, context) =>
    listOf(schemas).reduce<readonly Issue[]>(
      (issues, schema) => join(issues, check(schema, value, context)),
      fine,
    ),
  anyOf: (schemas, value, context) => oneOfMany(listOf(schemas), value, context).issues,
  oneOf: (schemas, value, context) => {
    const { matched, issues } = oneOfMany(listOf(schemas), value, context)
    return matched < 2
      ? issues
      : [{ path: '', problem: `must match exactly one schema of oneOf, not ${matched}` }]
  },
  not: (schema, value, context) =>
    check(schema, value, context).length > 0
      ? fine
      : [{ path: '', problem: 'must not match the schema of not' }],
  if: (condition, value, context, schema) => {
    const branch = check(condition, value, context).length === 0 ? 'then' : 'else'
    return check(schema[branch], value, context)
  },
  required: (keys, value) => {
    let issues = fine
    for (const key of isObject(value) ? listOf(keys) : []) {
      if (isFull(issues)) break
      if (typeof key === 'string' && isObject(value) && !Object.hasOwn(value, key))
        issues = join(issues, within(key, [{ path: '', problem: 'is missing' }]))
    }
    return issues
  },
  properties: (schemas, value, context) =>
    eachMember(value, (key, member) =>
      isObject(schemas) && Object.hasOwn(schemas, key)
        ? within(key, check(schemas[key], member, context))
        : fine,
    ),
  patternProperties: (schemas, value, context) =>
    eachMember(value, (key, member) => {
      if (key.length > maxPatternText && isObject(schemas)) return within(key, [tooLong])
      return eachMember(schemas, (pattern, schema) =>
        matches(pattern, key) ? within(key, check(schema, member, context)) : fine,
      )
    }),
  additionalProperties: (additional, value, context, { properties, patternProperties }) => {
    // Which members are additional depends on the patterns of names.
    if (!context.runsPatterns && patternProperties !== undefined) return fine
    const patterns = isObject(patternProperties) ? Object.keys(patternProperties) : []
    const names = isObject(properties) ? Object.keys(properties) : []
    return eachMember(value, (key, member) => {
      const named = isObject(properties) && Object.hasOwn(properties, key)
      if (named || patterns.some((pattern) => matches(pattern, key))) return fine
      return additional === false
        ? [unknownKey(key, names)]
        : within(key, check(additional, member, context))
    })
  },
  propertyNames: (schema, value, context) =>
    eachMember(value, (key) => within(key, check(schema, key, context))),
  prefixItems: (schemas, value, context) =>
    eachItem(value, 0, listOf(schemas).length, (item, index) =>
      check(listOf(schemas)[index], item, context),
    ),
  items: (schema, value, context, { prefixItems }) =>
    eachItem(value, listOf(prefixItems).length, Infinity, (item) => check(schema, item, context)),
  contains: (schema, value, context, { minContains = 1, maxContains = Infinity }) => {
    if (!Array.isArray(value)) return fine
    const found = value.filter((item) => check(schema, item, context).length === 0).length
    return found >= Number(minContains) && found <= Number(maxContains)
      ? fine
      : [{ path: '', problem: `contains ${found} of the required items` }]
  },
}

/** The number of schemas that match, and if none does, the problems of the nearest one: the one with the fewest problems. */
function oneOfMany(
  schemas: readonly unknown[],
  value: unknown,
  context: Context,
): { readonly matched: number; readonly issues: readonly Issue[] } {
  const branches = schemas.map((schema) => check(schema, value, context))
  const matched = branches.filter((issues) => issues.length === 0).length
  if (matched > 0 || branches.length === 0) return { matched, issues: fine }
  const inside = branches.filter((issues) => issues.every(({ path }) => path !== ''))
  const nearest = inside.toSorted((left, right) => left.length - right.length)[0]
  if (nearest !== undefined) return { matched, issues: nearest }
  const problems = new Set(branches.flatMap((issues) => issues.map(({ problem }) => problem)))
  return { matched, issues: [{ path: '', problem: shortened([...problems].join(', or ')) }] }
}

/** Alternatives inside of alternatives repeat their texts, which could double at each level. */
function shortened(problem: string): string {
  return problem.length > 1000 ? `${problem.slice(0, 1000)}…` : problem
}

function eachMember(
  value: unknown,
  look: (key: string, member: unknown) => readonly Issue[],
): readonly Issue[] {
  let issues = fine
  if (isObject(value)) {
    for (const key of Object.keys(value)) {
      if (isFull(issues)) break
      issues = join(issues, look(key, value[key]))
    }
  }
  return issues
}

function eachItem(
  value: unknown,
  from: number,
  to: number,
  look: (item: unknown, index: number) => readonly Issue[],
): readonly Issue[] {
  let issues = fine
  if (Array.isArray(value)) {
    const end = Math.min(to, value.length)
    for (let index = from; index < end && !isFull(issues); index++) {
      issues = join(issues, within(index, look(value[index], index)))
    }
  }
  return issues
}

/** Checks a value by one keyword. Returns the problem, or `undefined`. An argument of the wrong kind is ignored. */
type Assertion = (argument: unknown, value: unknown) => string | undefined

/** The measure of a value; `undefined` when the keyword does not apply to it. */
type Measure = (value: unknown) => number | undefined

const size: Measure = (value) => (typeof value === 'number' ? value : undefined)

const items: Measure = (value) => (Array.isArray(value) ? value.length : undefined)

const members: Measure = (value) => (isObject(value) ? Object.keys(value).length : undefined)

const characters: Measure = (value) => (typeof value === 'string' ? codePoints(value) : undefined)

const atLeast = (measured: number, limit: number): boolean => measured >= limit

const atMost = (measured: number, limit: number): boolean => measured <= limit

/** The keywords that need only the value and their own argument. */
const assertions: Readonly<Record<string, Assertion>> = {
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
    sameJson(wanted, value) ? undefined : `must be ${written(wanted)}, not ${describe(value)}`,
  enum: (words, value) =>
    !Array.isArray(words) || words.some((word) => sameJson(word, value))
      ? undefined
      : `must be one of ${words.slice(0, 24).map(written).join(', ')}, not ${describe(value)}`,
  pattern: (pattern, value) => {
    if (typeof value !== 'string' || typeof pattern !== 'string') return undefined
    if (value.length > maxPatternText) return tooLong.problem
    return matches(pattern, value)
      ? undefined
      : `must match ${shortened(pattern)}, not ${describe(value)}`
  },
  format: (name, value) =>
    typeof value !== 'string' || typeof name !== 'string' || formats[name]?.(value) !== false
      ? undefined
      : `must be a ${name}, not ${describe(value)}`,
  uniqueItems: (wanted, value) =>
    wanted === true && Array.isArray(value) ? repeatedItem(value) : undefined,
}

const tooLong: Issue = {
  path: '',
  problem: `must have at most ${maxPatternText} characters: a pattern is not run on more`,
}

/** A value of the schema, for the text of a problem. */
function written(value: unknown): string {
  return shortened(JSON.stringify(value))
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

/** Whether a text matches a pattern. A pattern that cannot be used matches everything; nothing matches a text that is too long. */
function matches(pattern: string, text: string): boolean {
  if (text.length > maxPatternText) return false
  try {
    return patternOf(pattern)?.test(text) !== false
  } catch {
    // A very large pattern fails when it is used.
    return true
  }
}

/** Allows for rounding errors: 19.99 is a multiple of 0.01. */
function isMultiple(value: number, of: number): boolean {
  const times = value / of
  return of <= 0 || Math.abs(times - Math.round(times)) <= 1e-9 * Math.max(1, Math.abs(times))
}

function codePoints(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0)
}

const time =
  /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/i

const email =
  /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*@(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z\d](?:[a-z\d-]*[a-z\d])?$/i

const uri = /^[a-z][a-z\d+.-]*:[^\s<>"{}|\\^`]+$/i

const uuid = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i

/** The formats that are checked. Every other format is ignored. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  'date-time': (text) =>
    isDate(text.slice(0, 10)) && /^[t ]$/i.test(text.charAt(10)) && time.test(text.slice(11)),
  email: (text) => email.test(text),
  uri: (text) => uri.test(text),
  uuid: (text) => uuid.test(text),
}

/** Whether a date exists: only then does `Date` return the same text. */
function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false
  const day = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}

/** Whether two JSON values are equal; the order of keys does not matter. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object') return false
  if (left === null || right === null || Array.isArray(left) !== Array.isArray(right)) return false
  const keys = Object.keys(left)
  return (
    keys.length === Object.keys(right).length &&
    keys.every(
      (key) => Object.hasOwn(right, key) && sameJson(member(left, key), member(right, key)),
    )
  )
}

/** Whether all items of a list are different. */
export function allDifferent(items: readonly unknown[]): boolean {
  return repeatedItem(items) === undefined
}

/** The problem of a list that has an item twice. Every item is read once. */
function repeatedItem(items: readonly unknown[]): string | undefined {
  const plain = new Set<unknown>()
  const others = new Set<string>()
  for (const item of items) {
    if (typeof item === 'object' && item !== null) {
      const text = canonical(item)
      if (text === undefined) return `must not be nested deeper than ${maxDepth} levels`
      if (others.has(text)) return repeated
      others.add(text)
    } else {
      if (plain.has(item)) return repeated
      plain.add(item)
    }
  }
  return undefined
}

const repeated = 'must not contain an item twice'

/** The same text for equal JSON values: members are sorted by their names, and -0 is 0. `undefined` for a value nested too deeply. */
function canonical(value: unknown, depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? ''
  if (depth === maxDepth) return undefined
  const parts: string[] = []
  const isList = Array.isArray(value)
  for (const key of isList ? value.keys() : Object.keys(value).toSorted()) {
    const part = canonical(Reflect.get(value, key), depth + 1)
    if (part === undefined) return undefined
    parts.push(isList ? part : `${JSON.stringify(key)}:${part}`)
  }
  return isList ? `[${parts.join()}]` : `{${parts.join()}}`
}

function member(value: object, key: string): unknown {
  return Reflect.get(value, key)
}
