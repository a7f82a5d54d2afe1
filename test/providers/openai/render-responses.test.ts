import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { Message } from '../../../src/core/types/message.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import { request, sentBody, weather } from './request.ts'

/** The body of a request to Responses, without the members of every streamed body. */
async function body(fields: Partial<ModelRequest>): Promise<JsonObject> {
  const sent = await sentBody(request(fields), { api: 'responses' }, { sessionId: 'session' })
  const { stream, store, ...rest } = sent.body
  expect(stream).toBe(true)
  return store === false ? rest : { ...rest, store: store ?? 'absent' }
}

const model = 'gpt-4o'
const input = [{ role: 'user', content: 'hi' }]
const schema = { type: 'object', properties: {}, required: [], additionalProperties: false }

test.each<[string, Partial<ModelRequest>, JsonObject]>([
  ['a bare request, which is not stored', {}, {}],
  [
    'a temperature and a limit',
    { temperature: 0.2, maxTokens: 99 },
    { temperature: 0.2, max_output_tokens: 99 },
  ],
  [
    'tools, whose strictness is always told',
    { tools: [weather, { ...weather, name: 'other', strict: true }] },
    {
      tools: [
        {
          type: 'function',
          name: 'get_weather',
          description: weather.description,
          parameters: weather.schema,
          strict: false,
        },
        {
          type: 'function',
          name: 'other',
          description: weather.description,
          parameters: weather.schema,
          strict: true,
        },
      ],
    },
  ],
  [
    'any JSON',
    { responseFormat: { type: 'json_object' } },
    { text: { format: { type: 'json_object' } } },
  ],
  [
    'a schema',
    { responseFormat: { type: 'json_schema', name: 'a', schema, strict: true } },
    { text: { format: { type: 'json_schema', name: 'a', schema, strict: true } } },
  ],
  ['reasoning of a model that has none', { reasoning: { effort: 'low', summary: true } }, {}],
  ['a cache', { promptCache: true }, { prompt_cache_key: 'session' }],
  [
    'provider options, merged into what is there',
    {
      responseFormat: { type: 'json_object' },
      providerOptions: { openai: { store: true, text: { verbosity: 'low' } } },
    },
    { store: true, text: { format: { type: 'json_object' }, verbosity: 'low' } },
  ],
])('%s', async (_name, fields, expected) => {
  expect(await body(fields)).toEqual({ model, input, ...expected })
})

test.each<[string, unknown]>([
  ['auto', 'auto'],
  ['none', 'none'],
  ['required', 'required'],
  ['get_weather', { type: 'function', name: 'get_weather' }],
])('the choice %s', async (toolChoice, expected) => {
  expect((await body({ tools: [weather], toolChoice }))['tool_choice']).toEqual(expected)
})

test('a reasoning model is asked for its reasoning, encrypted, and gets developer messages', async () => {
  const sent = await body({
    model: 'gpt-5',
    messages: [{ role: 'system', content: 'Be brief.' }],
    temperature: 0.5,
    reasoning: { effort: 'high', summary: true },
    providerOptions: { openai: { include: ['web_search_call.results'] } },
  })
  expect(sent).toEqual({
    model: 'gpt-5',
    input: [{ role: 'developer', content: 'Be brief.' }],
    reasoning: { effort: 'high', summary: 'auto' },
    include: ['reasoning.encrypted_content', 'web_search_call.results'],
  })
})

describe('messages', () => {
  const items = async (messages: readonly Message[], fields: Partial<ModelRequest> = {}) =>
    (await body({ model: 'gpt-5', messages, ...fields }))['input']

  const thought = (id: string, opaque: JsonObject = {}) =>
    ({
      type: 'reasoning',
      text: `because ${id}`,
      provider: 'openai',
      opaque: { id, encrypted_content: `secret ${id}`, ...opaque },
    }) as const

  const sentThought = (id: string) => ({
    type: 'reasoning',
    id,
    summary: [{ type: 'summary_text', text: `because ${id}` }],
    encrypted_content: `secret ${id}`,
  })

  const calls = [
    { id: 'a', name: 'f', arguments: { x: 1 } },
    { id: 'b', name: 'g', arguments: {}, rawArguments: '{"cut' },
  ]
  const sentCalls = [
    { type: 'function_call', call_id: 'a', name: 'f', arguments: '{"x":1}' },
    { type: 'function_call', call_id: 'b', name: 'g', arguments: '{}' },
  ]

  test('a turn of reasoning, text and parallel calls, with the results', async () => {
    const image = { type: 'url', url: 'https://example.com/a.png' } as const
    const sent = await items([
      {
        role: 'assistant',
        content: [thought('rs_1'), { type: 'text', text: 'Let me see.' }],
        toolCalls: calls,
      },
      { role: 'tool', toolCallId: 'a', content: 'one' },
      {
        role: 'tool',
        toolCallId: 'b',
        content: [
          { type: 'text', text: 'two' },
          { type: 'image', image, detail: 'low' },
        ],
      },
    ])
    expect(sent).toEqual([
      sentThought('rs_1'),
      { type: 'message', role: 'assistant', content: 'Let me see.' },
      ...sentCalls,
      { type: 'function_call_output', call_id: 'a', output: 'one' },
      {
        type: 'function_call_output',
        call_id: 'b',
        output: [
          { type: 'input_text', text: 'two' },
          { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
        ],
      },
    ])
  })

  test('reasoning between two calls is sent back between them', async () => {
    const content = [thought('rs_1'), thought('rs_2', { calls_before: 1 })]
    expect(await items([{ role: 'assistant', content, toolCalls: calls }])).toEqual([
      sentThought('rs_1'),
      sentCalls[0],
      sentThought('rs_2'),
      sentCalls[1],
    ])
  })

  test('reasoning that the provider could not read is left out', async () => {
    const bare = { ...thought('rs_1'), opaque: { id: 'rs_1' } }
    const foreign = { ...thought('rs_2'), provider: 'anthropic' }
    const turn: Message = {
      role: 'assistant',
      content: [bare, foreign, { type: 'text', text: 'ok' }],
    }
    expect(await items([turn])).toEqual([{ type: 'message', role: 'assistant', content: 'ok' }])
    const own: Message = { role: 'assistant', content: [thought('rs_3')] }
    expect(await items([own], { model: 'gpt-4o' })).toEqual([])
    const stored = { providerOptions: { openai: { store: true } } }
    const said: Message = { role: 'assistant', content: [bare, { type: 'text', text: 'ok' }] }
    expect(await items([said], stored)).toEqual([
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'because rs_1' }] },
      { type: 'message', role: 'assistant', content: 'ok' },
    ])
  })

  test('user content is a string, or a list if there are images', async () => {
    const image = { type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' } as const
    const sent = await items([
      { role: 'user', content: 'hi' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', image },
        ],
      },
    ])
    expect(sent).toEqual([
      { role: 'user', content: 'hi' },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look' },
          { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
        ],
      },
    ])
  })

  test('an image that the model made is sent back as the item it was', async () => {
    const image = {
      type: 'base64',
      base64: 'iVBORw0KGgo=',
      mimeType: 'image/png',
      metadata: { id: 'ig_1' },
    } as const
    expect(await items([{ role: 'assistant', content: [{ type: 'image', image }] }])).toEqual([
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'iVBORw0KGgo=' },
    ])
  })
})
