/**
 * The Standard Schema interface (version 1), as Zod, Valibot and ArkType implement it, cut to what is used here.
 *
 * It is structural, so no schema library is a dependency.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
    /** The JSON Schema of the schema, where the library can say it. */
    readonly jsonSchema?: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
      readonly output: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown>
    }
  }
}

/** What validation gives: the value, or what is wrong with it. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** One thing that a schema finds wrong, and where. */
export interface SchemaIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** What a schema gives after validation. */
export type SchemaOutput<S> =
  S extends StandardSchema<infer _Input, infer _Output>
    ? NonNullable<S['~standard']['types']>['output']
    : never

/** Whether a value is a schema of a library, and not a plain JSON Schema. ArkType's schemas are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    '~standard' in value
  )
}
