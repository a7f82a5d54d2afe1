import { describe, expect, test } from 'vitest'
import { anthropic } from '../../src/anthropic.ts'
import type { ChatAdapter } from '../../src/core/contracts/adapter.ts'
import type { JsonObject } from '../../src/core/types/json.ts'
import { gemini } from '../../src/gemini.ts'
import {
  assistant,
  createEngine,
  generate,
  tool,
  toolResult,
  user,
  type CallOptions,
  type Message,
} from '../../src/index.ts'
import { azure, openai, type AzureOptions } from '../../src/openai.ts'
import { createFakeServer, type FakeServer } from '../../src/server.ts'

const find = tool({ name: 'find', description: 'Finds.', schema: { type: 'object' } })

const makers = {
  chat: ({ openaiBaseUrl: baseUrl }: FakeServer, model: string) =>
    openai({ apiKey: 'k', baseUrl, model, api: 'chat' }),
  responses: ({ openaiBaseUrl: baseUrl }: FakeServer, model: string) =>
    openai({ apiKey: 'k', baseUrl, model, api: 'responses' }),
  anthropic: ({ anthropicBaseUrl: baseUrl }: FakeServer, model: string) =>
    anthropic({ apiKey: 'k', baseUrl, model, beta: ['one'] }),
  gemini: ({ geminiBaseUrl: baseUrl }: FakeServer, model: string) =>
    gemini({ apiKey: 'k', baseUrl, model }),
} as const

/** The body that is sent, its headers, and the settings that the response warns of. */
async function sent(
  api: keyof typeof makers,
  model: string,
  options: CallOptions,
  messages: readonly Message[] = [user('go')],
) {
  await using server = await createFakeServer({ script: [['text', 'ok']] })
  const adapter: ChatAdapter = makers[api](server, model)
  const { warnings } = await generate(createEngine({ adapter }), messages, options)
  const [asked] = server.requests
  // The server has parsed it as a JSON object.
  const body = asked?.body as JsonObject
  const headers = new Headers(asked?.headers)
  return { body, headers, warned: warnings.map(({ setting }) => setting) }
}

const stops = (count: number): string[] => Array.from({ length: count }, (_, at) => `END${at}`)
const thinking = { anthropic: { thinking: { type: 'enabled', budget_tokens: 2000 } } }

test.each<[keyof typeof makers, string, CallOptions, JsonObject, readonly string[]]>([
  ['chat', 'gpt-4o', { stopSequences: stops(4) }, { stop: stops(4) }, []],
  ['chat', 'gpt-4o', { stopSequences: stops(5) }, {}, ['stopSequences']],
  ['chat', 'llama', { stopSequences: stops(5) }, { stop: stops(5) }, []],
  ['gemini', 'gemini-3-flash', { stopSequences: stops(6) }, {}, ['stopSequences']],
  ['responses', 'gpt-5', { maxTokens: 5 }, { max_output_tokens: 16 }, ['maxTokens']],
  ['responses', 'gpt-5', { maxTokens: 16 }, { max_output_tokens: 16 }, []],
  ['chat', 'o3', { tools: [find], parallelToolCalls: false }, {}, ['parallelToolCalls']],
  ['responses', 'o4-mini', { tools: [find], parallelToolCalls: true }, {}, ['parallelToolCalls']],
  ['anthropic', 'claude-opus-4-1', { temperature: 0, topP: 0.5 }, { temperature: 0 }, ['topP']],
  [
    'anthropic',
    'claude-opus-4-0',
    { temperature: 0, topP: 0.5 },
    { temperature: 0, top_p: 0.5 },
    [],
  ],
  [
    'anthropic',
    'claude-sonnet-4-5',
    { temperature: 0, topK: 4, providerOptions: thinking },
    { thinking: thinking.anthropic.thinking },
    ['temperature', 'topK'],
  ],
  [
    'anthropic',
    'claude-sonnet-4-5',
    { tools: [find], toolChoice: 'required', providerOptions: thinking },
    { tool_choice: { type: 'any' } },
    ['providerOptions.anthropic.thinking'],
  ],
  ['gemini', 'gemini-3-flash', { tools: [{ ...find, strict: true }] }, {}, ['tools.find.strict']],
  ['gemini', 'gemini-3-flash', { promptCache: { key: 'k' } }, {}, ['promptCache.key']],
])('%s: %s gets of %j only %j', async (api, model, options, expected, warned) => {
  const { body, ...rest } = await sent(api, model, options)
  const names = 'stop stop_sequences max_output_tokens parallel_tool_calls tool_choice thinking'
  const known = `${names} temperature top_p top_k generationConfig`.split(' ')
  const found = Object.fromEntries(Object.entries(body).filter(([name]) => known.includes(name)))
  expect(found).toEqual(expected)
  expect(rest.warned).toEqual(warned)
})

