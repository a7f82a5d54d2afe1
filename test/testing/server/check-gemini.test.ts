import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { checkGemini } from '../../../src/testing/server/check-gemini.ts'

const turn = (role: string, ...parts: JsonObject[]): JsonObject => ({ role, parts })
const text = { text: 'hi' }
const call = { functionCall: { name: 'f', args: {} } }
const response = { functionResponse: { name: 'f', response: { output: 'ok' } } }
const declared = (...list: JsonObject[]): JsonObject => ({
  tools: [{ functionDeclarations: list }],
})
const legal = { contents: [turn('user', text)] }

test.each<[string, JsonObject]>([
  ['a plain request', {}],
  ['a content without a role', { contents: [{ parts: [text] }] }],
  [
    'names in snake case',
    { generation_config: { max_output_tokens: 5 }, system_instruction: { parts: [text] } },
  ],
  [
    'parallel calls that are answered',
    { contents: [turn('user', text), turn('model', call, call), turn('user', response, response)] },
  ],
  [
    'a call after the answers to others',
    {
      contents: [
        turn('user', text),
        turn('model', call),
        turn('user', response),
        turn('model', call),
        turn('user', response),
      ],
    },
  ],
  [
    'any JSON Schema where one may stand',
    declared({ name: 'f', parametersJsonSchema: { additionalProperties: false } }),
  ],
])('takes %s', (_, body) => {
  expect(checkGemini({ ...legal, ...body })).toBeUndefined()
})

test.each<[string, JsonObject, string]>([
  ['no contents', { contents: [] }, 'contents is not specified'],
  ['an unknown name', { messages: [] }, 'Unknown name "messages": Cannot find field.'],
  [
    'an unknown setting',
    { generationConfig: { maxTokens: 1 } },
    'Unknown name "maxTokens" at \'generation_config\'',
  ],
  [
    'a wrong kind',
    { generationConfig: { maxOutputTokens: 'all' } },
    "Invalid value at 'generation_config.max_output_tokens'",
  ],
  ['too hot', { generationConfig: { temperature: 3 } }, 'temperature must be in the range'],
  ['an unknown role', { contents: [turn('assistant', text)] }, 'Please use a valid role'],
  [
    'an unknown member',
    { contents: [{ ...turn('user', text), name: 'x' }] },
    'Unknown name "name" at \'contents[0]\'',
  ],
  ['no parts', { contents: [turn('user')] }, 'contents.parts must not be empty'],
  ['a part that says nothing', { contents: [turn('user', {})] }, 'must have one initialized field'],
  [
    'a part that says two things',
    { contents: [turn('user', { ...text, ...call })] },
    'must have one initialized field',
  ],
  [
    'a response without a name',
    {
      contents: [
        turn('user', text),
        turn('model', call),
        turn('user', { functionResponse: { name: '', response: {} } }),
      ],
    },
    'function_response.name: Name cannot be empty',
  ],
  [
    'a call first',
    { contents: [turn('model', call), turn('user', response)] },
    'function call turn comes immediately after a user turn',
  ],
  [
    'a call after an answer',
    {
      contents: [
        turn('user', text),
        turn('model', text),
        turn('model', call),
        turn('user', response),
      ],
    },
    'function call turn comes immediately after a user turn',
  ],
  [
    'a response without a call',
    { contents: [turn('user', text), turn('user', response)] },
    'function response turn comes immediately after a function call turn',
  ],
  [
    'a call that is not answered',
    { contents: [turn('user', text), turn('model', call), turn('user', text)] },
    'number of function response parts',
  ],
  [
    'a call that is last',
    { contents: [turn('user', text), turn('model', call)] },
    'number of function response parts',
  ],
  [
    'fewer answers than calls',
    { contents: [turn('user', text), turn('model', call, call), turn('user', response)] },
    'number of function response parts',
  ],
  ['a bad function name', declared({ name: 'get weather' }), 'Invalid function name'],
  [
    'two functions of one name',
    declared({ name: 'f' }, { name: 'f' }),
    'Duplicate function declaration found: f',
  ],
  [
    'a keyword that it does not know',
    declared({
      name: 'f',
      parameters: {
        type: 'object',
        properties: { a: { type: 'object', additionalProperties: false } },
      },
    }),
    'Unknown name "additionalProperties" at \'tools[0].function_declarations[0].parameters.properties[0].value\'',
  ],
  [
    'such a keyword in a format',
    { generationConfig: { responseSchema: { $schema: 'x' } } },
    'Unknown name "$schema" at \'generation_config.response_schema\'',
  ],
])('refuses %s', (_, body, message) => {
  expect(checkGemini({ ...legal, ...body })?.message).toContain(message)
})

test.each<[string, JsonObject]>([
  ['a PDF', { inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } }],
  ['a film', { inline_data: { mime_type: 'video/mp4', data: 'AAAA' } }],
  ['a file by its address', { fileData: { fileUri: 'https://a.b/files/x' } }],
])('takes %s', (_, part) => {
  expect(checkGemini({ contents: [turn('user', part)] })).toBeUndefined()
})

test.each<[string, JsonObject, string]>([
  [
    'a type that no model reads',
    { inlineData: { mimeType: 'application/zip', data: 'UEs=' } },
    'Unsupported MIME type: application/zip',
  ],
  [
    'a file without an address',
    { fileData: { mimeType: 'image/png' } },
    'file_uri must not be empty',
  ],
])('refuses %s', (_, part, message) => {
  expect(checkGemini({ contents: [turn('user', part)] })?.message).toContain(message)
})
