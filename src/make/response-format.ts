import type { FormatOption } from '../adapter/call-options.ts'
import type { JsonSchemaFormat, ResponseFormat } from '../data/response-format.ts'
import { isStandardSchema } from '../data/standard-schema.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { responseFormat } from '../validate/request-fields.ts'
import { toJsonSchema, type AnySchema } from './derive-schema.ts'
import { assertOptions, refusal } from './refusal.ts'

/**
 * The form of an answer that has to match a schema, given as JSON Schema or as a schema of Zod, Valibot or ArkType.
 *
 * The name is for the provider: 1 to 64 letters, digits, `_` or `-`. `strict` (true) asks the provider to enforce it.
 */
export function jsonSchema(
  name: string,
  schema: AnySchema,
  options: { readonly strict?: boolean | undefined } = {},
): JsonSchemaFormat {
  assertOptions('invalid_request', options, ['strict'])
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw refusal('invalid_request', 'name', 'must be 1 to 64 letters, digits, _ or -')
  }
  const { strict = true } = options
  const made: JsonSchemaFormat = {
    type: 'json_schema',
    name,
    schema: toJsonSchema(schema, 'invalid_request'),
    strict,
  }
  assertValid('invalid_request', responseFormat(made))
  return made
}

/** The format as plain data: a library's schema becomes a `json_schema` named `output`. */
export function toResponseFormat(format: FormatOption): ResponseFormat {
  return isStandardSchema(format) ? jsonSchema('output', format) : format
}
