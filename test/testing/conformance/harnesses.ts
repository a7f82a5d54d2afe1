import { anthropic, anthropicBedrock, anthropicVertex } from '../../../src/anthropic.ts'
import { cohereRerank } from '../../../src/cohere.ts'
import type {
  ChatCapability,
  ChatHarness,
  EmbeddingHarness,
  ImageHarness,
  ModerationHarness,
  RerankHarness,
  SpeechHarness,
  TranscriptionHarness,
} from '../../../src/conformance.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import {
  gemini,
  geminiEmbeddings,
  geminiImages,
  geminiSpeech,
  geminiVertex,
} from '../../../src/gemini.ts'
import {
  openai,
  openaiEmbeddings,
  openaiImages,
  openaiModeration,
  openaiSpeech,
  openaiTranscription,
} from '../../../src/openai.ts'
import type { Fetch } from '../../../src/providers/http/call.ts'
import { createFakeServer, type FakeServer, type WireFormat } from '../../../src/server.ts'
import {
  fake,
  fakeEmbeddings,
  fakeImages,
  fakeModeration,
  fakeRerank,
  fakeSpeech,
  fakeTranscription,
} from '../../../src/testing.ts'
import type {
  ModelStartOptions,
  StartedModelAdapter,
} from '../../../src/testing/conformance/model-adapter.ts'
import type { ModelScripts } from '../../../src/testing/server/models.ts'

