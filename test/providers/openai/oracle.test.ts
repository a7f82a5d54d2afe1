import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { Message } from '../../../src/core/types/message.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import { request, sentBody, weather } from './request.ts'

/** OpenAI's own description of its bodies, which lies beside the repository. */
const oracle = join(process.cwd(), '..', 'shared', 'oracles', 'validate.mjs')
const hasOracle = existsSync(oracle)

type Validate = (
  kind: string,
  body: unknown,
  options: { readonly strict: boolean },
) => { readonly ok: boolean; readonly errors?: readonly string[] }

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A conversation with everything in it that a thread can hold. */
const longThread: readonly Message[] = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this, and what is the weather there?' },
      {
        type: 'image',
        image: { type: 'base64', base64: png, mimeType: 'image/png' },
        detail: 'low',
      },
      { type: 'image', image: { type: 'url', url: 'https://example.com/a.png' } },
    ],
  },
  {
    role: 'assistant',
    content: [
      {
        type: 'reasoning',
        text: 'Two cities.',
        provider: 'openai',
        opaque: { id: 'rs_1', encrypted_content: 'gAAA' },
      },
      { type: 'reasoning', text: 'foreign', provider: 'anthropic', opaque: 'signature' },
      { type: 'text', text: 'I will look.' },
    ],
    toolCalls: [
      { id: 'call_1', name: 'get_weather', arguments: { city: 'Rome' } },
      { id: 'call_2', name: 'get_weather', arguments: {}, rawArguments: '{"city":"Ber' },
    ],
  },
  { role: 'tool', toolCallId: 'call_1', content: 'sunny' },
  { role: 'tool', toolCallId: 'call_2', content: [{ type: 'text', text: 'interrupted' }] },
  { role: 'assistant', content: 'Sunny in Rome.' },
  { role: 'user', content: 'Thanks.', name: 'ada' },
]

const schema = {
  type: 'object',
  properties: { answer: { type: 'string' } },
  required: ['answer'],
  additionalProperties: false,
}

/** What a request can ask for, one row for each. */
const features: readonly (readonly [string, Partial<ModelRequest>])[] = [
  ['nothing but a message', {}],
  ['a long thread', { messages: longThread, tools: [weather] }],
  ['a temperature and a limit', { temperature: 0.3, maxTokens: 64 }],
  ['tools', { tools: [weather, { ...weather, name: 'other', strict: true, description: '' }] }],
  ['toolChoice auto', { tools: [weather], toolChoice: 'auto' }],
  ['toolChoice none', { tools: [weather], toolChoice: 'none' }],
  ['toolChoice required', { tools: [weather], toolChoice: 'required' }],
  ['toolChoice by name', { tools: [weather], toolChoice: 'get_weather' }],
  ['toolChoice without tools', { toolChoice: 'required' }],
  ['text', { responseFormat: { type: 'text' } }],
  ['any JSON', { responseFormat: { type: 'json_object' } }],
  ['a schema', { responseFormat: { type: 'json_schema', name: 'answer', schema, strict: true } }],
  ['little reasoning', { reasoning: { effort: 'minimal' } }],
  ['no reasoning', { reasoning: { effort: 'none' } }],
  ['much reasoning, told', { reasoning: { effort: 'max', summary: true } }],
  ['a prompt cache', { promptCache: true }],
  ['a long prompt cache', { promptCache: { key: 'k', retention: 'long' } }],
  [
    'provider options',
    { providerOptions: { openai: { user: 'ada', parallel_tool_calls: false, top_p: 0.5 } } },
  ],
]

/** What only the Responses API has, by provider options. */
const hosted: readonly (readonly [string, JsonObject])[] = [
  ['a stored answer to go on from', { previous_response_id: 'resp_1', store: true }],
  ['a conversation', { conversation: 'conv_1', store: true }],
  ['work in the background', { background: true, store: true }],
  ['a service tier', { service_tier: 'flex' }],
  ['log probabilities', { top_logprobs: 2, include: ['message.output_text.logprobs'] }],
  ['a web search', { tools: [{ type: 'web_search' }] }],
  ['a file search', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }],
  ['a code interpreter', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
  [
    'a hosted MCP server',
    { tools: [{ type: 'mcp', server_label: 'mail', server_url: 'https://example.com/mcp' }] },
  ],
  ['a custom tool', { tools: [{ type: 'custom', name: 'get_weather' }] }],
]

const models = ['gpt-4o', 'gpt-3.5-turbo', 'gpt-5', 'gpt-5.4', 'gpt-6-luna', 'o4-mini', 'llama-3']

const matrix = (['chat', 'responses'] as const).flatMap((api) =>
  models.flatMap((model) => features.map(([name, fields]) => ({ api, model, name, fields }))),
)

describe.skipIf(!hasOracle)('bodies against ../shared/oracles, strictly', async () => {
  const { validate } = hasOracle
    ? // A script outside the repository has no types here.
      ((await import(pathToFileURL(oracle).href)) as { validate: Validate })
    : { validate: undefined }

  test.each(matrix)('$api, $model: $name', async ({ api, model, fields }) => {
    const { body } = await sentBody(request({ model, ...fields }), { api }, { sessionId: 's' })
    const verdict = validate?.(`openai.${api}.request`, body, { strict: true })
    expect(verdict?.errors ?? [], JSON.stringify(body)).toEqual([])
    expect(verdict?.ok).toBe(true)
  })

  test.each(hosted)('responses, by provider options: %s', async (_name, openai) => {
    const fields = { messages: longThread, tools: [weather], providerOptions: { openai } }
    const { body } = await sentBody(request({ model: 'gpt-5.4', ...fields }), { api: 'responses' })
    const verdict = validate?.('openai.responses.request', body, { strict: true })
    expect(verdict?.errors ?? [], JSON.stringify(body)).toEqual([])
    expect(verdict?.ok).toBe(true)
    const { tools: _added, include: _addedTo, ...replaced } = openai
    expect(body).toMatchObject(replaced)
  })
})
