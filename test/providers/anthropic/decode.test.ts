import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import {
  block,
  decode,
  fold,
  head,
  named,
  request,
  stream,
  tail,
  text,
  toolUse,
} from './support.ts'

const started = {
  type: 'message_started',
  requestId: 'run',
  provider: 'anthropic',
  id: 'msg_1',
  model: 'claude-haiku-4-5',
  usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4 },
}

function types(events: readonly ModelEvent[]): readonly string[] {
  return events.map(({ type }) => type)
}

describe('text', () => {
  test('a text comes as deltas, then whole, then as the message', async () => {
    expect(await decode(stream(...text(0, 'Hel', 'lo')))).toEqual([
      started,
      { type: 'text_delta', delta: 'Hel', index: 0 },
      { type: 'text_delta', delta: 'lo', index: 0 },
      { type: 'text_completed', text: 'Hello', index: 0 },
      {
        type: 'message_completed',
        message: { role: 'assistant', content: 'Hello' },
        finishReason: 'stop',
        rawFinishReason: 'end_turn',
        usage: { inputTokens: 3, outputTokens: 9, totalTokens: 12 },
      },
    ])
  })

  test('several text blocks are completed one by one and joined in the answer', async () => {
    const body = stream(...text(0, 'one '), ...text(1, 'two'))
    const events = await decode(body)
    expect(events.filter(({ type }) => type === 'text_completed')).toEqual([
      { type: 'text_completed', text: 'one ', index: 0 },
      { type: 'text_completed', text: 'two', index: 1 },
    ])
    expect((await fold(body)).outputText).toBe('one two')
  })

  test('a block without text emits nothing', async () => {
    expect(types(await decode(stream(...text(0, ''))))).toEqual([
      'message_started',
      'message_completed',
    ])
  })

  test('text in the head of a block is emitted', async () => {
    const response = await fold(stream(...block(0, { type: 'text', text: 'Hi' })))
    expect(response.outputText).toBe('Hi')
  })

  test('a block whose beginning was left out begins with its first delta', async () => {
    const delta = {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: 'Hi' },
    }
    expect((await fold(named(delta, ...tail()))).outputText).toBe('Hi')
  })

  test('a block that ends late keeps its place', async () => {
    const response = await fold(
      named(
        head(),
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'thinking', thinking: '' },
        },
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'thinking_delta', thinking: 'Hm.' },
        },
        { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Yes.' } },
        {
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'signature_delta', signature: 'sig' },
        },
        { type: 'content_block_stop', index: 0 },
        { type: 'content_block_stop', index: 1 },
        ...tail(),
      ),
    )
    expect(response.message.content).toEqual([
      { type: 'reasoning', text: 'Hm.', opaque: { signature: 'sig' }, provider: 'anthropic' },
      { type: 'text', text: 'Yes.' },
    ])
  })
})

describe('thinking', () => {
  const thinking = block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'Let me' },
    { type: 'thinking_delta', thinking: ' see' },
    { type: 'signature_delta', signature: 'c2ln' },
  )

  test('thinking is emitted as reasoning, with the signature to send back', async () => {
    const events = await decode(stream(...thinking, ...text(1, 'Yes')))
    expect(events.slice(1, 4)).toEqual([
      { type: 'reasoning_delta', delta: 'Let me', index: 0 },
      { type: 'reasoning_delta', delta: ' see', index: 0 },
      { type: 'reasoning_completed', text: 'Let me see', index: 0, opaque: { signature: 'c2ln' } },
    ])
    expect(events.at(-1)).toMatchObject({
      message: {
        content: [
          {
            type: 'reasoning',
            text: 'Let me see',
            opaque: { signature: 'c2ln' },
            provider: 'anthropic',
          },
          { type: 'text', text: 'Yes' },
        ],
      },
    })
  })

  test('thinking whose text is omitted still has its signature', async () => {
    const omitted = block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'signature_delta', signature: 's' },
    )
    expect((await decode(stream(...omitted)))[1]).toEqual({
      type: 'reasoning_completed',
      text: '',
      index: 0,
      opaque: { signature: 's' },
    })
  })

  test('thinking and text in one block are both completed', async () => {
    const mixed = block(
      0,
      { type: 'thinking', thinking: '' },
      { type: 'thinking_delta', thinking: 'Hm' },
      { type: 'text_delta', text: 'Yes' },
    )
    const events = await decode(stream(...mixed))
    expect(events.slice(1, -1)).toEqual([
      { type: 'reasoning_delta', delta: 'Hm', index: 0 },
      { type: 'text_delta', delta: 'Yes', index: 0 },
      { type: 'reasoning_completed', text: 'Hm', index: 0 },
      { type: 'text_completed', text: 'Yes', index: 0 },
    ])
    expect((await fold(stream(...mixed))).message.content).toEqual([
      { type: 'reasoning', text: 'Hm', provider: 'anthropic' },
      { type: 'text', text: 'Yes' },
    ])
  })

  test('redacted thinking is kept, so that it can be sent back', async () => {
    const redacted = block(0, { type: 'redacted_thinking', data: 'ZW5j' })
    expect((await decode(stream(...redacted)))[1]).toEqual({
      type: 'reasoning_completed',
      text: '',
      index: 0,
      opaque: { redacted: 'ZW5j' },
    })
  })

  test('thinking between tool calls keeps the number of calls before it', async () => {
    const between = block(1, { type: 'thinking', thinking: 'next', signature: 's' })
    const events = await decode(
      stream(...toolUse(0, 'a', 'f', '{}'), ...between, ...toolUse(2, 'b', 'f', '{}')),
    )
    expect(events.find(({ type }) => type === 'reasoning_completed')).toMatchObject({
      opaque: { signature: 's', toolCalls: 1 },
    })
  })
})

