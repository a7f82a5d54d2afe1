import { isPlainObject, within } from '../schema/checks.ts'
import type { Issue } from '../types/error-data.ts'
import type { JsonValue } from '../types/json.ts'

/**
 * A copy of any value as JSON would write it: `toJSON` is honoured, members that are `undefined` are left out.
 *
 * What JSON would lose without a word (a `Map`, a function, `NaN`, a cycle, bytes) throws a `TypeError` that
 * names the place and the thing.
 */
export function plainJson(value: unknown): JsonValue {
  const copy = copyPlain(value, 0)
  return copy === undefined ? carefulJson(value) : copy
}

/** Beyond this depth the careful walk, which knows a cycle, has to look. */
const shallow = 32

/** The copy of a value that is plain through and through, as nearly all are; `undefined` for any other. */
function copyPlain(value: unknown, depth: number): JsonValue | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  // JSON has no negative zero.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined
  if (typeof value !== 'object' || depth === shallow) return undefined
  return Array.isArray(value) ? copyItems(value, depth) : copyFields(value, depth)
}

function copyItems(items: readonly unknown[], depth: number): JsonValue | undefined {
  const copy: JsonValue[] = []
  for (const item of items) {
    const json = copyPlain(item, depth + 1)
    if (json === undefined) return undefined
    copy.push(json)
  }
  return copy
}

function copyFields(value: object, depth: number): JsonValue | undefined {
  if (!isPlainObject(value) || 'toJSON' in value) return undefined
  const copy: Record<string, JsonValue> = {}
  for (const key of Object.keys(value)) {
    const member = value[key]
    if (member === undefined) continue
    const json = copyPlain(member, depth + 1)
    if (json === undefined || key === '__proto__') return undefined
    copy[key] = json
  }
  return copy
}

/** The JSON of any value, by a walk that knows where it is: what has no JSON throws a `TypeError` that names the place. */
function carefulJson(value: unknown): JsonValue {
  return convert(value, { keys: [], above: [] })
}

/** Where the walk is: the keys that lead there, and the objects on the way. */
interface Trail {
  readonly keys: (string | number)[]
  readonly above: object[]
}

const deepest = 500

function convert(value: unknown, trail: Trail): JsonValue {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw refusal(trail, `is ${value}`)
      // JSON has no negative zero.
      return value + 0
    case 'undefined':
      return null
    case 'object':
      return value === null ? null : convertObject(value, trail)
    case 'bigint':
    case 'symbol':
    case 'function':
      break
  }
  throw refusal(trail, `is a ${typeof value}`)
}

function convertObject(value: object, trail: Trail): JsonValue {
  if (!writesItself(value)) return convertMembers(value, trail)
  const written = value.toJSON(String(trail.keys.at(-1) ?? ''))
  // As in JSON, what `toJSON` gives is not asked for its own.
  const isObject = typeof written === 'object' && written !== null
  return isObject ? convertMembers(written, trail) : convert(written, trail)
}

interface WritesItself {
  toJSON(key: string): unknown
}

function writesItself(value: object): value is WritesItself {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

function convertMembers(value: object, trail: Trail): JsonValue {
  const { above } = trail
  if (above.includes(value)) throw refusal(trail, 'refers to itself')
  if (above.length === deepest) throw refusal(trail, 'is nested too deeply')
  above.push(value)
  const result = Array.isArray(value) ? convertItems(value, trail) : convertFields(value, trail)
  above.pop()
  return result
}

function convertItems(items: readonly unknown[], trail: Trail): JsonValue {
  const result: JsonValue[] = []
  for (const [index, item] of items.entries()) {
    trail.keys.push(index)
    result.push(convert(item, trail))
    trail.keys.pop()
  }
  return result
}

function convertFields(value: object, trail: Trail): JsonValue {
  const fields = Object.keys(value)
  const odd = isPlainObject(value) ? undefined : oddity(value, fields.length)
  if (odd !== undefined) throw refusal(trail, odd)
  const result: [string, JsonValue][] = []
  for (const field of fields) {
    const member: unknown = Reflect.get(value, field)
    if (member === undefined) continue
    trail.keys.push(field)
    result.push([field, convert(member, trail)])
    trail.keys.pop()
  }
  // It defines the members, so one named `__proto__` stays a member.
  return Object.fromEntries(result)
}

/** Objects whose content is not in their fields, by the names that the platform gives them. */
const hidden = new Set([
  'Map',
  'Set',
  'Promise',
  'RegExp',
  'ArrayBuffer',
  'String',
  'Number',
  'Boolean',
])

/** What makes an object of a class more than its fields, if anything does. */
function oddity(value: object, fields: number): string | undefined {
  const name = Object.prototype.toString.call(value).slice(8, -1)
  if (name === 'Error') return 'is an Error; throw it, or return fail(reason)'
  if (ArrayBuffer.isView(value)) return 'holds bytes; write them as base64'
  if (hidden.has(name)) return `is a ${name}`
  return fields === 0 ? `is a ${className(value)} without fields of its own` : undefined
}

function className(value: object): string {
  const { constructor } = value
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'thing'
}

function refusal({ keys }: Trail, problem: string): TypeError {
  let issues: readonly Issue[] = [{ path: '', problem }]
  for (const key of keys.toReversed()) issues = within(key, issues)
  const path = issues[0]?.path ?? ''
  return new TypeError(`${path === '' ? 'the value' : path} ${problem}`)
}
