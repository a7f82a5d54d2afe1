import { isPlainObject } from '../schema/checks.ts'
import { carefulJson } from './careful-json.ts'
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
