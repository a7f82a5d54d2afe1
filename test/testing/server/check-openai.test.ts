import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { checkOpenaiChat } from '../../../src/testing/server/check-openai-chat.ts'
import { checkOpenaiResponses } from '../../../src/testing/server/check-openai-responses.ts'

const user = { role: 'user', content: 'hi' }
const calling = (...ids: string[]): JsonObject => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
})
const result = (id: string): JsonObject => ({ role: 'tool', tool_call_id: id, content: 'ok' })
const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  type: 'function',
  function: { name, parameters: { type: 'object' }, ...more },
})

describe('Chat Completions', () => {
  const legal = { model: 'gpt-4o', messages: [user] }

  test.each<[string, JsonObject]>([
    ['a plain request', {}],
    ['null for what is left out', { temperature: null, tools: null }],
    ['calls that are answered', { messages: [user, calling('a', 'b'), result('b'), result('a')] }],
    [
      'a tool that is chosen',
      { tools: [tool('f')], tool_choice: { type: 'function', function: { name: 'f' } } },
    ],
    ['a usage in the stream', { stream: true, stream_options: { include_usage: true } }],
  ])('takes %s', (_, body) => {
    expect(checkOpenaiChat({ ...legal, ...body })).toBeUndefined()
  })

  test.each<[string, JsonObject, string, string]>([
    ['an unknown parameter', { temprature: 1 }, 'unknown_parameter', 'temprature'],
    ['a wrong kind', { temperature: 'hot' }, 'invalid_type', 'temperature'],
    ['a value out of range', { temperature: 3 }, 'decimal_above_max_value', 'temperature'],
    ['no limit at all', { max_tokens: 0 }, 'integer_below_min_value', 'max_tokens'],
    ['no messages', { messages: [] }, 'empty_array', 'messages'],
    [
      'an unknown role',
      { messages: [{ role: 'bot', content: '' }] },
      'invalid_value',
      'messages[0].role',
    ],
    [
      'an unknown part',
      { messages: [{ role: 'user', content: [{ type: 'smell' }] }] },
      'invalid_value',
      'messages[0].content[0].type',
    ],
    [
      'a tool without a name',
      { tools: [{ type: 'function', function: {} }] },
      'missing_required_parameter',
      'tools[0].function.name',
    ],
    [
      'a bad tool name',
      { tools: [tool('get weather')] },
      'invalid_value',
      'tools[0].function.name',
    ],
    [
      'a long tool name',
      { tools: [tool('x'.repeat(65))] },
      'string_above_max_length',
      'tools[0].function.name',
    ],
    [
      'arguments that are no text',
      {
        messages: [
          user,
          {
            role: 'assistant',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: {} } }],
          },
        ],
      },
      'invalid_type',
      'messages[1].tool_calls[0].function.arguments',
    ],
    [
      'max_tokens for a reasoning model',
      { model: 'o4-mini', max_tokens: 5 },
      'unsupported_parameter',
      'max_tokens',
    ],
    [
      'a strict schema that leaves a property open',
      {
        tools: [
          tool('f', {
            strict: true,
            parameters: {
              type: 'object',
              properties: { a: {} },
              required: [],
              additionalProperties: false,
            },
          }),
        ],
      },
      'invalid_function_parameters',
      'tools[0].function.parameters',
    ],
    [
      'a strict format that allows others',
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'n', strict: true, schema: { type: 'object', properties: {} } },
        },
      },
      'invalid_json_schema',
      'response_format',
    ],
  ])('refuses %s', (_, body, code, param) => {
    expect(checkOpenaiChat({ ...legal, ...body })).toMatchObject({ code, param })
  })

  test.each<[string, JsonObject, RegExp]>([
    [
      'a call that is not answered',
      { messages: [user, calling('a', 'b'), result('a'), user] },
      /must be followed by tool messages.*: b$/,
    ],
    [
      'a call that is last',
      { messages: [user, calling('a')] },
      /must be followed by tool messages.*: a$/,
    ],
    [
      'a result without a call',
      { messages: [user, result('a')] },
      /role 'tool' must be a response/,
    ],
    [
      'a result that comes late',
      { messages: [user, calling('a'), result('a'), user, result('a')] },
      /role 'tool' must be a response/,
    ],
    ['a user who says nothing', { messages: [{ role: 'user', content: null }] }, /'content'/],
    ['a choice without tools', { tool_choice: 'auto' }, /only allowed when 'tools' are specified/],
    [
      'a choice of no tool',
      { tools: [tool('f')], tool_choice: { type: 'function', function: { name: 'g' } } },
      /not found in 'tools'/,
    ],
    [
      'stream options without a stream',
      { stream_options: {} },
      /only allowed when 'stream' is enabled/,
    ],
  ])('refuses %s', (_, body, message) => {
    expect(checkOpenaiChat({ ...legal, ...body })?.message).toMatch(message)
  })

  test('names what is missing', () => {
    expect(checkOpenaiChat({ messages: [user] })?.param).toBe('model')
    expect(checkOpenaiChat({ model: 'm' })?.param).toBe('messages')
  })
})

