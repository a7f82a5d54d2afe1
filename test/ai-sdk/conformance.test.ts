import { createOpenAI } from 'ai-sdk-openai-2'
import { register, streamAdapterCases } from 'allm-ts/conformance'
import { describe, expect, test } from 'vitest'
import {
  aiSdkHarness,
  chatMissing,
  providers,
  version,
  type Provider,
} from '../newer/support/ai-sdk-harness.ts'

// The models of AI SDK 6 (V3) and 5 (V2). Those of AI SDK 7 (V4) need a newer Node: test/newer/ai-sdk.mjs.

const old: Provider = {
  model: ({ server, ...rest }, id) =>
    createOpenAI({ baseURL: server.openaiBaseUrl, ...rest }).chat(id),
  ownOption: (user) => ({ user }),
  missing: { ...chatMissing, cache_write_usage: 'V2 has no place for it' },
}

test('the models have the specification V3', () => {
  expect(version).toBe('v3')
})

describe.each(Object.entries(providers))('%s of AI SDK 6', (_name, provider) => {
  register(streamAdapterCases, aiSdkHarness(provider), test)
})

describe('openai.chat of AI SDK 5', () => {
  register(streamAdapterCases, aiSdkHarness(old), test)
})
