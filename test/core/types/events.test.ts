import { describe, expect, test } from 'vitest'
import { assistantMessage } from '../../../src/core/answer/message-builder.ts'
import {
  askedMessage,
  awaitingUser,
  interruptedMessage,
  toolMessage,
} from '../../../src/core/messages/tool-messages.ts'
import { validateMessage } from '../../../src/core/schema/validate.ts'
import { eventTypes, isStreamEvent } from '../../../src/core/types/events.ts'
import { messageText } from '../../../src/core/types/message.ts'

/** The union as the design fixes it; a new member is a new major version. */
const tags = [
  'message_started',
  'text_delta',
  'text_completed',
  'reasoning_delta',
  'reasoning_completed',
  'tool_call_started',
  'tool_call_delta',
  'tool_call_completed',
  'image_completed',
  'raw_chunk',
  'message_completed',
  'error',
  'approval_requested',
  'tool_execution_started',
  'tool_progress',
  'tool_execution_completed',
  'tool_result_encoded',
  'ask_user_requested',
  'tool_halt',
  'step_completed',
  'chat_completed',
]

test('the union of events is closed', () => {
  expect(eventTypes).toEqual(tags)
})

test('an event is known by its tag, and nothing else is an event', () => {
  for (const type of tags) expect(isStreamEvent({ type })).toBe(true)
  for (const value of [
    null,
    undefined,
    'text_delta',
    {},
    { type: 5 },
    { type: 'toString' },
    { type: 'text' },
    [],
  ]) {
    expect(isStreamEvent(value)).toBe(false)
  }
})

describe('the assistant message of finished blocks', () => {
  const call = { id: 'c1', name: 'look', arguments: {} }

  test('is a text when there is nothing but text', () => {
    expect(assistantMessage([], [])).toStrictEqual({ role: 'assistant', content: '' })
    expect(
      assistantMessage(
        [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
        [call],
      ),
    ).toStrictEqual({
      role: 'assistant',
      content: 'ab',
      toolCalls: [call],
    })
  })

  test('keeps its parts in their order when there is more', () => {
    const parts = [
      { type: 'reasoning', text: 'hm', opaque: 'sig' },
      { type: 'text', text: 'a' },
    ] as const
    expect(assistantMessage(parts, [])).toStrictEqual({ role: 'assistant', content: parts })
  })
})

describe('the message that stands in for a result', () => {
  test('is marked when the user has to answer', () => {
    expect(askedMessage('c1')).toStrictEqual({
      role: 'tool',
      content: awaitingUser,
      toolCallId: 'c1',
      metadata: { askUser: true },
    })
  })

  test.each(['length', 'content_filter', 'cancelled', 'error', 'interrupted'] as const)(
    'is marked with its reason, and tells the model in one sentence: %s',
    (reason) => {
      const message = interruptedMessage('c1', reason)
      expect(message).toMatchObject({ toolCallId: 'c1', metadata: { interrupted: true, reason } })
      expect(JSON.parse(messageText(message))).toEqual({
        error: expect.stringMatching(/^the (?:call|run) was|^the run failed/),
      })
      expect(validateMessage(message)).toEqual([])
    },
  )

  test('a plain one has no mark', () => {
    expect(toolMessage('c1', 'ok')).toStrictEqual({ role: 'tool', content: 'ok', toolCallId: 'c1' })
  })
})
