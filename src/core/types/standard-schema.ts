/**
 * The part of the Standard Schema interface (version 1) that is used here, as Zod, Valibot and ArkType implement it.
 *
 * It is structural, so no schema library is a dependency.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** Returns the JSON Schema of the schema, in libraries that support it. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
      readonly output: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}

/** A schema that provides its JSON Schema: of Zod from 4.2 on, ArkType, Valibot by `toStandardJsonSchema`, or `withJsonSchema`. */
export interface SchemaWithJson<Input = unknown, Output = Input> extends StandardSchema<
  Input,
  Output
> {
  readonly '~standard': StandardSchema<Input, Output>['~standard'] &
    Required<Pick<StandardSchema<Input, Output>['~standard'], 'jsonSchema'>>
}

/** What the compiler says of a schema that does not provide its JSON Schema. Nothing, if it does. */
export type NeedsJsonSchema<S> = S extends { readonly '~standard': infer Standard }
  ? Standard extends { readonly jsonSchema: object }
    ? unknown
    : 'this schema cannot tell its JSON Schema: wrap it as withJsonSchema(schema, json), or use Zod 4.2 or later, or toStandardJsonSchema of @valibot/to-json-schema'
  : unknown

/** The result of a validation: the value, or its issues. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** One problem that a schema found, and its path. */
export interface SchemaIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** The type of a value after validation by the schema. */
export type SchemaOutput<S> =
  S extends StandardSchema<infer _Input, infer _Output>
    ? NonNullable<S['~standard']['types']>['output']
    : never

/** The type of a value before validation by the schema. */
export type SchemaInput<S> = S extends StandardSchema
  ? NonNullable<S['~standard']['types']>['input']
  : never

/** Whether a value is a schema of a library, not plain JSON Schema. The schemas of ArkType are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    '~standard' in value
  )
}
