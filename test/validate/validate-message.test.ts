import { describe, expect, test } from 'vitest'
import { validateMessage } from '../../src/schema/validate.ts'
import type { Issue } from '../../src/types/error-data.ts'

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
    [{ path: 'content[0].type', problem: 'must be one of text, image, reasoning, not "audio"' }],
  ],
  [
    'an image in the place of a part',
    { role: 'user', content: [{ type: 'url', url: 'https://a.b' }] },
    [{ path: 'content[0].type', problem: 'must be one of text, image, reasoning, not "url"' }],
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
        problem: 'must be an http or https address, not "data:image/png;base64,AAAA"',
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

describe('what JSON can not hold is named', () => {
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
    [cycle, 'metadata.self.again', 'a cycle: it holds itself'],
  ])('%o', (metadata, path, what) => {
    expect(validateMessage({ role: 'user', content: '', metadata })).toEqual([
      { path, problem: `must be a JSON value, not ${what}` },
    ])
  })

  test('the same object twice is no cycle', () => {
    const shared = { a: 1 }
    const metadata = { one: shared, two: [shared, shared] }
    expect(validateMessage({ role: 'user', content: '', metadata })).toEqual([])
  })
})
