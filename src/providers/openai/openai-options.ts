import { ValidationError } from '../../errors/errors.ts'
import type { Fetch } from '../../http/call.ts'
import type { Endpoint } from './model-family.ts'
import { unknownKeys } from '../../schema/checks.ts'
import type { Issue } from '../../types/error-data.ts'

/** How to reach OpenAI, or a server that speaks its language. */
export interface OpenAiOptions {
  /** Which endpoint to use. Unless told, the model decides: the GPT-5 and o families and later ones are asked by `responses`. */
  readonly api?: Endpoint | undefined
  /** With the version path: `https://api.openai.com/v1` unless told. A query, such as Azure's `api-version`, stays. */
  readonly baseUrl?: string | undefined
  /** The adapter's own key; the key of a call goes before it. Needed only for OpenAI itself. */
  readonly apiKey?: string | undefined
  /** Sent with every call; they win over the adapter's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** In place of the platform's `fetch`. */
  readonly fetch?: Fetch | undefined
  readonly organization?: string | undefined
  readonly project?: string | undefined
  /**
   * The name of a compatible server, `openai` unless told: it labels events and errors, and keys are looked up under it.
   *
   * `providerOptions` under this name are merged after those under `openai`.
   */
  readonly provider?: string | undefined
}

/** The options, settled. The key is in a function, so that nothing that prints the settings can show it. */
export interface OpenAiSettings {
  readonly provider: string
  readonly api: Endpoint | undefined
  readonly baseUrl: string
  /** Whether the server is OpenAI itself, which answers nobody without a key. */
  readonly official: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly fetch: Fetch | undefined
  readonly hasKey: boolean
  readonly ownKey: () => string | undefined
}

const defaultBaseUrl = 'https://api.openai.com/v1'

const legalKeys: Readonly<Record<keyof OpenAiOptions, true>> = {
  api: true,
  baseUrl: true,
  apiKey: true,
  headers: true,
  fetch: true,
  organization: true,
  project: true,
  provider: true,
}

/** Settles the options; what can not be right throws a `ValidationError` here, where it was written. */
export function settleOptions(options: OpenAiOptions): OpenAiSettings {
  const { api, baseUrl = defaultBaseUrl, apiKey, organization, project, fetch } = options
  const issues: Issue[] = [...unknownKeys(options, Object.keys(legalKeys))]
  if (!URL.canParse(baseUrl)) issues.push({ path: 'baseUrl', problem: 'is no address' })
  if (api !== undefined && api !== 'chat' && api !== 'responses') {
    issues.push({ path: 'api', problem: 'is neither chat nor responses' })
  }
  if (issues.length > 0) throw new ValidationError('invalid_options', issues)
  const own = apiKey === '' ? undefined : apiKey
  return {
    provider: options.provider ?? 'openai',
    api,
    baseUrl,
    official: baseUrl.replace(/\/+$/, '') === defaultBaseUrl,
    headers: {
      ...(organization === undefined ? {} : { 'openai-organization': organization }),
      ...(project === undefined ? {} : { 'openai-project': project }),
      ...lowerCased(options.headers ?? {}),
    },
    fetch,
    hasKey: own !== undefined,
    ownKey: () => own,
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
