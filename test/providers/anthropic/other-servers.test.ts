import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import {
  block,
  eventsOf,
  fold,
  head,
  named,
  stream,
  stubbed,
  tail,
  text,
  toolUse,
} from './support.ts'

/** Events of a server that does not number its blocks. */
function unnumbered(events: readonly JsonObject[], index: null | undefined): readonly JsonObject[] {
  return events.map(({ index: _given, ...event }) =>
    index === undefined || _given === undefined ? event : { ...event, index },
  )
}

describe('blocks', () => {
  test.each([undefined, null])('whose index is %s follow one another', async (index) => {
    const blocks = [...text(0, 'Hel', 'lo'), ...toolUse(1, 't1', 'f', '{"x"', ':1}')]
    const { outputText, toolCalls } = await fold(stream(...unnumbered(blocks, index)))
    expect(outputText).toBe('Hello')
    expect(toolCalls).toMatchObject([{ id: 't1', arguments: { x: 1 } }])
  })

  test('may have members that are null', async () => {
    const content_block = { type: 'text', text: null, thinking: null, signature: null }
    const begin = { type: 'content_block_start', index: 0, content_block }
    const { message } = await fold(stream(begin, ...text(0, 'Hello').slice(1)))
    expect(message.content).toBe('Hello')
  })
})

test('members of the wrong type are ignored', async () => {
  const message = { id: 7, model: [], usage: null }
  const body = named(
    { type: 'message_start', message },
    ...block(0, { type: 'text', text: 5 }, { type: 'text_delta', text: {} }),
    ...block(1, { type: 'tool_use', id: 3, name: null, input: {} }),
    { type: 'message_delta', delta: { stop_reason: false } },
    { type: 'message_stop' },
  )
  const { id, model, outputText, toolCalls, rawFinishReason } = await fold(body)
  expect({ id, model, outputText, rawFinishReason }).toEqual({ outputText: '' })
  expect(toolCalls).toMatchObject([{ id: 'run_0', name: 'unnamed' }])
})

describe('an answer', () => {
  test('may have events without data', async () => {
    const body = named(head()) + 'event: ping\ndata:\n\n' + named(...text(0, 'Hello'), ...tail())
    expect((await fold(body)).outputText).toBe('Hello')
  })

  test.each(['application/json', 'text/event-stream', ''])(
    'is read with any content type: %j',
    async (type) => {
      const headers = { 'content-type': type }
      const content = [{ type: 'text', text: 'Hello' }]
      const whole = JSON.stringify({ type: 'message', content, stop_reason: 'end_turn' })
      for (const body of [whole, stream(...text(0, 'Hello'))]) {
        const events = await eventsOf(stubbed({ body, headers }).adapter)
        expect(events.at(-1)).toMatchObject({ message: { content: 'Hello' } })
      }
    },
  )

  test('that is not a message is a malformed response', async () => {
    const answered = eventsOf(stubbed({ body: '{"foo":1}' }).adapter)
    await expect(answered).rejects.toMatchObject({ reason: 'malformed_response' })
  })

  test('that ends inside an event is truncated', async () => {
    const { adapter } = stubbed({ body: stream(...text(0, 'Hello')).slice(0, -12) })
    const last = (await eventsOf(adapter)).at(-1)
    expect(last).toMatchObject({ type: 'error', error: { reason: 'truncated' } })
  })
})

test.each(['{"error":"no"}', '{"message":"no"}', '{"detail":"no"}'])(
  'the message of a proxy’s refusal is kept: %s',
  async (body) => {
    const refused = eventsOf(stubbed({ body, status: 503 }).adapter)
    await expect(refused).rejects.toMatchObject({ reason: 'provider_unavailable', message: 'no' })
  },
)

test('an error inside a stream may be only a message', async () => {
  const { adapter } = stubbed({ body: named(head(), { type: 'error', error: 'no' }) })
  await expect(eventsOf(adapter)).rejects.toMatchObject({ reason: 'unknown', message: 'no' })
})
