import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { assistant, toolResult, user } from '../../../src/core/messages/messages.ts'
import { imageRequest, modelRequest } from '../../../src/core/messages/requests.ts'
import { validateImageRequest } from '../../../src/core/schema/validate-images.ts'
import {
  isSendable,
  validateMessage,
  validateRequest,
  validateThread,
  validateTool,
} from '../../../src/core/schema/validate.ts'
import type { Issue } from '../../../src/core/types/error-data.ts'

const call = { id: 'c1', name: 'weather', arguments: {} }

test.each<[string, unknown]>([
  ['a text', { role: 'user', content: '' }],
  ['parts', { role: 'user', content: [{ type: 'text', text: 'hi' }] }],
  ['an assistant message with calls', { role: 'assistant', content: '', toolCalls: [call] }],
  ['a tool result', { role: 'tool', content: 'sunny', toolCallId: 'c1' }],
  [
    'an object without a prototype',
    Object.assign(Object.create(null), { role: 'user', content: '' }),
  ],
  [
    'a name of a tool that no provider would take',
    { role: 'assistant', content: '', toolCalls: [{ ...call, name: 'made up!' }] },
  ],
])('%s is legal', (_name, message) => {
  expect(validateMessage(message)).toEqual([])
})

const rows: readonly [string, unknown, readonly Issue[]][] = [
  [
    'a role',
    { role: 'robot', content: '' },
    [{ path: 'role', problem: 'must be one of system, user, assistant, tool, not "robot"' }],
  ],
  [
    'content',
    { role: 'user', content: 5 },
    [{ path: 'content', problem: 'must be a string or a list of parts, not 5' }],
  ],
  [
    'a part',
    { role: 'user', content: ['hi'] },
    [{ path: 'content[0]', problem: 'must be an object, not "hi"' }],
  ],
  [
    'a part of an unknown type',
    { role: 'user', content: [{ type: 'audio' }] },
    [
      {
        path: 'content[0].type',
        problem: 'must be one of text, image, file, reasoning, provider_item, not "audio"',
      },
    ],
  ],
  [
    'an image in the place of a part',
    { role: 'user', content: [{ type: 'url', url: 'https://a.b' }] },
    [
      {
        path: 'content[0].type',
        problem: 'must be one of text, image, file, reasoning, provider_item, not "url"',
      },
    ],
  ],
  [
    'an image that is a data URI',
    {
      role: 'user',
      content: [{ type: 'image', image: { type: 'url', url: 'data:image/png;base64,AAAA' } }],
    },
    [
      {
        path: 'content[0].image.url',
        problem: 'must be an http or https URL, not "data:image/png;base64,AAAA"',
      },
    ],
  ],
  [
    'base64 with a line break',
    {
      role: 'user',
      content: [
        { type: 'image', image: { type: 'base64', base64: 'AAAA\nAAAA', mimeType: 'image/png' } },
      ],
    },
    [{ path: 'content[0].image.base64', problem: 'is not base64: character 5 is "\\n"' }],
  ],
  [
    'a tool message without its call',
    { role: 'tool', content: '' },
    [{ path: 'toolCallId', problem: 'is missing: a tool message answers one call' }],
  ],
  [
    'calls of a user',
    { role: 'user', content: '', toolCalls: [call] },
    [{ path: 'toolCalls', problem: 'is for assistant messages only' }],
  ],
  [
    'an answer by the assistant',
    { role: 'assistant', content: '', toolCallId: 'c1' },
    [{ path: 'toolCallId', problem: 'is for tool messages only' }],
  ],
  [
    'an id twice',
    { role: 'assistant', content: '', toolCalls: [call, call] },
    [{ path: 'toolCalls[1].id', problem: 'is used twice in this message: c1' }],
  ],
  [
    'arguments that are a list',
    { role: 'assistant', content: '', toolCalls: [{ ...call, arguments: [] }] },
    [{ path: 'toolCalls[0].arguments', problem: 'must be a JSON object, not an empty list' }],
  ],
  [
    'a misspelt key',
    { role: 'assistant', content: '', tool_calls: [call] },
    [{ path: '', problem: 'unknown key tool_calls; did you mean toolCalls?' }],
  ],
  [
    'a key without a value',
    { role: 'user', content: '', name: undefined },
    [{ path: 'name', problem: 'must be absent or have a value, not undefined' }],
  ],
]

test.each(rows)('%s that is wrong is named with its place', (_name, message, issues) => {
  expect(validateMessage(message)).toEqual(issues)
})

test('all problems are given, not only the first', () => {
  const paths = validateMessage({ role: 'x', content: 1, metadata: [] }).map(({ path }) => path)
  expect(paths).toEqual(['role', 'content', 'metadata'])
})

