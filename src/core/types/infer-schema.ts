import type { JsonObject, JsonValue } from './json.ts'

/**
 * The type of the values that a literal JSON Schema describes: `type`, `properties`, `required`, `items`, `enum`, `const`,
 * `anyOf` and `oneOf`, nested. What it does not know is a `JsonValue`.
 */
export type FromSchema<Schema> = Schema extends Listed
  ? FromListed<Schema>
  : Schema extends { readonly type: infer Type }
    ? FromType<Type extends readonly (infer Each)[] ? Each : Type, Schema>
    : JsonValue

/** A schema that lists values or other schemas. It is looked for first and at once, because most schemas do not. */
type Listed =
  | { readonly const: unknown }
  | { readonly enum: readonly unknown[] }
  | { readonly anyOf: readonly unknown[] }
  | { readonly oneOf: readonly unknown[] }

type FromListed<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly anyOf: readonly (infer Member)[] }
      ? FromSchema<Member>
      : Schema extends { readonly oneOf: readonly (infer Member)[] }
        ? FromSchema<Member>
        : never

/** The types without members of their own. */
interface PlainTypes {
  readonly string: string
  readonly number: number
  readonly integer: number
  readonly boolean: boolean
  readonly null: null
}

type FromType<Type, Schema> = Type extends keyof PlainTypes
  ? PlainTypes[Type]
  : Type extends 'array'
    ? Schema extends { readonly items: infer Item }
      ? readonly FromSchema<Item>[]
      : readonly JsonValue[]
    : Type extends 'object'
      ? Schema extends { readonly properties: infer Properties }
        ? Members<Properties, RequiredKeys<Schema>>
        : JsonObject
      : JsonValue

type RequiredKeys<Schema> = Schema extends { readonly required: readonly (infer Key)[] }
  ? Key
  : never

/** One object type, not an intersection, so that editors show the members. */
type Members<Properties, Required> = {
  readonly [Key in keyof Properties & Required]: FromSchema<Properties[Key]>
} & {
  readonly [Key in Exclude<keyof Properties, Required>]?: FromSchema<Properties[Key]>
} extends infer Both
  ? { [Key in keyof Both]: Both[Key] }
  : never
