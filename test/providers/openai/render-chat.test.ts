import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { Message } from '../../../src/core/types/message.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import { request, sentBody, weather } from './request.ts'

/** The body of a request to Chat Completions, without the members of every streamed body. */
async function body(fields: Partial<ModelRequest>): Promise<JsonObject> {
  const sent = await sentBody(request(fields), { api: 'chat' }, { sessionId: 'session' })
  const { stream, stream_options: streamOptions, ...rest } = sent.body
  expect({ stream, streamOptions }).toEqual({
    stream: true,
    streamOptions: { include_usage: true },
  })
  return rest
}

async function messages(...given: readonly Message[]): Promise<unknown> {
  return (await body({ messages: given }))['messages']
}

const model = 'gpt-4o'
const hi = [{ role: 'user', content: 'hi' }]
const made = {
  name: 'get_weather',
  description: 'The weather of a city',
  parameters: weather.schema,
}
const schema = { type: 'object' }

test.each<[string, Partial<ModelRequest>, JsonObject]>([
  ['a bare request', {}, {}],
  [
    'a temperature and a limit',
    { temperature: 0.2, maxTokens: 9 },
    { temperature: 0.2, max_completion_tokens: 9 },
  ],
  ['tools', { tools: [weather] }, { tools: [{ type: 'function', function: made }] }],
  [
    'a strict tool',
    { tools: [{ ...weather, strict: true }] },
    { tools: [{ type: 'function', function: { ...made, strict: true } }] },
  ],
  ['a choice without tools', { toolChoice: 'required' }, {}],
  ['free text', { responseFormat: { type: 'text' } }, {}],
  [
    'any JSON',
    { responseFormat: { type: 'json_object' } },
    { response_format: { type: 'json_object' } },
  ],
  [
    'a schema',
    { responseFormat: { type: 'json_schema', name: 'a', schema, strict: false } },
    {
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: false } },
    },
  ],
  ['a cache, keyed by the session', { promptCache: true }, { prompt_cache_key: 'session' }],
  [
    'a long cache',
    { promptCache: { key: 'k', retention: 'long' } },
    { prompt_cache_key: 'k', prompt_cache_retention: '24h' },
  ],
  ['reasoning of a model that has none', { reasoning: { effort: 'high' } }, {}],
  ['metadata, which is the caller’s', { metadata: { user: 'ada' } }, {}],
])('%s', async (_name, fields, expected) => {
  expect(await body(fields)).toEqual({ model, messages: hi, ...expected })
})

test.each<[string, unknown]>([
  ['auto', 'auto'],
  ['none', 'none'],
  ['required', 'required'],
  ['get_weather', { type: 'function', function: { name: 'get_weather' } }],
])('the choice %s', async (toolChoice, expected) => {
  expect((await body({ tools: [weather], toolChoice }))['tool_choice']).toEqual(expected)
})

describe('model families', () => {
  test('a reasoning model gets developer messages, an effort, and no temperature', async () => {
    const given = { temperature: 0.5, maxTokens: 9, reasoning: { effort: 'low' } } as const
    const system: Message = { role: 'system', content: 'Be brief.' }
    expect(await body({ model: 'gpt-5', messages: [system], ...given })).toEqual({
      model: 'gpt-5',
      messages: [{ role: 'developer', content: 'Be brief.' }],
      max_completion_tokens: 9,
      reasoning_effort: 'low',
    })
  })

  test('an unknown model gets the older names', async () => {
    const given = { temperature: 0.5, maxTokens: 9, reasoning: { effort: 'low' } } as const
    expect(await body({ model: 'qwen3', ...given })).toMatchObject({
      temperature: 0.5,
      max_tokens: 9,
      reasoning_effort: 'low',
    })
  })
})

