import { describe, expect, test } from 'vitest'
import { anthropic } from '../../../../src/anthropic.ts'
import { gemini } from '../../../../src/gemini.ts'
import {
  chat,
  createEngine,
  isAllmError,
  tool,
  ValidationError,
  type ChatAdapter,
} from '../../../../src/index.ts'
import { record, type Cassette } from '../../../../src/middleware.ts'
import { openaiChat, openaiResponses } from '../../../../src/openai.ts'
import {
  createFakeServer,
  createRecordingProxy,
  createReplayServer,
  type ReplayServerOptions,
} from '../../../../src/server.ts'
import type { Script } from '../../../../src/testing.ts'
import type { WireFormat } from '../../../../src/testing/server/wire-format.ts'

type Place = { readonly url: string }

const adapters: Readonly<Record<WireFormat, (place: Place) => ChatAdapter>> = {
  openai_chat: ({ url }) => openaiChat({ baseUrl: `${url}/v1`, apiKey: 'k' }),
  openai_responses: ({ url }) => openaiResponses({ baseUrl: `${url}/v1`, apiKey: 'k' }),
  anthropic: ({ url }) => anthropic({ baseUrl: `${url}/v1`, apiKey: 'k' }),
  gemini: ({ url }) => gemini({ baseUrl: `${url}/v1beta`, apiKey: 'k' }),
}

const weather = tool({
  name: 'weather',
  description: 'The weather.',
  schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  strict: true,
  handler: ({ city }) => ({ city, celsius: 21 }),
})

const scripts: readonly Script[] = [
  [['tool_call', { id: 'c1', name: 'weather', arguments: { city: 'Ghent' } }]],
  [
    ['text', '21 '],
    ['text', 'degrees.'],
    ['usage', { inputTokens: 3, outputTokens: 2 }],
  ],
]

/** A run of two calls, with instructions, a tool and settings. */
async function run(adapter: ChatAdapter, words = 'How warm is Ghent?'): Promise<unknown> {
  const engine = createEngine({
    adapter,
    model: 'some-model',
    tools: [weather],
    instructions: 'Be brief.',
    temperature: 0.2,
    retry: false,
  })
  const { outputText, thread, usage } = await chat(engine, words)
  return { outputText, messages: thread.messages.length, usage }
}

describe.each(Object.keys(adapters) as WireFormat[])('%s', (format) => {
  test('a run that was recorded by the proxy is served again', async () => {
    await using server = await createFakeServer({ scripts })
    await using proxy = await createRecordingProxy({
      upstream: {
        openai: server.openaiBaseUrl,
        anthropic: server.anthropicBaseUrl,
        gemini: server.geminiBaseUrl,
      },
    })
    const first = await run(adapters[format](proxy))
    await proxy.idle()
    await using replayed = await createReplayServer(proxy.cassette())
    expect(await run(adapters[format](replayed))).toEqual(first)
    replayed.assertDone()
    expect([replayed.unused, replayed.unknown]).toEqual([[], []])
  })

  test('a run that was recorded around an adapter is served over its wire', async () => {
    await using server = await createFakeServer({ scripts })
    const recorder = record(adapters[format](server), { format })
    const first = await run(recorder)
    await using replayed = await createReplayServer(recorder.cassette)
    expect(await run(adapters[format](replayed))).toEqual(first)
    replayed.assertDone()
  })
})

async function recording(): Promise<Cassette> {
  await using server = await createFakeServer({ scripts })
  const recorder = record(adapters.openai_chat(server), { format: 'openai_chat' })
  await run(recorder)
  return recorder.cassette
}

describe('strict', () => {
  test('a request that was not recorded is refused, with the difference, and what is left is told', async () => {
    await using replayed = await createReplayServer(await recording())
    const error: unknown = await run(adapters.openai_chat(replayed), 'How warm is Paris?').catch(
      (thrown: unknown) => thrown,
    )
    expect(isAllmError(error) && error.message).toContain('asked:    "How warm is Paris?"')
    expect(replayed.unknown).toHaveLength(1)
    expect(replayed.unused).toEqual([
      'call 1: user: "How warm is Ghent?"',
      expect.stringContaining('call 2: tool: '),
    ])
    expect(() => replayed.assertDone()).toThrow(ValidationError)
  })

  test('a request in another format is refused', async () => {
    await using replayed = await createReplayServer(await recording())
    await expect(run(adapters.anthropic(replayed))).rejects.toThrow(
      'no call in the format anthropic is left',
    )
  })

  test('each call is played once, and in order unless any order is asked for', async () => {
    const { version, calls } = await recording()
    const other: Cassette = { version, calls: calls.toReversed() }
    await using strict = await createReplayServer(other)
    await expect(run(adapters.openai_chat(strict))).rejects.toThrow('the next one, call 1, differs')
    await using loose = await createReplayServer(other, { match: 'any_order' })
    await run(adapters.openai_chat(loose))
    await expect(run(adapters.openai_chat(loose))).rejects.toThrow('is left')
  })
})

test('a call without its format is served in that of its provider, if that has only one', async () => {
  const { version, calls } = await recording()
  const bare = calls.map(({ format: _format, ...call }) => call)
  await expect(createReplayServer({ version, calls: bare })).rejects.toThrow('calls[0].format')
  await using one = await createReplayServer({
    version,
    calls: bare.map((call) => ({ ...call, provider: 'anthropic' })),
  })
  expect(one.unused).toHaveLength(2)
})

test.each([
  [{ match: 'loose' }, 'match must be one of in_order, any_order'],
  [{ prot: 1 }, 'did you mean port?'],
])('%j is refused', async (options, words) => {
  const cassette: Cassette = { version: 1, calls: [] }
  await expect(createReplayServer(cassette, options as ReplayServerOptions)).rejects.toThrow(words)
})
