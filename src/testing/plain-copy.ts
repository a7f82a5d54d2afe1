import { isPlainObject } from '../schema/checks.ts'

/**
 * A deep, frozen copy of plain data, so that neither side sees what the other does to it later.
 *
 * Functions and `undefined` are left out, and class instances stay as they are: neither is data. Objects that were copied
 * before are found in `known` and shared.
 */
export function plainCopy<T>(value: T, known: WeakMap<object, unknown> = new WeakMap()): T {
  // The copy has the members of the original, save those that no data type has.
  return copy(value, known) as T
}

function copy(value: unknown, known: WeakMap<object, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!Array.isArray(value) && !isPlainObject(value)) return value
  const earlier = known.get(value)
  if (earlier !== undefined) return earlier
  const result: unknown[] | Record<string, unknown> = Array.isArray(value) ? [] : {}
  // Known before it is complete, so that a cycle ends.
  known.set(value, result)
  if (Array.isArray(result)) {
    for (const item of value as readonly unknown[]) result.push(copy(item, known))
  } else {
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined || typeof member === 'function') continue
      // Assigning would take a member called `__proto__` for something else.
      Object.defineProperty(result, key, { value: copy(member, known), enumerable: true })
    }
  }
  return Object.freeze(result)
}
