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
import { defined, keysOf } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { ToolSpec } from '../types/request.ts'
import {
  isStandardSchema,
  type SchemaOutput,
  type StandardSchema,
} from '../types/standard-schema.ts'

/** The type of a handler's arguments: the output of a library's schema, or a JSON object. */
type ToolArgs<Schema> = Schema extends StandardSchema ? SchemaOutput<Schema> : JsonObject

/** The type of the tool: it has the type of its arguments only if that is JSON, so that every tool fits a list of tools. */
type MadeTool<Schema> = ToolArgs<Schema> extends JsonObject ? Tool<ToolArgs<Schema>> : Tool

/** The options of `tool`. */
interface ToolOptions<Schema extends AnySchema> {
  /** 1 to 64 letters, digits, `_` or `-`; not `auto`, `none` or `required`. */
  readonly name: string
  /** What the tool does and when to use it, written for the model. */
  readonly description: string
  /** The schema of the arguments: JSON Schema, or a schema of Zod, Valibot or ArkType, which also types and validates them. */
  readonly schema: Schema
  /** The code. A tool without a handler is run by the engine's `toolExecutor`, or its calls are answered by the caller. */
  readonly handler?: ToolHandler<ToolArgs<Schema>> | undefined
  /** The caller answers calls of this tool; the loop stops for them. */
  readonly manual?: boolean | undefined
  /** Send a one-line stub instead of the schema; the model can request the schema. */
  readonly compact?: boolean | undefined
  /** The line of the stub. */
  readonly summary?: string | undefined
  /** The timeout of this tool. */
  readonly timeoutMs?: number | undefined
  /** Running it twice is harmless. */
  readonly idempotent?: boolean | undefined
  /** Ask the provider to enforce the schema, if it supports that. */
  readonly strict?: boolean | undefined
}

const toolOptionKeys = /* @__PURE__ */ keysOf<ToolOptions<AnySchema>>({
  name: true,
  description: true,
  schema: true,
  handler: true,
  manual: true,
  compact: true,
  summary: true,
  timeoutMs: true,
  idempotent: true,
  strict: true,
})

/**
 * A tool: what the model sees, and what runs. The handler's arguments are typed by the schema.
 *
 * An invalid name, an unknown key and a schema that cannot be converted to JSON Schema are refused here.
 */
export function tool<Schema extends AnySchema>(options: ToolOptions<Schema>): MadeTool<Schema> {
  assertOptions('invalid_tool', options, toolOptionKeys)
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
  const spec = { name, description, schema, strict } satisfies Record<keyof ToolSpec, unknown>
  return defined<ToolSpec>(spec)
}

/**
 * Returned by a handler to ask the user. The loop stops, and the user's answer becomes the tool's result.
 *
 * `options` is for the code that shows the question: choices, a placeholder, or anything else.
 */
export function askUser(question: string, options: JsonObject = {}): HandlerOutcome {
  assertValid(
    'invalid_options',
    join(within('question', someText(question)), within('options', jsonObject(options))),
  )
  return { [outcomeBrand]: true, type: 'ask_user', question, options }
}

/** Returned by a handler to end the loop with a result. `reason` is yours; a reason of the loop itself is refused when the tool runs. */
export function halt(reason: string, result: unknown = null): HandlerOutcome {
  assertValid('invalid_options', within('reason', someText(reason)))
  return { [outcomeBrand]: true, type: 'halt', reason, result }
}

/** Returned by a handler to report a failure without throwing. The model reads the reason. */
export function fail(reason: JsonValue): HandlerOutcome {
  assertValid('invalid_options', within('reason', json(reason)))
  return { [outcomeBrand]: true, type: 'fail', reason }
}