describe('tool calls', () => {
  test('a call is announced, grows and is completed', async () => {
    const events = await decode(
      named(
        head(),
        ...toolUse(0, 'toolu_1', 'weather', '{"city"', ':"Paris"}'),
        ...tail('tool_use'),
      ),
    )
    const call = {
      id: 'toolu_1',
      name: 'weather',
      arguments: { city: 'Paris' },
      rawArguments: '{"city":"Paris"}',
    }
    expect(events.slice(1)).toEqual([
      { type: 'tool_call_started', id: 'toolu_1', name: 'weather' },
      { type: 'tool_call_delta', id: 'toolu_1', argumentsDelta: '{"city"' },
      { type: 'tool_call_delta', id: 'toolu_1', argumentsDelta: ':"Paris"}' },
      { type: 'tool_call_completed', call },
      expect.objectContaining({
        message: { role: 'assistant', content: '', toolCalls: [call] },
        finishReason: 'tool_calls',
        rawFinishReason: 'tool_use',
      }),
    ])
  })

  test.each([
    { name: 'no input', deltas: [], raw: '{}', parsed: {} },
    { name: 'an empty delta', deltas: [''], raw: '{}', parsed: {} },
    { name: 'an object', deltas: ['{"a":', '1}'], raw: '{"a":1}', parsed: { a: 1 } },
    { name: 'JSON that was cut', deltas: ['{"a":"x'], raw: '{"a":"x', parsed: {} },
    { name: 'JSON that is not an object', deltas: ['[1]'], raw: '[1]', parsed: {} },
  ])(
    '$name gives the text of the arguments and what it parses to',
    async ({ deltas, raw, parsed }) => {
      const [call] = (await fold(stream(...toolUse(0, 't', 'f', ...deltas)))).toolCalls
      expect(call).toEqual({ id: 't', name: 'f', arguments: parsed, rawArguments: raw })
    },
  )

  test('a call that was cut is completed with the arguments so far', async () => {
    const open = toolUse(0, 't', 'f', '{"a":').slice(0, -1)
    const response = await fold(named(head(), ...open, ...tail('max_tokens')))
    expect(response).toMatchObject({
      finishReason: 'length',
      toolCalls: [{ id: 't', arguments: {}, rawArguments: '{"a":' }],
    })
  })

  test('a message with calls ends for them, also when the server says that the turn ended', async () => {
    const response = await fold(named(head(), ...toolUse(0, 't', 'f'), ...tail('end_turn')))
    expect(response).toMatchObject({ finishReason: 'tool_calls', rawFinishReason: 'end_turn' })
  })

  test('calls that share an id are both kept, each with its own id', async () => {
    const response = await fold(
      stream(...toolUse(0, 'same', 'f', '{"a":1}'), ...toolUse(1, 'same', 'f', '{"a":2}')),
    )
    expect(response.toolCalls).toMatchObject([
      { id: 'same', arguments: { a: 1 } },
      { id: 'run_1', arguments: { a: 2 } },
    ])
  })

  test('the caller and the toolset of a call are kept, so that they can be sent back', async () => {
    const caller = { type: 'code_execution_20260120', tool_id: 'srv' }
    const use = {
      type: 'tool_use',
      id: 't',
      name: 'click',
      input: {},
      caller,
      toolset_name: 'browser',
    }
    const [call] = (await fold(stream(...block(0, use)))).toolCalls
    expect(call?.opaque).toEqual({ caller, toolset_name: 'browser' })
  })
})

