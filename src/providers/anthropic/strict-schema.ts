import { isObject } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

/**
 * A JSON Schema, reduced to the keywords that the API can enforce.
 *
 * Objects are closed, `oneOf` becomes `anyOf`, and a keyword that would be refused (bounds, lengths, patterns, …) moves into
 * the description, where the model still reads it. The caller's own validation does not change.
 */
export function strictSchema(schema: JsonObject): JsonObject {
  const kept: Record<string, JsonValue> = {}
  const moved: string[] = []
  for (const [key, value] of Object.entries(schema)) {
    const strict = strictKeyword(key, value)
    if (strict !== undefined) kept[strict[0]] = strict[1]
    else if (!dropped.has(key)) moved.push(`${key}: ${JSON.stringify(value)}`)
  }
  if (isObjectSchema(schema)) {
    kept['additionalProperties'] = false
    kept['properties'] ??= {}
  }
  if (moved.length > 0) {
    const { description } = schema
    const lead = typeof description === 'string' ? `${description}\n\n` : ''
    kept['description'] = `${lead}{${moved.join(', ')}}`
  }
  return kept
}

/** Keywords that say nothing about the value, and `additionalProperties`, which is written anew. */
const dropped: ReadonlySet<string> = new Set(['$schema', '$id', '$comment', 'additionalProperties'])

/** The formats that the API enforces. */
const formats: ReadonlySet<JsonValue> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])

/** A keyword as it is sent, or `undefined` when the API refuses it. */
function strictKeyword(key: string, value: JsonValue): readonly [string, JsonValue] | undefined {
  switch (key) {
    case '$ref':
    case 'type':
    case 'title':
    case 'description':
    case 'required':
    case 'default':
      return [key, value]
    case 'enum':
      return Array.isArray(value) && value.every(isPrimitive) ? [key, value] : undefined
    case 'const':
      return isPrimitive(value) ? [key, value] : undefined
    case 'format':
      return formats.has(value) ? [key, value] : undefined
    case 'minItems':
      return value === 0 || value === 1 ? [key, value] : undefined
    case 'anyOf':
    case 'allOf':
      return [key, strictList(value)]
    case 'oneOf':
      return ['anyOf', strictList(value)]
    case 'items':
      return isObject(value) ? [key, strictSchema(value)] : undefined
    case 'properties':
    case '$defs':
    case 'definitions':
      return isObject(value) ? [key, strictMembers(value)] : undefined
    default:
      return undefined
  }
}

function strictList(value: JsonValue): JsonValue {
  return Array.isArray(value) ? value.map((item: JsonValue) => strictItem(item)) : value
}

function strictMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).map(([name, item]) => [name, strictItem(item)]))
}

function strictItem(item: JsonValue): JsonValue {
  return isObject(item) ? strictSchema(item) : item
}

function isPrimitive(value: JsonValue): boolean {
  return value === null || typeof value !== 'object'
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return (
    type === 'object' || (Array.isArray(type) && type.includes('object')) || isObject(properties)
  )
}
