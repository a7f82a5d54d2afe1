import { isObject } from '../../src/core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../src/core/types/json.ts'

/** A value that a JSON Schema probably allows. The same seed gives the same value. A value that does not end throws. */
export function sampleOf(root: JsonObject, seed: number): JsonValue {
  let state = seed * 7919
  const below = (count: number): number => {
    state = (state * 1103515245 + 12345) % 2147483648
    return Math.floor((state / 2147483648) * count)
  }
  const sample = (node: JsonValue | undefined, depth: number): JsonValue => {
    const schema = isObject(node) ? node : {}
    const { $ref, anyOf, oneOf, allOf, enum: values, const: constant, type } = schema
    if (typeof $ref === 'string') return sample(resolve(root, $ref), depth + 1)
    if (Array.isArray(allOf)) {
      const parts = allOf.map((part: JsonValue) => sample(part, depth))
      return parts.every((part) => isObject(part))
        ? Object.assign({}, ...parts)
        : (parts[0] ?? null)
    }
    const choices = anyOf ?? oneOf
    if (Array.isArray(choices)) {
      // Deep inside, the choice that ends the value: libraries write it last.
      const at = depth > 4 ? choices.length - 1 : below(choices.length)
      return sample(choices[at], depth + 1)
    }
    if (depth > 12) throw new RangeError('the value does not end')
    if (constant !== undefined) return constant
    if (Array.isArray(values)) return (values[below(values.length)] ?? null) as JsonValue
    const types = Array.isArray(type)
      ? type
      : [type ?? (schema['properties'] === undefined ? 'string' : 'object')]
    switch (types[below(types.length)]) {
      case 'null':
        return null
      case 'boolean':
        return below(2) === 0
      case 'integer':
        return 3
      case 'number':
        return [1.5, 2, 3][below(3)] ?? 2
      case 'array':
        return list(schema, depth)
      case 'object':
        return object(schema, depth)
      default:
        return texts.find((text) => fits(schema, text)) ?? ['abc', 'd'][below(2)] ?? ''
    }
  }
  const list = (schema: JsonObject, depth: number): JsonValue => {
    const tuple = Array.isArray(schema['prefixItems']) ? schema['prefixItems'] : []
    const fixed = tuple.map((item: JsonValue) => sample(item, depth + 1))
    const count =
      schema['items'] === false || depth > 4
        ? 0
        : Math.max(below(3), Number(schema['minItems'] ?? 0) - fixed.length)
    return [...fixed, ...Array.from({ length: count }, () => sample(schema['items'], depth + 1))]
  }
  const object = (schema: JsonObject, depth: number): JsonValue => {
    const properties = isObject(schema['properties']) ? schema['properties'] : {}
    const required: readonly JsonValue[] = Array.isArray(schema['required'])
      ? schema['required']
      : []
    const result: Record<string, JsonValue> = {}
    for (const [name, member] of Object.entries(properties)) {
      if (required.includes(name) || (depth < 4 && below(2) === 0))
        result[name] = sample(member, depth + 1)
    }
    const { additionalProperties, propertyNames } = schema
    if (!isObject(additionalProperties)) return result
    const keys = isObject(propertyNames) ? propertyNames['enum'] : undefined
    const names: readonly JsonValue[] = Array.isArray(keys)
      ? keys
      : ['x', 'y'].slice(0, depth > 4 ? 0 : below(3))
    for (const name of names) {
      if (Array.isArray(keys) && !required.includes(name) && below(2) === 0) continue
      result[typeof name === 'string' ? name : ''] = sample(additionalProperties, depth + 1)
    }
    return result
  }
  return sample(root, 0)
}

const texts: readonly string[] = [
  'abc1',
  'ada@example.com',
  '2026-11-16T10:00:00Z',
  '2026-11-16',
  '6f1e9f5e-6a0f-4c6d-9d4a-2f3b1a0c9d8e',
  'https://example.com/a',
  '192.168.0.1',
]

const formats: Readonly<Record<string, number>> = {
  email: 1,
  'date-time': 2,
  date: 3,
  uuid: 4,
  uri: 5,
  ipv4: 6,
}

function fits({ format, pattern }: JsonObject, text: string): boolean {
  if (typeof format === 'string') return texts[formats[format] ?? 0] === text
  return typeof pattern === 'string' && new RegExp(pattern).test(text)
}

function resolve(root: JsonObject, ref: string): JsonValue | undefined {
  let target: JsonValue | undefined = root
  for (const step of ref.split('/').slice(1)) target = isObject(target) ? target[step] : undefined
  return target
}
