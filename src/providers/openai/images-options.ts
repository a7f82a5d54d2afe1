import type { Fetch } from '../../http/http-call.ts'
import { assertValid } from '../../validate/assert-valid.ts'
import { anyFunction, fine, type Check } from '../../validate/check.ts'
import { optionsOf, recordOf } from '../../validate/shape.ts'
import { someText, text } from '../../validate/values.ts'

/** What an OpenAI image adapter is made of. Everything has a default. */
export interface OpenAIImagesOptions {
  /** With the version path: `https://api.openai.com/v1`. A key is required at this default only. */
  readonly baseUrl?: string | undefined
  /** Used unless a call or an engine brings its own. It is never shown again. */
  readonly apiKey?: string | undefined
  /** Sent with every call; they go before the adapter's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Makes the calls, and fetches the images of an edit that are given by address. */
  readonly fetch?: Fetch | undefined
  /** The name of the provider in keys and errors, for a server that merely speaks the protocol (`openai`). */
  readonly provider?: string | undefined
}

/** The options with their defaults filled in; the key is apart. */
export interface ImagesSettings {
  readonly provider: string
  readonly baseUrl: string
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: Fetch | undefined
  /** The API itself is called, which does nothing without a key. */
  readonly keyRequired: boolean
}

const defaultBaseUrl = 'https://api.openai.com/v1'

/** Checks the options and fills in the defaults. An unknown key is refused by name. */
export function imagesSettings(options: OpenAIImagesOptions): ImagesSettings {
  assertValid('invalid_options', optionIssues(options))
  const { provider = 'openai', headers = {}, fetch } = options
  const baseUrl = (options.baseUrl ?? defaultBaseUrl).replace(/\/+$/, '')
  return {
    provider,
    baseUrl,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    ),
    fetch,
    keyRequired: baseUrl === defaultBaseUrl,
  }
}

const optionIssues = optionsOf({
  baseUrl: someText,
  // The value is not shown, whatever it is.
  apiKey: (value) =>
    typeof value === 'string' ? fine : [{ path: '', problem: 'must be a string' }],
  headers: recordOf(text),
  fetch: anyFunction,
  provider: someText,
} satisfies Readonly<Record<keyof OpenAIImagesOptions, Check>>)
