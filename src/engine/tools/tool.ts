import { frozen } from '../../core/base/frozen.ts'
import type { EngineContext } from '../../core/contracts/engine.ts'
import {
  type ApprovalNeed,
  type Reconcile,
  type ResultOf,
  type Tool,
  type ToolHandler,
} from '../../core/contracts/tool.ts'
import { assertOptions, assertValid, refusal } from '../../core/schema/checks.ts'
import { assertMeaning, toJsonSchema, type AnySchema } from '../../core/schema/derive-schema.ts'
import { describesObjects } from '../../core/schema/flatten-schema.ts'
import { validateTool } from '../../core/schema/validate.ts'
import { defined, isObject, keysOf } from '../../core/types/guards.ts'
import type { FromSchema } from '../../core/types/infer-schema.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { ToolCall } from '../../core/types/message.ts'
import type { ToolSpec } from '../../core/types/request.ts'
import {
  isStandardSchema,
  type NeedsJsonSchema,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from '../../core/types/standard-schema.ts'
import type { ToolTypes } from '../../core/types/tool-types.ts'

/** Marks a type argument that was not given, so that the schema says the type. */
declare const inferred: unique symbol
type Inferred = typeof inferred

/** The type of a handler's arguments: the given one, the output of a library's schema, or what a literal JSON Schema describes. */
type ToolArgs<Args, Schema> = [Args] extends [Inferred]
  ? Schema extends StandardSchema
    ? SchemaOutput<Schema>
    : FromSchema<Schema> extends infer Value extends object
      ? Value
      : JsonObject
  : Args

/** The type of the arguments that a schema describes. */
export type ArgsOf<Schema> = ToolArgs<Inferred, Schema>

/** The type of the tool: it has the type of its arguments only if that is JSON, so that every tool fits a list of tools. */
type MadeTool<Args, Needs extends object, Types extends ToolTypes> = Args extends JsonObject
  ? Tool<Args, Needs, Types>
  : Tool<JsonObject, Needs, Types>

/** The arguments as the model writes them, which is before a schema of a library changes them. */
type WrittenArgs<Args, Schema> = (
  [Args] extends [Inferred]
    ? Schema extends StandardSchema
      ? SchemaInput<Schema>
      : ToolArgs<Args, Schema>
    : Args
) extends infer Written
  ? Written extends JsonObject
    ? Written
    : Parsed<Written> extends infer Each extends JsonObject
      ? Each
      : JsonObject
  : never

/** The type of the arguments that a model writes for a schema. */
export type WrittenFor<Schema> = WrittenArgs<Inferred, Schema>

/** A type as JSON that was parsed gives it: a member that may be `undefined` is absent instead, and what is no JSON is any value. */
type Parsed<Value> = Value extends string | number | boolean | null
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]: Parsed<Exclude<Value[Key], undefined>> }
    : JsonValue

/** The same type, from which nothing is inferred: a list of tools says nothing about what one of them needs. */
type Settled<Needs extends object> = [Needs][Needs extends unknown ? 0 : never]

/** What the compiler says of a schema whose values need not be objects. Nothing, if they are. */
type NeedsObject<Schema> =
  unknown extends SchemaInput<Schema>
    ? unknown
    : [Exclude<SchemaInput<Schema>, object>] extends [never]
      ? [Extract<SchemaInput<Schema>, readonly unknown[]>] extends [never]
        ? unknown
        : 'the arguments of a tool are an object: put the list into a property of one'
      : 'the arguments of a tool are an object: put the value into a property of one'

/** What `tool` makes of its options. */
type ToolOf<Args, Needs extends object, Schema, Name extends string, Returned> = MadeTool<
  ToolArgs<Args, Schema>,
  Settled<Needs>,
  ToolTypes<Name, WrittenArgs<Args, Schema>, ResultOf<Returned>>
>

/** The options of `tool`. */
interface ToolOptions<
  Args,
  Needs extends object,
  Schema extends AnySchema,
  Name extends string,
  Returned,
