import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createGroq } from '@ai-sdk/groq'
import { createMistral } from '@ai-sdk/mistral'
import { createOpenAI } from '@ai-sdk/openai'
import type { JsonObject } from 'allm-ts'
import { fromAiSdk, type AiSdkModel, type AiSdkOptions } from 'allm-ts/ai-sdk'
import type { ChatCapability, ChatHarness } from 'allm-ts/conformance'
import { createFakeServer, type FakeServer } from 'allm-ts/server'

// Providers of the AI SDK over the fake server. Both `npm test`, with the packages that Node 20 can have, and the run with newer packages use it.

/** How a provider of the AI SDK is made. */
export interface Settings {
  readonly server: FakeServer
  readonly apiKey: string
  readonly fetch: typeof fetch
}

/** A provider, and what its model cannot show, with the reason. */
export interface Provider {
  readonly model: (settings: Settings, id: string) => AiSdkModel
  readonly missing: Partial<Readonly<Record<ChatCapability, string>>>
  /** An option that the provider sends as it is. */
  readonly ownOption?: (text: string) => JsonObject
  readonly options?: AiSdkOptions
  /** The provider speaks a dialect of its own, which the checks of the fake server refuse. */
  readonly validateRequests?: false
}

const capabilities: readonly ChatCapability[] = [
  'requests',
  'connections',
  'several_calls',
  'chunking',
  'timeouts',
  'detailed_errors',
  'unsupported_feature',
  'retry_after',
  'statuses',
  'stream_failures',
  'stream_retry_after',
  'finish_reasons',
  'text_blocks',
  'tools',
  'parallel_tools',
  'streamed_tools',
  'interleaved_tools',
  'raw_arguments',
  'reasoning',
  'reasoning_echo',
  'usage',
  'cached_usage',
  'cache_write_usage',
  'reasoning_usage',
  'raw_chunks',
  'images',
  'keys',
  'settings',
  'call_headers',
  'part_options',
  'image_input',
  'file_input',
  'clean_end',
  'reset',
  'stays_open',
  'early_headers',
  'redirects',
  'left_reads',
]

/** What no model of the AI SDK can show. */
const always = {
  unsupported_feature: 'no API says so in a way of its own',
  redirects: 'they are followed by the `fetch` of the provider; pass it one that does not',
  part_options: 'a provider sends only those options of a part that it knows',
} as const

/** The specification of the packages that are here. */
export const version = createOpenAI({ apiKey: 'none' })('any').specificationVersion as string

const late = 'the model writes its end when the connection closes'
const noText = 'Chat Completions has one text, and calls beside it'
const noThoughts = 'the package reads no reasoning from this API'
const plainServer = 'the fake server does not speak the dialect of this provider'

/** The missing capabilities of a model that speaks Chat Completions. */
export const chatMissing = {
  ...always,
  stays_open: late,
  text_blocks: noText,
  reasoning: noThoughts,
  reasoning_echo: noThoughts,
  images: 'Chat Completions makes no images',
} as const

const compatible = {
  ...chatMissing,
  reasoning: plainServer,
  reasoning_echo: plainServer,
  usage: plainServer,
  cached_usage: plainServer,
  cache_write_usage: plainServer,
  reasoning_usage: plainServer,
} as const

/** The providers, by the names that their models give them. */
export const providers: Readonly<Record<string, Provider>> = {
  'openai.chat': {
    model: ({ server, ...rest }, id) =>
      createOpenAI({ baseURL: server.openaiBaseUrl, ...rest }).chat(id),
    ownOption: (user) => ({ user }),
    missing: chatMissing,
  },
  'openai.responses': {
    model: ({ server, ...rest }, id) =>
      createOpenAI({ baseURL: server.openaiBaseUrl, ...rest }).responses(id),
    ownOption: (user) => ({ user }),
    // An answer that OpenAI keeps is sent back as a reference, without its content.
    options: { providerOptions: { openai: { store: false } } },
    missing: {
      ...always,
      stays_open: late,
      images: 'the package gives them as results of a tool that the provider runs',
    },
  },
  'anthropic.messages': {
    model: ({ server, ...rest }, id) =>
      createAnthropic({ baseURL: server.anthropicBaseUrl, ...rest })(id),
    ownOption: (userId) => ({ metadata: { userId } }),
    missing: {
      ...always,
      images: 'Anthropic makes no images',
      stream_retry_after: 'Anthropic does not say how long to wait inside an answer',
    },
  },
  'google.generative-ai': {
    model: ({ server, ...rest }, id) =>
      createGoogleGenerativeAI({ baseURL: server.geminiBaseUrl, ...rest })(id),
    ownOption: (cachedContent) => ({ cachedContent }),
    missing: {
      ...always,
      stays_open: 'the answers of Gemini end with their body',
      text_blocks: 'the package joins texts around a call',
      streamed_tools: 'Gemini sends calls whole',
      interleaved_tools: 'Gemini sends calls whole',
      raw_arguments: 'Gemini sends arguments as JSON, not as text',
      cache_write_usage: 'Gemini does not count them',
    },
  },
  'groq.chat': {
    model: ({ server, ...rest }, id) => createGroq({ baseURL: server.openaiBaseUrl, ...rest })(id),
    ownOption: (user) => ({ user }),
    validateRequests: false,
    missing: { ...compatible, file_input: 'the package takes images only' },
  },
  'mistral.chat': {
    model: ({ server, ...rest }, id) =>
      createMistral({ baseURL: server.openaiBaseUrl, ...rest })(id),
    validateRequests: false,
    ...(version === 'v4'
      ? { ownOption: (promptCacheKey) => ({ promptCacheKey }), missing: compatible }
      : { missing: { ...compatible, settings: 'the package of V3 has no option that is a text' } }),
  },
}

const apiKey = 'plain words as a key'
const modelId = 'conformance-model'

/** The harness of a provider of the AI SDK, over real HTTP. */
export function aiSdkHarness(provider: Provider): ChatHarness {
  const { model, missing, ownOption, options, validateRequests } = provider
  return {
    patienceMs: 60_000,
    model: modelId,
    capabilities: capabilities.filter((capability) => missing[capability] === undefined),
    keys: () => [apiKey],
    ownOption,
    async start(script, { more = [], clock, chunking } = {}) {
      const scripts = [script, ...more]
      const server = await createFakeServer({ scripts, clock, chunking, validateRequests })
      const keys: (string | undefined)[] = []
      const sentHeaders: Record<string, string>[] = []
      const watched: typeof fetch = (url, init) => {
        const headers = new Headers(init?.headers)
        keys.push(keyOf(headers))
        sentHeaders.push(Object.fromEntries(headers))
        return fetch(url, init)
      }
      const withKey = (key: string): AiSdkModel =>
        model({ server, apiKey: key, fetch: watched }, modelId)
      return {
        adapter: fromAiSdk(withKey(apiKey), { ...options, withKey }),
        openConnections: () => server.openAnswers,
        requests: () => server.requests,
        sentKeys: () => keys,
        sentHeaders: () => sentHeaders,
        close: () => server.close(),
      }
    },
  }
}

/** The key of a request, wherever the provider has it. */
function keyOf(headers: Headers): string | undefined {
  const key = headers.get('x-api-key') ?? headers.get('x-goog-api-key')
  return key ?? headers.get('authorization')?.replace('Bearer ', '')
}
