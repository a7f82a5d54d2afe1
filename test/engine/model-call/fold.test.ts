import { describe, expect, test } from 'vitest'
import {
  AdapterError,
  applyEvent,
  collect,
  createCollector,
  textDeltas,
  toResponse,
  unwrap,
  type ModelEvent,
  type ModelResponse,
  type StreamEvent,
} from '../../../src/index.ts'

const started: ModelEvent = {
  type: 'message_started',
  requestId: 'r',
  provider: 'p',
  id: 'x',
  model: 'm',
}

const fold = (...events: ModelEvent[]): ModelResponse =>
  toResponse([started, ...events].reduce(applyEvent, createCollector()))

const text = (delta: string, index?: number): ModelEvent => ({
  type: 'text_delta',
  delta,
  ...(index === undefined ? {} : { index }),
})

describe('the reducer', () => {
  test('keeps nothing of an answer that a second start replaces', () => {
    const call = { id: 'c', name: 't', arguments: {} }
    const source = { type: 'url', url: 'https://example.com' } as const
    const before: StreamEvent[] = [
      {
        ...started,
        usage: { inputTokens: 3 },
        warnings: [{ setting: 'seed', problem: 'unknown' }],
      },
      { type: 'reasoning_delta', delta: 'hm', index: 0 },
      text('a', 1),
      { type: 'text_completed', text: 'a', index: 1, sources: [source] },
      text('b', 2),
      { type: 'tool_call_started', id: 'c', name: 't' },
      { type: 'tool_call_delta', id: 'c', argumentsDelta: '{' },
      { type: 'tool_call_completed', call },
      {
        type: 'message_completed',
        message: { role: 'assistant', content: 'ab', toolCalls: [call] },
        finishReason: 'tool_calls',
      },
      { type: 'approval_requested', toolCallId: 'c', toolName: 't', call },
      { type: 'tool_execution_started', id: 'c', name: 't', arguments: {} },
      { type: 'tool_execution_completed', id: 'c', name: 't', result: { ok: 1 }, durationMs: 1 },
      { type: 'tool_result_encoded', id: 'c', content: '1' },
    ]
    const used = [...before, started].reduce(applyEvent, createCollector())
    const fresh = applyEvent(createCollector(), started)
    expect(used).toEqual({ ...fresh, count: before.length + 1, answers: 1 })
  })

  test('carries the ids of the answer', () => {
    expect(fold()).toMatchObject({ requestId: 'r', provider: 'p', id: 'x', model: 'm' })
  })

  test('joins text blocks, also when their deltas interleave, in the order in which they began', () => {
    const response = fold(text('a', 0), text('x', 2), text('b', 0), text('y', 2))
    expect(response.outputText).toBe('abxy')
    expect(response.message.content).toBe('abxy')
  })

  test('the text of text_completed replaces the deltas of its block', () => {
    expect(fold(text('a'), { type: 'text_completed', text: 'A!' }, text('b')).outputText).toBe(
      'A!b',
    )
  })

  test('keeps reasoning together with text, with its opaque data and its provider', () => {
    const response = fold(
      { type: 'reasoning_delta', delta: 'h' },
      { type: 'reasoning_completed', text: 'hm', opaque: 'sig' },
      text('so'),
    )
    expect(response.message.content).toEqual([
      { type: 'reasoning', text: 'hm', opaque: 'sig', provider: 'p' },
      { type: 'text', text: 'so' },
    ])
    expect(response.outputText).toBe('so')
  })

  test('keeps images', () => {
    const image = { type: 'base64', base64: 'AA==', mimeType: 'image/png' } as const
    expect(fold(text('see'), { type: 'image_completed', image }).message.content).toEqual([
      { type: 'text', text: 'see' },
      { type: 'image', image },
    ])
  })

  test('keeps tool calls in the order in which they were first seen, and keeps the raw arguments of calls that were never completed', () => {
    const response = fold(
      { type: 'tool_call_started', id: 'c1', name: 'a' },
      { type: 'tool_call_delta', id: 'c2', argumentsDelta: '{"x"' },
      { type: 'tool_call_completed', call: { id: 'c1', name: 'a', arguments: { n: 1 } } },
      { type: 'tool_call_delta', id: 'c2', argumentsDelta: ':' },
    )
    expect(response.toolCalls).toEqual([
      { id: 'c1', name: 'a', arguments: { n: 1 } },
      { id: 'c2', name: 'unnamed', arguments: {}, rawArguments: '{"x":' },
    ])
  })

  test('an incomplete answer is marked partial and has no finish reason of its own', () => {
    expect(fold(text('half'))).toMatchObject({
      finishReason: 'other',
      message: { metadata: { partial: true } },
    })
  })

  test('later usage overrides earlier usage field by field', () => {
    const withUsage: ModelEvent = { ...started, usage: { inputTokens: 5, outputTokens: 1 } }
    const end: ModelEvent = {
      type: 'message_completed',
      message: { role: 'assistant', content: 'x' },
      finishReason: 'stop',
      usage: { outputTokens: 7 },
    }
    expect(toResponse([withUsage, end].reduce(applyEvent, createCollector())).usage).toEqual({
      inputTokens: 5,
      outputTokens: 7,
    })
  })

  test('an error keeps the content before it', () => {
    const error = { kind: 'adapter', reason: 'timeout', message: 'late' } as const
    expect(fold(text('half'), { type: 'error', error })).toMatchObject({
      outputText: 'half',
      finishReason: 'error',
      error,
    })
  })

  test('an adapter may leave the message of message_completed empty; the fold fills it in', () => {
    const end: ModelEvent = {
      type: 'message_completed',
      message: { role: 'assistant', content: '' },
      finishReason: 'stop',
    }
    expect(fold(text('hello'), end)).toMatchObject({
      outputText: 'hello',
      message: { role: 'assistant', content: 'hello' },
    })
  })

  test('is pure: earlier states do not change', () => {
    const states = [createCollector()]
    const events = [
      started,
      text('a', 0),
      text('b', 1),
      text('c', 0),
      { type: 'tool_call_delta', id: 'c', argumentsDelta: 'x' } as const,
    ]
    const seen: string[] = [JSON.stringify(states[0])]
    for (const event of events) {
      const next = applyEvent(states.at(-1) ?? createCollector(), event)
      states.push(next)
      seen.push(JSON.stringify(next))
    }
    expect(states.map((state) => JSON.stringify(state))).toEqual(seen)
  })
})

