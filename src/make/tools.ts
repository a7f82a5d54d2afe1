import {
  outcomeBrand,
  type HandlerOutcome,
  type Tool,
  type ToolHandler,
} from '../contracts/tool.ts'
import {
  assertOptions,
  assertValid,
  join,
  json,
  jsonObject,
  someText,
  within,
} from '../schema/checks.ts'
import { toJsonSchema, type AnySchema } from '../schema/derive-schema.ts'
import { validateTool } from '../schema/validate.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { ToolSpec } from '../types/request.ts'
import {
  isStandardSchema,
  type SchemaOutput,
  type StandardSchema,
} from '../types/standard-schema.ts'

/** The arguments that a handler gets: what a library's schema gives, or a JSON object. */
type ToolArgs<Schema> = Schema extends StandardSchema ? SchemaOutput<Schema> : JsonObject

/** The tool that comes of a schema: typed by its arguments where these are JSON, so that every tool fits a list of tools. */
type MadeTool<Schema> = ToolArgs<Schema> extends JsonObject ? Tool<ToolArgs<Schema>> : Tool

/** What a tool is made of. */
interface ToolOptions<Schema extends AnySchema> {
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

/**
 * A handler's way to ask the user: the loop stops, and the answer becomes the tool's result.
 *
 * `options` is for whoever shows the question: choices, a placeholder, whatever you agree on.
 */
export function askUser(question: string, options: JsonObject = {}): HandlerOutcome {
  assertValid(
    'invalid_options',
    join(within('question', someText(question)), within('options', jsonObject(options))),
  )
  return { [outcomeBrand]: true, type: 'ask_user', question, options }
}

/** A handler's way to end the loop with a result. `reason` is your own word; those of the loop are refused when it runs. */
export function halt(reason: string, result: unknown = null): HandlerOutcome {
  assertValid('invalid_options', within('reason', someText(reason)))
  return { [outcomeBrand]: true, type: 'halt', reason, result }
}

/** A handler's way to report a failure without throwing. The model reads the reason, so it is written for the model. */
export function fail(reason: JsonValue): HandlerOutcome {
  assertValid('invalid_options', within('reason', json(reason)))
  return { [outcomeBrand]: true, type: 'fail', reason }
}
