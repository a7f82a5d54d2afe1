import { existsSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../../src/core/types/message.ts'
import type { ModelRequest, ToolSpec } from '../../../src/core/types/request.ts'
import { bodyOf, shared } from './support.ts'

/** The provider's own description of its requests; `../shared/oracles` holds one for each generation of the API. */
const cached = { anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } }

const citation = {
  type: 'web_search_result_location',
  url: 'https://example.com',
  title: 'Paris',
  cited_text: 'Paris',
  encrypted_index: 'Eo8B',
}

const oracle = shared('oracles/validate.mjs')

interface Oracle {
  readonly validate: (
    kind: string,
    body: unknown,
    options: { readonly strict: boolean },
  ) => { readonly ok: boolean; readonly errors?: readonly string[] }
}

const generations = [
  ['2023-06-01', 'anthropic.messages.request'],
  ['2026-10-21', 'anthropic-current.messages.request'],
] as const

const models = [
  'claude-3-haiku-20240307',
  'claude-3-7-sonnet-20250219',
  'claude-opus-4-1-20250805',
  'claude-haiku-4-5',
  'claude-opus-4-6',
  'claude-opus-4-7',
  'claude-sonnet-5',
  'claude-sonnet-5-5',
  'claude-opus-5-5',
  'tiny',
] as const

const weather: ToolSpec = {
  name: 'weather',
  description: 'Tells the weather.',
  schema: {
    type: 'object',
    properties: { city: { type: 'string', minLength: 1 } },
    required: ['city'],
  },
  strict: true,
}

const image = { type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' } as const
const search = {
  type: 'server_tool_use',
  id: 'srvtoolu_1',
  name: 'web_search',
  input: { query: 'x' },
}
const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }
const provider = 'anthropic'

const conversation: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this?' },
      { type: 'image', image },
      { type: 'image', image: { type: 'url', url: 'https://example.com/a.png' } },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm', opaque: { signature: 's' }, provider },
      { type: 'reasoning', text: '', opaque: { redacted: 'd' }, provider },
      { type: 'reasoning', text: '', opaque: { block: search }, provider },
      { type: 'reasoning', text: '', opaque: { block: found }, provider },
      { type: 'reasoning', text: 'foreign', opaque: 'x', provider: 'gemini' },
      { type: 'text', text: 'I look.' },
    ],
    toolCalls: [
      {
        id: 'call.1',
        name: 'weather',
        arguments: { city: 'Paris' },
        rawArguments: '{"city":"Paris"}',
      },
      { id: 'call.2', name: 'weather', arguments: {}, rawArguments: '{"city' },
    ],
  },
  {
    role: 'tool',
    toolCallId: 'call.1',
    content: [
      { type: 'text', text: 'sunny' },
      { type: 'image', image },
    ],
  },
  { role: 'tool', toolCallId: 'call.2', content: '', metadata: { interrupted: true } },
  { role: 'system', content: 'Be kind.' },
  { role: 'user', content: 'And tomorrow?' },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'Maybe ' },
      { type: 'image', image },
    ],
    metadata: { partial: true },
  },
]

const schema = {
  type: 'object',
  properties: { age: { type: 'integer', minimum: 0 } },
  required: ['age'],
}

/** One request for each setting, and some for combinations. */
const matrix: readonly (readonly [string, Partial<ModelRequest>])[] = [
  ['a text', {}],
  ['a conversation', { messages: conversation }],
  ['a conversation with its tools', { messages: conversation, tools: [weather] }],
  ['instructions alone', { messages: [{ role: 'system', content: 'Tell a joke.' }] }],
  ['a temperature and a bound', { temperature: 0.5, maxTokens: 2000 }],
  ...['auto', 'none', 'required', 'weather'].map(
    (toolChoice) => [`the tool choice ${toolChoice}`, { tools: [weather], toolChoice }] as const,
  ),
  ...(['none', 'minimal', 'low', 'medium', 'high', 'max'] as const).map(
    (effort) => [`the effort ${effort}`, { reasoning: { effort }, temperature: 1 }] as const,
  ),
  ['a summary of the reasoning', { reasoning: { effort: 'high', summary: true } }],
  ['no summary of the reasoning', { reasoning: { effort: 'high', summary: false } }],
  [
    'thinking and a forced tool',
    { reasoning: { effort: 'high' }, tools: [weather], toolChoice: 'required' },
  ],
  ['a form', { responseFormat: { type: 'json_schema', name: 'p', schema, strict: true } }],
  [
    'a response format that is not an object',
    {
      responseFormat: {
        type: 'json_schema',
        name: 'p',
        schema: { type: 'array', items: schema },
        strict: true,
      },
    },
  ],
  [
    'a response format, tools and thinking',
    {
      responseFormat: { type: 'json_schema', name: 'p', schema, strict: false },
      tools: [weather],
      reasoning: { effort: 'medium' },
      messages: conversation,
    },
  ],
  ['a cache', { promptCache: true }],
  ['a long cache', { promptCache: { key: 'k', retention: 'long' } }],
  [
    'cache breakpoints and citations',
    {
      tools: [{ ...weather, providerOptions: cached }],
      messages: [
        {
          role: 'system',
          content: [{ type: 'text', text: 'Rules.', providerOptions: cached }],
        },
        { role: 'user', content: 'hi', providerOptions: cached },
        {
          role: 'assistant',
          content: 'It is big. Very.',
          sources: [{ type: 'url', start: 0, end: 10, providerMetadata: { anthropic: citation } }],
        },
        { role: 'user', content: 'And?' },
      ],
    },
  ],
  [
    'options of the provider',
    {
      tools: [weather],
      providerOptions: {
        anthropic: {
          metadata: { user_id: 'u' },
          stop_sequences: ['END'],
          service_tier: 'auto',
          tool_choice: { disable_parallel_tool_use: true },
          tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }],
        },
      },
    },
  ],
]

describe.skipIf(!existsSync(oracle))('the provider’s own schema (../shared/oracles)', () => {
  describe.each(generations)('of version %s', (version, kind) => {
    describe.each(models)('for %s', (model) => {
      test.each(matrix)('takes %s', async (_name, fields) => {
        const { validate } = (await import(oracle)) as Oracle
        const body = await bodyOf({ model, ...fields }, { version })
        expect(validate(kind, body, { strict: true })).toEqual({ ok: true })
      })
    })
  })

  test('rejects an unknown member, so the matrix proves something', async () => {
    const { validate } = (await import(oracle)) as Oracle
    const body = await bodyOf({ temperature: 0.5 })
    expect(validate('anthropic.messages.request', body, { strict: true }).ok).toBe(true)
    expect(validate('anthropic-current.messages.request', body, { strict: true }).ok).toBe(false)
    expect(
      validate('anthropic.messages.request', { ...body, max_token: 1 }, { strict: true }).ok,
    ).toBe(false)
  })
})
