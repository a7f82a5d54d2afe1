import { anthropic } from '../../src/anthropic.ts'
import type { ChatAdapter } from '../../src/adapter/chat-adapter.ts'
import type { ChatCapability } from '../../src/conformance/capabilities.ts'
import type { ChatHarness } from '../../src/conformance/chat-harness.ts'
import { gemini } from '../../src/gemini.ts'
import { openai } from '../../src/openai.ts'
import { createFakeServer, type FakeServer, type WireFormat } from '../../src/server.ts'
import { fake } from '../../src/testing.ts'

export const fakeHarness: ChatHarness = {
  capabilities: ['requests'],
  start(script, { more = [] } = {}) {
    const adapter = fake({ scripts: [script, ...more] })
    return { adapter, openConnections: () => adapter.openStreams, requests: () => adapter.calls }
  },
}

const all: readonly ChatCapability[] = ["requests","connections","several_calls","chunking","timeouts","detailed_errors","unsupported_feature","retry_after","stream_failures","stream_retry_after","finish_reasons","text_blocks","tools","parallel_tools","streamed_tools","interleaved_tools","raw_arguments","reasoning","reasoning_echo","usage","cached_usage","cache_write_usage","reasoning_usage","raw_chunks","images"]

const adapters: Readonly<Record<WireFormat, (server: FakeServer) => ChatAdapter>> = {
  openai_chat: ({ openaiBaseUrl: baseUrl }) => openai({ baseUrl, apiKey, api: 'chat' }),
  openai_responses: ({ openaiBaseUrl: baseUrl }) => openai({ baseUrl, apiKey, api: 'responses' }),
  anthropic: ({ anthropicBaseUrl: baseUrl }) => anthropic({ baseUrl, apiKey }),
  gemini: ({ geminiBaseUrl: baseUrl }) => gemini({ baseUrl, apiKey }),
}
const apiKey = 'test-key'

export function httpHarness(format: WireFormat, capabilities = all): ChatHarness {
  return {
    capabilities,
    async start(script, { more = [], clock, chunking } = {}) {
      const server = await createFakeServer({ scripts: [script, ...more], clock, chunking })
      return {
        adapter: adapters[format](server),
        openConnections: () => server.openAnswers,
        requests: () => server.requests,
        close: () => server.close(),
      }
    },
  }
}
export const fakeAll: ChatHarness = { ...fakeHarness, capabilities: all }
