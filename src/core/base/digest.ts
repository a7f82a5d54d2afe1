import type { JsonValue } from '../types/json.ts'

/**
 * Sixteen hexadecimal digits that tell JSON values apart, the same in whatever order a store keeps their members.
 *
 * It is for values that differ by chance. Somebody who looks for two values with the same digest finds them.
 */
export function digestOf(value: JsonValue): string {
  // Two runs of FNV-1a, from different starts.
  let first = 0x811c9dc5
  let second = 0x1000193
  const text = canonicalJson(value)
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    first = Math.imul(first ^ code, 0x1000193)
    second = Math.imul(second ^ code, 0x85ebca6b) ^ (second >>> 13)
  }
  return hex(first) + hex(second)
}

function hex(number: number): string {
  return (number >>> 0).toString(16).padStart(8, '0')
}

/** The JSON of a value, with the members of its objects in the order of their names: equal values have the same text. */
export function canonicalJson(value: JsonValue): string {
  return JSON.stringify(value, (_name, member: JsonValue) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member
    return Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