describe('what JSON cannot hold is named', () => {
  class Money {
    readonly amount = 1
  }
  const cycle: Record<string, unknown> = {}
  cycle['self'] = { again: cycle }

  test.each<[unknown, string, string]>([
    [{ m: new Map() }, 'metadata.m', 'a Map'],
    [{ d: [new Date(0)] }, 'metadata.d[0]', 'a Date'],
    [{ n: Number.NaN }, 'metadata.n', 'NaN'],
    [{ n: Infinity }, 'metadata.n', 'Infinity'],
    [{ f: () => 1 }, 'metadata.f', 'a function'],
    [{ b: 10n }, 'metadata.b', 'a bigint'],
    [{ s: Symbol('s') }, 'metadata.s', 'a symbol'],
    [{ u: undefined }, 'metadata.u', 'undefined'],
    [{ 'a b': { u: undefined } }, 'metadata["a b"].u', 'undefined'],
    [{ c: new Money() }, 'metadata.c', 'a Money'],
    [{ e: new (class extends Error {})() }, 'metadata.e', 'a class instance'],
    [{ x: new Uint8Array(2) }, 'metadata.x', 'a Uint8Array'],
    // eslint-disable-next-line no-sparse-arrays
    [{ list: [1, , 2] }, 'metadata.list[1]', 'undefined'],
    [cycle, 'metadata.self.again', 'a cycle: it contains itself'],
  ])('%o', (metadata, path, what) => {
    expect(validateMessage({ role: 'user', content: '', metadata })).toEqual([
      { path, problem: `must be a JSON value, not ${what}` },
    ])
  })

  test('the same object twice is not a cycle', () => {
    const shared = { a: 1 }
    const metadata = { one: shared, two: [shared, shared] }
    expect(validateMessage({ role: 'user', content: '', metadata })).toEqual([])
  })
})

const tool = { name: 'look', description: 'Looks.', schema: { type: 'object' } }

test.each<[string, object]>([
  ['a specification', tool],
  [
    'a whole tool',
    {
      ...tool,
      handler: () => 1,
      input: z.object({}),
      manual: false,
      compact: true,
      summary: 's',
      timeoutMs: 5,
      idempotent: true,
      strict: true,
    },
  ],
  ['the longest name', { ...tool, name: 'a-B_9'.padEnd(64, 'x') }],
])('%s is legal', (_name, value) => {
  expect(validateTool(value)).toEqual([])
})

test.each<[string, object, string, string]>([
  ['an empty name', { name: '' }, 'name', 'must be 1 to 64 letters, digits, _ or -, not ""'],
  [
    'a name with a space',
    { name: 'a b' },
    'name',
    'must be 1 to 64 letters, digits, _ or -, not "a b"',
  ],
  [
    'a name with a line break',
    { name: 'a\n' },
    'name',
    'must be 1 to 64 letters, digits, _ or -, not "a\\n"',
  ],
  [
    'a name too long',
    { name: 'x'.repeat(65) },
    'name',
    `must be 1 to 64 letters, digits, _ or -, not "${'x'.repeat(48)}…"`,
  ],
  ['the name none', { name: 'none' }, 'name', 'must not be none: that is a mode of toolChoice'],
  [
    'the name required',
    { name: 'required' },
    'name',
    'must not be required: that is a mode of toolChoice',
  ],
  ['no description', { description: null }, 'description', 'must be a string, not null'],
  ['a list for a schema', { schema: [] }, 'schema', 'must be a JSON object, not an empty list'],
  [
    'a function in the schema',
    { schema: { a: { b: () => 1 } } },
    'schema.a.b',
    'must be a JSON value, not a function',
  ],
  [
    'a handler that is not a function',
    { handler: 'run' },
    'handler',
    'must be a function, not "run"',
  ],
  ['a summary that is not a text', { summary: 5 }, 'summary', 'must be a string, not 5'],
  ['manual that is null', { manual: null }, 'manual', 'must be true or false, not null'],
  [
    'a deadline of nothing',
    { timeoutMs: 0 },
    'timeoutMs',
    'must be a positive number of milliseconds, at most 2147483647, not 0',
  ],
  [
    'a deadline that a timer cannot wait for',
    { timeoutMs: Infinity },
    'timeoutMs',
    'must be a positive number of milliseconds, at most 2147483647, not Infinity',
  ],
  [
    'an input that is not a schema',
    { input: {} },
    'input',
    'must be a Standard Schema, not an object',
  ],
  ['a misspelt key', { handlr: 1 }, '', 'unknown key handlr; did you mean handler?'],
])('%s is refused', (_name, change, path, problem) => {
  expect(validateTool({ ...tool, ...change })).toEqual([{ path, problem }])
})

const requestCall = (id: string): { id: string; name: string; arguments: {} } => ({
  id,
  name: 'look',
  arguments: {},
})

