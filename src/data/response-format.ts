import type { JsonObject } from './json.ts'
import type { StandardSchema } from './standard-schema.ts'

/** An answer that has to match a JSON Schema. Made by `jsonSchema(name, schema)`. */
export interface JsonSchemaFormat {
  readonly type: 'json_schema'
  readonly name: string
  readonly schema: JsonObject
  /** Ask the provider to enforce the schema. */
  readonly strict: boolean
}

/** The form of an answer: free text, any JSON object, or JSON that matches a schema. */
export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | JsonSchemaFormat

/** The form that an answer shall have: a format, or a schema that validates and types it. */
export type FormatOption = ResponseFormat | StandardSchema
