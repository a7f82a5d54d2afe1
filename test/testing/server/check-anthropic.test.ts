import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { checkAnthropic } from '../../../src/testing/server/check-anthropic.ts'

const user = { role: 'user', content: 'hi' }
const says = (role: string, ...content: JsonObject[]): JsonObject => ({ role, content })
const text = { type: 'text', text: 'ok' }
const use = (id: string): JsonObject => ({ type: 'tool_use', id, name: 'f', input: {} })
const result = (id: string): JsonObject => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })
const tool = { name: 'f', input_schema: { type: 'object' } }
const marked = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }
const legal = { model: 'claude-x', max_tokens: 100, messages: [user] }

test.each<[string, JsonObject]>([
  ['a plain request', {}],
  [
    'parallel calls that are answered',
    {
      messages: [
        user,
        says('assistant', text, use('a'), use('b')),
        says('user', result('b'), result('a'), text),
      ],
    },
  ],
  [
    'answers in two messages, which are one turn',
    {
      messages: [
        user,
        says('assistant', use('a'), use('b')),
        says('user', result('a')),
        says('user', result('b')),
      ],
    },
  ],
  ['the same role twice', { messages: [user, user] }],
  ['an empty start of the answer', { messages: [user, { role: 'assistant', content: '' }] }],
  ['a tool of the server', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['a budget to think', { thinking: { type: 'enabled', budget_tokens: 1024 }, max_tokens: 2000 }],
])('takes %s', (_, body) => {
  expect(checkAnthropic({ ...legal, ...body })).toBeUndefined()
})

test.each<[string, JsonObject, string]>([
  ['an unknown member', { top_q: 1 }, 'top_q: Extra inputs are not permitted'],
  ['a member of a beta', { mcp_servers: [] }, 'mcp_servers: Extra inputs are not permitted'],
  ['a wrong kind', { max_tokens: '9' }, 'max_tokens: Input should be a valid integer'],
  ['no tokens', { max_tokens: 0 }, 'max_tokens: Input should be greater than or equal to 1'],
  ['no messages', { messages: [] }, 'messages: at least one message is required'],
  [
    'an answer first',
    { messages: [{ role: 'assistant', content: 'hi' }] },
    'messages: first message must use the "user" role',
  ],
  ['an unknown role', { messages: [{ role: 'tool', content: 'hi' }] }, 'Unexpected role "tool"'],
  [
    'an unknown member of a message',
    { messages: [{ ...user, name: 'x' }] },
    'messages.0.name: Extra inputs are not permitted',
  ],
  [
    'an empty message',
    { messages: [user, { role: 'assistant', content: [] }, user] },
    'messages.1: all messages must have non-empty content',
  ],
  [
    'an empty text',
    { messages: [says('user', { type: 'text', text: '' })] },
    'text content blocks must be non-empty',
  ],
  [
    'blank text',
    { messages: [says('user', { type: 'text', text: ' ' })] },
    'must contain non-whitespace text',
  ],
  [
    'a blank end of the answer',
    { messages: [user, { role: 'assistant', content: 'So ' }] },
    'cannot end with trailing whitespace',
  ],
  [
    'a bad id',
    { messages: [user, says('assistant', use('a.b')), says('user', result('a.b'))] },
    'messages.1.content.0.tool_use.id: String should match pattern',
  ],
  [
    'an id that comes twice',
    {
      messages: [
        user,
        says('assistant', use('a')),
        says('user', result('a')),
        says('assistant', use('a')),
        says('user', result('a')),
      ],
    },
    'ids must be unique',
  ],
  [
    'a call that is not answered',
    { messages: [user, says('assistant', use('a'), use('b')), says('user', result('a'))] },
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b.',
  ],
  [
    'a call that is last',
    { messages: [user, says('assistant', use('a'))] },
    'messages.1: `tool_use` ids were found without',
  ],
  [
    'a result after other words',
    { messages: [user, says('assistant', use('a')), says('user', text, result('a'))] },
    'messages.1: `tool_use` ids were found without',
  ],
  [
    'a result without a call',
    { messages: [user, says('user', result('a'))] },
    'unexpected `tool_use_id` found in `tool_result` blocks: a.',
  ],
  [
    'a call of the user',
    { messages: [says('user', use('a'))] },
    '`tool_use` blocks can only be in `assistant` messages',
  ],
  [
    'thinking without its signature',
    { messages: [user, says('assistant', { type: 'thinking', thinking: 'x' }, text), user] },
    'thinking.signature: Field required',
  ],
  [
    'a bad tool name',
    { tools: [{ ...tool, name: 'get weather' }] },
    'tools.0.custom.name: String should match pattern',
  ],
  [
    'a tool without a schema',
    { tools: [{ name: 'f' }] },
    'tools.0.custom.input_schema: Field required',
  ],
  [
    'a schema that is not an object',
    { tools: [{ name: 'f', input_schema: { type: 'array' } }] },
    "input_schema.type: Input should be 'object'",
  ],
  ['two tools of one name', { tools: [tool, tool] }, 'Tool names must be unique'],
  ['a choice without tools', { tool_choice: { type: 'any' } }, 'while providing tools'],
  [
    'a choice of no tool',
    { tools: [tool], tool_choice: { type: 'tool', name: 'g' } },
    "Tool 'g' not found",
  ],
  [
    'an unknown choice',
    { tools: [tool], tool_choice: { type: 'required' } },
    "Input tag 'required'",
  ],
  ['too hot', { temperature: 1.5 }, 'temperature: range: 0..1'],
  [
    'too small a budget',
    { thinking: { type: 'enabled', budget_tokens: 10 } },
    'greater than or equal to 1024',
  ],
  [
    'a budget beyond the limit',
    { thinking: { type: 'enabled', budget_tokens: 4096 } },
    '`max_tokens` must be greater than',
  ],
  [
    'five marks for the cache',
    { system: [marked, marked, marked], messages: [says('user', marked, marked)] },
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  ],
])('refuses %s', (_, body, message) => {
  expect(checkAnthropic({ ...legal, ...body })?.message).toContain(message)
})

test.each(['model', 'max_tokens', 'messages'])('refuses a request without %s', (name) => {
  const { [name]: _, ...rest } = { ...legal } as JsonObject
  expect(checkAnthropic(rest)?.message).toBe(`${name}: Field required`)
})

test('a beta has members of its own', () => {
  expect(checkAnthropic({ ...legal, mcp_servers: [] }, true)).toBeUndefined()
})

const document = (source: JsonObject): JsonObject => ({ type: 'document', source })
const image = (source: JsonObject): JsonObject => ({ type: 'image', source })

test.each<[string, JsonObject]>([
  ['a PDF', document({ type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' })],
  ['a PDF by URL', document({ type: 'url', url: 'https://a.b' })],
  ['a text', document({ type: 'text', media_type: 'text/plain', data: 'a' })],
  ['a file by id', document({ type: 'file', file_id: 'file_1' })],
  ['an image', image({ type: 'base64', media_type: 'image/png', data: 'AAAA' })],
  ['an image by id', image({ type: 'file', file_id: 'file_1' })],
])('takes %s of the user and of a tool', (_, block) => {
  expect(checkAnthropic({ ...legal, messages: [says('user', block)] })).toBeUndefined()
  const answer = { ...result('a'), content: [block] }
  const messages = [user, says('assistant', use('a')), says('user', answer)]
  expect(checkAnthropic({ ...legal, messages })).toBeUndefined()
})

test.each<[string, JsonObject, string]>([
  [
    'a recording as a document',
    document({ type: 'base64', media_type: 'audio/wav', data: 'AAAA' }),
    "messages.0.content.0.document.source.base64.media_type: Input should be 'application/pdf'",
  ],
  [
    'a text of another type',
    document({ type: 'text', media_type: 'text/csv', data: 'a' }),
    "document.source.text.media_type: Input should be 'text/plain'",
  ],
  [
    'an image of another type',
    image({ type: 'base64', media_type: 'image/tiff', data: 'AAAA' }),
    "image.source.base64.media_type: Input should be 'image/jpeg' or",
  ],
  [
    'an unknown source',
    image({ type: 'text', data: 'a' }),
    "image.source: Input tag 'text' found using 'type' does not match",
  ],
  ['a document without a source', { type: 'document' }, 'document.source: Field required'],
  ['a URL without one', document({ type: 'url' }), 'document.source.url.url: Field required'],
])('refuses %s', (_, block, message) => {
  expect(checkAnthropic({ ...legal, messages: [says('user', block)] })?.message).toContain(message)
})

test('refuses a document of the assistant', () => {
  const block = document({ type: 'url', url: 'https://a.b' })
  const messages = [user, says('assistant', block), user]
  expect(checkAnthropic({ ...legal, messages })?.message).toContain(
    'can only be in `user` messages',
  )
})
