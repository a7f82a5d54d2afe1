import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../src/anthropic.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import type { JsonValue } from '../../../src/core/types/json.ts'
import { gemini } from '../../../src/gemini.ts'
import { chat, createEngine, generate, system, tool, user } from '../../../src/index.ts'
import { openai } from '../../../src/openai.ts'
import { createFakeServer, type FakeServer } from '../../../src/server.ts'
import type { Script } from '../../../src/testing.ts'
import { wireFormats, type WireFormat } from '../../../src/testing/server/wire-format.ts'

function adapter(format: WireFormat, server: FakeServer): ChatAdapter {
  const apiKey = 'test-key'
  switch (format) {
    case 'openai_chat':
      return openai({ apiKey, baseUrl: server.openaiBaseUrl, api: 'chat' })
    case 'openai_responses':
      return openai({ apiKey, baseUrl: server.openaiBaseUrl, api: 'responses' })
    case 'anthropic':
      return anthropic({ apiKey, baseUrl: server.anthropicBaseUrl })
    case 'gemini':
      return gemini({ apiKey, baseUrl: server.geminiBaseUrl })
  }
}

const opaque: Readonly<Record<WireFormat, JsonValue>> = {
  openai_chat: { field: 'reasoning_content' },
  openai_responses: { id: 'rs_1', encrypted_content: 'gAAA' },
  anthropic: { signature: 'EqQB' },
  gemini: 'Cpc=',
}

const add = tool({
  name: 'add',
  description: 'Adds.',
  schema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
    additionalProperties: false,
  },
  handler: ({ a, b }) => a + b,
})

describe.each(wireFormats)('%s', (format) => {
  test('a loop with reasoning and parallel calls says nothing that the provider would refuse', async () => {
    const asks: Script = [
      ['reasoning', 'I need sums.', { opaque: opaque[format] }],
      ['text', 'Adding.'],
      ['tool_call', { id: 'call_a', name: 'add', arguments: { a: 1, b: 2 } }],
      ['tool_call', { id: 'call_b', name: 'add', arguments: { a: 3, b: 4 } }],
      ['finish', 'tool_calls'],
    ]
    const answers: Script = [
      ['text', '3 and 7'],
      ['finish', 'stop'],
    ]
    await using server = await createFakeServer({ scripts: [asks, answers] })
    const engine = createEngine({
      adapter: adapter(format, server),
      model: 'some-model',
      tools: [add],
    })
    const result = await chat(engine, [system('Be brief.'), user('1+2 and 3+4?')])

    expect(result.finalResponse?.outputText).toBe('3 and 7')
    expect(server.requests.map(({ status }) => status)).toEqual([200, 200])
    server.assertDone()
  })

  test('a refusal is tried again, and the script is still there', async () => {
    await using server = await createFakeServer({
      script: [['text', 'ok']],
      faults: [{ status: 503 }, { status: 429, retryAfterMs: 5 }],
    })
    const engine = createEngine({
      adapter: adapter(format, server),
      model: 'some-model',
      retry: { baseDelayMs: 1, jitterMs: 0 },
    })
    const { outputText } = await generate(engine, [user('hi')])

    expect(outputText).toBe('ok')
    expect(server.requests.map(({ status }) => status)).toEqual([503, 429, 200])
  })

  test('a stream that is cut keeps what came before', async () => {
    await using server = await createFakeServer({
      script: [
        ['text', 'Once upon'],
        ['text', ' a time'],
      ],
      faults: [{ cutAfter: format === 'openai_responses' ? 5 : format === 'anthropic' ? 4 : 2 }],
    })
    const engine = createEngine({ adapter: adapter(format, server), model: 'some-model' })
    const failed = generate(engine, [user('hi')])

    await expect(failed).rejects.toMatchObject({
      reason: 'truncated',
      partial: { outputText: expect.stringMatching(/^Once upon/) },
    })
  })
})
