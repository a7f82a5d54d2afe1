import type { Tool, ToolHandler } from '../adapter/tool.ts'
import { defined } from '../data/defined.ts'
import type { JsonObject } from '../data/json.ts'
import {
  isStandardSchema,
  type SchemaOutput,
  type StandardSchema,
} from '../data/standard-schema.ts'
import type { ToolSpec } from '../data/tool-spec.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { validateTool } from '../validate/validate-tool.ts'
import { toJsonSchema, type AnySchema } from './derive-schema.ts'
import { assertOptions } from './refusal.ts'

/** The arguments that a handler gets: what a library's schema gives, or a JSON object. */
export type ToolArgs<Schema> = Schema extends StandardSchema ? SchemaOutput<Schema> : JsonObject

/** The tool that comes of a schema: typed by its arguments where these are JSON, so that every tool fits a list of tools. */
export type MadeTool<Schema> = ToolArgs<Schema> extends JsonObject ? Tool<ToolArgs<Schema>> : Tool

/** What a tool is made of. */
export interface ToolOptions<Schema extends AnySchema> {
  /** 1 to 64 letters, digits, `_` or `-`; not `auto`, `none` or `required`. */
  readonly name: string
  /** What the tool does and when to use it, written for the model. */
  readonly description: string
  /** The arguments: JSON Schema, or a schema of Zod, Valibot or ArkType, which also types and validates them. */
  readonly schema: Schema
  /** The code. A tool without a handler is answered by the caller, or by the engine's `toolExecutor`. */
  readonly handler?: ToolHandler<ToolArgs<Schema>> | undefined
  /** The caller answers calls of this tool; the loop stops for them. */
  readonly manual?: boolean | undefined
  /** Send a one-line stub instead of the schema, and let the model ask for it. */
  readonly compact?: boolean | undefined
  /** The stub's line. */
  readonly summary?: string | undefined
  /** This tool's own deadline. */
  readonly timeoutMs?: number | undefined
  /** Running it twice is harmless. */
  readonly idempotent?: boolean | undefined
  /** Ask the provider to enforce the schema, where it can. */
  readonly strict?: boolean | undefined
}

const legalKeys = [
  'name',
  'description',
  'schema',
  'handler',
  'manual',
  'compact',
  'summary',
  'timeoutMs',
  'idempotent',
  'strict',
] satisfies readonly (keyof ToolOptions<AnySchema>)[]

/**
 * A tool: what the model sees, and what runs. The handler's arguments are typed by the schema.
 *
 * An illegal name, an unknown key and a schema that can not be said as JSON Schema are refused here, with the way out.
 */
export function tool<Schema extends AnySchema>(options: ToolOptions<Schema>): MadeTool<Schema> {
  assertOptions('invalid_tool', options, legalKeys)
  const { schema, manual = false, compact = false, idempotent = false, ...rest } = options
  const made = defined<Tool<unknown>>({
    ...rest,
    schema: toJsonSchema(schema, 'invalid_tool'),
    input: isStandardSchema(schema) ? schema : undefined,
    manual,
    compact,
    idempotent,
  })
  assertValid('invalid_tool', validateTool(made))
  // The schema is what types the arguments, and it is the tool's `input`.
  return made as MadeTool<Schema>
}

/** The part of a tool that a model sees, as plain data. */
export function toToolSpec(from: ToolSpec): ToolSpec {
  const { name, description, schema, strict } = from
  return strict === undefined
    ? { name, description, schema }
    : { name, description, schema, strict }
}
