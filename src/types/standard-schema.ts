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

/** Whether a value is a schema of a library, not plain JSON Schema. The schemas of ArkType are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    '~standard' in value
  )
}
