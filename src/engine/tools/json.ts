import { isPlainObject, maxDepth, within } from '../../core/schema/checks.ts'
import type { Issue } from '../../core/types/error-data.ts'
import type { JsonValue } from '../../core/types/json.ts'

/**
 * A copy of any value as JSON would write it: `toJSON` is honoured, members that are `undefined` are left out. So are members named
 * `__proto__`, which the values of the library do not have.
 *
 * A value that JSON would lose silently (a `Map`, a function, `NaN`, a cycle, bytes) throws a `TypeError` that names the
 * place and the problem.
 */
export function plainJson(value: unknown): JsonValue {
  return convert(value, { keys: [], above: new Set() })
}

/** The position of the walk: the keys that lead to it, and the objects above it. */
interface Trail {
  readonly keys: (string | number)[]
  readonly above: Set<object>
}

/** The longest list. A list with holes can claim more items than the runtime can hold. */
const mostItems = 10_000_000

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
  // As in JSON, a `toJSON` of the result is not called.
  return typeof written === 'object' && written !== null
    ? convertMembers(written, trail)
    : convert(written, trail)
}

interface WritesItself {
  toJSON(key: string): unknown
}

function writesItself(value: object): value is WritesItself {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

function convertMembers(value: object, trail: Trail): JsonValue {
  const { above } = trail
  if (above.has(value)) throw refusal(trail, 'refers to itself')
  if (above.size === maxDepth) throw refusal(trail, 'is nested too deeply')
  above.add(value)
  const result = Array.isArray(value) ? convertItems(value, trail) : convertFields(value, trail)
  above.delete(value)
  return result
}

function convertItems(items: readonly unknown[], trail: Trail): JsonValue {
  if (items.length > mostItems) throw refusal(trail, `is a list of ${items.length} items`)
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
  const result: Record<string, JsonValue> = {}
  for (const field of fields) {
    const member: unknown = field === '__proto__' ? undefined : Reflect.get(value, field)
    if (member === undefined) continue
    trail.keys.push(field)
    result[field] = convert(member, trail)
    trail.keys.pop()
  }
  return result
}

/** The platform's names of objects whose content is not in their fields. */
const hidden = /^(?:Map|Set|Promise|RegExp|ArrayBuffer|String|Number|Boolean)$/

/** Why an object cannot be written as its fields, if there is a reason. */
function oddity(value: object, fields: number): string | undefined {
  const name = Object.prototype.toString.call(value).slice(8, -1)
  if (name === 'Error') return 'is an Error; throw it, or return fail(reason)'
  if (ArrayBuffer.isView(value)) return 'holds bytes; write them as base64'
  if (hidden.test(name)) return `is a ${name}`
  return fields === 0 ? `is a ${className(value)} without fields of its own` : undefined
}

function className(value: object): string {
  const { constructor } = value
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : 'thing'
}

function refusal({ keys }: Trail, problem: string): TypeError {
  const nowhere: readonly Issue[] = [{ path: '', problem }]
  const [issue] = keys.reduceRight((issues, key) => within(key, issues), nowhere)
  return new TypeError(`${issue?.path === '' ? 'the value' : issue?.path} ${problem}`)
}
