import { afterEach, describe, expect, test, vi } from 'vitest'
import { defined } from '../../../src/core/types/guards.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import type { Warning } from '../../../src/core/types/warning.ts'
import { createEngine, embed, EngineError, generate, jsonSchema, user } from '../../../src/index.ts'
import {
  openai,
  openaiChat,
  openaiEmbeddings,
  openaiResponses,
  presetNames,
  type OpenAiChatOptions,
  type OpenAiOptions,
  type OpenAiPreset,
} from '../../../src/openai.ts'
import { hasShared, recordedCases } from '../../support/recordings.ts'
import { play, recordedJson } from './recording.ts'
import { readAll, request, weather } from './request.ts'

afterEach(() => vi.unstubAllEnvs())

interface Sent {
  readonly url: string
  readonly headers: Headers
  readonly body: JsonObject
  readonly warnings: readonly Warning[]
}

const answer = {
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }],
}

/** What a preset sends for a request. */
async function sentBy(options: OpenAiChatOptions, fields: Partial<ModelRequest> = {}) {
  let sent: Omit<Sent, 'warnings'> | undefined
  const adapter = openaiChat({
    fetch: async (url, init) => {
      // Every body of this adapter is a JSON text.
      const body = JSON.parse(init.body as string) as JsonObject
      sent = { url, headers: new Headers(init.headers), body }
      return new Response(JSON.stringify(answer))
    },
    apiKey: 'test-key',
    ...options,
  })
  const last = (await readAll(adapter.stream(request({ model: 'm', ...fields })))).at(-1)
  if (sent === undefined || last?.type !== 'message_completed') throw new Error('nothing was sent')
  const { warnings = [] } = (await readAll(adapter.stream(request({ model: 'm', ...fields }))))
    .filter((event) => event.type === 'message_started')
    .reduce<{ warnings?: readonly Warning[] }>((_, event) => event, {})
  return { ...sent, warnings, adapter }
}

const addresses: Readonly<Record<OpenAiPreset, string>> = {
  openrouter: 'https://openrouter.ai/api/v1',
  groq: 'https://api.groq.com/openai/v1',
  deepseek: 'https://api.deepseek.com/v1',
  xai: 'https://api.x.ai/v1',
  mistral: 'https://api.mistral.ai/v1',
  together: 'https://api.together.xyz/v1',
  fireworks: 'https://api.fireworks.ai/inference/v1',
  cerebras: 'https://api.cerebras.ai/v1',
  ollama: 'http://127.0.0.1:11434/v1',
  lmstudio: 'http://127.0.0.1:1234/v1',
  vllm: 'http://127.0.0.1:8000/v1',
  llamacpp: 'http://127.0.0.1:8080/v1',
}

const local = new Set<OpenAiPreset>(['ollama', 'lmstudio', 'vllm', 'llamacpp'])

describe.each(presetNames)('%s', (preset) => {
  test('has the address and the name of its server', async () => {
    const { url, adapter } = await sentBy({ preset })
    expect(url).toBe(`${addresses[preset]}/chat/completions`)
    expect(adapter.provider).toBe(preset)
    expect(adapter.server).toBe(new URL(addresses[preset]).origin)
  })

  test('finds its key under its own name, and sends no key of OpenAI', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'the-key-of-openai')
    vi.stubEnv('OPENAI_BASE_URL', 'https://elsewhere.test/v1')
    const sent: string[] = []
    const adapter = openaiChat({
      preset,
      fetch: async (url, init) => {
        sent.push(url, new Headers(init.headers).get('authorization') ?? 'none')
        return new Response(JSON.stringify(answer))
      },
    })
    const engine = createEngine({ adapter, model: 'm' })
    const variable = `${preset.toUpperCase()}_API_KEY`
    vi.stubEnv(variable, '')
    const call = generate(engine, [user('hi')])
    if (local.has(preset)) {
      await call
      expect(sent).toEqual([`${addresses[preset]}/chat/completions`, 'none'])
    } else {
      await expect(call).rejects.toThrow(variable)
      await expect(call).rejects.toBeInstanceOf(EngineError)
      expect(sent).toEqual([])
    }
    sent.length = 0
    vi.stubEnv(variable, 'the-key-of-the-server')
    await generate(engine, [user('hi')])
    expect(sent).toEqual([`${addresses[preset]}/chat/completions`, 'Bearer the-key-of-the-server'])
  })

  test('is overridden by other options', async () => {
    const { url, body, adapter } = await sentBy(
      {
        preset,
        baseUrl: 'https://gateway.test/v1',
        provider: 'mine',
        compat: { maxTokensField: 'max_tokens', streamOptions: true },
      },
      { maxTokens: 5 },
    )
    expect(url).toBe('https://gateway.test/v1/chat/completions')
    expect(adapter.provider).toBe('mine')
    expect(body).toMatchObject({ max_tokens: 5, stream_options: { include_usage: true } })
  })
})

