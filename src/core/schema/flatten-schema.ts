import { AdapterError } from '../errors/errors.ts'
import { isObject, setMember } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { maxDepth } from './checks.ts'

/** Where a schema is: its path for messages, the schema that its references start at, and how it was reached. */
export interface SchemaPosition {
  readonly provider: string
  /** As in code: `tools[0].schema.properties.name`. */
  readonly path: string
  readonly root: JsonObject
  /** The references that led here, outermost first. */
  readonly refs: readonly Reference[]
}

interface Reference {
  readonly pointer: string
  /** What was passed since: nothing (it is the same value), a member of the value, or a member that may be left out. */
  readonly passed: Passed
}

type Passed = 'nothing' | 'member' | 'optional'

/** The position of a part of a schema. */
export function inside<At extends SchemaPosition>(
  at: At,
  passed: Passed,
  ...keys: readonly (string | number)[]
): At {
  let { path } = at
  for (const key of keys) {
    path +=
      typeof key === 'string' && /^[A-Za-z_$][\w$]*$/.test(key)
        ? `.${key}`
        : `[${JSON.stringify(key)}]`
  }
  const move = (ref: Reference): Reference =>
    passed === 'nothing' || ref.passed === 'optional' ? ref : { ...ref, passed }
  return { ...at, path, refs: at.refs.map(move) }
}

/** The error of a schema that cannot be expressed. Nothing was sent. */
export function unsupported({ provider, path }: SchemaPosition, problem: string): AdapterError {
  const message = `${provider} does not support this schema: ${path} ${problem}`
  return new AdapterError('unsupported_feature', message, { provider, metadata: { path, problem } })
}

/** Keywords that say nothing about the value. */
export const annotations: ReadonlySet<string> = new Set(
  'title description default examples example deprecated readOnly writeOnly $schema $id $comment $anchor $defs definitions'.split(
    ' ',
  ),
)

/** The keywords of a schema that say something about the value. */
export function constraintsOf(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !annotations.has(key)))
}

interface FlatSchema<At> {
  readonly schema: JsonObject
  readonly at: At
}

/**
 * A schema without `allOf` and without references: they are merged into it.
 *
 * Only a reference to a schema that contains this place stays, alone, as a pointer.
 */
export function flatten<At extends SchemaPosition>(
  node: JsonValue | undefined,
  at: At,
): FlatSchema<At> {
  if (node === true) return { schema: {}, at }
  if (!isObject(node)) throw unsupported(at, 'allows no value')
  // Most schemas: they are not copied.
  if (!('$ref' in node || 'allOf' in node)) return { schema: node, at }
  const { $ref, allOf, ...own } = node
  const parts = listOf(allOf)
  const bases = $ref === undefined ? parts : [undefined, ...parts]
  const isAlone = bases.length === 1 && Object.keys(constraintsOf(own)).length === 0
  const flat: JsonObject[] = []
  let { refs } = at
  for (const part of bases) {
    const isRef = part === undefined
    const inner = { ...at, refs }
    const base = isRef ? referred($ref ?? '', inner) : flatten(part, inner)
    if ('$ref' in base.schema) {
      if (isAlone) return base
      throw recursive(at, isRef ? $ref : undefined)
    }
    refs = base.at.refs
    flat.push(base.schema)
  }
  // Keywords beside a reference come last, so their annotations hold.
  return { schema: merged([...flat, own], at), at: { ...at, refs } }
}

/** The schema that a reference names. */
function referred<At extends SchemaPosition>(ref: JsonValue, at: At): FlatSchema<At> {
  const { pointer, target } = resolve(ref, at)
  const open = at.refs.find((known) => known.pointer === pointer)
  if (open?.passed === 'nothing') throw recursive(at, ref)
  if (open !== undefined) return { schema: { $ref: pointer }, at }
  if (at.refs.length > maxDepth) {
    throw unsupported(at, `has references nested deeper than ${maxDepth} levels`)
  }
  return flatten(target, { ...at, refs: [...at.refs, { pointer, passed: 'nothing' }] })
}

function recursive(at: SchemaPosition, ref: JsonValue | undefined): AdapterError {
  const what =
    ref === undefined ? 'it contains itself in allOf' : `${JSON.stringify(ref)} contains itself`
  return unsupported(at, `is recursive: ${what}`)
}

/** Whether all values of a schema are objects. One that names no type is taken for an object's. */
export function describesObjects(schema: JsonObject): boolean {
  const seen = new Set<unknown>()
  const look = (node: JsonValue | undefined, at: SchemaPosition): boolean => {
    // The first part that describes another value ends the search, so this one described objects when it was looked at.
    if (seen.has(node)) return true
    seen.add(node)
    const { schema: flat, at: inner } = flatten(node, at)
    const types = typesOf(flat['type'])
    const choices = listOf(flat['anyOf'] ?? flat['oneOf'])
    if (types.some((type) => type !== 'object')) return false
    if (['items', 'prefixItems', 'enum', 'const'].some((key) => key in flat))
      return types.length > 0
    return types.length > 0 || choices.every((choice) => look(choice, inside(inner, 'nothing')))
  }
  try {
    return look(schema, { provider: '', path: '', root: schema, refs: [] })
  } catch {
    // What cannot be read is for the provider to judge.
    return true
  }
}

/** The target of a `$ref` inside its own schema: `#`, `#/$defs/Name`. A target elsewhere is refused. */
export function resolve(
  ref: JsonValue,
  at: SchemaPosition,
): { readonly pointer: string; readonly target: JsonValue } {
  const { pointer = '', target } = targetOf(ref, at.root) ?? {}
  if (pointer === '') {
    throw unsupported(at, `refers to ${JSON.stringify(ref)}, which is outside the schema`)
  }
  if (target === undefined) throw unsupported(at, `refers to ${pointer}, which does not exist`)
  // The root is JSON.
  return { pointer, target: target as JsonValue }
}