describe('messages', () => {
  test('a turn with parallel calls, their results, and the text beside them', async () => {
    const sent = await messages(
      {
        role: 'system',
        content: [
          { type: 'text', text: 'Be ' },
          { type: 'text', text: 'brief.' },
        ],
      },
      { role: 'user', content: 'Weather?', name: 'ada' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [
          {
            id: 'a',
            name: 'get_weather',
            arguments: { city: 'Rome' },
            rawArguments: '{ "city":"Rome"}',
          },
          { id: 'b', name: 'get_weather', arguments: { city: 'Bonn' } },
        ],
      },
      { role: 'tool', toolCallId: 'a', content: 'sunny' },
      { role: 'tool', toolCallId: 'b', content: [{ type: 'text', text: 'rain' }] },
      { role: 'assistant', content: 'Sunny in Rome.' },
    )
    expect(sent).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Weather?', name: 'ada' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'a',
            type: 'function',
            function: { name: 'get_weather', arguments: '{ "city":"Rome"}' },
          },
          {
            id: 'b',
            type: 'function',
            function: { name: 'get_weather', arguments: '{"city":"Bonn"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'sunny' },
      { role: 'tool', tool_call_id: 'b', content: 'rain' },
      { role: 'assistant', content: 'Sunny in Rome.' },
    ])
  })

  test('arguments that are not a JSON object are not sent back', async () => {
    const calls = [{ id: 'a', name: 'f', arguments: {}, rawArguments: '{"cut":' }]
    expect(await messages({ role: 'assistant', content: '', toolCalls: calls })).toMatchObject([
      { tool_calls: [{ function: { arguments: '{}' } }] },
    ])
  })

  test('calls whose ids are too long, or used before, are renamed with their results', async () => {
    const long = 'x'.repeat(50)
    const turn = (id: string): readonly Message[] => [
      { role: 'assistant', content: '', toolCalls: [{ id, name: 'f', arguments: {} }] },
      { role: 'tool', toolCallId: id, content: 'ok' },
    ]
    const sent = JSON.stringify(await messages(...turn('0'), ...turn('0'), ...turn(long)))
    const ids = [...sent.matchAll(/"(?:id|tool_call_id)":"([^"]*)"/g)].map(([, id]) => id)
    const short = 'x'.repeat(40)
    expect(ids).toEqual(['0', '0', '0_2', '0_2', short, short])
  })

  test('images are URLs or data URIs, with their detail', async () => {
    const sent = await messages({
      role: 'user',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image', image: { type: 'url', url: 'https://example.com/a.png' }, detail: 'high' },
        { type: 'image', image: { type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' } },
      ],
    })
    expect(sent).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'high' } },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
    ])
  })

  test('an image in a tool result follows it in a message of the user', async () => {
    const image = { type: 'url', url: 'https://example.com/a.png' } as const
    const result: Message = { role: 'tool', toolCallId: 'a', content: [{ type: 'image', image }] }
    expect(await messages(result)).toEqual([
      {
        role: 'tool',
        tool_call_id: 'a',
        content: 'The result is in the next message of the user.',
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Attached to the result of the tool call a:' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
        ],
      },
    ])
  })

  test('an image in a system message is refused by its place', async () => {
    const image = { type: 'url', url: 'https://example.com/a.png' } as const
    await expect(
      messages({ role: 'system', content: [{ type: 'image', image }] }),
    ).rejects.toMatchObject({ kind: 'validation', issues: [{ path: 'messages[0].content[0]' }] })
  })

  test('reasoning is sent back to its provider in the field in which it came, with the calls that it led to', async () => {
    const calls = [{ id: 'a', name: 'f', arguments: {} }]
    const thought = (provider: string, opaque: JsonObject) =>
      ({ type: 'reasoning', text: 'hm', provider, opaque }) as const
    const turn = (opaque: JsonObject, provider = 'openai'): Message => ({
      role: 'assistant',
      content: [thought(provider, opaque), { type: 'text', text: 'ok' }],
      toolCalls: calls,
    })
    const details = [{ type: 'reasoning.text', text: 'hm', signature: 's' }]
    const sent = await messages(
      turn({ field: 'reasoning_content' }),
      turn({ field: 'reasoning' }),
      turn({ reasoning_details: details }),
      turn({ field: 'reasoning_content' }, 'groq'),
      {
        role: 'assistant',
        content: [thought('openai', { field: 'reasoning' }), { type: 'text', text: 'ok' }],
      },
    )
    expect(sent).toMatchObject([
      { content: 'ok', reasoning_content: 'hm' },
      { content: 'ok', reasoning: 'hm' },
      { content: 'ok', reasoning_details: details },
      { content: 'ok' },
      { role: 'assistant', content: 'ok' },
    ])
    expect(JSON.stringify(sent).match(/hm/g)).toHaveLength(3)
  })
})

describe('provider options', () => {
  test('are merged last: objects member by member, tools added, the rest replaced', async () => {
    const openai = {
      temperature: 0.9,
      logit_bias: { 1: 2 },
      stream: false,
      tools: [{ type: 'web_search' }],
      response_format: { json_schema: { strict: true } },
    }
    const sent = await body({
      temperature: 0.1,
      tools: [weather],
      responseFormat: { type: 'json_schema', name: 'a', schema, strict: false },
      providerOptions: { openai, anthropic: { top_k: 1 } },
    })
    expect(sent).toEqual({
      model,
      messages: hi,
      temperature: 0.9,
      logit_bias: { 1: 2 },
      tools: [{ type: 'function', function: made }, { type: 'web_search' }],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } },
    })
  })

  test('of a compatible server are under its name, and are merged after those of openai', async () => {
    const given = request({
      providerOptions: { openai: { user: 'a', seed: 1 }, groq: { user: 'b' } },
    })
    const { body: sent } = await sentBody(given, { api: 'chat', provider: 'groq' })
    expect(sent).toMatchObject({ user: 'b', seed: 1 })
  })
})