describe('Responses', () => {
  const legal = { model: 'gpt-5', input: 'hi' }
  const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'a', output: 'ok' }

  test.each<[string, JsonObject]>([
    ['a plain request', {}],
    ['items', { input: [user, { type: 'reasoning', id: 'rs', summary: [] }, call, output] }],
    [
      'the answer to a call that the server remembers',
      { previous_response_id: 'resp_1', input: [output] },
    ],
    ['items of tools that run elsewhere', { input: [user, { type: 'web_search_call', id: 'ws' }] }],
  ])('takes %s', (_, body) => {
    expect(checkOpenaiResponses({ ...legal, ...body })).toBeUndefined()
  })

  test.each<[string, JsonObject, string]>([
    ['an unknown parameter', { verbosity: 'low' }, 'verbosity'],
    ['messages of the other endpoint', { messages: [] }, 'messages'],
    ['a wrong kind', { store: 'no' }, 'store'],
    ['too low a limit', { max_output_tokens: 3 }, 'max_output_tokens'],
    ['a tool in the form of the other endpoint', { tools: [tool('f')] }, 'tools[0].name'],
    [
      'the part of a user in an answer',
      { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'a' }] }] },
      'input[0].content[0]',
    ],
    [
      'the part of an answer in a question',
      { input: [{ role: 'user', content: [{ type: 'output_text', text: 'a' }] }] },
      'input[0].content[0]',
    ],
    [
      'a call without arguments',
      { input: [{ type: 'function_call', call_id: 'a', name: 'f' }] },
      'input[0].arguments',
    ],
    ['an output without its call', { input: [user, output] }, 'input'],
    ['a call without its output', { input: [user, call] }, 'input'],
  ])('refuses %s', (_, body, param) => {
    expect(checkOpenaiResponses({ ...legal, ...body })?.param).toBe(param)
  })

  test('names what is missing', () => {
    expect(checkOpenaiResponses({ input: 'hi' })?.param).toBe('model')
    expect(checkOpenaiResponses({ model: 'm' })?.param).toBe('input')
  })
})

describe('files', () => {
  const pdf = 'data:application/pdf;base64,JVBERi0='
  const chat = (role: string, ...content: JsonObject[]): JsonObject => ({
    model: 'gpt-4o',
    messages:
      role === 'tool'
        ? [user, calling('a'), { role, tool_call_id: 'a', content }]
        : [{ role, content }],
  })
  const responses = (...output: JsonObject[]): JsonObject => ({
    model: 'gpt-5',
    input: [
      user,
      { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'a', output },
    ],
  })

  test.each<[string, JsonObject]>([
    ['a PDF as a data URL', { type: 'file', file: { filename: 'a.pdf', file_data: pdf } }],
    ['a file by its id', { type: 'file', file: { file_id: 'file-1' } }],
    ['a recording', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
  ])('Chat Completions takes %s', (_, part) => {
    expect(checkOpenaiChat(chat('user', part))).toBeUndefined()
  })

  test.each<[string, string, JsonObject, string]>([
    [
      'a text as a file',
      'user',
      { type: 'file', file: { file_data: 'data:text/markdown;base64,AAAA' } },
      "but got unsupported MIME type 'text/markdown'.",
    ],
    [
      'base64 without a type',
      'user',
      { type: 'file', file: { file_data: 'AAAA' } },
      'but got an invalid base64-encoded value.',
    ],
    [
      'a file of nothing',
      'user',
      { type: 'file', file: {} },
      'messages[0].content[0].file.file_id',
    ],
    [
      'a recording in another format',
      'user',
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'flac' } },
      "Supported values are: 'wav', 'mp3'.",
    ],
    [
      'an image in a tool result',
      'tool',
      { type: 'image_url', image_url: { url: 'https://a.b' } },
      "Image URLs are only allowed for messages with role 'user', but this message with role 'tool'",
    ],
    [
      'a file in a tool result',
      'tool',
      { type: 'file', file: { file_id: 'file-1' } },
      "Supported values are: 'text'.",
    ],
  ])('Chat Completions refuses %s', (_, role, part, message) => {
    expect(checkOpenaiChat(chat(role, part))?.message).toContain(message)
  })

  test('Responses takes texts, images and files as the output of a call', () => {
    const parts = [
      { type: 'input_text', text: 'a' },
      { type: 'input_image', image_url: 'https://a.b' },
      { type: 'input_image', file_id: 'file-1' },
      { type: 'input_file', filename: 'a.pdf', file_data: pdf },
      { type: 'input_file', file_url: 'https://a.b' },
    ]
    expect(checkOpenaiResponses(responses(...parts))).toBeUndefined()
  })

  test.each<[string, JsonObject, string]>([
    ['a recording', { type: 'input_audio', input_audio: {} }, 'input[2].output[0]'],
    ['a file of nothing', { type: 'input_file' }, 'input[2].output[0].file_id'],
    ['an image of nothing', { type: 'input_image' }, 'input[2].output[0].image_url'],
    [
      'base64 without a type',
      { type: 'input_file', file_data: 'AAAA' },
      'input[2].output[0].file_data',
    ],
    [
      'a video as a file',
      { type: 'input_file', filename: 'a.mp4', file_data: 'data:video/mp4;base64,AAAA' },
      'input[2].output[0]',
    ],
    [
      'a file whose name has no ending',
      { type: 'input_file', filename: 'a', file_data: pdf },
      'input[2].output[0]',
    ],
  ])('Responses refuses %s as the output of a call', (_, part, param) => {
    expect(checkOpenaiResponses(responses(part))?.param).toBe(param)
  })
})