test.each<[OpenAiPreset, Partial<ModelRequest>, JsonObject]>([
  ['groq', { maxTokens: 5 }, { max_completion_tokens: 5 }],
  ['xai', { maxTokens: 5 }, { max_completion_tokens: 5 }],
  ['cerebras', { maxTokens: 5 }, { max_completion_tokens: 5 }],
  ['mistral', { maxTokens: 5, seed: 3 }, { max_tokens: 5, random_seed: 3 }],
  ['openrouter', { maxTokens: 5, topK: 3 }, { max_tokens: 5, top_k: 3 }],
  ['openrouter', { reasoning: { effort: 'low' } }, { reasoning_effort: 'low' }],
  ['lmstudio', { tools: [weather], toolChoice: 'auto' }, { tool_choice: 'auto' }],
])('%s sends %j as %j', async (preset, fields, expected) => {
  const { body, warnings } = await sentBy({ preset }, fields)
  expect(body).toMatchObject(expected)
  expect(warnings).toEqual([])
})

test.each<[OpenAiPreset, string, string, Partial<ModelRequest>]>([
  ['groq', 'topK', 'top_k', { topK: 3 }],
  ['groq', 'promptCache', 'prompt_cache_key', { promptCache: { key: 'k' } }],
  ['deepseek', 'topK', 'top_k', { topK: 3 }],
  ['mistral', 'topK', 'top_k', { topK: 3 }],
  ['cerebras', 'presencePenalty', 'presence_penalty', { presencePenalty: 1 }],
  ['cerebras', 'frequencyPenalty', 'frequency_penalty', { frequencyPenalty: 1 }],
])('%s takes no %s, and the warnings say so', async (preset, setting, member, fields) => {
  const { body, warnings } = await sentBy({ preset }, fields)
  expect(body).not.toHaveProperty(member)
  expect(warnings).toEqual([{ setting, problem: `m takes no ${setting}` }])
})

test('Mistral is not asked for the usage of a stream, which it sends unasked', async () => {
  const { body } = await sentBy({ preset: 'mistral' })
  expect(body).not.toHaveProperty('stream_options')
})

