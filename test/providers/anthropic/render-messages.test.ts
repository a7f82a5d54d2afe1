import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { Message, Part, ToolCall } from '../../../src/core/types/message.ts'
import { renderMessages } from '../../../src/providers/anthropic/render-messages.ts'

const user = (content: Message['content']): Message => ({ role: 'user', content })
const system = (content: Message['content']): Message => ({ role: 'system', content })
const assistant = (content: Message['content'], ...toolCalls: ToolCall[]): Message =>
  toolCalls.length === 0
    ? { role: 'assistant', content }
    : { role: 'assistant', content, toolCalls }
const result = (toolCallId: string, content: Message['content']): Message => ({
  role: 'tool',
  toolCallId,
  content,
})
const call = (id: string, fields: Partial<ToolCall> = {}): ToolCall => ({
  id,
  name: 'f',
  arguments: {},
  ...fields,
})
const thought = (text: string, opaque?: JsonObject, provider = 'anthropic'): Part =>
  opaque === undefined
    ? { type: 'reasoning', text, provider }
    : { type: 'reasoning', text, opaque, provider }

function render(...messages: readonly Message[]): readonly JsonObject[] {
  return renderMessages(messages, { provider: 'anthropic', prefill: false }).messages
}

describe('system', () => {
  test('system messages move to system, from any position', () => {
    const rendered = renderMessages(
      [system('Be brief.'), user('Hi'), system([{ type: 'text', text: 'Be kind.' }])],
      {
        provider: 'anthropic',
        prefill: false,
      },
    )
    expect(rendered).toEqual({
      system: 'Be brief.\n\nBe kind.',
      messages: [{ role: 'user', content: 'Hi' }],
    })
  })

  test('system messages without any other message are sent as the user’s', () => {
    expect(
      renderMessages([system('Be brief.'), system('Tell a joke.')], {
        provider: 'anthropic',
        prefill: false,
      }),
    ).toEqual({
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Tell a joke.' }],
    })
  })

  test('a conversation of empty messages is refused before it is sent', () => {
    expect(() => render(user(' '))).toThrow('messages must contain text')
  })
})

describe('turns', () => {
  test('consecutive messages of one role make one turn', () => {
    expect(render(user('a'), user('b'), assistant('c'), assistant('d'), user('e'))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'c' },
          { type: 'text', text: 'd' },
        ],
      },
      { role: 'user', content: 'e' },
    ])
  })

  test('empty and blank texts are left out, and so are messages without other content', () => {
    expect(
      render(
        user('a'),
        assistant(''),
        user([
          { type: 'text', text: ' \n' },
          { type: 'text', text: 'b' },
        ]),
      ),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
  })

  test('images are sent as a URL or as base64', () => {
    const image: Part = { type: 'image', image: { type: 'url', url: 'https://example.com/a.png' } }
    const bytes: Part = {
      type: 'image',
      image: { type: 'base64', base64: 'AAAA', mimeType: 'image/png' },
    }
    expect(render(user([image, bytes, { type: 'text', text: 'Which?' }]))[0]?.['content']).toEqual([
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
      { type: 'text', text: 'Which?' },
    ])
  })

  test('images of the assistant open the user’s next turn, after the results of its tools', () => {
    const drawn: Part = { type: 'image', image: { type: 'url', url: 'https://example.com/a.png' } }
    const block = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }
    expect(
      render(user('Draw'), assistant([{ type: 'text', text: 'Here' }, drawn]), user('Thanks')),
    ).toEqual([
      { role: 'user', content: 'Draw' },
      { role: 'assistant', content: 'Here' },
      { role: 'user', content: [block, { type: 'text', text: 'Thanks' }] },
    ])
    expect(
      render(user('Draw'), assistant([drawn], call('a')), result('a', 'ok'))[2]?.['content'],
    ).toEqual([{ type: 'tool_result', tool_use_id: 'a', content: 'ok' }, block])
  })
})

