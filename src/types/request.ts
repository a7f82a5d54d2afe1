import type { ProviderOptions, JsonObject } from './json.ts'
import type { Message } from './message.ts'
import type { StandardSchema } from './standard-schema.ts'

/** How hard a reasoning model thinks, in words that every provider understands. */
export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'max'

/** What is asked of a reasoning model. A model that does not reason is asked nothing. */
export interface ReasoningOptions {
  readonly effort: ReasoningEffort
  /** Ask for a readable summary of the reasoning. */
  readonly summary?: boolean
}

/** Ask the provider to cache the prompt's prefix. `true` means `{ retention: 'short' }`. */
export type PromptCache = true | { readonly key?: string; readonly retention?: 'short' | 'long' }

/** One call's input, as plain data. `modelRequest(messages)` fills the defaults. */
export interface ModelRequest {
  readonly model?: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly toolChoice?: ToolChoice
  readonly temperature?: number
  readonly maxTokens?: number
  readonly responseFormat?: ResponseFormat
  readonly reasoning?: ReasoningOptions
  readonly promptCache?: PromptCache
  readonly providerOptions: ProviderOptions
  /** Yours. Never sent to a provider. */
  readonly metadata: JsonObject
}

/** The fields of a request. */
export const requestKeys: readonly (keyof ModelRequest)[] = [
  'model',
  'messages',
  'tools',
  'toolChoice',
  'temperature',
  'maxTokens',
  'responseFormat',
  'reasoning',
  'promptCache',
  'providerOptions',
  'metadata',
]

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

/** A tool as the model sees it: plain data. The handler stays in the engine. */
export interface ToolSpec {
  /** 1 to 64 letters, digits, `_` or `-`; not `auto`, `none` or `required`. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly schema: JsonObject
  /** Ask the provider to enforce the schema, where it can. */
  readonly strict?: boolean
}

/** Which tools the model may or must use: a mode, or the name of one tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | (string & {})
