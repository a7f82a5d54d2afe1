import type { JsonObject } from './json.ts'
import type { Message } from './message.ts'
import type { ResponseFormat } from './response-format.ts'
import type { ToolChoice, ToolSpec } from './tool-spec.ts'

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

/** Parameters that only one provider knows, merged last into that provider's body. */
export interface ProviderOptions {
  readonly openai?: JsonObject
  readonly anthropic?: JsonObject
  readonly gemini?: JsonObject
  readonly [provider: string]: JsonObject | undefined
}

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
