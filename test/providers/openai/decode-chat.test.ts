import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { openai } from '../../../src/openai.ts'
import { sse } from '../../support/http-server.ts'
import { call, chunk } from './chunk.ts'
import { eventsOf, eventsOfBytes, generated, streamed } from './decode.ts'
import { readAll, request } from './request.ts'

/** A whole answer. */
function whole(message: JsonObject, finish: string, beside: JsonObject = {}): JsonObject {
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }]
  return { id: 'c1', model: 'm', object: 'chat.completion', choices, ...beside }
}

const usage = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 3 },
  queue_time: 0.5,
}

const stream = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ reasoning_content: 'Let me ' }),
  chunk({ reasoning_content: 'think.' }),
  chunk({ content: 'He' }),
  chunk({ content: 'llo' }),
  chunk({ tool_calls: [call(0, 'a', 'f', '')] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"x":' } }] }),
  chunk({ tool_calls: [call(1, 'b', 'g', '{}'), { index: 0, function: { arguments: '1}' } }] }),
  chunk({}, 'tool_calls', { system_fingerprint: 'fp' }),
  { id: 'c1', model: 'm', choices: [], usage },
  '[DONE]',
]

test('a stream of everything gives its events in order', async () => {
  expect(await eventsOf('chat', sse(...stream))).toEqual([
    { type: 'message_started', requestId: 'run', provider: 'openai', id: 'c1', model: 'm' },
    { type: 'reasoning_delta', delta: 'Let me ' },
    { type: 'reasoning_delta', delta: 'think.' },
    { type: 'reasoning_completed', text: 'Let me think.', opaque: { field: 'reasoning_content' } },
    { type: 'text_delta', delta: 'He' },
    { type: 'text_delta', delta: 'llo' },
    { type: 'tool_call_started', id: 'a', name: 'f' },
    { type: 'tool_call_delta', id: 'a', argumentsDelta: '{"x":' },
    { type: 'tool_call_started', id: 'b', name: 'g' },
    { type: 'tool_call_delta', id: 'b', argumentsDelta: '{}' },
    { type: 'tool_call_delta', id: 'a', argumentsDelta: '1}' },
    { type: 'text_completed', text: 'Hello' },
    {
      type: 'tool_call_completed',
      call: { id: 'a', name: 'f', arguments: { x: 1 }, rawArguments: '{"x":1}' },
    },
    {
      type: 'tool_call_completed',
      call: { id: 'b', name: 'g', arguments: {}, rawArguments: '{}' },
    },
    {
      type: 'message_completed',
      message: {
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            text: 'Let me think.',
            opaque: { field: 'reasoning_content' },
            provider: 'openai',
          },
          { type: 'text', text: 'Hello' },
        ],
        toolCalls: [
          { id: 'a', name: 'f', arguments: { x: 1 }, rawArguments: '{"x":1}' },
          { id: 'b', name: 'g', arguments: {}, rawArguments: '{}' },
        ],
      },
      finishReason: 'tool_calls',
      rawFinishReason: 'tool_calls',
      usage: {
        inputTokens: 10,
        outputTokens: 5,
        totalTokens: 15,
        cachedInputTokens: 4,
        cacheWriteInputTokens: 2,
        reasoningTokens: 3,
        extra: { prompt_tokens_details: { audio_tokens: 0 }, queue_time: 0.5 },
      },
      metadata: { system_fingerprint: 'fp' },
    },
  ])
})

test('the same bytes, cut at every place, give the same events', async () => {
  const text = sse(...stream, chunk({ content: 'nach dem Ende 😀' }))
  const bytes = new TextEncoder().encode(text)
  const events = await eventsOf('chat', text)
  for (let at = 0; at <= bytes.length; at++) {
    const cut = eventsOfBytes('chat', bytes.subarray(0, at), bytes.subarray(at))
    expect(cut, `cut at ${at}`).toEqual(events)
  }
})

test('the answer that is not streamed is the fold of the one that is', async () => {
  const message = {
    content: 'Hello',
    reasoning_content: 'Let me think.',
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
    ],
  }
  const body = whole(message, 'tool_calls', { usage, system_fingerprint: 'fp' })
  expect(await generated('chat', body)).toEqual(await streamed('chat', ...stream))
})

test.each<[string, JsonObject, readonly JsonObject[]]>([
  ['an empty answer', { content: '' }, [chunk({ content: '' })]],
  ['no content', { content: null }, [chunk({})]],
  [
    'a refusal',
    { content: null, refusal: 'No, thanks.' },
    [chunk({ refusal: 'No, ' }), chunk({ refusal: 'thanks.' })],
  ],
  [
    'details of reasoning',
    {
      content: 'ok',
      reasoning: 'hm, yes',
      reasoning_details: [
        { type: 'reasoning.text', index: 0, text: 'hm, yes', signature: 's' },
        { type: 'reasoning.encrypted', index: 1, data: 'x' },
      ],
    },
    [
      chunk({
        reasoning: 'hm,',
        reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'hm,' }],
      }),
      chunk({
        reasoning: ' yes',
        reasoning_details: [{ type: 'reasoning.text', index: 0, text: ' yes', signature: 's' }],
      }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'x' }] }),
      chunk({ content: 'ok' }),
    ],
  ],
  [
    'thinking in the content',
    {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
        { type: 'text', text: 'ok' },
      ],
    },
    [
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }),
      chunk({ content: 'ok' }),
    ],
  ],
  [
    'an image',
    {
      content: 'here',
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
    },
    [
      chunk({ content: 'he' }),
      chunk({ images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] }),
      chunk({ content: 're' }),
    ],
  ],
  [
    'audio',
    { content: null, audio: { id: 'au', data: 'AABB', transcript: 'hi you' } },
    [
      chunk({ audio: { id: 'au', transcript: 'hi ' } }),
      chunk({ audio: { data: 'AA' } }),
      chunk({ audio: { data: 'BB', transcript: 'you' } }),
    ],
  ],
  [
    'annotations',
    { content: 'ok', annotations: [{ type: 'url_citation' }] },
    [chunk({ content: 'ok' }), chunk({ annotations: [{ type: 'url_citation' }] })],
  ],
])('%s is the same, streamed or not', async (_name, message, chunks) => {
  const response = await streamed('chat', ...chunks, chunk({}, 'stop'), '[DONE]')
  expect(await generated('chat', whole(message, 'stop'))).toEqual(response)
})

