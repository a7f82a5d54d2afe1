import type { JsonObject, JsonValue } from '../../data/json.ts'
import { asList, asObject } from './wire-value.ts'

/**
 * A JSON Schema in the form in which OpenAI enforces it, or `undefined` when it can not be enforced.
 *
 * Objects are closed, `oneOf` becomes `anyOf`, and a small keyword that would be refused (lengths, `uniqueItems`, some formats)
 * moves into the description, where the model still reads it. An object with a property that may be left out, or with
 * properties that nobody named, has no such form. The caller's own validation is not changed by this.
 */
export function strictSchema(schema: JsonObject): JsonObject | undefined {
  const kept: Record<string, JsonValue> = {}
  const moved: string[] = []
  for (const [key, value] of Object.entries(schema)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined
    if (rule === undefined || (rule === 'moved' && key === 'additionalProperties')) return undefined
    if (rule === 'dropped') continue
    if (rule === 'moved' || (key === 'format' && !formats.has(value))) {
      moved.push(`${key}: ${JSON.stringify(value)}`)
      continue
    }
    const strict = rule === 'kept' ? value : inner(rule, value)
    if (strict === undefined) return undefined
    kept[key === 'oneOf' ? 'anyOf' : key] = strict
  }
  if (moved.length > 0) kept['description'] = described(schema['description'], moved)
  return isObjectSchema(schema) ? closed(kept) : kept
}
