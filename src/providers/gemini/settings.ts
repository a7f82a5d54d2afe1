import type { KeyNeed } from '../../core/keys.ts'
import type { Fetch } from '../../http/call.ts'
import {
  anyFunction,
  assertValid,
  fine,
  optionsOf,
  recordOf,
  someText,
  text,
  type Check,
} from '../../schema/checks.ts'

/** What a Gemini adapter is made with. Everything is optional. */
export interface GeminiOptions {
  /**
   * Where the API is, its version included: `https://generativelanguage.googleapis.com/v1beta` unless told.
   * With another address a key is sent when there is one, and not asked for.
   */
  readonly baseUrl?: string | undefined
  /** The key, when it does not come from the call or the engine. It is kept out of sight and goes into a header only. */
  readonly apiKey?: string | undefined
  /** Sent with every request; they go before ours. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Used instead of the platform's own. */
  readonly fetch?: Fetch | undefined
  /** The version of the default address: `v1beta` unless told. */
  readonly apiVersion?: string | undefined
  /** The name in events and errors, and of the key: `gemini` unless told. */
  readonly provider?: string | undefined
}

/** The options of an adapter, settled. */
export interface Settings {
  readonly provider: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** With names in small letters. */
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: Fetch | undefined
  readonly key: KeyNeed
  /** The adapter's own key. It is only ever called for, so that printing the settings does not show it. */
  readonly ownKey: () => string | undefined
}

/** Checks the options and settles them. An unknown key is refused by name, with the nearest legal one. */
export function settle(options: GeminiOptions): Settings {
  assertValid('invalid_options', optionIssues(options))
  const { apiVersion = 'v1beta', provider = 'gemini', fetch, apiKey } = options
  const standard = `https://generativelanguage.googleapis.com/${apiVersion}`
  const baseUrl = (options.baseUrl ?? standard).replace(/\/+$/, '')
  const own = apiKey !== undefined && apiKey.trim() !== ''
  return {
    provider,
    baseUrl,
    headers: lowerCased(options.headers ?? {}),
    fetch,
    key: { required: baseUrl === standard, own },
    ownKey: () => (own ? apiKey : undefined),
  }
}

const optionIssues = optionsOf({
  baseUrl: someText,
  // The value is not shown, whatever it is.
  apiKey: (value) =>
    typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }],
  headers: recordOf(text),
  fetch: anyFunction,
  apiVersion: someText,
  provider: someText,
} satisfies Readonly<Record<keyof GeminiOptions, Check>>)

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