/** What each model is sent of an effort, and whether that is another one, which is told the same way on every wire. */
test.each<[keyof typeof makers, string, CallOptions, JsonObject, boolean]>([
  ['chat', 'gpt-5-mini', { reasoning: { effort: 'high' } }, { reasoning_effort: 'high' }, false],
  ['chat', 'gpt-5-mini', { reasoning: { effort: 'max' } }, { reasoning_effort: 'high' }, true],
  ['responses', 'o3', { reasoning: { effort: 'minimal' } }, { reasoning: { effort: 'low' } }, true],
  ['responses', 'o3', { reasoning: { effort: 'none' } }, { reasoning: { effort: 'low' } }, true],
  ['responses', 'o3', { reasoning: { effort: 'low' } }, { reasoning: { effort: 'low' } }, false],
  [
    'anthropic',
    'claude-opus-5',
    { reasoning: { effort: 'minimal' } },
    { output_config: { effort: 'low' } },
    true,
  ],
  ...(['low', 'medium', 'high', 'max'] as const).map(
    (effort): [keyof typeof makers, string, CallOptions, JsonObject, boolean] => [
      'anthropic',
      'claude-haiku-4-5',
      { reasoning: { effort }, maxTokens: 2000 },
      { thinking: { type: 'enabled', budget_tokens: 1500 } },
      true,
    ],
  ),
  [
    'anthropic',
    'claude-haiku-4-5',
    { reasoning: { effort: 'max' } },
    { thinking: { type: 'enabled', budget_tokens: 48_000 } },
    false,
  ],
  ['gemini', 'gemini-3-flash', { reasoning: { effort: 'max' } }, budget('HIGH'), true],
  ['gemini', 'gemini-3-flash', { reasoning: { effort: 'medium' } }, budget('MEDIUM'), false],
  ['gemini', 'gemini-2.5-flash', { reasoning: { effort: 'max' } }, budget(24_576), true],
  ['gemini', 'gemini-2.5-pro', { reasoning: { effort: 'max' } }, budget(32_768), false],
  [
    'gemini',
    'gemini-2.5-flash',
    { reasoning: { effort: 'high' }, maxTokens: 2000 },
    budget(1500),
    true,
  ],
  [
    'gemini',
    'gemini-2.5-flash',
    { reasoning: { effort: 'low', summary: true }, maxTokens: 400 },
    budget(0),
    true,
  ],
  ['gemini', 'gemini-2.5-pro', { reasoning: { effort: 'low' }, maxTokens: 100 }, budget(128), true],
  [
    'gemini',
    'gemini-2.5-flash',
    { reasoning: { effort: 'none', summary: true } },
    budget(0),
    false,
  ],
])('%s: %s reasons of %j with %j, told: %s', async (api, model, options, expected, isTold) => {
  const { body, warned } = await sent(api, model, options)
  expect(body).toMatchObject(expected)
  expect(JSON.stringify(body)).not.toContain('includeThoughts')
  expect(warned).toEqual(isTold ? ['reasoning'] : [])
})

function budget(sent: string | number): JsonObject {
  const thinkingConfig =
    typeof sent === 'string' ? { thinkingLevel: sent } : { thinkingBudget: sent }
  return { generationConfig: { thinkingConfig } }
}

test.each(Object.entries({ chat: 'gpt-4o', anthropic: 'claude-haiku-4-5', gemini: 'gemini-3' }))(
  '%s: an empty list of stop sequences is not sent',
  async (api, model) => {
    const { body, warned } = await sent(api as 'chat', model, { stopSequences: [] })
    expect(JSON.stringify(body)).not.toMatch(/stop/i)
    expect(warned).toEqual([])
  },
)

test('a model with the name of its vendor is of its family', async () => {
  const options = { temperature: 0.5, maxTokens: 20 }
  const { body, warned } = await sent('chat', 'openai/gpt-5-mini', options)
  expect(body).toMatchObject({ model: 'openai/gpt-5-mini', max_completion_tokens: 20 })
  expect(warned).toEqual(['temperature'])
})

test('the beta features of a call are added to those of the adapter', async () => {
  const { headers } = await sent('anthropic', 'claude-haiku-4-5', {
    headers: { 'Anthropic-Beta': 'two, one' },
  })
  expect(headers.get('anthropic-beta')).toBe('one,two')
})

test.each([
  ['anthropic', 'claude-haiku-4-5', '"is_error":true'],
  ['gemini', 'gemini-2.5-flash', '"response":{"error":"no such row"}'],
] as const)('%s is told which result is an error', async (api, model, mark) => {
  const result = toolResult('c1', 'no such row')
  const call = assistant('', { toolCalls: [{ id: 'c1', name: 'find', arguments: {} }] })
  const isMarked = async (metadata: JsonObject): Promise<boolean> => {
    const thread = [user('go'), call, { ...result, metadata }]
    const { body } = await sent(api, model, { tools: [find] }, thread)
    return JSON.stringify(body).includes(mark)
  }
  expect(await isMarked({ isError: true })).toBe(true)
  expect(await isMarked({ denied: true })).toBe(true)
  expect(await isMarked({ interrupted: true, reason: 'cancelled' })).toBe(true)
  expect(await isMarked({ answeredByUser: true })).toBe(false)
})

describe('azure', () => {
  const at = { resource: 'acme', deployment: 'chat-1' }
  const dated = { ...at, apiVersion: '2024-10-21' }

  test('refuses the Responses API at a dated version, and says what to do', () => {
    expect(() => azure({ ...dated, api: 'responses' })).toThrow('leave out apiVersion')
  })

  test.each<[AzureOptions]>([[at], [dated]])('needs a key or a token: %j', async (options) => {
    const adapter = azure({ ...options, provider: 'azure-test' })
    const engine = createEngine({ adapter, retry: false })
    await expect(generate(engine, 'go')).rejects.toMatchObject({ reason: 'missing_key' })
  })

  test('the deployment in a dated address decides, with a warning', async () => {
    const bodies: unknown[] = []
    const adapter = azure({
      ...dated,
      apiKey: 'k',
      fetch: async (_url, init) => {
        bodies.push(await new Response(init.body ?? null).json())
        const message = { role: 'assistant', content: 'ok' }
        return Response.json({ id: 'r', model: 'm', choices: [{ message, finish_reason: 'stop' }] })
      },
    })
    const { warnings } = await generate(createEngine({ adapter, model: 'gpt-5' }), 'go')
    expect(bodies).toMatchObject([{ model: 'chat-1' }])
    expect(warnings.map(({ setting }) => setting)).toEqual(['model'])
  })
})
