import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { sse } from '../../support/http-server.ts'
import { eventsOf, eventsOfBytes, generated, streamed } from './decode.ts'

const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
  output_tokens: 8,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 18,
}

function response(output: readonly JsonObject[], beside: JsonObject = {}): JsonObject {
  return { object: 'response', id: 'r1', model: 'm', status: 'completed', output, usage, ...beside }
}

const thought = {
  type: 'reasoning',
  id: 'rs_1',
  encrypted_content: 'secret',
  summary: [
    { type: 'summary_text', text: 'First.' },
    { type: 'summary_text', text: 'Then.' },
  ],
}

const message = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  content: [
    { type: 'output_text', text: 'Hello', annotations: [{ type: 'url_citation' }] },
    { type: 'output_text', text: ' there', annotations: [] },
  ],
}

const call = { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'f', arguments: '{"x":1}' }

const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }

const output = [thought, message, call, search]

const created = { type: 'response.created', response: response([], { status: 'in_progress' }) }

const completed = (output: readonly JsonObject[], beside: JsonObject = {}): JsonObject => ({
  type: 'response.completed',
  response: response(output, beside),
})

const ids = ['rs_1', 'msg_1', 'fc_1', 'ws_1']

const event = (type: string, index: number, fields: JsonObject): JsonObject => ({
  type: `response.${type}`,
  output_index: index,
  item_id: ids[index] ?? '',
  ...fields,
})

const stream: readonly JsonObject[] = [
  created,
  event('output_item.added', 0, { item: { type: 'reasoning', id: 'rs_1', summary: [] } }),
  event('reasoning_summary_text.delta', 0, { summary_index: 0, delta: 'First.' }),
  event('reasoning_summary_text.delta', 0, { summary_index: 1, delta: 'Then.' }),
  event('output_item.done', 0, { item: thought }),
  event('output_item.added', 1, { item: { type: 'message', id: 'msg_1', content: [] } }),
  event('output_text.delta', 1, { content_index: 0, delta: 'Hel' }),
  event('output_text.delta', 1, { content_index: 0, delta: 'lo' }),
  event('output_text.done', 1, { content_index: 0, text: 'Hello' }),
  event('output_text.delta', 1, { content_index: 1, delta: ' there' }),
  event('output_text.done', 1, { content_index: 1, text: ' there' }),
  event('output_item.done', 1, { item: message }),
  event('output_item.added', 2, { item: { ...call, arguments: '' } }),
  event('function_call_arguments.delta', 2, { delta: '{"x"' }),
  event('function_call_arguments.delta', 2, { delta: ':1}' }),
  event('output_item.done', 2, { item: call }),
  event('output_item.done', 3, { item: search }),
  completed(output, { service_tier: 'default' }),
]

test('a stream of everything gives its events in order', async () => {
  const opaque = { id: 'rs_1', encrypted_content: 'secret' }
  const done = { id: 'a', name: 'f', arguments: { x: 1 }, rawArguments: '{"x":1}' }
  expect(await eventsOf('responses', sse(...stream))).toEqual([
    { type: 'message_started', requestId: 'run', provider: 'openai', id: 'r1', model: 'm' },
    { type: 'reasoning_delta', delta: 'First.', index: 0 },
    { type: 'reasoning_delta', delta: '\n\nThen.', index: 0 },
    { type: 'reasoning_completed', text: 'First.\n\nThen.', index: 0, opaque },
    { type: 'text_delta', delta: 'Hel', index: 1 },
    { type: 'text_delta', delta: 'lo', index: 1 },
    { type: 'text_completed', text: 'Hello', index: 1 },
    { type: 'text_delta', delta: ' there', index: 1 },
    { type: 'text_completed', text: ' there', index: 1 },
    { type: 'tool_call_started', id: 'a', name: 'f' },
    { type: 'tool_call_delta', id: 'a', argumentsDelta: '{"x"' },
    { type: 'tool_call_delta', id: 'a', argumentsDelta: ':1}' },
    { type: 'tool_call_completed', call: done },
    { type: 'reasoning_completed', text: '', item: search },
    {
      type: 'message_completed',
      message: {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'First.\n\nThen.', opaque, provider: 'openai' },
          { type: 'text', text: 'Hello' },
          { type: 'text', text: ' there' },
          { type: 'provider_item', provider: 'openai', item: search, callsBefore: 1 },
        ],
        toolCalls: [done],
      },
      finishReason: 'tool_calls',
      rawFinishReason: 'completed',
      usage: {
        inputTokens: 10,
        outputTokens: 8,
        totalTokens: 18,
        cachedInputTokens: 4,
        cacheWriteInputTokens: 1,
        reasoningTokens: 3,
      },
      metadata: {
        annotations: [{ type: 'url_citation' }],
        service_tier: 'default',
      },
    },
  ])
})

test('the same bytes, cut at every place, give the same events', async () => {
  const text = sse(...stream)
  const bytes = new TextEncoder().encode(text)
  const events = await eventsOf('responses', text)
  for (let at = 0; at <= bytes.length; at++) {
    const cut = eventsOfBytes('responses', bytes.subarray(0, at), bytes.subarray(at))
    expect(cut, `cut at ${at}`).toEqual(events)
  }
})

test('the answer that is not streamed is the fold of the one that is', async () => {
  const whole = response(output, { service_tier: 'default' })
  expect(await generated('responses', whole)).toEqual(await streamed('responses', ...stream))
})

