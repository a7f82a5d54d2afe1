import { assertNever } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import { asList, asObject } from './wire.ts'

/**
 * A JSON Schema in the form in which OpenAI enforces it, or `undefined` when it cannot be enforced.
 *
 * Objects are closed, `oneOf` becomes `anyOf`, and minor keywords that would be refused (lengths, defaults, some formats) move
 * into the description, where the model still reads them. An object with optional or unnamed properties has no such form.
 * The caller's own validation does not change.
 */
export function strictSchema(schema: JsonObject): JsonObject | undefined {
  const kept: Record<string, JsonValue> = {}
  const moved: string[] = []
  for (const [key, value] of Object.entries(schema)) {
    const rule = ruleFor(key, value)
    if (rule === 'dropped') continue
    if (rule === 'moved') {
      moved.push(`${key}: ${JSON.stringify(value)}`)
      continue
    }
    const strict = strictValue(rule, value)
    if (strict === undefined) return undefined
    kept[key === 'oneOf' ? 'anyOf' : key] = strict
  }
  if (moved.length > 0) {
    const { description } = schema
    const lead = typeof description === 'string' ? `${description}\n\n` : ''
    kept['description'] = `${lead}{${moved.join(', ')}}`
  }
  if (!isObjectSchema(schema)) return kept
  const anything = schema['properties'] === undefined && schema['additionalProperties'] !== false
  return anything ? undefined : closed(kept)
}

/** What happens to a keyword; `refused` means that a schema with it cannot be enforced. */
type Rule = 'kept' | 'moved' | 'dropped' | 'schema' | 'schemas' | 'members' | 'refused'

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...words('kept', '$ref type title description enum const required pattern'),
  ...words(
    'kept',
    'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems',
  ),
  ...words('moved', 'default examples minLength maxLength uniqueItems contentEncoding'),
  ...words('dropped', '$schema $id $comment deprecated readOnly writeOnly'),
  ...words('schema', 'items'),
  ...words('schemas', 'anyOf oneOf'),
  ...words('members', 'properties $defs definitions'),
])

function words(rule: Rule, list: string): readonly (readonly [string, Rule])[] {
  return list.split(' ').map((word) => [word, rule] as const)
}

/** The formats that OpenAI enforces. */
const formats: ReadonlySet<JsonValue> = new Set(
  'date-time time date duration email hostname ipv4 ipv6 uuid'.split(' '),
)

function ruleFor(key: string, value: JsonValue): Rule {
  if (key === 'format') return formats.has(value) ? 'kept' : 'moved'
  // `closed` writes it again, so that a closed object stays closed and an open one is not closed by mistake.
  if (key === 'additionalProperties') return value === false ? 'dropped' : 'refused'
  return rules.get(key) ?? 'refused'
}

function strictValue(
  rule: Exclude<Rule, 'moved' | 'dropped'>,
  value: JsonValue,
): JsonValue | undefined {
  switch (rule) {
    case 'kept':
      return value
    case 'schema':
      return strictItem(value)
    case 'schemas':
      return allOrNothing(asList(value).map(strictItem))
    case 'members':
      return strictMembers(asObject(value) ?? {})
    case 'refused':
      return undefined
    default:
      return assertNever(rule)
  }
}

function strictItem(value: JsonValue): JsonObject | undefined {
  const schema = asObject(value)
  return schema === undefined ? undefined : strictSchema(schema)
}

function strictMembers(members: JsonObject): JsonObject | undefined {
  const values = allOrNothing(Object.values(members).map(strictItem))
  if (values === undefined) return undefined
  return Object.fromEntries(Object.keys(members).map((name, at) => [name, values[at] ?? {}]))
}

function allOrNothing<T>(values: readonly (T | undefined)[]): readonly T[] | undefined {
  const present = values.filter((value) => value !== undefined)
  return present.length === values.length ? present : undefined
}

function isObjectSchema(schema: JsonObject): boolean {
  const { type, properties } = schema
  return type === 'object' || asList(type).includes('object') || properties !== undefined
}

/** An object schema that requires all of its properties and allows no others. */
function closed(schema: JsonObject): JsonObject | undefined {
  const properties = asObject(schema['properties']) ?? {}
  const required = asList(schema['required'])
  if (Object.keys(properties).some((name) => !required.includes(name))) return undefined
  return { ...schema, properties, required, additionalProperties: false }
}
