import type { ValidationErrorReason } from '../errors/errors.ts'
import type { JsonObject } from '../types/json.ts'
import { isStandardSchema, type StandardSchema } from '../types/standard-schema.ts'
import { refusal } from './checks.ts'

/** A schema as the caller passes it: JSON Schema, or a schema of Zod, Valibot or ArkType. */
export type AnySchema = StandardSchema | JsonObject

/**
 * The JSON Schema of any schema. JSON Schema is returned unchanged.
 *
 * For a library's schema it describes the input, since that is what a model writes. A schema without a JSON Schema is
 * refused, and the error says how to add one.
 */
export function toJsonSchema(schema: AnySchema, reason: ValidationErrorReason): JsonObject {
  if (!isStandardSchema(schema)) return schema
  const { vendor, jsonSchema } = schema['~standard']
  if (jsonSchema === undefined) throw refusal(reason, 'schema', advice(vendor))
  let derived: Record<string, unknown>
  try {
    derived = jsonSchema.input({ target: 'draft-2020-12' })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw refusal(
      reason,
      'schema',
      `of ${vendor} cannot be converted to JSON Schema: ${why}`,
      cause,
    )
  }
  const { $schema: _dialect, ...rest } = derived
  // A JSON Schema is JSON by its own definition.
  return rest as JsonObject
}

function advice(vendor: string): string {
  const way =
    vendor === 'valibot'
      ? 'wrap it with toStandardJsonSchema of @valibot/to-json-schema'
      : 'use a version of the library that has ~standard.jsonSchema, or pass plain JSON Schema'
  return `of ${vendor} cannot be converted to JSON Schema; ${way}`
}
