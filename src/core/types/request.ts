import { keysOf } from './guards.ts'
import type { JsonObject } from './json.ts'
import type { Message, PartOptions } from './message.ts'
import type { ProviderOptions } from './provider-options.ts'
import type { SchemaWithJson, StandardSchema } from './standard-schema.ts'

/** Every reasoning effort, the least first. */
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'max'] as const

/** How much a reasoning model thinks. Each adapter translates it for its provider. */
export type ReasoningEffort = (typeof reasoningEfforts)[number]

/** The settings of a reasoning model. They are not sent to a model that does not reason. */
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
  /** `false`: at most one call in an answer. */
  readonly parallelToolCalls?: boolean
  readonly temperature?: number
  /** Only tokens that add up to this probability are considered: 0 to 1. */
  readonly topP?: number
  /** Only this many of the most probable tokens are considered. */
  readonly topK?: number
  readonly maxTokens?: number
  /** The answer ends before the first of these texts. */
  readonly stopSequences?: readonly string[]
  /** The same seed makes equal answers more probable. */
  readonly seed?: number
  /** -2 to 2: positive values avoid tokens that occurred. */
  readonly presencePenalty?: number
  /** -2 to 2: positive values avoid tokens the more often they occurred. */
  readonly frequencyPenalty?: number
  readonly responseFormat?: ResponseFormat
  readonly reasoning?: ReasoningOptions
  readonly promptCache?: PromptCache
  readonly providerOptions: ProviderOptions
  /** Yours. Never sent to a provider. */
  readonly metadata: JsonObject
}

/** The fields of a request. The list does not compile when one is missing. */
export const requestKeys: readonly (keyof ModelRequest)[] = /* @__PURE__ */ keysOf<ModelRequest>({
  model: true,
  messages: true,
  tools: true,
  toolChoice: true,
  parallelToolCalls: true,
  temperature: true,
  topP: true,
  topK: true,
  maxTokens: true,
  stopSequences: true,
  seed: true,
  presencePenalty: true,
  frequencyPenalty: true,
  responseFormat: true,
  reasoning: true,
  promptCache: true,
  providerOptions: true,
  metadata: true,
})

/** An answer that must match a JSON Schema. Made by `jsonSchema(name, schema)`. */
export interface JsonSchemaFormat {
  readonly type: 'json_schema'
  readonly name: string
  readonly schema: JsonObject
  /** Ask the provider to enforce the schema. */
  readonly strict: boolean
}

/** The format of an answer: free text, any JSON object, or JSON that matches a schema. */
export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | JsonSchemaFormat

/** The format of an answer as an option: a format, or a schema of a library, which also validates and types the answer. */
export type FormatOption = ResponseFormat | SchemaWithJson

/** What may be given as a format. Of a schema that does not provide its JSON Schema the compiler says how to add it. */
export type AnyFormat = FormatOption | StandardSchema | undefined

/** A tool as the model sees it, as plain data. The handler stays in the engine. */
export interface ToolSpec extends PartOptions {
  /** 1 to 64 letters, digits, `_` or `-`; not `auto`, `none` or `required`. */
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly schema: JsonObject
  /** Ask the provider to enforce the schema, if it supports that. */
  readonly strict?: boolean
}

/** Which tools the model may or must call: a mode, or the name of one tool. */
export type ToolChoice = 'auto' | 'none' | 'required' | (string & {})
