// Models of AI SDK 7, whose packages need Node 22: the conformance kit over the fake server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { wrapLanguageModel } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { chat, createEngine, generate, tool } from 'allm-ts'
import { fromAiSdk } from 'allm-ts/ai-sdk'
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

const usage = { inputTokens: { total: 3 }, outputTokens: { total: 1 } }
const finish = (unified) => ({ type: 'finish', finishReason: { unified, raw: undefined }, usage })
const said = (text) => [
  { type: 'text-start', id: '1' },
  { type: 'text-delta', id: '1', delta: text },
  { type: 'text-end', id: '1' },
]

/** A mock of the AI SDK that answers with parts, one list for each call. */
function mock(...answers) {
  return new MockLanguageModelV4({
    doStream: async () => ({ stream: ReadableStream.from(answers.shift() ?? []) }),
  })
}

test('a model in a middleware of AI SDK 7 runs a loop with a tool', async () => {
  const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{}' }
  const model = mock([call, finish('tool-calls')], [...said('21 degrees.'), finish('stop')])
  const middleware = { specificationVersion: 'v4', wrapStream: ({ doStream }) => doStream() }
  const weather = tool({
    name: 'weather',
    description: 'The weather.',
    schema: { type: 'object', properties: {} },
    handler: () => 21,
  })
  const adapter = fromAiSdk(wrapLanguageModel({ model, middleware }))
  const { outputText, steps } = await chat(createEngine({ adapter, tools: [weather] }), 'Warm?')
  assert.deepEqual([outputText, steps.length], ['21 degrees.', 2])
})

test('an answer that AI SDK 7 calls interrupted is truncated', async () => {
  const adapter = fromAiSdk(mock([...said('so far'), finish('interrupted')]))
  await assert.rejects(generate(createEngine({ adapter, retry: false }), 'hi'), {
    reason: 'truncated',
  })
})