const everything: readonly ChatCapability[] = [
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

function except(...missing: readonly ChatCapability[]): readonly ChatCapability[] {
  return everything.filter((capability) => !missing.includes(capability))
}

/** Stops a case that hangs; on a busy machine a correct adapter may take seconds. */
const patienceMs = 60_000

/** A fake has no bytes that could be cut, and sends nothing anywhere, also no key. */
export const fakeHarness: ChatHarness = {
  patienceMs,
  capabilities: except(
    'chunking',
    'reasoning_echo',
    'keys',
    'call_headers',
    'statuses',
    'redirects',
  ),
  start(script, { more = [] } = {}) {
    const adapter = fake({ scripts: [script, ...more] })
    return { adapter, openConnections: () => adapter.openStreams, requests: () => adapter.calls }
  },
}

/** One of our providers over real HTTP: the fake server speaks its format, the adapter's own decoder reads it. */
interface Provider {
  readonly adapter: (server: FakeServer, fetch: Fetch) => ChatAdapter
  readonly capabilities: readonly ChatCapability[]
}

const apiKey = 'plain words as a key'

/** The formats of a provider as a platform has them. */
export const platformWires = ['anthropic_vertex', 'anthropic_bedrock', 'gemini_vertex'] as const

type Wire = WireFormat | (typeof platformWires)[number]

const claude = except('unsupported_feature', 'stream_retry_after', 'images')

const geminis = except(
  'unsupported_feature',
  'streamed_tools',
  'interleaved_tools',
  'raw_arguments',
  'cache_write_usage',
  'part_options',
  // Its answers end with their body.
  'stays_open',
)

const place = { project: 'demo-project', region: 'europe-west1' }

/** What is missing is what a format has no place for; `wireLimits` says the same as data. */
const providers: Readonly<Record<Wire, Provider>> = {
  openai_chat: {
    adapter: ({ openaiBaseUrl: baseUrl }, fetch) => openai({ baseUrl, apiKey, fetch, api: 'chat' }),
    capabilities: except(
      'unsupported_feature',
      'text_blocks',
      'reasoning_echo',
      'images',
      'part_options',
    ),
  },
  openai_responses: {
    adapter: ({ openaiBaseUrl: baseUrl }, fetch) =>
      openai({ baseUrl, apiKey, fetch, api: 'responses' }),
    capabilities: except('unsupported_feature', 'part_options'),
  },
  anthropic: {
    adapter: ({ anthropicBaseUrl: baseUrl }, fetch) => anthropic({ baseUrl, apiKey, fetch }),
    capabilities: claude,
  },
  anthropic_vertex: {
    adapter: ({ vertexBaseUrl: baseUrl }, fetch) =>
      anthropicVertex({ ...place, baseUrl, apiKey, fetch }),
    capabilities: claude,
  },
  anthropic_bedrock: {
    adapter: ({ bedrockBaseUrl: baseUrl }, fetch) =>
      anthropicBedrock({ region: 'us-east-1', baseUrl, apiKey, fetch }),
    capabilities: claude,
  },
  gemini: {
    adapter: ({ geminiBaseUrl: baseUrl }, fetch) => gemini({ baseUrl, apiKey, fetch }),
    capabilities: geminis,
  },
  gemini_vertex: {
    adapter: ({ vertexBaseUrl: baseUrl }, fetch) =>
      geminiVertex({ ...place, baseUrl, apiKey, fetch }),
    capabilities: geminis,
  },
}

/** What may be broken in a provider's adapter. */
export interface Breaks {
  readonly change?: (adapter: ChatAdapter) => ChatAdapter
  readonly fetch?: Fetch
}

/** The harness of a provider's adapter. */
export function httpHarness(format: Wire, { change, fetch }: Breaks = {}): ChatHarness {
  const { adapter, capabilities } = providers[format]
  return {
    patienceMs,
    capabilities,
    keys: () => [apiKey],
    async start(script, { more = [], clock, chunking } = {}) {
      const server = await createFakeServer({ scripts: [script, ...more], clock, chunking })
      const watch = watched(server, fetch)
      const made = adapter(server, watch.fetch)
      return { adapter: change?.(made) ?? made, ...watch.view }
    },
  }
}

/** A `fetch` that keeps the keys and the headers of requests, and what a harness shows of a server. */
function watched(server: FakeServer, fetch: Fetch = globalThis.fetch) {
  const keys: (string | undefined)[] = []
  const sentHeaders: Record<string, string>[] = []
  return {
    fetch: (url: string, init: RequestInit) => {
      const headers = new Headers(init.headers)
      keys.push(keyOf(headers))
      sentHeaders.push(Object.fromEntries(headers))
      return fetch(url, init)
    },
    view: {
      openConnections: () => server.openAnswers,
      requests: () => server.requests,
      sentKeys: () => keys,
      sentHeaders: () => sentHeaders,
      close: () => server.close(),
    },
  }
}

/** The key of a request, wherever the provider has it. */
function keyOf(headers: Headers): string | undefined {
  const key = headers.get('x-api-key') ?? headers.get('x-goog-api-key')
  return key ?? headers.get('authorization')?.replace('Bearer ', '')
}

/** What every adapter over HTTP can do whose model is not chat. */
const overHttp = [
  'requests',
  'silence',
  'timeouts',
  'keys',
  'call_headers',
  'redirects',
  'retry_after',
  'detailed_errors',
  'error_origin',
] as const

/** Starts an adapter of ours for a server with these scripts. A silent server delays its answers until it is closed. */
async function startOverHttp<Adapter>(
  scripts: ModelScripts,
  { silent = false }: ModelStartOptions,
  make: (server: FakeServer, connection: { apiKey: string; fetch: Fetch }) => Adapter,
): Promise<StartedModelAdapter<Adapter>> {
  const faults = silent ? [{ slowMs: 600_000 }] : []
  const server = await createFakeServer({ ...scripts, faults })
  const { fetch, view } = watched(server)
  return { adapter: make(server, { apiKey, fetch }), ...view }
}

/** An image fake records what it refuses, and throws a scripted error as it is. */
export const fakeImagesHarness: ImageHarness = {
  patienceMs,
  capabilities: [
    'generate',
    'edit',
    'variation',
    'several_images',
    'retry_after',
    'detailed_errors',
  ],
  start: (script) => ({ adapter: fakeImages({ script }) }),
}

/** The harness of a provider's image adapter, over real HTTP. */
export function httpImagesHarness(provider: 'openai' | 'gemini'): ImageHarness {
  return {
    patienceMs,
    capabilities: [...overHttp, 'generate', 'edit', 'several_images'],
    start: (script, options = {}) =>
      startOverHttp({ images: script }, options, ({ openaiBaseUrl, geminiBaseUrl }, connection) =>
        provider === 'openai'
          ? openaiImages({ baseUrl: openaiBaseUrl, ...connection })
          : geminiImages({ baseUrl: geminiBaseUrl, ...connection }),
      ),
  }
}

/** A fake throws a scripted error as it is. */
export const fakeModerationHarness: ModerationHarness = {
  patienceMs,
  capabilities: ['requests', 'image_parts', 'retry_after', 'detailed_errors'],
  start(script) {
    const adapter = fakeModeration({ script })
    return { adapter, requests: () => adapter.calls }
  },
}

/** The harness of OpenAI's moderation, over real HTTP. */
export const httpModerationHarness: ModerationHarness = {
  patienceMs,
  capabilities: [...overHttp, 'image_parts'],
  start: (script, options = {}) =>
    startOverHttp({ moderation: script }, options, ({ openaiBaseUrl: baseUrl }, connection) =>
      openaiModeration({ baseUrl, ...connection }),
    ),
}

/** The fake throws a scripted error as it is. */
export const fakeEmbeddingsHarness: EmbeddingHarness = {
  patienceMs,
  capabilities: ['usage', 'retry_after', 'detailed_errors'],
  start: (script) => ({ adapter: fakeEmbeddings({ script }) }),
}

/** The harness of a provider's embedding adapter, over real HTTP. Gemini counts no tokens. */
export function httpEmbeddingsHarness(provider: 'openai' | 'gemini'): EmbeddingHarness {
  return {
    patienceMs,
    capabilities: provider === 'openai' ? [...overHttp, 'usage'] : overHttp,
    start: (script, options = {}) =>
      startOverHttp(
        { embeddings: script },
        options,
        ({ openaiBaseUrl, geminiBaseUrl }, connection) =>
          provider === 'openai'
            ? openaiEmbeddings({ baseUrl: openaiBaseUrl, ...connection })
            : geminiEmbeddings({ baseUrl: geminiBaseUrl, ...connection }),
      ),
  }
}

export const fakeRerankHarness: RerankHarness = {
  patienceMs,
  capabilities: ['retry_after', 'detailed_errors'],
  start: (script) => ({ adapter: fakeRerank({ script }) }),
}

/** The harness of the rerank adapter, over real HTTP. */
export const httpRerankHarness: RerankHarness = {
  patienceMs,
  capabilities: overHttp,
  start: (script, options = {}) =>
    startOverHttp({ rerank: script }, options, ({ openaiBaseUrl: baseUrl }, connection) =>
      cohereRerank({ baseUrl, ...connection }),
    ),
}

/** A speech fake throws a scripted error as it is, and sends nothing; its calls are what it shows of requests. */
export const fakeSpeechHarness: SpeechHarness = {
  patienceMs,
  capabilities: ['requests', 'connections', 'cut', 'usage', 'retry_after', 'detailed_errors'],
  start(script) {
    const adapter = fakeSpeech({ script })
    return { adapter, requests: () => adapter.calls, openConnections: () => adapter.openStreams }
  },
}

/** The harness of a provider's speech adapter, over real HTTP. Gemini answers in one piece. */
export function httpSpeechHarness(provider: 'openai' | 'gemini'): SpeechHarness {
  return {
    patienceMs,
    capabilities: [...overHttp, 'cut', provider === 'openai' ? 'connections' : 'usage'],
    start: (script, options = {}) =>
      startOverHttp({ speech: script }, options, ({ openaiBaseUrl, geminiBaseUrl }, connection) =>
        provider === 'openai'
          ? openaiSpeech({ baseUrl: openaiBaseUrl, ...connection })
          : geminiSpeech({ baseUrl: geminiBaseUrl, ...connection }),
      ),
  }
}

/** A transcription fake records what it refuses, and throws a scripted error as it is. */
export const fakeTranscriptionHarness: TranscriptionHarness = {
  patienceMs,
  capabilities: ['segments', 'words', 'language', 'retry_after', 'detailed_errors'],
  start: (script) => ({ adapter: fakeTranscription({ script }) }),
}

/** The harness of OpenAI's transcription adapter, over real HTTP. */
export const openaiTranscriptionHarness: TranscriptionHarness = {
  patienceMs,
  model: 'whisper-1',
  capabilities: [...overHttp, 'segments', 'words', 'language', 'size_limit'],
  start: (script, options = {}) =>
    startOverHttp({ transcriptions: script }, options, ({ openaiBaseUrl: baseUrl }, connection) =>
      openaiTranscription({ baseUrl, ...connection }),
    ),
}
