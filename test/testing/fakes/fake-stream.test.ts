import { describe, expect, test } from 'vitest'
import { AdapterError, isAllmError, modelRequest, StreamError, user } from '../../../src/index.ts'
import { collectEvents, fake, virtualClock, type Script } from '../../../src/testing.ts'

const request = modelRequest([user('hi')], { model: 'm-1' })

async function eventsOf(script: Script, includeRawChunks = false): Promise<readonly object[]> {
  const clock = virtualClock()
  return collectEvents(
    fake({ script }).stream(request, { clock, requestId: 'r1', includeRawChunks }),
  )
}

async function typesOf(script: Script): Promise<readonly string[]> {
  return (await eventsOf(script)).map((event) => ('type' in event ? String(event.type) : ''))
}

describe('a fake plays a script', () => {
  test('its stream begins with message_started and ends with the whole message', async () => {
    const events = await eventsOf([
      ['text', 'Hel'],
      ['text', 'lo'],
      ['usage', { inputTokens: 3, outputTokens: 2 }],
      ['finish', 'stop'],
    ])
    expect(events).toEqual([
      { type: 'message_started', requestId: 'r1', provider: 'fake', model: 'm-1' },
      { type: 'text_delta', delta: 'Hel' },
      { type: 'text_delta', delta: 'lo' },
      { type: 'text_completed', text: 'Hello' },
      {
        type: 'message_completed',
        message: { role: 'assistant', content: 'Hello' },
        finishReason: 'stop',
        usage: { inputTokens: 3, outputTokens: 2 },
      },
    ])
  })

  test('a text block ends where something else begins; usage, raw chunks and waits do not end it', async () => {
    const types = await typesOf([
      ['text', 'a'],
      ['usage', { inputTokens: 1 }],
      ['raw_chunk', 1],
      ['delay', 5],
      ['text', 'b'],
      ['reasoning', 'hm'],
      ['text', 'c'],
      ['tool_call', { id: 'c1', name: 'add' }],
      ['text', 'd'],
      ['tool_call_delta', { id: 'c2', name: 'add', argumentsDelta: '{}' }],
      ['finish', 'tool_calls'],
    ])
    expect(types.join(' ')).toBe(
      'message_started ' +
        'text_delta text_delta text_completed ' +
        'reasoning_delta reasoning_completed ' +
        'text_delta text_completed tool_call_started tool_call_completed ' +
        'text_delta text_completed tool_call_started tool_call_delta ' +
        'tool_call_completed message_completed',
    )
  })

  test('a script without text says nothing of text', async () => {
    expect(await typesOf([['finish', 'stop']])).toEqual(['message_started', 'message_completed'])
  })

  test('a usage entry is on message_completed and is not an event of its own', async () => {
    const events = await eventsOf([
      ['usage', { inputTokens: 1 }],
      ['usage', { inputTokens: 2 }],
    ])
    expect(events).toHaveLength(2)
    expect(events.at(-1)).toMatchObject({ usage: { inputTokens: 2 } })
  })

  test('raw chunks are emitted only with includeRawChunks', async () => {
    const script: Script = [
      ['raw_chunk', { any: 1 }],
      ['text', 'a'],
    ]
    expect(await eventsOf(script)).not.toContainEqual({ type: 'raw_chunk', chunk: { any: 1 } })
    expect(await eventsOf(script, true)).toContainEqual({ type: 'raw_chunk', chunk: { any: 1 } })
  })

  test('a name that is repeated on later pieces starts the call once', async () => {
    const types = await typesOf([
      ['tool_call_delta', { id: 'c1', name: 'add', argumentsDelta: '{' }],
      ['tool_call_delta', { id: 'c1', name: 'add', argumentsDelta: '}' }],
    ])
    expect(types.filter((type) => type === 'tool_call_started')).toHaveLength(1)
  })

  test('all that lies between two delays is one batch', async () => {
    const script: Script = [
      ['text', 'a'],
      ['text', 'b'],
      ['delay', 9],
      ['text', 'c'],
      ['delay', 0],
      ['text', 'd'],
    ]
    const sizes: number[] = []
    for await (const batch of fake({ script }).stream(request, { clock: virtualClock() })) {
      sizes.push(batch.length)
    }
    expect(sizes).toEqual([3, 1, 3])
  })

  test('events are frozen, and two calls of one script differ only in the id of the call', async () => {
    const script: Script = [['tool_call', { id: 'c1', name: 'add', arguments: { x: [1] } }]]
    const adapter = fake({ scripts: [script, script] })
    const [first, second] = [
      await collectEvents(adapter.stream(request)),
      await collectEvents(adapter.stream(request)),
    ]
    expect(first[0]).toMatchObject({ requestId: 'fake-request-1' })
    expect(second[0]).toMatchObject({ requestId: 'fake-request-2' })
    expect(second.slice(1)).toEqual(first.slice(1))
    expect(Object.isFrozen(first[1])).toBe(true)
  })

  test('an id comes from newId when the call has none', async () => {
    const newId = (kind: string): string => `${kind}-7`
    const events = await collectEvents(fake({ script: [] }).stream(request, { newId }))
    expect(events[0]).toMatchObject({ requestId: 'request-7' })
  })

  test('it needs no model and no key', async () => {
    const adapter = fake({ script: [['text', 'a']] })
    expect(adapter.provider).toBe('fake')
    expect(adapter).not.toHaveProperty('needsModel', true)
    expect(adapter).not.toHaveProperty('key')
    const [started] = await collectEvents(adapter.stream(modelRequest([user('hi')])))
    expect(started).not.toHaveProperty('model')
  })

  test('a script that is changed after the fake was made changes nothing', async () => {
    const call = { id: 'c1', name: 'add', arguments: { x: 1 } }
    const adapter = fake({ script: [['tool_call', call]] })
    call.arguments.x = 2
    const { toolCalls } = await adapter.generate(request)
    expect(toolCalls[0]?.arguments).toEqual({ x: 1 })
  })
})

