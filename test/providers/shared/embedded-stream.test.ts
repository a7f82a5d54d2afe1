import { describe, expect, test } from 'vitest'
import {
  embeddedStream,
  messageBuilder,
  type AnsweredCall,
  type CallSink,
} from '../../../src/adapter.ts'
import { AdapterError } from '../../../src/core/errors/errors.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import { virtualClock } from '../../../src/testing.ts'

const call: AnsweredCall = { provider: 'parrot', requestId: 'run' }

/** A model that says words, one for each step. */
function says(...words: readonly string[]) {
  return async function* (sink: CallSink): AsyncGenerator<void> {
    const message = messageBuilder(sink)
    for (const word of words) {
      message.text(word)
      yield
    }
    message.finish({ finishReason: 'stop' })
  }
}

async function read(stream: AsyncIterable<readonly ModelEvent[]>): Promise<readonly ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const batch of stream) {
    expect(batch.length).toBeGreaterThan(0)
    events.push(...batch)
  }
  return events
}

test('each yield hands over one batch, and nothing runs before the first next()', async () => {
  let steps = 0
  async function* counted(sink: CallSink): AsyncGenerator<void> {
    const message = messageBuilder(sink)
    for (const word of ['a', 'b']) {
      steps++
      message.text(word)
      yield
    }
    message.finish({ finishReason: 'stop' })
  }
  const stream = embeddedStream(counted, call)
  expect(steps).toBe(0)
  const first = await stream.next()
  expect(first.value?.map(({ type }) => type)).toEqual(['message_started', 'text_delta'])
  // The model does not run ahead of its consumer.
  expect(steps).toBe(1)
  expect((await read(stream)).at(-1)).toMatchObject({
    type: 'message_completed',
    message: { role: 'assistant', content: 'ab' },
  })
})

test('an answer without its end is truncated', async () => {
  async function* forgets(sink: CallSink): AsyncGenerator<void> {
    messageBuilder(sink).text('Hel')
    yield
  }
  expect((await read(embeddedStream(forgets, call))).at(-1)).toMatchObject({
    type: 'error',
    error: { kind: 'stream', reason: 'truncated', provider: 'parrot', requestId: 'run' },
  })
  async function* silent(): AsyncGenerator<void> {
    yield
  }
  await expect(embeddedStream(silent, call).next()).rejects.toMatchObject({
    reason: 'truncated',
  })
})

describe('a failure', () => {
  test('before the first event is thrown, and names its provider and its run', async () => {
    async function* fails({ signal }: CallSink): AsyncGenerator<void> {
      if (signal.aborted) yield
      throw new AdapterError('rate_limited', 'later', { retryAfterMs: 5 })
    }
    await expect(embeddedStream(fails, call).next()).rejects.toMatchObject({
      kind: 'adapter',
      reason: 'rate_limited',
      retryAfterMs: 5,
      provider: 'parrot',
      requestId: 'run',
    })
  })

  test('after it is the last event, and nothing that was said is lost', async () => {
    async function* breaks(sink: CallSink): AsyncGenerator<void> {
      const message = messageBuilder(sink)
      message.text('a')
      yield
      message.text('b')
      throw new Error('out of memory: key-that-nobody-may-see')
    }
    const events = await read(
      embeddedStream(breaks, { ...call, secrets: ['key-that-nobody-may-see'] }),
    )
    expect(events.map(({ type }) => type)).toEqual([
      'message_started',
      'text_delta',
      'text_delta',
      'error',
    ])
    expect(events.at(-1)).toMatchObject({ error: { kind: 'adapter', reason: 'unknown' } })
    expect(JSON.stringify(events)).toContain('out of memory: [redacted]')
  })

  test('after the end does not count', async () => {
    async function* late(sink: CallSink): AsyncGenerator<void> {
      const message = messageBuilder(sink)
      message.finish({ finishReason: 'stop' })
      if (sink.signal.aborted) yield
      throw new Error('too late')
    }
    expect((await read(embeddedStream(late, call))).at(-1)?.type).toBe('message_completed')
  })
})

