import { expect, test } from 'vitest'
import type { JsonObject } from '../../../src/types/json.ts'
import { call, chunk } from './chunk.ts'
import { streamed } from './decode.ts'

const calls = async (...chunks: readonly unknown[]) =>
  (await streamed('chat', ...chunks, chunk({}, 'tool_calls'), '[DONE]')).toolCalls.map(
    ({ id, name, rawArguments }) => [id, name, rawArguments],
  )
const piece = (fields: JsonObject): JsonObject => chunk({ tool_calls: [fields] })

test.each<[string, readonly JsonObject[], readonly (readonly unknown[])[]]>([
  [
    'arguments before the name, and the id last',
    [
      piece({ index: 0, function: { arguments: '{"x"' } }),
      piece({ index: 0, function: { name: 'f', arguments: ':1' } }),
      piece({ index: 0, id: 'a', function: { arguments: '}' } }),
    ],
    [['a', 'f', '{"x":1}']],
  ],
  [
    'no ids',
    [
      chunk({
        tool_calls: [
          { index: 0, function: { name: 'f', arguments: '{}' } },
          { index: 1, function: { name: 'g', arguments: '{}' } },
        ],
      }),
    ],
    [
      ['call_1', 'f', '{}'],
      ['call_2', 'g', '{}'],
    ],
  ],
  [
    'no index',
    [
      piece({ id: 'a', function: { name: 'f', arguments: '{"x"' } }),
      piece({ function: { arguments: ':1}' } }),
      piece({ id: 'b', function: { name: 'g', arguments: '{}' } }),
    ],
    [
      ['a', 'f', '{"x":1}'],
      ['b', 'g', '{}'],
    ],
  ],
  [
    'every call with the index 0',
    [
      piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }),
      piece({ index: 0, id: 'b', function: { name: 'g', arguments: '{}' } }),
    ],
    [
      ['a', 'f', '{}'],
      ['b', 'g', '{}'],
    ],
  ],
  [
    'id and name with every piece',
    [
      piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{' } }),
      piece({ index: 0, id: 'a', function: { name: 'f', arguments: '}' } }),
    ],
    [['a', 'f', '{}']],
  ],
  [
    'one id for two calls',
    [
      piece({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }),
      piece({ index: 1, id: 'a', function: { name: 'g', arguments: '{' } }),
      piece({ index: 1, id: 'a', function: { name: 'g', arguments: '}' } }),
    ],
    [
      ['a', 'f', '{}'],
      ['call_1', 'g', '{}'],
    ],
  ],
  [
    'arguments that are an object',
    [piece({ index: 0, id: 'a', function: { name: 'f', arguments: { x: 1 } } })],
    [['a', 'f', '{"x":1}']],
  ],
  [
    'no arguments',
    [piece({ index: 0, id: 'a', function: { name: 'f' } })],
    [['a', 'f', undefined]],
  ],
  [
    'the old form',
    [
      chunk({ function_call: { name: 'f', arguments: '{' } }),
      chunk({ function_call: { arguments: '}' } }),
    ],
    [['call_1', 'f', '{}']],
  ],
])('%s', async (_name, chunks, expected) => {
  expect(await calls(...chunks)).toEqual(expected)
})

test('arguments that can not be parsed are kept as they were written', async () => {
  const { toolCalls } = await streamed(
    'chat',
    piece(call(0, 'a', 'f', '{"x":')),
    chunk({}, 'length'),
    '[DONE]',
  )
  expect(toolCalls).toEqual([{ id: 'a', name: 'f', arguments: {}, rawArguments: '{"x":' }])
})

test('a signature beside a call is kept for its echo', async () => {
  const extra = { google: { thought_signature: 's' } }
  const { toolCalls } = await streamed(
    'chat',
    piece({ ...call(0, 'a', 'f', '{}'), extra_content: extra }),
    '[DONE]',
  )
  expect(toolCalls[0]?.opaque).toEqual({ extra_content: extra })
})