describe('a fake fails as its script says', () => {
  test('an error entry is the last event, also when the script goes on', async () => {
    const events = await eventsOf([
      ['text', 'half'],
      ['error', 'rate_limited'],
      ['text', 'more'],
    ])
    expect(events.slice(1)).toEqual([
      { type: 'text_delta', delta: 'half' },
      {
        type: 'error',
        error: {
          kind: 'adapter',
          reason: 'rate_limited',
          message: 'scripted error',
          provider: 'fake',
          requestId: 'r1',
          retryable: true,
        },
      },
    ])
  })

  test('an error entry that comes first still comes after message_started', async () => {
    expect(await typesOf([['error', 'boom']])).toEqual(['message_started', 'error'])
  })

  test('error_event is an AdapterError in mid-stream, stream_error a StreamError', async () => {
    const adapterError = await eventsOf([
      ['text_delta', 'a'],
      ['error_event', 'provider_unavailable', { status: 503 }],
    ])
    expect(adapterError.at(-1)).toMatchObject({ error: { kind: 'adapter', status: 503 } })
    const streamError = await eventsOf([
      ['text_delta', 'a'],
      ['stream_error', 'malformed_event', {}],
    ])
    expect(streamError.at(-1)).toMatchObject({ error: { kind: 'stream', eventIndex: 2 } })
  })

  test.each<Script>([
    [['preflight_error', 'authentication_failed', { status: 401, message: 'no' }]],
    [['error', 'authentication_failed', { status: 401, message: 'no' }]],
  ])('%j throws before any event', async (entry) => {
    const adapter = fake({ script: [entry] })
    const failure = await adapter
      .stream(request, { requestId: 'r1' })
      .next()
      .catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(AdapterError)
    expect(failure).toMatchObject({
      reason: 'authentication_failed',
      status: 401,
      message: 'no',
      provider: 'fake',
      requestId: 'r1',
      retryable: false,
    })
    expect(adapter.openStreams).toBe(0)
  })

  test('two elements fail in mid-stream, three before the first event', async () => {
    expect(await typesOf([['error', 'timeout']])).toEqual(['message_started', 'error'])
    await expect(eventsOf([['error', 'timeout', {}]])).rejects.toThrow(AdapterError)
  })

  test('the fold keeps what came before a failure', async () => {
    const failure = await fake({
      script: [
        ['text', 'half'],
        ['error', 'timeout'],
      ],
    })
      .generate(request)
      .catch((error: unknown) => error)
    expect(isAllmError(failure) && failure.partial).toMatchObject({ outputText: 'half' })
  })

  test('a cut in mid-stream is a StreamError for generate too', async () => {
    const script: Script = [
      ['text_delta', 'a'],
      ['stream_error', 'truncated', {}],
    ]
    await expect(fake({ script }).generate(request)).rejects.toThrow(StreamError)
  })
})