describe('unwrap', () => {
  const base = fold({
    type: 'message_completed',
    message: { role: 'assistant', content: 'yes' },
    finishReason: 'stop',
  })

  test('returns the text of an answer that ended with stop', () => {
    expect(unwrap(base)).toBe('yes')
  })

  test.each(['length', 'tool_calls', 'other', 'content_filter'] as const)(
    'throws for an answer that ended as %s, and keeps it',
    (finishReason) => {
      const response = { ...base, finishReason }
      expect(() => unwrap(response)).toThrow(AdapterError)
      try {
        unwrap(response)
      } catch (error) {
        expect(error).toMatchObject({ partial: response, metadata: { finishReason } })
      }
    },
  )

  test('throws the error of a failed answer, and refuses an empty one', () => {
    const failed = {
      ...base,
      error: { kind: 'stream', reason: 'truncated', message: 'cut' } as const,
    }
    expect(() => unwrap(failed)).toThrow('cut')
    expect(() => unwrap({ ...base, outputText: '' })).toThrow('no text')
  })
})

describe('textDeltas', () => {
  async function* events(...list: ModelEvent[]): AsyncGenerator<ModelEvent> {
    yield* list
  }

  test('yields the text, delta by delta', async () => {
    const deltas: string[] = []
    for await (const delta of textDeltas(events(started, text('a'), text('b')))) deltas.push(delta)
    expect(deltas).toEqual(['a', 'b'])
  })

  test('throws on an error event, with the partial response', async () => {
    const error: ModelEvent = {
      type: 'error',
      error: { kind: 'stream', reason: 'truncated', message: 'cut' },
    }
    const read = async (): Promise<void> => {
      for await (const delta of textDeltas(events(started, text('half'), error)))
        expect(delta).toBe('half')
    }
    await expect(read()).rejects.toMatchObject({
      reason: 'truncated',
      partial: { outputText: 'half' },
    })
  })
})

test('collect accepts saved events', async () => {
  expect((await collect([started, text('a')])).outputText).toBe('a')
})