describe('tools', () => {
  test('consecutive results make one turn, before the user’s text', () => {
    const turns = render(
      user('?'),
      assistant('', call('a'), call('b')),
      result('a', '1'),
      result('b', ''),
      user('And?'),
    )
    expect(turns.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'f', input: {} },
          { type: 'tool_use', id: 'b', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: '1' },
          { type: 'tool_result', tool_use_id: 'b' },
          { type: 'text', text: 'And?' },
        ],
      },
    ])
  })

  test('a result may contain images', () => {
    const parts: Part[] = [
      { type: 'text', text: 'seen' },
      { type: 'image', image: { type: 'base64', base64: 'AAAA', mimeType: 'image/png' } },
    ]
    expect(render(user('?'), assistant('', call('a')), result('a', parts))[2]).toMatchObject({
      content: [{ type: 'tool_result', content: [{ type: 'text' }, { type: 'image' }] }],
    })
  })

  test('ids that other providers count from 0 in every answer are made unique', () => {
    const turns = render(
      user('?'),
      assistant('', call('call_0')),
      result('call_0', '1'),
      assistant('', call('call_0')),
      result('call_0', '2'),
    )
    expect(turns.slice(1)).toMatchObject([
      { content: [{ id: 'call_0' }] },
      { content: [{ tool_use_id: 'call_0', content: '1' }] },
      { content: [{ id: 'call_0_2' }] },
      { content: [{ tool_use_id: 'call_0_2', content: '2' }] },
    ])
  })

  test('ids and names are written in the letters that the API takes, and stay distinct', () => {
    const turns = render(
      user('?'),
      assistant('', call('f.g:0', { name: 'a.b' }), call('f:g.0', { name: '' })),
      result('f.g:0', '1'),
      result('f:g.0', '2'),
    )
    expect(turns.slice(1)).toMatchObject([
      {
        content: [
          { id: 'f_g_0', name: 'a_b' },
          { id: 'f_g_0_2', name: 'unnamed' },
        ],
      },
      {
        content: [
          { tool_use_id: 'f_g_0', content: '1' },
          { tool_use_id: 'f_g_0_2', content: '2' },
        ],
      },
    ])
  })

  test('arguments that are not a JSON object are shown to the model as it wrote them', () => {
    const broken = call('a', { rawArguments: '{"city": "Par' })
    expect(render(user('?'), assistant('', broken), result('a', 'no'))[1]).toMatchObject({
      content: [{ input: { INVALID_JSON: '{"city": "Par' } }],
    })
    expect(
      render(user('?'), assistant('', call('a', { rawArguments: '{}' })), result('a', 'ok'))[1],
    ).toMatchObject({
      content: [{ input: {} }],
    })
  })

  test('the caller and the toolset are sent back, on the call and on its result', () => {
    const caller = { type: 'code_execution_20260120', tool_id: 's' }
    const echoed = call('a', { opaque: { caller, toolset_name: 'browser' } })
    const foreign = call('b', { opaque: { thoughtSignature: 'x' } })
    expect(
      render(user('?'), assistant('', echoed, foreign), result('a', '1'), result('b', '2')).slice(
        1,
      ),
    ).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'a', name: 'f', input: {}, caller, toolset_name: 'browser' },
          { type: 'tool_use', id: 'b', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: '1', toolset_name: 'browser' },
          { type: 'tool_result', tool_use_id: 'b', content: '2' },
        ],
      },
    ])
  })
})

