import type { Issue } from '../data/error-data.ts'
import type { JsonObject } from '../data/json.ts'
import { fine, join, refuse, within } from './check.ts'
import { assertions, isObject, matches } from './schema-assertions.ts'
import { unknownKey } from './unknown-keys.ts'

/**
 * Every problem that a value has with a JSON Schema (2020-12, the part that tools and formats use).
 *
 * References within the schema are followed, also recursive ones. What is not known or makes no sense in a schema asserts
 * nothing; nothing throws. `format` is asserted for date, date-time, email, uri and uuid.
 */
export function schemaIssues(schema: JsonObject | boolean, value: unknown): readonly Issue[] {
  return check(schema, value, { root: schema, refs: [] })
}

/** Where a check is: the whole schema, and the references followed since the value was last descended into. */
interface Place {
  readonly root: unknown
  readonly refs: readonly unknown[]
}

function check(schema: unknown, value: unknown, place: Place): readonly Issue[] {
  if (schema === false) return [{ path: '', problem: 'is not allowed' }]
  if (!isObject(schema)) return fine
  const types = typeIssues(schema['type'], value)
  if (types.length > 0) return types
  let issues = fine
  for (const keyword in schema) {
    const argument = schema[keyword]
    const assertion = Object.hasOwn(assertions, keyword) ? assertions[keyword] : undefined
    const problem = assertion?.(argument, value)
    if (problem !== undefined) issues = join(issues, [{ path: '', problem }])
    const applicator = Object.hasOwn(applicators, keyword) ? applicators[keyword] : undefined
    if (applicator !== undefined) issues = join(issues, applicator(argument, value, place, schema))
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

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

/** Applies other schemas to a value or to its members. `schema` is the object that the keyword stands in. */
type Applicator = (
  argument: unknown,
  value: unknown,
  place: Place,
  schema: Readonly<Record<string, unknown>>,
) => readonly Issue[]

const applicators: Readonly<Record<string, Applicator>> = {
  $ref: (reference, value, { root, refs }) => {
    const target = resolve(reference, root)
    // The same reference again, with the same value, could only repeat what it says.
    return refs.includes(target) ? fine : check(target, value, { root, refs: [...refs, target] })
  },
  allOf: (schemas, value, place) =>
    list(schemas).reduce<readonly Issue[]>(
      (issues, schema) => join(issues, check(schema, value, place)),
      fine,
    ),
  anyOf: (schemas, value, place) => oneOfMany(list(schemas), value, place).issues,
  oneOf: (schemas, value, place) => {
    const { matched, issues } = oneOfMany(list(schemas), value, place)
    return matched < 2
      ? issues
      : [{ path: '', problem: `must match exactly one alternative, not ${matched}` }]
  },
  not: (schema, value, place) =>
    check(schema, value, place).length > 0
      ? fine
      : [{ path: '', problem: 'is of a form that is not allowed' }],
  if: (condition, value, place, schema) => {
    const branch = check(condition, value, place).length === 0 ? 'then' : 'else'
    return check(schema[branch], value, place)
  },
  required: (keys, value) =>
    list(keys)
      .filter((key) => isObject(value) && !Object.hasOwn(value, String(key)))
      .map((key) => ({ path: String(key), problem: 'is missing' })),
  properties: (schemas, value, place) =>
    eachMember(value, (key, member) =>
      isObject(schemas) && Object.hasOwn(schemas, key)
        ? within(key, check(schemas[key], member, inner(place)))
        : fine,
    ),
  patternProperties: (schemas, value, place) =>
    eachMember(value, (key, member) =>
      eachMember(schemas, (pattern, schema) =>
        matches(pattern, key) ? within(key, check(schema, member, inner(place))) : fine,
      ),
    ),
  additionalProperties: (additional, value, place, { properties, patternProperties }) =>
    eachMember(value, (key, member) => {
      const named = isObject(properties) && Object.hasOwn(properties, key)
      const patterns = isObject(patternProperties) ? Object.keys(patternProperties) : []
      if (named || patterns.some((pattern) => matches(pattern, key))) return fine
      return additional === false
        ? [unknownKey(key, isObject(properties) ? Object.keys(properties) : [])]
        : within(key, check(additional, member, inner(place)))
    }),
  propertyNames: (schema, value, place) =>
    eachMember(value, (key) => within(key, check(schema, key, inner(place)))),
  prefixItems: (schemas, value, place) =>
    eachItem(value, 0, list(schemas).length, (item, index) =>
      check(list(schemas)[index], item, inner(place)),
    ),
  items: (schema, value, place, { prefixItems }) =>
    eachItem(value, list(prefixItems).length, Infinity, (item) =>
      check(schema, item, inner(place)),
    ),
  contains: (schema, value, place, { minContains = 1, maxContains = Infinity }) => {
    if (!Array.isArray(value)) return fine
    const found = value.filter((item) => check(schema, item, inner(place)).length === 0).length
    return found >= Number(minContains) && found <= Number(maxContains)
      ? fine
      : [{ path: '', problem: `holds ${found} of the items that it must contain` }]
  },
}

/** How many of the schemas match, and when none does, what is nearest: the branch with the fewest problems. */
function oneOfMany(
  schemas: readonly unknown[],
  value: unknown,
  place: Place,
): { readonly matched: number; readonly issues: readonly Issue[] } {
  const branches = schemas.map((schema) => check(schema, value, place))
  const matched = branches.filter((issues) => issues.length === 0).length
  if (matched > 0 || branches.length === 0) return { matched, issues: fine }
  const inside = branches.filter((issues) => issues.every(({ path }) => path !== ''))
  const nearest = inside.toSorted((left, right) => left.length - right.length)[0]
  if (nearest !== undefined) return { matched, issues: nearest }
  const problems = new Set(branches.flatMap((issues) => issues.map(({ problem }) => problem)))
  return { matched, issues: [{ path: '', problem: [...problems].join(', or ') }] }
}

/** What a reference within the schema points at; `undefined`, which asserts nothing, for any other. */
function resolve(reference: unknown, root: unknown): unknown {
  if (typeof reference !== 'string' || !/^#(?:\/|$)/.test(reference)) return undefined
  let target = root
  for (const step of reference.split('/').slice(1)) {
    if (typeof target !== 'object' || target === null) return undefined
    const key = unescape(step)
    target = Object.hasOwn(target, key) ? Reflect.get(target, key) : undefined
  }
  return target
}

function unescape(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return step
  }
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** The place of a member: references start anew, since the value is smaller. */
function inner({ root }: Place): Place {
  return { root, refs: [] }
}

function eachMember(
  value: unknown,
  look: (key: string, member: unknown) => readonly Issue[],
): readonly Issue[] {
  let issues = fine
  if (isObject(value)) {
    for (const key of Object.keys(value)) issues = join(issues, look(key, value[key]))
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
    for (let index = from; index < Math.min(to, value.length); index++) {
      issues = join(issues, within(index, look(value[index], index)))
    }
  }
  return issues
}