/** What a reference within a schema names, and its pointer, decoded. `undefined` for any other reference. */
export function targetOf(
  ref: unknown,
  root: unknown,
): { readonly pointer: string; readonly target: unknown } | undefined {
  let pointer = typeof ref === 'string' ? ref : ''
  try {
    pointer = decodeURIComponent(pointer)
  } catch {
    // It is taken as it is.
  }
  const [start, ...steps] = pointer.split('/')
  if (start !== '#') return undefined
  let target = root
  for (const step of steps) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~')
    const isThere = typeof target === 'object' && target !== null && Object.hasOwn(target, key)
    target = isThere ? Reflect.get(target as object, key) : undefined
  }
  return { pointer, target }
}

/** One schema that means the same as all of these. Annotations are those of the last one. */
function merged(schemas: readonly JsonObject[], at: SchemaPosition): JsonObject {
  const result: Record<string, JsonValue> = {}
  const made: Made = new Set()
  for (const schema of schemas) {
    for (const [key, value] of Object.entries(schema)) {
      const known = result[key]
      const both = known === undefined ? value : mergeKeyword(key, known, value, made)
      if (both === undefined) throw unsupported(at, `combines two different values of ${key}`)
      result[key] = both
    }
  }
  const { required } = result
  if (made.has(required)) result['required'] = [...new Set(listOf(required))]
  return result
}

/** The values that a merge has made. They are added to, so that many schemas are not copied again for each of them. */
type Made = Set<unknown>

function mergeKeyword(
  key: string,
  left: JsonValue,
  right: JsonValue,
  made: Made,
): JsonValue | undefined {
  if (annotations.has(key)) return right
  switch (key) {
    case 'properties': {
      if (!isObject(left) || !isObject(right)) return undefined
      // Made here, or a copy that is.
      const members = (made.has(left) ? left : { ...left }) as Record<string, JsonValue>
      made.add(members)
      for (const [name, schema] of Object.entries(right)) {
        const known = Object.hasOwn(members, name) ? members[name] : undefined
        setMember(members, name, known === undefined ? schema : bothOf(known, schema, made))
      }
      return members
    }
    case 'required': {
      // As above.
      const names = (made.has(left) ? left : [...listOf(left)]) as JsonValue[]
      made.add(names)
      for (const name of listOf(right)) names.push(name)
      return names
    }
    case 'items':
    case 'propertyNames':
      return bothOf(left, right, made)
    case 'additionalProperties':
      // Each side closes its own object and means the merged one: properties of the other side stay legal.
      return left !== false && right !== false && bothOf(left, right, made)
    default:
      return isSame(left, right) ? right : mergeValues(key, left, right)
  }
}

/** A schema that is both. */
function bothOf(left: JsonValue, right: JsonValue, made: Made): JsonValue {
  if (isObject(left) && made.has(left)) {
    const parts = left['allOf'] as JsonValue[] // As it was made here.
    parts.push(right)
    return left
  }
  if (isSame(left, right)) return right
  const both = { allOf: [left, right] }
  made.add(both)
  return both
}

function isSame(left: JsonValue, right: JsonValue): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}

function mergeValues(key: string, left: JsonValue, right: JsonValue): JsonValue | undefined {
  if (key === 'enum') {
    const values = new Set(listOf(right))
    return listOf(left).filter((value) => values.has(value))
  }
  if (key === 'type') {
    const types = typesOf(left).flatMap((one) => typesOf(right).flatMap((two) => common(one, two)))
    return types.length === 0 ? undefined : [...new Set(types)]
  }
  if (typeof left !== 'number' || typeof right !== 'number') return undefined
  if (/^min|Minimum$/.test(key)) return Math.max(left, right)
  return /^max|Maximum$/.test(key) ? Math.min(left, right) : undefined
}

function common(one: string, two: string): readonly string[] {
  if (one === two) return [one]
  return /^(?:number|integer){2}$/.test(one + two) ? ['integer'] : []
}

/** A copy of an object with other members. */
export function mapMembers(
  members: JsonObject,
  map: (value: JsonValue, name: string) => JsonValue,
): JsonObject {
  return Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, map(value, name)]),
  )
}

/** The schemas of the first items, and that of the others. Older drafts write a tuple as a list of items. */
export function itemsOf({ items, prefixItems }: JsonObject): {
  readonly positions: readonly JsonValue[] | undefined
  readonly rest: JsonValue | undefined
} {
  const [first, rest] = isList(items) ? [items, undefined] : [undefined, items]
  return { positions: isList(prefixItems) ? prefixItems : first, rest }
}

/** The types that a keyword `type` names. */
export function typesOf(type: JsonValue | undefined): readonly string[] {
  return (isList(type) ? type : [type]).filter((name) => typeof name === 'string')
}

/** Whether a value has one of the types. No types allow every value. */
export function hasType(value: JsonValue, types: readonly string[]): boolean {
  return (
    types.length === 0 ||
    types.includes(typeOf(value)) ||
    (types.includes('integer') && Number.isInteger(value))
  )
}

/** The type of a value, as JavaScript names it; `null` and lists have their own. */
export function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}

/** The items of a list; of any other value none. */
export function listOf(value: unknown): readonly JsonValue[] {
  // Schemas and what they judge are JSON.
  return Array.isArray(value) ? (value as readonly JsonValue[]) : []
}

export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value)
}