describe('the end', () => {
  test.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool_calls'],
    ['refusal', 'content_filter'],
    ['pause_turn', 'other'],
    ['a_word_of_tomorrow', 'other'],
  ])('%s ends as %s', async (raw, finishReason) => {
    const response = await fold(named(head(), ...text(0, 'x'), ...tail(raw)))
    expect(response).toMatchObject({ finishReason, rawFinishReason: raw })
  })

  test('facts without a common field are in the metadata', async () => {
    const delta = {
      stop_sequence: 'END',
      stop_details: { type: 'refusal', category: 'bio' },
      container: { id: 'c1' },
    }
    const citation = { type: 'char_location', cited_text: 'x', document_index: 0 }
    const cited = block(
      0,
      { type: 'text', text: '' },
      { type: 'citations_delta', citation },
      { type: 'text_delta', text: 'x' },
    )
    const { metadata } = await fold(named(head(), ...cited, ...tail('stop_sequence', delta)))
    expect(metadata).toEqual({
      stopSequence: 'END',
      stopDetails: { type: 'refusal', category: 'bio' },
      container: { id: 'c1' },
      citations: [{ index: 0, citation }],
    })
  })

  test('tools that run at the provider are items of the message, to be sent back', async () => {
    const use = { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} }
    const result = { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] }
    const response = await fold(
      stream(
        ...block(0, use, { type: 'input_json_delta', partial_json: '{"query":"x"}' }),
        ...block(1, result),
        ...text(2, 'Found.'),
      ),
    )
    const asked = { ...use, input: { query: 'x' } }
    expect(response.toolCalls).toEqual([])
    expect(response.finishReason).toBe('stop')
    expect(response.message.content).toEqual([
      { type: 'provider_item', provider: 'anthropic', item: asked },
      { type: 'provider_item', provider: 'anthropic', item: result },
      { type: 'text', text: 'Found.' },
    ])
  })

  test('a block of an unknown type is kept with its deltas applied', async () => {
    const response = await fold(
      stream(
        ...block(
          0,
          { type: 'compaction', content: '' },
          { type: 'compaction_delta', content: 'so far' },
        ),
      ),
    )
    const item = { type: 'compaction', content: 'so far' }
    expect(response.message.content).toEqual([
      { type: 'provider_item', provider: 'anthropic', item },
    ])
  })
})

describe('usage', () => {
  test('input tokens include cache reads and cache writes', async () => {
    const usage = {
      input_tokens: 5,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 20,
      output_tokens: 1,
    }
    const delta = {
      input_tokens: 6,
      cache_read_input_tokens: null,
      output_tokens: 40,
      output_tokens_details: { thinking_tokens: 30 },
      server_tool_use: { web_search_requests: 1 },
    }
    const response = await fold(named(head(usage), ...text(0, 'x'), ...tail('end_turn', {}, delta)))
    expect(response.usage).toEqual({
      inputTokens: 126,
      outputTokens: 40,
      totalTokens: 166,
      cachedInputTokens: 100,
      cacheWriteInputTokens: 20,
      reasoningTokens: 30,
      extra: { server_tool_use: { web_search_requests: 1 } },
    })
  })

  test('a count that was not reported is absent', async () => {
    const events = await decode(
      named({ type: 'message_start', message: {} }, { type: 'message_stop' }),
    )
    expect(events).toEqual([
      { type: 'message_started', requestId: 'run', provider: 'anthropic' },
      {
        type: 'message_completed',
        message: { role: 'assistant', content: '' },
        finishReason: 'other',
      },
    ])
  })
})

describe('servers that break the rules', () => {
  test('pings, unknown events, padding, a second message_start and a foreign end marker are ignored', async () => {
    const body = [
      'event: ping\ndata: {"type": "ping"}\n\n',
      named(head()),
      'event: message_start\ndata: {"type":"message_start","message":{"id":"other"}}      \n\n',
      named({ type: 'news_of_tomorrow', index: 0 }),
      named(...text(0, 'Hi')).replaceAll('}\n\n', '}        \n\n'),
      named(...tail()),
      'data: [DONE]\n\n',
    ].join('')
    expect(await fold(body)).toMatchObject({ id: 'msg_1', outputText: 'Hi', finishReason: 'stop' })
  })

  test('raw events are emitted on request, after message_started and before message_completed', async () => {
    const events = await decode(stream(...text(0, 'Hi')), request(), { includeRawChunks: true })
    const raw = events.flatMap((event) => (event.type === 'raw_chunk' ? event.chunk : []))
    expect(raw.map((chunk) => (chunk as { type: string }).type)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    expect(types(events).at(0)).toBe('message_started')
    expect(types(events).at(-1)).toBe('message_completed')
  })
})