describe('stopping', () => {
  /** A model that says a word and then works forever, and does not listen. */
  function deaf() {
    const seen: { signal?: AbortSignal } = {}
    async function* model(sink: CallSink): AsyncGenerator<void> {
      seen.signal = sink.signal
      messageBuilder(sink).text('a')
      yield
      await new Promise(() => undefined)
    }
    return { model, seen }
  }

  test('return() ends a pending next() at once, and the model hears of it', async () => {
    const { model, seen } = deaf()
    const stream = embeddedStream(model, call)
    await stream.next()
    const pending = stream.next()
    await stream.return()
    expect(await pending).toEqual({ done: true, value: undefined })
    expect(seen.signal?.aborted).toBe(true)
  })

  test('the signal of the call ends it as cancelled', async () => {
    const { model } = deaf()
    const stopping = new AbortController()
    const stream = embeddedStream(model, { ...call, signal: stopping.signal })
    await stream.next()
    const pending = stream.next()
    stopping.abort()
    expect((await pending).value).toMatchObject([{ error: { reason: 'cancelled' } }])
    await expect(
      embeddedStream(model, { ...call, signal: AbortSignal.abort() }).next(),
    ).rejects.toMatchObject({ kind: 'stream', reason: 'cancelled' })
  })

  test('break runs the finally blocks of the model', async () => {
    let closed = false
    async function* careful(sink: CallSink): AsyncGenerator<void> {
      try {
        yield* says('a', 'b')(sink)
      } finally {
        closed = true
      }
    }
    for await (const batch of embeddedStream(careful, call)) {
      expect(batch).toHaveLength(2)
      break
    }
    expect(closed).toBe(true)
  })

  test('the timeouts are kept, by the clock of the call', async () => {
    const clock = virtualClock({ auto: false })
    const limits = { ...call, clock, requestTimeoutMs: 1000, streamTimeoutMs: 500 }
    async function* never(): AsyncGenerator<void> {
      await new Promise(() => undefined)
      yield
    }
    const first = embeddedStream(never, limits).next()
    const expected = expect(first).rejects.toMatchObject({ reason: 'timeout' })
    await clock.advance(1000)
    await expected
    const stream = embeddedStream(deaf().model, limits)
    await stream.next()
    const pending = stream.next()
    await clock.advance(500)
    expect((await pending).value).toMatchObject([{ error: { reason: 'timeout' } }])
    expect(clock.pending).toBe(0)
  })
})

test('what the model emits passes the gate', async () => {
  async function* odd(sink: CallSink): AsyncGenerator<void> {
    const message = messageBuilder(sink)
    message.endCall({ id: 'c1', name: 'n', arguments: {} })
    message.finish({ finishReason: 'tool_calls', usage: { inputTokens: Number.NaN } })
    yield
  }
  const history = [
    { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'n', arguments: {} }] },
  ] as const
  const events = await read(embeddedStream(odd, { ...call, history }))
  expect(events.find(({ type }) => type === 'tool_call_completed')).toMatchObject({
    call: { id: 'c1_2' },
  })
  expect(JSON.stringify(events.at(-1))).not.toContain('inputTokens')
})

test('options that are undefined, as an engine passes them, count as left out', async () => {
  const options = { headers: undefined, apiKey: undefined, signal: undefined, clock: undefined }
  const events = await read(embeddedStream(says('Hello'), { ...call, ...options }))
  expect(events.at(-1)).toMatchObject({ type: 'message_completed' })
})

test('a secret in the headers of the call is removed, though a model in the process sends none', async () => {
  async function* tells(sink: CallSink): AsyncGenerator<void> {
    if (!sink.signal.aborted) throw new Error('the key is hidden-word-123')
    yield
  }
  const headers = { authorization: 'Bearer hidden-word-123' }
  const failed = read(embeddedStream(tells, { ...call, headers }))
  await expect(failed).rejects.toThrow('the key is [redacted]')
})