test('Mistral gets ids of nine characters, each call its own, also when two answers used the same id', async () => {
  const call = (id: string) => ({ id, name: 'get_weather', arguments: {} })
  const turn = (id: string): ModelRequest['messages'] => [
    { role: 'assistant', content: '', toolCalls: [call(id)] },
    { role: 'tool', content: 'sun', toolCallId: id },
  ]
  const messages = [
    { role: 'user', content: 'hi' } as const,
    ...turn('call_of_another_provider'),
    ...turn('0'),
    ...turn('0'),
  ]
  const { body } = await sentBy({ preset: 'mistral' }, { messages, tools: [weather] })
  const sent = body['messages'] as readonly Readonly<
    Record<string, string & readonly [{ readonly id: string }]>
  >[]
  const ids = sent.flatMap(({ tool_calls: calls }) => calls?.[0].id ?? [])
  expect(new Set(ids).size).toBe(3)
  for (const id of ids) expect(id).toMatch(/^[a-z0-9]{9}$/)
  expect(sent.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(ids)
})

test('Groq gets no names of messages', async () => {
  const messages = [{ role: 'user', content: 'hi', name: 'Ada' }] as const
  const { body } = await sentBy({ preset: 'groq' }, { messages })
  expect(body['messages']).toEqual([{ role: 'user', content: 'hi' }])
})

test('DeepSeek gets a schema as text, with a warning', async () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const responseFormat = jsonSchema('place', schema)
  const { body, warnings } = await sentBy({ preset: 'deepseek' }, { responseFormat })
  expect(body['response_format']).toEqual({ type: 'json_object' })
  expect(JSON.stringify(body['messages'])).toContain('JSON')
  expect(JSON.stringify(body['messages'])).toContain(
    JSON.stringify(JSON.stringify(schema)).slice(1, -1),
  )
  expect(warnings).toEqual([{ setting: 'responseFormat', problem: 'the schema is sent as text' }])
})

test.each<OpenAiPreset>(['ollama', 'lmstudio', 'llamacpp'])(
  '%s, which takes no name as a choice, is offered the chosen tool only, and has to call one',
  async (preset) => {
    const tools = [weather, { ...weather, name: 'other' }]
    const { body } = await sentBy({ preset }, { tools, toolChoice: 'get_weather' })
    expect(body['tool_choice']).toBe('required')
    expect(body['tools']).toMatchObject([{ function: { name: 'get_weather' } }])
  },
)

test('an unknown preset is refused by name', () => {
  expect(() => openaiChat({ preset: 'grok' as 'groq' })).toThrow(/preset .*groq.*"grok"/)
  expect(() => openaiChat({ preset: 'constructor' as 'groq' })).toThrow(/preset/)
  expect(() => openaiChat(null as unknown as string)).toThrow(/must be an object|options/)
})

test('presets differ in their identity by their address', () => {
  const identities = presetNames.map((preset) =>
    JSON.stringify(openaiChat({ preset }).identity?.()),
  )
  expect(new Set(identities).size).toBe(presetNames.length)
  expect(openaiChat().identity?.()).toEqual({ api: 'chat', baseUrl: 'https://api.openai.com/v1' })
})

const recorded = recordedCases().filter(
  ({ provider, endpoint }) =>
    presetNames.some((name) => name === provider) && endpoint === 'chat/completions',
)

test.skipIf(!hasShared)('the servers have recordings (../shared/fixtures)', () => {
  expect(new Set(recorded.map(({ provider }) => provider))).toEqual(
    new Set(['openrouter', 'groq', 'deepseek', 'xai', 'mistral', 'ollama', 'llamacpp']),
  )
})

test.skipIf(recorded.length === 0).each(recorded.map((one) => [one.id, one] as const))(
  'what was recorded is read by the preset as by the plain adapter: %s',
  async (_id, recording) => {
    const preset = recording.provider as OpenAiPreset
    const plain = await play(recording)
    const own = await play(recording, undefined, (options) => openaiChat({ ...options, preset }))
    const named = JSON.parse(
      JSON.stringify(plain).replaceAll('"provider":"openai"', `"provider":"${preset}"`),
    ) as unknown
    expect(JSON.parse(JSON.stringify(own))).toEqual(named)
  },
)

/** A recorded body of Chat Completions, as far as it has settings. */
interface RecordedBody extends JsonObject {
  readonly model: string
  readonly temperature?: number
  readonly top_p?: number
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly seed?: number
  readonly random_seed?: number
  readonly presence_penalty?: number
  readonly frequency_penalty?: number
  readonly reasoning_effort?: 'low'
}