const asks = (...ids: string[]): object => assistant('', { toolCalls: ids.map(requestCall) })

const answers = (id: string): object => toolResult(id, 'ok')

const hello = user('hello')

describe('a conversation', () => {
  const rows: readonly [string, readonly object[], readonly Issue[]][] = [
    ['calls answered in any order', [hello, asks('a', 'b'), answers('b'), answers('a')], []],
    [
      'an id used again in a later turn',
      [asks('a'), answers('a'), asks('a'), answers('a'), hello],
      [],
    ],
    [
      'a call open at the end',
      [hello, asks('a', 'b'), answers('a')],
      [{ path: 'messages[1].toolCalls[1]', problem: 'tool call b is not answered' }],
    ],
    [
      'a call open when the user speaks',
      [asks('a'), hello],
      [{ path: 'messages[0].toolCalls[0]', problem: 'tool call a is not answered' }],
    ],
    [
      'an answer that comes too late',
      [asks('a'), hello, answers('a')],
      [
        { path: 'messages[0].toolCalls[0]', problem: 'tool call a is not answered' },
        {
          path: 'messages[2].toolCallId',
          problem: 'answers a, which is not a call of the assistant message before it',
        },
      ],
    ],
    [
      'an answer to nobody',
      [hello, answers('z')],
      [
        {
          path: 'messages[1].toolCallId',
          problem: 'answers z, which is not a call of the assistant message before it',
        },
      ],
    ],
    [
      'an answer to an earlier turn',
      [asks('a'), answers('a'), hello, answers('a')],
      [
        {
          path: 'messages[3].toolCallId',
          problem: 'answers a, which is not a call of the assistant message before it',
        },
      ],
    ],
    [
      'a second answer',
      [asks('a'), answers('a'), answers('a')],
      [{ path: 'messages[2].toolCallId', problem: 'answers a a second time' }],
    ],
  ]

  test.each(rows)('with %s', (_name, messages, issues) => {
    expect(validateThread({ messages, metadata: {} })).toEqual(issues)
    expect(validateRequest({ messages, tools: [], providerOptions: {}, metadata: {} })).toEqual(
      issues,
    )
    expect(isSendable({ messages, metadata: {} })).toBe(issues.length === 0)
  })

  test('may be empty as a thread, but cannot be sent', () => {
    expect(validateThread({ messages: [], metadata: {} })).toEqual([])
    expect(isSendable({ messages: [], metadata: {} })).toBe(false)
    expect(validateRequest(modelRequest([]))).toEqual([
      {
        path: 'messages',
        problem: 'must be a list of at least one message, not an empty list',
      },
    ])
  })

  test.each([null, undefined, 'text', {}, { messages: 5 }])('%j is not sendable', (value) => {
    expect(isSendable(value)).toBe(false)
  })
})

describe('a field', () => {
  const look = { name: 'look', description: '', schema: {} }
  const rows: readonly [string, object, readonly Issue[]][] = [
    [
      'a temperature out of range',
      { temperature: 2.1 },
      [{ path: 'temperature', problem: 'must be a number from 0 to 2, not 2.1' }],
    ],
    [
      'no tokens',
      { maxTokens: 0 },
      [{ path: 'maxTokens', problem: 'must be a positive integer, not 0' }],
    ],
    [
      'half a token',
      { maxTokens: 1.5 },
      [{ path: 'maxTokens', problem: 'must be a positive integer, not 1.5' }],
    ],
    [
      'an empty model',
      { model: '' },
      [{ path: 'model', problem: 'must be a non-empty string, not ""' }],
    ],
    [
      'a format of its own',
      { responseFormat: { type: 'xml' } },
      [
        {
          path: 'responseFormat.type',
          problem: 'must be one of text, json_object, json_schema, not "xml"',
        },
      ],
    ],
    [
      'a schema that is a text',
      { responseFormat: { type: 'json_schema', name: 'x', schema: '{}', strict: true } },
      [{ path: 'responseFormat.schema', problem: 'must be a JSON object, not "{}"' }],
    ],
    [
      'an effort of its own',
      { reasoning: { effort: 'extreme' } },
      [
        {
          path: 'reasoning.effort',
          problem: 'must be one of none, minimal, low, medium, high, max, not "extreme"',
        },
      ],
    ],
    [
      'a cache that is off',
      { promptCache: false },
      [
        {
          path: 'promptCache',
          problem: 'must be true or an object with key and retention, not false',
        },
      ],
    ],
    [
      'a cache that lasts',
      { promptCache: { retention: 'forever' } },
      [{ path: 'promptCache.retention', problem: 'must be one of short, long, not "forever"' }],
    ],
    [
      'provider options that are none',
      { providerOptions: { openai: 5 } },
      [{ path: 'providerOptions.openai', problem: 'must be a JSON object, not 5' }],
    ],
    [
      'two tools of one name',
      { tools: [look, look] },
      [{ path: 'tools[1].name', problem: 'is used twice among the tools: look' }],
    ],
    [
      'a reserved name',
      { tools: [{ ...look, name: 'auto' }] },
      [{ path: 'tools[0].name', problem: 'must not be auto: that is a mode of toolChoice' }],
    ],
    [
      'a handler in a request',
      { tools: [{ ...look, handler: () => 1 }] },
      [
        {
          path: 'tools[0]',
          problem:
            'unknown key handler; known keys are name, description, schema, strict, providerOptions',
        },
      ],
    ],
    [
      'the choice of a tool that is not there',
      { toolChoice: 'look' },
      [
        {
          path: 'toolChoice',
          problem: 'must be auto, none, required or the name of a tool of the request, not "look"',
        },
      ],
    ],
    [
      'a tool that is required of none',
      { toolChoice: 'required' },
      [{ path: 'toolChoice', problem: 'is required, but the request has no tools' }],
    ],
    ['the choice of a tool that is there', { toolChoice: 'look', tools: [look] }, []],
    [
      'a key in snake case',
      { tool_choice: 'auto' },
      [{ path: '', problem: 'unknown key tool_choice; did you mean toolChoice?' }],
    ],
  ]

  test.each(rows)('with %s', (_name, fields, issues) => {
    expect(validateRequest({ ...modelRequest([hello]), ...fields })).toEqual(issues)
  })
})