test.each<[string, readonly unknown[]]>([
  ['the last event is all there is', [completed(output, { service_tier: 'default' })]],
  [
    'the items come only when they are done',
    stream.filter(({ type }) => /created|item\.done|completed/.test(JSON.stringify(type))),
  ],
  [
    'the last event leaves the items out',
    [...stream.slice(0, -1), completed([], { service_tier: 'default' })],
  ],
  ['the items have no numbers', stream.map(({ output_index: _index, ...rest }) => rest)],
  [
    'the ids change from event to event',
    stream.map((given, at) => ('item_id' in given ? { ...given, item_id: `other${at}` } : given)),
  ],
])('it makes no difference that %s', async (_name, events) => {
  const expected = await streamed('responses', ...stream)
  expect(await streamed('responses', ...events)).toEqual(expected)
})

test('the type of an event may be in its SSE name only', async () => {
  const { type: _type, ...delta } = event('output_text.delta', 0, { delta: 'hi' })
  const { type: _end, ...end } = completed([])
  const text = `event: response.output_text.delta\n${sse(delta)}event: response.completed\n${sse(end)}`
  expect((await eventsOf('responses', text)).at(-1)).toMatchObject({ message: { content: 'hi' } })
})

test('a refusal is the text of the answer, and is also kept in the metadata', async () => {
  const refused = { type: 'message', content: [{ type: 'refusal', refusal: 'No, thanks.' }] }
  const events = [
    created,
    event('refusal.delta', 0, { content_index: 0, delta: 'No, ' }),
    event('refusal.delta', 0, { content_index: 0, delta: 'thanks.' }),
    event('refusal.done', 0, { content_index: 0, refusal: 'No, thanks.' }),
    completed([refused]),
  ]
  const answer = await streamed('responses', ...events)
  expect(answer).toMatchObject({
    outputText: 'No, thanks.',
    finishReason: 'content_filter',
    rawFinishReason: 'completed',
    metadata: { refusal: 'No, thanks.' },
  })
  expect(await generated('responses', response([refused]))).toEqual(answer)
})

test('reasoning that is not summarized is decoded from its text', async () => {
  const shown = { type: 'reasoning', id: 'rs', content: [{ type: 'reasoning_text', text: 'hm' }] }
  const answer = await streamed(
    'responses',
    created,
    event('reasoning_text.delta', 0, { content_index: 0, delta: 'hm' }),
    completed([shown]),
  )
  expect(answer.message.content).toMatchObject([{ type: 'reasoning', text: 'hm' }])
  expect(await generated('responses', response([shown]))).toEqual(answer)
})

test('reasoning after a call keeps the number of calls before it', async () => {
  const later = { ...thought, id: 'rs_2' }
  const answer = await generated('responses', response([thought, call, later]))
  expect(answer.message.content).toMatchObject([
    { opaque: { id: 'rs_1', encrypted_content: 'secret' } },
    { opaque: { id: 'rs_2', calls_before: 1 } },
  ])
})

test('a generated image is an image of the answer', async () => {
  const made = {
    type: 'image_generation_call',
    id: 'ig_1',
    result: 'AAAA',
    output_format: 'webp',
    revised_prompt: 'a fox',
  }
  const image = {
    type: 'base64',
    base64: 'AAAA',
    mimeType: 'image/webp',
    revisedPrompt: 'a fox',
    metadata: { id: 'ig_1' },
  }
  const events = await eventsOf(
    'responses',
    sse(event('output_item.done', 0, { item: made }), completed([made])),
  )
  expect(events).toMatchObject([
    { type: 'message_started' },
    { type: 'image_completed', image },
    { type: 'message_completed', message: { content: [{ type: 'image', image }] } },
  ])
})

describe('the end of a response', () => {
  const incomplete = (reason?: string): JsonObject => ({
    type: 'response.incomplete',
    response: response([message], {
      status: 'incomplete',
      incomplete_details: reason === undefined ? null : { reason },
    }),
  })

  test.each<[JsonObject, string, string]>([
    [completed([message]), 'stop', 'completed'],
    [completed([call]), 'tool_calls', 'completed'],
    [incomplete('max_output_tokens'), 'length', 'max_output_tokens'],
    [incomplete('content_filter'), 'content_filter', 'content_filter'],
    [incomplete('boredom'), 'other', 'boredom'],
    [incomplete(), 'other', 'incomplete'],
    [completed([message], { status: 'odd' }), 'other', 'odd'],
  ])('%# is %s (%s)', async (end, finishReason, rawFinishReason) => {
    expect(await streamed('responses', end)).toMatchObject({ finishReason, rawFinishReason })
  })

  test('a call that was cut keeps its text and has no arguments', async () => {
    const cut = { ...call, arguments: '{"x":', status: 'incomplete' }
    const end = incomplete('max_output_tokens')
    const answer = await streamed('responses', {
      ...end,
      response: response([cut], { status: 'incomplete' }),
    })
    expect(answer.toolCalls).toEqual([{ id: 'a', name: 'f', arguments: {}, rawArguments: '{"x":' }])
  })

  test('a body without an end is truncated, and its text is kept', async () => {
    await expect(streamed('responses', ...stream.slice(0, 8))).rejects.toMatchObject({
      reason: 'truncated',
      partial: { outputText: 'Hello' },
    })
  })
})
