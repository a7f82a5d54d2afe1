import type { JsonObject } from '../../core/types/json.ts'

/**
 * A language model of the AI SDK, by its shape: what `openai('gpt-5')`, `anthropic('claude-…')` or `wrapLanguageModel` of its packages
 * return. The specifications V2 (AI SDK 5), V3 (6) and V4 (7) are known.
 */
export interface AiSdkModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls
  doStream(options: never): PromiseLike<{
    readonly stream: ReadableStream
    readonly request?: { readonly body?: unknown }
    readonly response?: { readonly headers?: Readonly<Record<string, string>> }
  }>
}

/** The options of `fromAiSdk`. */
export interface AiSdkOptions {
  /**
   * The name of the adapter: `provider` in events, errors and reasoning, and the name of its `providerOptions`. By default that of
   * the model, such as `openai.responses`.
   */
  readonly provider?: string | undefined
  /** Options in the words of the AI SDK, by its own names of providers, for every call: `{ openai: { store: false } }`. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined
  /**
   * The name under which the AI SDK looks for the `providerOptions` of a request. By default the model's provider up to its first dot:
   * `openai` of `openai.responses`.
   */
  readonly optionsName?: string | undefined
  /** Tools that the provider runs, such as `{ web_search: openai.tools.webSearch() }`. They are offered in every call. */
  readonly providerTools?: Readonly<Record<string, object>> | undefined
  /**
   * Makes the model for a call that has a key of its own: `(apiKey) => createOpenAI({ apiKey })('gpt-5')`. Without it such a call is
   * refused, because the key of a model cannot be changed.
   */
  readonly withKey?: ((apiKey: string) => AiSdkModel) | undefined
  /** What must not be in an error or an event, such as the key of a model behind a middleware. That of a provider's own model is found. */
  readonly secrets?: readonly string[] | undefined
  /**
   * `false`: an answer is complete though the model gave no reason for its end. By default it is `truncated`, because models of
   * the AI SDK end in this way when the connection was closed too early.
   */
  readonly needsFinishReason?: boolean | undefined
}

/** What one call needs to know of the model and the options. */
export interface AiSdkTarget {
  readonly provider: string
  readonly model: AiSdkModel
  readonly version: AiSdkModel['specificationVersion']
  readonly options: AiSdkOptions
  /** The name under which the AI SDK looks for options. */
  readonly optionsName: string
}

/** The addresses that a model fetches by itself: regular expressions by media type, such as `image/*`. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>