describe('reasoning', () => {
  test('thinking is sent back with its signature, redacted thinking with its data', () => {
    const parts = [
      thought('Hm', { signature: 's' }),
      thought('', { redacted: 'd' }),
      { type: 'text', text: 'Yes' } as const,
    ]
    expect(render(user('?'), assistant(parts), user('!'))[1]?.['content']).toEqual([
      { type: 'thinking', thinking: 'Hm', signature: 's' },
      { type: 'redacted_thinking', data: 'd' },
      { type: 'text', text: 'Yes' },
    ])
  })

  test('reasoning of another provider, and reasoning without a signature, is not sent', () => {
    const parts = [
      thought('a', { signature: 's' }, 'openai'),
      thought('b'),
      { type: 'text', text: 'Yes' } as const,
    ]
    expect(render(user('?'), assistant(parts), user('!'))[1]).toEqual({
      role: 'assistant',
      content: 'Yes',
    })
  })

  test('thinking between tool calls is sent back between them', () => {
    const parts = [
      thought('1', { signature: 's1' }),
      thought('2', { signature: 's2', toolCalls: 1 }),
    ]
    const turns = render(
      user('?'),
      assistant(parts, call('a'), call('b')),
      result('a', ''),
      result('b', ''),
    )
    expect(turns[1]).toMatchObject({
      content: [{ signature: 's1' }, { id: 'a' }, { signature: 's2' }, { id: 'b' }],
    })
  })

  test('a message never ends in thinking, which the API refuses', () => {
    const cut = assistant([thought('Hm', { signature: 's' })])
    expect(render(user('a'), cut, user('b'))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
  })

  test('tools that ran at the provider are sent back; a call without a result only when the answer paused for it', () => {
    const use = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
    const done = assistant([
      thought('', { block: use }),
      thought('', { block: found }),
      { type: 'text', text: 'Yes' },
    ])
    const paused = assistant([{ type: 'text', text: 'I look' }, thought('', { block: use })])
    expect(render(user('?'), done, user('!'))[1]?.['content']).toEqual([
      use,
      found,
      { type: 'text', text: 'Yes' },
    ])
    expect(render(user('?'), paused)).toEqual([
      { role: 'user', content: '?' },
      { role: 'assistant', content: [{ type: 'text', text: 'I look' }, use] },
    ])
    expect(render(user('?'), paused, user('!'))[1]).toEqual({
      role: 'assistant',
      content: 'I look',
    })
  })

  test('a result whose call was compacted away is not sent', () => {
    const use = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
    const item = (block: JsonObject): Part => ({
      type: 'provider_item',
      provider: 'anthropic',
      item: block,
    })
    const paused = assistant([item(use)])
    const resumed = assistant([item(found), { type: 'text', text: 'Yes' }])
    expect(render(user('?'), paused, resumed, user('!'))[1]?.['content']).toEqual([
      use,
      found,
      { type: 'text', text: 'Yes' },
    ])
    expect(render(user('?'), resumed, user('!'))[1]?.['content']).toEqual('Yes')
    expect(render(user('?'), assistant([item(found)]))).toEqual([{ role: 'user', content: '?' }])
  })

  test('a call without a result is not sent when the answer went on after it', () => {
    const use = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const item: Part = { type: 'provider_item', provider: 'anthropic', item: use }
    const signed = thought('Hm.', { signature: 'c2ln' })
    const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }
    const wentOn = [user('?'), assistant([signed, item, { type: 'text', text: 'Well' }])]
    const content = [thinking, { type: 'text', text: 'Well' }]
    expect(render(...wentOn).slice(1)).toEqual([
      { role: 'assistant', content },
      { role: 'user', content: 'Continue.' },
    ])
    const continued = renderMessages(wentOn, { provider: 'anthropic', prefill: true }).messages
    expect(continued.slice(1)).toEqual([{ role: 'assistant', content }])
    // Thinking after the call is dropped, and the answer still waits for the tool.
    expect(render(user('?'), assistant([signed, item, signed])).slice(1)).toEqual([
      { role: 'assistant', content: [thinking, use] },
    ])
    // An image of the assistant is sent in a turn of the user, so that nothing waits any more.
    const image: Part = {
      type: 'image',
      image: { type: 'id', provider: 'anthropic', id: 'file_1' },
    }
    expect(render(user('?'), assistant([signed, item, image])).map(({ role }) => role)).toEqual([
      'user',
    ])
  })
})

describe('an answer that was cut', () => {
  const cut: Message = { role: 'assistant', content: 'Once upon ', metadata: { partial: true } }

  test('is continued by a model that can, without white space at its end', () => {
    const { messages } = renderMessages([user('A story'), cut], {
      provider: 'anthropic',
      prefill: true,
    })
    expect(messages[1]).toEqual({ role: 'assistant', content: 'Once upon' })
  })

  test('is followed by a turn of the user for a model that cannot', () => {
    expect(render(user('A story'), cut).slice(1)).toEqual([
      { role: 'assistant', content: 'Once upon ' },
      { role: 'user', content: 'Continue.' },
    ])
  })

  test('and the placeholder of a missing result are sent, the placeholder as an error', () => {
    const open = result('a', 'The call was interrupted.')
    expect(
      render(user('?'), assistant('x', call('a')), { ...open, metadata: { interrupted: true } })[2],
    ).toEqual({
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'a',
          content: 'The call was interrupted.',
          is_error: true,
        },
      ],
    })
  })
})