describe('a value that was valid once', () => {
  const schema: Record<string, unknown> = { type: 'object' }
  const message = { role: 'user', content: 'hello' as unknown }
  const image = { type: 'base64', base64: 'AAAA', mimeType: 'image/png' }
  const look = { name: 'look', description: 'Looks.', schema }
  const request = {
    ...modelRequest([user('hi')]),
    messages: [message, { role: 'user', content: [{ type: 'image', image }] }],
    tools: [look],
  }

  test('is checked again after it was changed', () => {
    expect(validateRequest(request)).toEqual([])
    message.content = 5
    image.base64 = '!'
    schema['default'] = Number.NaN
    expect(validateRequest(request).map(({ path }) => path)).toEqual([
      'messages[0].content',
      'messages[1].content[0].image.base64',
      'tools[0].schema.default',
    ])
  })
})

const cat = { type: 'url', url: 'https://example.com/cat.png' } as const

const imageRequestRows: readonly [string, object, readonly Issue[]][] = [
  ['a new image', imageRequest('a cat'), []],
  ['an edit of two', imageRequest('a hat', { inputImages: [cat, cat], mask: cat }), []],
  ['a variation', imageRequest(undefined, { operation: 'variation', inputImages: [cat] }), []],
  ['a size in words', imageRequest('x', { size: '1024x1024' }), []],
  [
    'no prompt',
    imageRequest(undefined),
    [{ path: 'prompt', problem: 'is needed to generate an image' }],
  ],
  [
    'an empty prompt',
    imageRequest('', { operation: 'edit', inputImages: [cat] }),
    [{ path: 'prompt', problem: 'is needed to edit an image' }],
  ],
  [
    'inputs to a new image',
    imageRequest('x', { operation: 'generate', inputImages: [cat] }),
    [{ path: 'inputImages', problem: 'must have none for generate, not 1' }],
  ],
  [
    'an edit of nothing',
    imageRequest('x', { operation: 'edit' }),
    [{ path: 'inputImages', problem: 'must have 1 to 16 for edit, not 0' }],
  ],
  [
    'a variation of two',
    imageRequest(undefined, { operation: 'variation', inputImages: [cat, cat] }),
    [{ path: 'inputImages', problem: 'must have exactly 1 for variation, not 2' }],
  ],
  [
    'a mask on a new image',
    imageRequest('x', { mask: cat }),
    [{ path: 'mask', problem: 'is for the operation edit only' }],
  ],
  [
    'no images at all',
    imageRequest('x', { n: 0 }),
    [{ path: 'n', problem: 'must be a positive integer, not 0' }],
  ],
  [
    'a size that is flat',
    imageRequest('x', { size: { width: 0, height: 8 } }),
    [{ path: 'size.width', problem: 'must be a positive integer, not 0' }],
  ],
  [
    'an input that is a path',
    { ...imageRequest('x', { operation: 'edit' }), inputImages: ['cat.png'] },
    [{ path: 'inputImages[0]', problem: 'must be an object, not "cat.png"' }],
  ],
  [
    'an operation of its own',
    { ...imageRequest('x'), operation: 'paint' },
    [{ path: 'operation', problem: 'must be one of generate, edit, variation, not "paint"' }],
  ],
]

test.each(imageRequestRows)('%s', (_name, request, issues) => {
  expect(validateImageRequest(request)).toEqual(issues)
})