test
  .skipIf(recorded.length === 0)
  .each(recorded.filter(({ streaming }) => streaming).map((one) => [one.id, one] as const))(
  'the settings of a recorded request are sent as they were: %s',
  async (_id, recording) => {
    const body = recordedJson(recording, 'request.json') as RecordedBody
    const preset = recording.provider as OpenAiPreset
    const effort = body.reasoning_effort
    const { body: sent, warnings } = await sentBy(
      { preset },
      defined<Partial<ModelRequest>>({
        model: body.model,
        temperature: body.temperature,
        topP: body.top_p,
        maxTokens: body.max_tokens ?? body.max_completion_tokens,
        seed: body.seed ?? body.random_seed,
        presencePenalty: body.presence_penalty,
        frequencyPenalty: body.frequency_penalty,
        reasoning: effort && { effort },
      }),
    )
    expect(warnings).toEqual([])
    expect(settingsOf(sent)).toEqual(settingsOf(body))
  },
)

/** What a body has beside the conversation. Groq takes both names of the limit; usage is always asked for where the server takes that. */
function settingsOf({ max_completion_tokens: newer, ...body }: JsonObject): JsonObject {
  const unlike = new Set(['messages', 'tools', 'tool_choice', 'stream_options', 'n'])
  const settings = { ...body, ...(newer === undefined ? {} : { max_tokens: newer }) }
  return Object.fromEntries(Object.entries(settings).filter(([name]) => !unlike.has(name)))
}

describe('a provider of another name without an address', () => {
  const made: readonly [string, (options: OpenAiOptions) => unknown][] = [
    ['openai', (own) => generate(engineOf(openai({ ...own, provider: 'groq' })), 'hi')],
    ['openaiChat', (own) => generate(engineOf(openaiChat({ ...own, provider: 'groq' })), 'hi')],
    [
      'openaiResponses',
      (own) => generate(engineOf(openaiResponses({ ...own, provider: 'groq' })), 'hi'),
    ],
    [
      'a preset',
      (own) =>
        generate(engineOf(openaiChat({ ...own, preset: 'mistral', provider: 'groq' })), 'hi'),
    ],
    [
      'openaiEmbeddings',
      ({ fetch }) => {
        const embeddingAdapter = openaiEmbeddings({ fetch, provider: 'groq' })
        return embed(createEngine({ embeddingAdapter, embeddingModel: 'm' }), 'hi')
      },
    ],
  ]
  const engineOf = (adapter: ReturnType<typeof openai>) =>
    createEngine({ adapter, model: 'm', retry: false })

  test.each(made)('gets no key from the environment: %s', async (_name, call) => {
    vi.stubEnv('GROQ_API_KEY', 'groq-key-0123456789')
    const fetch = vi.fn(async () => new Response(JSON.stringify(answer)))
    await expect(call({ fetch })).rejects.toMatchObject({
      name: 'EngineError',
      reason: 'missing_key',
      message: expect.stringContaining('no API key for groq: pass apiKey'),
    })
    expect(fetch).not.toHaveBeenCalled()
  })

  test('gets the key that is given', async () => {
    const { headers } = await sentBy({ preset: 'mistral', provider: 'work', apiKey: 'mine' })
    expect(headers.get('authorization')).toBe('Bearer mine')
    const seen: (string | null)[] = []
    const fetch = async (_url: string, init: RequestInit) => {
      seen.push(new Headers(init.headers).get('authorization'))
      return new Response(JSON.stringify(answer))
    }
    const adapter = openai({ api: 'chat', provider: 'work', fetch })
    await generate(createEngine({ adapter, model: 'm', keys: () => 'of-work' }), 'hi')
    expect(seen).toEqual(['Bearer of-work'])
  })
})

test('a preset speaks Chat Completions only', () => {
  const options = { preset: 'groq', api: 'responses' } as OpenAiChatOptions
  expect(() => openaiChat(options)).toThrow(/api must be .*chat/)
})
