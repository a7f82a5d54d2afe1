import { afterEach, describe, expect, test, vi } from 'vitest'
import { AdapterError, isAllmError, StreamError, ValidationError } from '../../../src/index.ts'
import {
  fake,
  foldToResponse,
  interpret,
  type Script,
  type ScriptEntry,
} from '../../../src/testing.ts'
import { compileScript } from '../../../src/testing/fakes/interpret.ts'

describe('interpret', () => {
  test.each<readonly [ScriptEntry, readonly unknown[]]>([
    [['text', 'hi'], [{ type: 'text_delta', delta: 'hi' }]],
    [['text_delta', 'hi'], [{ type: 'text_delta', delta: 'hi' }]],
    [
      ['reasoning', 'hm'],
      [
        { type: 'reasoning_delta', delta: 'hm' },
        { type: 'reasoning_completed', text: 'hm' },
      ],
    ],
    [
      ['reasoning', '', { opaque: 'signed' }],
      [{ type: 'reasoning_completed', text: '', opaque: 'signed' }],
    ],
    [
      ['tool_call', { id: 'c1', name: 'add', arguments: { x: 1 } }],
      [
        { type: 'tool_call_started', id: 'c1', name: 'add' },
        { type: 'tool_call_completed', call: { id: 'c1', name: 'add', arguments: { x: 1 } } },
      ],
    ],
    [
      ['tool_call', { id: 'c1', name: 'add', rawArguments: '{"x":' }],
      [
        { type: 'tool_call_started', id: 'c1', name: 'add' },
        {
          type: 'tool_call_completed',
          call: { id: 'c1', name: 'add', arguments: {}, rawArguments: '{"x":' },
        },
      ],
    ],
    [
      ['tool_call_delta', { id: 'c1', argumentsDelta: '{' }],
      [
        { type: 'tool_call_started', id: 'c1', name: 'c1' },
        { type: 'tool_call_delta', id: 'c1', argumentsDelta: '{' },
      ],
    ],
    [
      ['tool_call_delta', { id: 'c1', name: 'add', argumentsDelta: '{' }],
      [
        { type: 'tool_call_started', id: 'c1', name: 'add' },
        { type: 'tool_call_delta', id: 'c1', argumentsDelta: '{' },
      ],
    ],
    [
      ['tool_call_delta', { id: 'c1', name: 'add' }],
      [{ type: 'tool_call_started', id: 'c1', name: 'add' }],
    ],
    [['text', 'hi', { index: 2, more: true }], [{ type: 'text_delta', delta: 'hi', index: 2 }]],
    [
      ['text_end', { index: 1, text: 'all', sources: [{ type: 'url', url: 'https://a.example' }] }],
      [
        {
          type: 'text_completed',
          text: 'all',
          index: 1,
          sources: [{ type: 'url', url: 'https://a.example' }],
        },
      ],
    ],
    [['text_end'], []],
    [
      ['reasoning', 'hm', { index: 0, more: true }],
      [{ type: 'reasoning_delta', delta: 'hm', index: 0 }],
    ],
    [
      ['image', { type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' }],
      [
        {
          type: 'image_completed',
          image: { type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' },
        },
      ],
    ],
    [['start', { id: 'a1' }], []],
    [
      ['failure', 'truncated', { kind: 'stream', message: 'cut', eventIndex: 4 }],
      [
        {
          type: 'error',
          error: {
            kind: 'stream',
            reason: 'truncated',
            message: 'cut',
            provider: 'fake',
            eventIndex: 4,
          },
        },
      ],
    ],
    [['raw_chunk', { any: 1 }], [{ type: 'raw_chunk', chunk: { any: 1 } }]],
    [['usage', { inputTokens: 1 }], []],
    [['delay', 5], []],
    [['preflight_error', 'timeout', {}], []],
    [
      ['finish', 'length'],
      [
        {
          type: 'message_completed',
          message: { role: 'assistant', content: '' },
          finishReason: 'length',
        },
      ],
    ],
  ])('%j', (entry, events) => {
    expect(interpret(entry)).toEqual(events)
  })

  test('finish gives only message_completed: the end of the text is added when a script is played', () => {
    expect(interpret(['finish', 'stop']).map(({ type }) => type)).toEqual(['message_completed'])
  })

  test.each<readonly [ScriptEntry, object]>([
    [['error', 'rate_limited'], { kind: 'adapter', reason: 'rate_limited', retryable: true }],
    [['error', { odd: 1 }], { kind: 'adapter', reason: 'unknown', cause: { odd: 1 } }],
    [
      ['error', 'rate_limited', { status: 429, retryAfterMs: 90, message: 'slow down' }],
      { reason: 'rate_limited', status: 429, retryAfterMs: 90, message: 'slow down' },
    ],
    [['error_event', 'content_filter', {}], { kind: 'adapter', reason: 'content_filter' }],
    [['stream_error', 'truncated', {}], { kind: 'stream', reason: 'truncated' }],
    [
      ['error_event', 'unknown', { type: 'overloaded', metadata: { id: 1 } }],
      { metadata: { type: 'overloaded', id: 1 } },
    ],
  ])('%j is an error event', (entry, error) => {
    expect(interpret(entry)).toEqual([{ type: 'error', error: expect.objectContaining(error) }])
  })

  test('ok gives the events of its response', () => {
    const call = { id: 'c1', name: 'add', arguments: {} }
    const events = interpret(['ok', { outputText: 'hi', toolCalls: [call] }])
    expect(events.map(({ type }) => type)).toEqual([
      'text_delta',
      'text_completed',
      'tool_call_started',
      'tool_call_completed',
      'message_completed',
    ])
  })

  test('each entry is interpreted alone: no state is kept between two', () => {
    interpret(['text', 'a'])
    expect(interpret(['finish', 'stop'])).toEqual(interpret(['finish', 'stop']))
  })
})

describe('sleep', () => {
  const warned = Symbol.for('allm-ts.warned.the script entry "sleep"')
  afterEach(() => vi.restoreAllMocks())

  test('it is a deprecated alias of delay that warns once per process', () => {
    Reflect.deleteProperty(globalThis, warned)
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    expect(interpret(['sleep', 5])).toEqual(interpret(['delay', 5]))
    interpret(['sleep', 5])
    fake({ script: [['sleep', 5]] })
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('use "delay"'), {
      type: 'DeprecationWarning',
    })
  })

  test('delay does not warn', () => {
    Reflect.deleteProperty(globalThis, warned)
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
    interpret(['delay', 5])
    expect(warn).not.toHaveBeenCalled()
  })
})

function failureOf(script: Script): unknown {
  try {
    return foldToResponse(script)
  } catch (error) {
    return error
  }
}

describe('foldToResponse', () => {
  test('a script becomes one response', () => {
    expect(
      foldToResponse([
        ['text', 'hi'],
        ['finish', 'stop'],
      ]),
    ).toEqual({
      requestId: 'fake-request-1',
      provider: 'fake',
      message: { role: 'assistant', content: 'hi' },
      outputText: 'hi',
      toolCalls: [],
      finishReason: 'stop',
      warnings: [],
      usage: {},
      metadata: {},
    })
  })

  test('the request id and the provider may be given', () => {
    const response = foldToResponse([['reasoning', 'hm', { opaque: 1 }]], {
      requestId: 'r7',
      provider: 'acme',
    })
    expect(response).toMatchObject({
      requestId: 'r7',
      provider: 'acme',
      message: { content: [{ type: 'reasoning', text: 'hm', opaque: 1, provider: 'acme' }] },
    })
  })

  test('text accumulates, reasoning is kept as parts, blocks join to the output text', () => {
    const response = foldToResponse([
      ['text', 'a'],
      ['text', 'b'],
      ['reasoning', 'hm'],
      ['text', 'c'],
    ])
    expect(response.outputText).toBe('abc')
    expect(response.message.content).toEqual([
      { type: 'text', text: 'ab' },
      { type: 'reasoning', text: 'hm', provider: 'fake' },
      { type: 'text', text: 'c' },
    ])
  })

  test('a tool call sets the finish reason, unless finish says another', () => {
    const call = { id: 'c0', name: 'echo', arguments: { x: 1 } }
    expect(foldToResponse([['tool_call', call]])).toMatchObject({
      toolCalls: [call],
      finishReason: 'tool_calls',
    })
    const cut: Script = [
      ['tool_call', call],
      ['finish', 'length'],
    ]
    expect(foldToResponse(cut).finishReason).toBe('length')
  })

  test('a script without finish ends as stop when it called no tool', () => {
    expect(foldToResponse([['text', 'a']]).finishReason).toBe('stop')
    expect(foldToResponse([])).toMatchObject({ outputText: '', finishReason: 'stop' })
  })

  test('deltas without a tool_call are completed at the end from their sum', () => {
    const { toolCalls, finishReason } = foldToResponse([
      ['tool_call_delta', { id: 'c1', name: 'add', argumentsDelta: '{"x":' }],
      ['tool_call_delta', { id: 'c2', name: 'sub', argumentsDelta: '{"y"' }],
      ['tool_call_delta', { id: 'c1', argumentsDelta: '1}' }],
    ])
    expect(toolCalls).toEqual([
      { id: 'c1', name: 'add', arguments: { x: 1 }, rawArguments: '{"x":1}' },
      { id: 'c2', name: 'sub', arguments: {}, rawArguments: '{"y"' },
    ])
    expect(finishReason).toBe('tool_calls')
  })

  test('a tool_call without arguments of its own takes those that were streamed', () => {
    const { toolCalls } = foldToResponse([
      ['tool_call_delta', { id: 'c1', name: 'add', argumentsDelta: '{"x":1}' }],
      ['tool_call', { id: 'c1', name: 'add' }],
    ])
    expect(toolCalls).toEqual([
      { id: 'c1', name: 'add', arguments: { x: 1 }, rawArguments: '{"x":1}' },
    ])
  })

  test('a call without a name gets its id as its name', () => {
    const { toolCalls } = foldToResponse([['tool_call_delta', { id: 'c1', argumentsDelta: '{}' }]])
    expect(toolCalls).toEqual([{ id: 'c1', name: 'c1', arguments: {}, rawArguments: '{}' }])
  })

  test('the last usage entry wins', () => {
    const { usage } = foldToResponse([
      ['usage', { inputTokens: 1, outputTokens: 2 }],
      ['usage', { inputTokens: 5 }],
    ])
    expect(usage).toEqual({ inputTokens: 5 })
  })

  test('raw chunks are not part of a response, and delays take no time', () => {
    const response = foldToResponse([
      ['raw_chunk', { any: 1 }],
      ['delay', 3_600_000],
      ['text', 'a'],
    ])
    expect(response.outputText).toBe('a')
  })

  test('an invalid script is refused', () => {
    const misnamed: object = { prompt_tokens: 1 }
    expect(failureOf([['usage', misnamed]])).toBeInstanceOf(ValidationError)
  })
})

describe('foldToResponse of a script that fails', () => {
  test('a term that is a legal reason gives that reason', () => {
    expect(failureOf([['error', 'context_length_exceeded']])).toMatchObject({
      reason: 'context_length_exceeded',
      message: 'scripted error',
    })
  })

  test.each(['nuclear', { code: 7 }, ['a'], null, 0, false])(
    'the term %j gives unknown, with the term as the cause',
    (term) => {
      expect(failureOf([['error', term]])).toMatchObject({ reason: 'unknown', cause: term })
    },
  )

  test('the error is thrown with the partial response, and nothing follows it', () => {
    const error = failureOf([
      ['text', 'half'],
      ['error', 'content_filter'],
      ['text', ' more'],
    ])
    expect(error).toBeInstanceOf(AdapterError)
    expect(error).toMatchObject({
      partial: { outputText: 'half', finishReason: 'error', error: { reason: 'content_filter' } },
    })
  })

  test('a transport failure is a StreamError with the number of events before it', () => {
    const error = failureOf([
      ['text_delta', 'half'],
      ['stream_error', 'truncated', { message: 'cut' }],
    ])
    expect(error).toBeInstanceOf(StreamError)
    expect(error).toMatchObject({ reason: 'truncated', message: 'cut', eventIndex: 2 })
  })

  test.each<Script>([
    [['error', 'rate_limited', { status: 429 }]],
    [['preflight_error', 'rate_limited', { status: 429 }]],
  ])('a failure before the first event has nothing to keep: %j', (entry) => {
    const error = failureOf([entry])
    expect(error).toMatchObject({ reason: 'rate_limited', status: 429, provider: 'fake' })
    expect(isAllmError(error) && error.partial).toBeUndefined()
  })
})

describe('foldToResponse of a whole answer', () => {
  test('ok gives the response that it holds', () => {
    const call = { id: 'c1', name: 'add', arguments: {} }
    const response = foldToResponse([
      [
        'ok',
        {
          id: 'answer_1',
          model: 'm-1',
          outputText: 'hi',
          toolCalls: [call],
          rawFinishReason: 'tool_use',
          usage: { inputTokens: 3 },
          metadata: { tier: 'gold' },
        },
      ],
    ])
    expect(response).toEqual({
      requestId: 'fake-request-1',
      id: 'answer_1',
      model: 'm-1',
      provider: 'fake',
      message: { role: 'assistant', content: 'hi', toolCalls: [call] },
      outputText: 'hi',
      toolCalls: [call],
      finishReason: 'tool_calls',
      rawFinishReason: 'tool_use',
      warnings: [],
      usage: { inputTokens: 3 },
      metadata: { tier: 'gold' },
    })
  })

  test('the message of ok is kept with its parts and its metadata', () => {
    const message = {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', opaque: 'signed', provider: 'fake' },
        { type: 'text', text: 'hi' },
        { type: 'image', image: { type: 'base64', base64: 'AAAA', mimeType: 'image/png' } },
      ],
      metadata: { seen: true },
    } as const
    expect(foldToResponse([['ok', { message }]])).toMatchObject({ message, outputText: 'hi' })
  })

  test('ok with an error fails like a stream', () => {
    const error = { kind: 'adapter', reason: 'timeout', message: 'too slow' } as const
    expect(failureOf([['ok', { outputText: 'half', error }]])).toMatchObject({
      reason: 'timeout',
      partial: { outputText: 'half' },
    })
  })
})

describe('a script that says all of an answer', () => {
  test('begins and ends as it says', () => {
    const { warnings, ...response } = foldToResponse([
      [
        'start',
        {
          id: 'a1',
          model: 'm-2026',
          usage: { inputTokens: 3 },
          warnings: [{ setting: 'seed', problem: 'm takes no seed' }],
        },
      ],
      ['text', 'Yes.'],
      [
        'finish',
        'stop',
        {
          rawFinishReason: 'end_turn',
          metadata: { tier: 'free' },
          sources: [{ type: 'url', url: 'https://a.example' }],
        },
      ],
    ])
    expect(warnings).toEqual([{ setting: 'seed', problem: 'm takes no seed' }])
    expect(response).toMatchObject({
      id: 'a1',
      model: 'm-2026',
      rawFinishReason: 'end_turn',
      metadata: { tier: 'free' },
      message: { sources: [{ type: 'url', url: 'https://a.example' }] },
    })
  })

  test('may have a message that is not what its entries make', () => {
    const message = { role: 'assistant', content: 'No.', metadata: { mine: 1 } } as const
    const script: Script = [
      ['text', 'Yes.', { more: true }],
      ['finish', 'stop', { message }],
    ]
    expect(foldToResponse(script).message).toEqual(message)
    // What is open is not completed then.
    expect(interpretAll(script)).toEqual([{ type: 'text_delta', delta: 'Yes.' }])
  })

  test('fails before its first event, if that is all it says', () => {
    expect(() => foldToResponse([['failure', 'missing_key', { kind: 'engine' }]])).toThrow(
      expect.objectContaining({ kind: 'engine', reason: 'missing_key', partial: undefined }),
    )
    expect(() =>
      foldToResponse([
        ['start', {}],
        ['failure', 'timeout', {}],
      ]),
    ).toThrow(expect.objectContaining({ reason: 'timeout', partial: expect.anything() as unknown }))
  })

  test('goes on with a block that stays open', () => {
    const events = interpretAll([
      ['text', 'One', { index: 0, more: true }],
      ['reasoning', 'Hm', { index: 1, more: true }],
      ['text', ' and '],
      ['reasoning', '.', { opaque: 's' }],
      ['text', 'two', { index: 2, more: true }],
      ['text', 'three', { index: null }],
    ])
    expect(events).toEqual([
      { type: 'text_delta', delta: 'One', index: 0 },
      { type: 'reasoning_delta', delta: 'Hm', index: 1 },
      { type: 'text_delta', delta: ' and ', index: 0 },
      { type: 'text_completed', text: 'One and ', index: 0 },
      { type: 'reasoning_delta', delta: '.', index: 1 },
      { type: 'reasoning_completed', text: 'Hm.', index: 1, opaque: 's' },
      { type: 'text_delta', delta: 'two', index: 2 },
      { type: 'text_delta', delta: 'three' },
      { type: 'text_completed', text: 'three' },
      { type: 'text_completed', text: 'two', index: 2 },
    ])
  })
})

/** The events of a script between its start and its end. */
function interpretAll(script: Script): readonly unknown[] {
  const { sections } = compileScript(script, { provider: 'fake' })
  return sections.flatMap(({ events }) => events).slice(1, -1)
}
