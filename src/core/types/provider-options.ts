/**
 * Parameters for one provider's API, merged last into the body of its requests.
 *
 * The known ones are typed; all others pass as they are. Those of another provider than the adapter's are not sent, so one
 * object serves several adapters. The name of an adapter that is not built in is legal for that adapter.
 */
export interface ProviderOptions {
  readonly openai?: OpenAiProviderOptions
  /** For the `azure` adapter, merged after those under `openai`. */
  readonly azure?: OpenAiProviderOptions
  readonly anthropic?: AnthropicProviderOptions
  readonly gemini?: GeminiProviderOptions
  readonly [provider: string]: ProviderParameters | undefined
}

/** The parameters of a provider, in its own words. They must be JSON. */
export type ProviderParameters = Readonly<Record<string, unknown>>

/** The known words, and any other that a newer version of an API may take. */
type Word<Known extends string> = Known | (string & {})

/** Parameters of OpenAI's Responses and Chat Completions APIs that have no setting of their own. */
export interface OpenAiProviderOptions extends ProviderParameters {
  /** Both APIs, as all members without a note. */
  readonly service_tier?: Word<'auto' | 'default' | 'flex' | 'scale' | 'priority'>
  /** Keep the answer at OpenAI. False by default. */
  readonly store?: boolean
  /** Responses: go on from a stored answer. */
  readonly previous_response_id?: string
  /** Responses: go on in a stored conversation. */
  readonly conversation?: string | { readonly id: string }
  /** Responses. */
  readonly background?: boolean
  /** Responses. */
  readonly truncation?: Word<'auto' | 'disabled'>
  /** Responses. */
  readonly max_tool_calls?: number
  /** Responses: what the answer has beside its text. Added to what the adapter asks for. */
  readonly include?: readonly string[]
  /** Responses: hosted tools. Added to the tools of the request. */
  readonly tools?: readonly ProviderParameters[]
  /** Responses: how long the answer is. */
  readonly text?: { readonly verbosity?: Word<'low' | 'medium' | 'high'> }
  /** Chat Completions: how long the answer is. */
  readonly verbosity?: Word<'low' | 'medium' | 'high'>
  /** Responses. */
  readonly reasoning?: {
    readonly effort?: string
    readonly summary?: Word<'auto' | 'concise' | 'detailed'>
  }
  /** Chat Completions. */
  readonly reasoning_effort?: string
  /** Chat Completions; Responses has `include: ['message.output_text.logprobs']`. */
  readonly logprobs?: boolean
  readonly top_logprobs?: number
  /** Chat Completions. */
  readonly logit_bias?: Readonly<Record<string, number>>
  readonly metadata?: Readonly<Record<string, string>>
  readonly safety_identifier?: string
  readonly prompt_cache_key?: string
  readonly prompt_cache_retention?: Word<'in_memory' | '24h'>
  readonly user?: string
  /** Chat Completions. */
  readonly web_search_options?: ProviderParameters
}

/** Parameters of Anthropic's Messages API that have no setting of their own. */
export interface AnthropicProviderOptions extends ProviderParameters {
  /** Thinking with a budget in tokens, or as the model decides. */
  readonly thinking?: {
    readonly type: Word<'enabled' | 'adaptive' | 'disabled' | 'between_tools'>
    readonly budget_tokens?: number
    readonly display?: Word<'summarized' | 'omitted'>
  }
  readonly service_tier?: Word<'auto' | 'standard_only'>
  readonly metadata?: { readonly user_id?: string }
  /** Server tools. Added to the tools of the request. */
  readonly tools?: readonly ProviderParameters[]
  readonly tool_choice?: { readonly type?: string; readonly disable_parallel_tool_use?: boolean }
  /** One breakpoint for the whole request. Parts, messages and tools take `cacheControl` or `cache_control` of their own. */
  readonly cache_control?: { readonly type: 'ephemeral'; readonly ttl?: '5m' | '1h' }
  readonly output_config?: { readonly effort?: string }
  readonly container?: string | ProviderParameters
  readonly context_management?: ProviderParameters
  readonly mcp_servers?: readonly ProviderParameters[]
}

/** Parameters of Gemini's `generateContent` that have no setting of their own. */
export interface GeminiProviderOptions extends ProviderParameters {
  readonly safetySettings?: readonly { readonly category: string; readonly threshold: string }[]
  /** The name of a cached content: `cachedContents/…`. */
  readonly cachedContent?: string
  /** Google's own tools, such as `{ googleSearch: {} }`. Added to the tools of the request. */
  readonly tools?: readonly ProviderParameters[]
  readonly toolConfig?: ProviderParameters
  readonly generationConfig?: {
    readonly thinkingConfig?: {
      readonly thinkingBudget?: number
      readonly thinkingLevel?: string
      readonly includeThoughts?: boolean
    }
    readonly responseModalities?: readonly string[]
    readonly mediaResolution?: string
    readonly responseLogprobs?: boolean
    readonly logprobs?: number
    readonly [name: string]: unknown
  }
  readonly labels?: Readonly<Record<string, string>>
  readonly serviceTier?: string
}
