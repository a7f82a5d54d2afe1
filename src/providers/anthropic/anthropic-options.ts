import type { Fetch } from '../../http/call.ts'
import {
  anyFunction,
  assertValid,
  fine,
  listOf,
  optionsOf,
  recordOf,
  someText,
  text,
  type Check,
} from '../../schema/checks.ts'

/** What an Anthropic adapter is made of. Everything has a default. */
export interface AnthropicOptions {
  /** With the version path: `https://api.anthropic.com/v1`. A key is required at this default only, unless `headers` bring one. */
  readonly baseUrl?: string | undefined
  /** Used unless a call or an engine brings its own. It is never shown again. */
  readonly apiKey?: string | undefined
  /** Sent with every call; they go before the adapter's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly fetch?: Fetch | undefined
  /**
   * The `anthropic-version` (`2023-06-01`). From `2026-10-21` on the API takes no `temperature`, and none is sent.
   */
  readonly version?: string | undefined
  /** Features to turn on, for the `anthropic-beta` header. */
  readonly beta?: readonly string[] | undefined
  /** The name of the provider in keys, events and errors, for a server that merely speaks the protocol (`anthropic`). */
  readonly provider?: string | undefined
}

/** The options with their defaults filled in; the key is apart. */
export interface AnthropicSettings {
  readonly provider: string
  readonly url: string
  readonly version: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: Fetch | undefined
  /** The API itself is called, which answers nobody without a key. */
  readonly keyRequired: boolean
}

const defaultBaseUrl = 'https://api.anthropic.com/v1'

/** Checks the options and fills in the defaults. An unknown key is refused by name. */
export function anthropicSettings(options: AnthropicOptions): AnthropicSettings {
  assertValid('invalid_options', optionIssues(options))
  const { provider = 'anthropic', version = '2023-06-01', beta = [] } = options
  const baseUrl = (options.baseUrl ?? defaultBaseUrl).replace(/\/+$/, '')
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'anthropic-version': version,
  }
  if (beta.length > 0) headers['anthropic-beta'] = beta.join(',')
  for (const [name, value] of Object.entries(options.headers ?? {}))
    headers[name.toLowerCase()] = value
  return {
    provider,
    url: `${baseUrl}/messages`,
    version,
    headers,
    fetch: options.fetch,
    keyRequired: baseUrl === defaultBaseUrl && !hasCredentials(headers),
  }
}

/** Headers of the caller's own may carry the credentials, as those of a gateway do. */
function hasCredentials(headers: Readonly<Record<string, string>>): boolean {
  return 'authorization' in headers || 'x-api-key' in headers
}

const optionIssues = optionsOf({
  baseUrl: someText,
  // The value is not shown, whatever it is.
  apiKey: (value) =>
    typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }],
  headers: recordOf(text),
  fetch: anyFunction,
  version: someText,
  beta: listOf(someText),
  provider: someText,
} satisfies Readonly<Record<keyof AnthropicOptions, Check>>)
