import { expect, test } from 'vitest'
import { messageBuilder, type MessageSink } from '../../../src/core/answer/message-builder.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'

function built(fields: Partial<MessageSink> = {}) {
  const events: ModelEvent[] = []
  const emit = (event: ModelEvent): void => void events.push(event)
  const message = messageBuilder({ provider: 'acme', requestId: 'run', emit, ...fields })
  return { events, message }
}

test('nothing is emitted before there is content, and the first content brings the head', () => {
  const { events, message } = built({ warnings: [{ setting: 'seed', problem: 'is not sent' }] })
  message.head({ id: 'a', model: 'm' })
  message.text('')
  expect(events).toEqual([])
  message.text('Hi')
  expect(events).toEqual([
    {
      type: 'message_started',
      requestId: 'run',
      provider: 'acme',
      id: 'a',
      model: 'm',
      warnings: [{ setting: 'seed', problem: 'is not sent' }],
    },
    { type: 'text_delta', delta: 'Hi' },
  ])
})

test('the end completes what is open: blocks in their order, then calls', () => {
  const { events, message } = built()
  message.reasoning('Hm')
  message.text('Hi')
  message.startCall('c1', 'weather')
  message.callDelta('c1', '{"city":')
  message.callDelta('c1', '"Paris"}')
  message.finish({ finishReason: 'tool_calls' })
  expect(events.map(({ type }) => type)).toEqual([
    'message_started',
    'reasoning_delta',
    'text_delta',
    'tool_call_started',
    'tool_call_delta',
    'tool_call_delta',
    'reasoning_completed',
    'text_completed',
    'tool_call_completed',
    'message_completed',
  ])
  expect(events.at(-1)).toMatchObject({
    message: {
      content: [
        { type: 'reasoning', text: 'Hm', provider: 'acme' },
        { type: 'text', text: 'Hi' },
      ],
      toolCalls: [
        {
          id: 'c1',
          name: 'weather',
          arguments: { city: 'Paris' },
          rawArguments: '{"city":"Paris"}',
        },
      ],
    },
  })
})

test('an id completes the call that has grown', () => {
  const { events, message } = built()
  message.startCall('c1', 'a')
  message.startCall('c2', 'b')
  message.callDelta('c1', '{"x":1}')
  message.callDelta('c2', 'no JSON')
  message.endCall('c2')
  message.endCall('c1')
  expect(events.slice(-2)).toEqual([
    {
      type: 'tool_call_completed',
      call: { id: 'c2', name: 'b', arguments: {}, rawArguments: 'no JSON' },
    },
    {
      type: 'tool_call_completed',
      call: { id: 'c1', name: 'a', arguments: { x: 1 }, rawArguments: '{"x":1}' },
    },
  ])
})

test('an answer in another form is given in that of the caller, also when nobody ended its text', () => {
  const answer = {
    schema: {},
    strict: true,
    wrapped: true,
    warnings: [],
    restore: (value: unknown) => (value as { value: string }).value,
  }
  const { events, message } = built({ forms: { answer, tools: new Map() } })
  message.text('{"val')
  message.text('ue":"x"}')
  message.finish({ finishReason: 'stop' })
  expect(events.at(-1)).toMatchObject({ message: { content: '"x"' } })
})

test('raw chunks are emitted when they are wanted, after the start', () => {
  const silent = built()
  silent.message.raw({ a: 1 })
  silent.message.text('Hi')
  expect(silent.events.map(({ type }) => type)).toEqual(['message_started', 'text_delta'])
  const { events, message } = built({ rawChunks: true })
  message.raw({ a: 1 })
  message.text('Hi')
  expect(events.map(({ type }) => type)).toEqual(['message_started', 'raw_chunk', 'text_delta'])
})