> {
  /** 1 to 64 letters, digits, `_` or `-`; not `auto`, `none` or `required`. */
  readonly name: Name
  /** What the tool does and when to use it, written for the model. */
  readonly description: string
  /** The schema of the arguments: JSON Schema, or a schema of Zod, Valibot or ArkType, which also types and validates them. */
  readonly schema: Schema & NeedsJsonSchema<Schema> & NeedsObject<Schema>
  /**
   * The code. A tool without a handler is run by the engine's `toolExecutor`. Without one its calls fail, and the model is told so,
   * unless the caller answers them: `manual` here, or the option `mode: 'manual'`.
   */
  readonly handler?: ToolHandler<ToolArgs<Args, Schema>, Needs, Returned> | undefined
  /** The caller answers calls of this tool; the loop stops for them. */
  readonly manual?: boolean | undefined
  /**
   * Calls wait for approval before they run. A function decides by the arguments, and `{ when, expiresInMs }` limits the wait. Written after the `handler`, it knows the context that
   * the handler needs; before it, the type of its second parameter has to be given.
   */
  readonly needsApproval?: ApprovalNeed<ToolArgs<Args, Schema>, Needs> | undefined
  /** Send a one-line stub instead of the schema; the model can request the schema. */
  readonly compact?: boolean | undefined
  /** The line of the stub. */
  readonly summary?: string | undefined
  /** The timeout of this tool. */
  readonly timeoutMs?: number | undefined
  /** Running it twice is harmless. */
  readonly idempotent?: boolean | undefined
  /**
   * Says what became of a call that was started and left no result, before the model is told that it was interrupted. Like
   * `needsApproval` it knows the context that the handler needs if it is written after it.
   */
  readonly reconcile?: Reconcile<ToolCall<Name, WrittenArgs<Args, Schema>>, Needs> | undefined
  /** Ask the provider to enforce the schema, if it supports that. */
  readonly strict?: boolean | undefined
  /** Settings of one provider for this tool alone, such as a cache breakpoint. */
  readonly providerOptions?: ToolSpec['providerOptions'] | undefined
}

const toolOptionKeys = /* @__PURE__ */ keysOf<
  ToolOptions<JsonObject, object, AnySchema, string, unknown>
>({
  name: true,
  description: true,
  schema: true,
  handler: true,
  manual: true,
  needsApproval: true,
  compact: true,
  summary: true,
  timeoutMs: true,
  idempotent: true,
  reconcile: true,
  strict: true,
  providerOptions: true,
})

/**
 * A tool: what the model sees, and what runs. The handler's arguments are typed by the schema, or by `tool<Args>({…})`. What the
 * handler needs of the context is the type of its second parameter, `HandlerOptions<{ db: Db }>`, or `tool<Args, { db: Db }>`.
 *
 * The tool also has its name, its arguments and what its handler returns in its type, so that the events and results of an engine narrow
 * by the name. With a type argument, as in `tool<Args>({…})`, the compiler infers none of them.
 *
 * An invalid name, an unknown key, a schema that cannot be converted to JSON Schema, one whose values need not be objects, and plain JSON
 * Schema that means nothing, such as `{ city: 'string' }`, are refused here.
 */
export function tool<
  Args = Inferred,
  Needs extends object = EngineContext,
  const Schema extends AnySchema = AnySchema,
  Name extends string = string,
  Returned = unknown,
>(
  options: ToolOptions<Args, Needs, Schema, Name, Returned>,
): ToolOf<Args, Needs, Schema, Name, Returned> {
  const made = make<Args, Needs, Schema, Name, Returned>(options)
  if (!isStandardSchema(options.schema)) assertMeaning(made.schema, 'invalid_tool')
  return made
}

/** A tool whose schema somebody else wrote, such as a server: what its keywords mean is not judged. */
export function foreignTool(
  options: ToolOptions<JsonObject, EngineContext, JsonObject, string, unknown>,
): Tool {
  return make<JsonObject, EngineContext, JsonObject, string, unknown>(options)
}

function make<Args, Needs extends object, Schema extends AnySchema, Name extends string, Returned>(
  options: ToolOptions<Args, Needs, Schema, Name, Returned>,
): ToolOf<Args, Needs, Schema, Name, Returned> {
  assertOptions('invalid_tool', options, toolOptionKeys)
  type Typed = ToolArgs<Args, Schema>
  const { schema, manual = false, compact = false, idempotent = false, ...rest } = options
  const json = toJsonSchema(schema, 'invalid_tool')
  if (isObject(json) && !describesObjects(json)) {
    const problem = 'must describe an object, because the arguments of a tool are one'
    throw refusal('invalid_tool', 'schema', problem)
  }
  // The schema is what types the arguments.
  const input = isStandardSchema(schema) ? (schema as StandardSchema<unknown, Typed>) : undefined
  type Types = ToolTypes<Name, WrittenArgs<Args, Schema>, ResultOf<Returned>>
  const made = defined<Tool<Typed, Needs, Types>>({
    ...rest,
    // What a policy or an executor does to a tool must not change the tool.
    schema: frozen(json),
    input,
    manual,
    compact,
    idempotent,
  })
  assertValid('invalid_tool', validateTool(made))
  // Arguments that are not JSON are typed for the handler alone.
  return Object.freeze(made) as MadeTool<Typed, Settled<Needs>, Types>
}
