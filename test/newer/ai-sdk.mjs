// Models of AI SDK 7, whose packages need Node 22: the conformance kit over the fake server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { register, streamAdapterCases } from 'allm-ts/conformance'
import { aiSdkHarness, providers, version } from './support/ai-sdk-harness.ts'

test('the models have the specification V4', () => {
  assert.equal(version, 'v4')
})

for (const [name, provider] of Object.entries(providers)) {
  describe(`${name} of AI SDK 7`, () => {
    register(streamAdapterCases, aiSdkHarness(provider), test)
  })
}
