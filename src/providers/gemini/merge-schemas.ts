import { isJsonList, isJsonObject } from './json-kind.ts'
import { inexpressible, inside, type SchemaPlace } from './schema-place.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'

/**
 * One schema that says what two say together, as in `allOf`. Of titles, descriptions and defaults the second's hold.
 *
 * Schemas that can not be written as one are refused.
 */
export function mergeSchemas(left: JsonObject, right: JsonObject, place: SchemaPlace): JsonObject {
  const result: Record<string, JsonValue> = { ...left }
  for (const [key, value] of Object.entries(right)) {
    const known = result[key]
    if (known === undefined) result[key] = value
    else result[key] = mergeKeyword(key, known, value, place)
  }
  return result
}

const annotations: ReadonlySet<string> = new Set(['title', 'description', 'default', 'example'])

function mergeKeyword(
  key: string,
  left: JsonValue,
  right: JsonValue,
  place: SchemaPlace,
): JsonValue {
  if (annotations.has(key)) return right
  if (key === 'properties' && isJsonObject(left) && isJsonObject(right)) {
    return mergeProperties(left, right, place)
  }
  if (key === 'required' && isJsonList(left) && isJsonList(right)) {
    return [...new Set([...left, ...right])]
  }
  if (JSON.stringify(left) === JSON.stringify(right)) return left
  // Each side closes its own object and means the whole by it: what the other names is legal too.
  if (key === 'additionalProperties') return left !== false && right !== false
  if (key === 'type' && (left === 'integer' || right === 'integer')) {
    if (left === 'number' || right === 'number') return 'integer'
  }
  throw inexpressible(place, `combines two different values of ${key}`)
}

function mergeProperties(left: JsonObject, right: JsonObject, place: SchemaPlace): JsonObject {
  const result: Record<string, JsonValue> = { ...left }
  for (const [name, schema] of Object.entries(right)) {
    const known = result[name]
    const both = isJsonObject(known) && isJsonObject(schema)
    result[name] = both ? mergeSchemas(known, schema, inside(place, 'properties', name)) : schema
  }
  return result
}