test('a refusal is the text of the answer, and is also kept in the metadata', async () => {
  expect(await generated('chat', whole({ content: null, refusal: 'No.' }, 'stop'))).toMatchObject({
    outputText: 'No.',
    finishReason: 'content_filter',
    rawFinishReason: 'stop',
    metadata: { refusal: 'No.' },
  })
})

describe('the end of a stream', () => {
  test.each<[string, readonly unknown[], string, string | undefined]>([
    ['a reason and no marker', [chunk({ content: 'a' }, 'stop')], 'stop', 'stop'],
    ['a marker and no reason', [chunk({ content: 'a' }), '[DONE]'], 'other', undefined],
    [
      'calls, a marker and no reason',
      [chunk({ tool_calls: [call(0, 'a', 'f', '{}')] }), '[DONE]'],
      'tool_calls',
      undefined,
    ],
    ['a cut', [chunk({ content: 'a' }, 'length'), '[DONE]'], 'length', 'length'],
    [
      'a filter',
      [chunk({ content: 'a' }, 'content_filter'), '[DONE]'],
      'content_filter',
      'content_filter',
    ],
    [
      'the old word for calls',
      [chunk({}, 'function_call'), '[DONE]'],
      'tool_calls',
      'function_call',
    ],
    ['an unknown word', [chunk({}, 'constructor'), '[DONE]'], 'other', 'constructor'],
  ])('%s', async (_name, chunks, finishReason, rawFinishReason) => {
    const response = await streamed('chat', ...chunks)
    expect(response.finishReason).toBe(finishReason)
    expect(response.rawFinishReason).toBe(rawFinishReason)
  })

  test('a body without a finish reason and an end marker is truncated, and its text is kept', async () => {
    await expect(streamed('chat', chunk({ content: 'a' }))).rejects.toMatchObject({
      reason: 'truncated',
      partial: { outputText: 'a' },
    })
  })
})

describe('what stands beside the answer', () => {
  test('raw chunks are emitted after message_started', async () => {
    const first = chunk({ role: 'assistant' })
    const second = chunk({ content: 'a' }, 'stop')
    const events = await eventsOf('chat', sse(first, second, '[DONE]'), true)
    expect(events.slice(0, 4)).toMatchObject([
      { type: 'message_started' },
      { type: 'raw_chunk', chunk: first },
      { type: 'raw_chunk', chunk: second },
      { type: 'text_delta', delta: 'a' },
    ])
  })

  test('log probabilities, the server’s own words, and only the first of several choices', async () => {
    const scored = (token: string) => ({
      ...chunk({}),
      choices: [
        { index: 0, delta: { content: token }, logprobs: { content: [{ token }] } },
        { index: 1, delta: { content: 'other' } },
      ],
    })
    const end = chunk({}, 'stop', { timings: { ms: 1 }, x_groq: { usage: { total_tokens: 2 } } })
    const response = await streamed('chat', scored('a'), scored('b'), end, '[DONE]')
    expect(response).toMatchObject({
      outputText: 'ab',
      usage: { totalTokens: 2 },
      metadata: { logprobs: [{ token: 'a' }, { token: 'b' }], timings: { ms: 1 } },
    })
  })

  test('a server that answers a streaming call with a document is understood', async () => {
    const body = JSON.stringify(whole({ content: 'hi' }, 'stop'))
    const answer = new Response(body, { headers: { 'content-type': 'application/json' } })
    const adapter = openai({ api: 'chat', apiKey: 'k', fetch: () => Promise.resolve(answer) })
    expect((await readAll(adapter.stream(request()))).at(-1)).toMatchObject({
      type: 'message_completed',
      message: { content: 'hi' },
    })
  })
})

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

test('arguments that cannot be parsed are kept as they were written', async () => {
  const { toolCalls } = await streamed(
    'chat',
    piece(call(0, 'a', 'f', '{"x":')),
    chunk({}, 'length'),
    '[DONE]',
  )
  expect(toolCalls).toEqual([{ id: 'a', name: 'f', arguments: {}, rawArguments: '{"x":' }])
})

test('a signature beside a call is kept to be sent back', async () => {
  const extra = { google: { thought_signature: 's' } }
  const { toolCalls } = await streamed(
    'chat',
    piece({ ...call(0, 'a', 'f', '{}'), extra_content: extra }),
    '[DONE]',
  )
  expect(toolCalls[0]?.opaque).toEqual({ extra_content: extra })
})
