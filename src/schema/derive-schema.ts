import type { ValidationError, ValidationErrorReason } from '../errors/errors.ts'
import { thrownText } from '../errors/to-json-value.ts'
import type { Issue } from '../types/error-data.ts'
import { isObject } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import {
  isStandardSchema,
  type SchemaInput,
  type SchemaOutput,
  type SchemaWithJson,
  type StandardSchema,
} from '../types/standard-schema.ts'
import { assertValid, describe, fine, isPlainObject, join, refusal, within } from './checks.ts'

/** A schema as the caller passes it: JSON Schema, or a schema of Zod, Valibot or ArkType. */
export type AnySchema = StandardSchema | JsonObject

/**
 * Adds a JSON Schema to a schema whose library does not give one: Zod 3, Zod 4.0 and 4.1, Valibot.
 *
 * The JSON Schema is what the model sees, made by the converter of your choice; it describes the input. The schema validates
 * and types the value.
 */
export function withJsonSchema<S extends StandardSchema>(
  schema: S,
  json: object,
): SchemaWithJson<SchemaInput<S>, SchemaOutput<S>> {
  if (!isStandardSchema(schema)) {
    const problem = `must be a schema of a library, not ${describe(schema)}`
    throw refusal('invalid_request', 'schema', problem)
  }
  if (!isPlainObject(json)) {
    throw refusal('invalid_request', 'json', `must be a JSON Schema, not ${describe(json)}`)
  }
  const { version, vendor, validate } = schema['~standard']
  const told = (): Record<string, unknown> => ({ ...json })
  const standard = { version, vendor, validate, jsonSchema: { input: told, output: told } }
  // The types of a schema exist only for the compiler.
  return { '~standard': standard } as SchemaWithJson<SchemaInput<S>, SchemaOutput<S>>
}

/**
 * The JSON Schema of any schema. JSON Schema is returned unchanged.
 *
 * For a library's schema it describes the input, since that is what a model writes. A schema without a JSON Schema is
 * refused, and the error says how to add one.
 */
export function toJsonSchema(schema: AnySchema, reason: ValidationErrorReason): JsonObject {
  if (!isStandardSchema(schema)) return schema
  const { vendor, jsonSchema } = schema['~standard']
  const refused = (why: string, cause?: unknown): ValidationError =>
    refusal(
      reason,
      `schema${placeIn(schema)}`,
      `of ${vendor} cannot be converted to JSON Schema${why}`,
      cause,
    )
  if (jsonSchema === undefined) {
    throw refused(
      '; use withJsonSchema(schema, json), Zod 4.2, or toStandardJsonSchema of @valibot/to-json-schema',
    )
  }
  let derived: Record<string, unknown>
  try {
    derived = jsonSchema.input(dialect)
  } catch (cause) {
    const why = thrownText(cause)
    throw refused(`: ${why}; use a type that JSON has, or withJsonSchema(schema, json)`, cause)
  }
  const { $schema: _dialect, ...rest } = derived
  // A JSON Schema is JSON by its own definition.
  return rest as JsonObject
}

/**
 * Throws if a JSON Schema that a person wrote accepts everything by mistake: it has members, but no keyword of JSON Schema, or its
 * `properties` are not schemas. The schema must be JSON. Those that others wrote, such as servers, may have any members.
 */
export function assertMeaning(schema: JsonObject, reason: ValidationErrorReason): void {
  const keys = Object.keys(schema)
  assertValid(
    reason,
    within(
      'schema',
      keys.length > 0 && !keys.some((key) => keyword.test(key))
        ? [{ path: '', problem: `has no keyword of JSON Schema; ${example}` }]
        : propertyIssues(schema),
    ),
  )
}

const example =
  "write it as { type: 'object', properties: { city: { type: 'string' } } }, or use a schema of Zod"

const keyword =
  /^(?:\$.+|type|enum|const|(?:any|one|all)Of|not|if|then|else|required|(?:pattern|additional|unevaluated|min|max)?[pP]roperties|propertyNames|dependen(?:cies|tRequired|tSchemas)|(?:prefix|additional|unevaluated|min|max|unique)?[iI]tems|contains|(?:min|max)Contains|(?:exclusiveM|m)(?:in|ax)imum|multipleOf|(?:min|max)Length|pattern|format|content\w+|title|description|default|examples?|definitions|deprecated|readOnly|writeOnly|nullable)$/

function propertyIssues({ properties = {} }: JsonObject): readonly Issue[] {
  const { issues, members } = isObject(properties)
    ? { issues: fine, members: Object.entries(properties) }
    : { issues: notSchemas(properties), members: [] }
  return within(
    'properties',
    members.reduce(
      (known, [name, member]) => join(known, within(name, memberIssues(member))),
      issues,
    ),
  )
}

function memberIssues(member: JsonValue): readonly Issue[] {
  if (typeof member === 'boolean') return fine
  return isObject(member) ? propertyIssues(member) : notSchemas(member)
}

function notSchemas(value: JsonValue): readonly Issue[] {
  return [{ path: '', problem: `is not a schema but ${describe(value)}; ${example}` }]
}

/**
 * The path of the part that cannot be converted, in libraries that list the members of objects as `shape` and have the items
 * of lists as `element`. A schema may contain itself, so the path has an end.
 */
function placeIn(schema: object, depth = 0): string {
  const inside = 'shape' in schema ? schema.shape : 'element' in schema ? [schema.element] : []
  if (depth > 8 || typeof inside !== 'object' || inside === null) return ''
  for (const [key, member] of Object.entries<unknown>({ ...inside })) {
    if (!isStandardSchema(member)) continue
    try {
      member['~standard'].jsonSchema?.input(dialect)
    } catch {
      return (Array.isArray(inside) ? '[]' : `.${key}`) + placeIn(member, depth + 1)
    }
  }
  return ''
}

const dialect = { target: 'draft-2020-12' } as const
