import { afterEach, describe, expect, test, vi } from 'vitest'
import { fake, interpret, type ScriptEntry } from '../../src/testing.ts'

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
      [{ type: 'tool_call_completed', call: { id: 'c1', name: 'add', arguments: { x: 1 } } }],
    ],
    [
      ['tool_call', { id: 'c1', name: 'add', rawArguments: '{"x":' }],
      [
        {
          type: 'tool_call_completed',
          call: { id: 'c1', name: 'add', arguments: {}, rawArguments: '{"x":' },
        },
      ],
    ],
    [
      ['tool_call_delta', { id: 'c1', argumentsDelta: '{' }],
      [{ type: 'tool_call_delta', id: 'c1', argumentsDelta: '{' }],
    ],
    [
      ['tool_call_delta', { id: 'c1', name: 'add', argumentsDelta: '{' }],
      [
        { type: 'tool_call_started', id: 'c1', name: 'add' },
        { type: 'tool_call_delta', id: 'c1', argumentsDelta: '{' },
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

  test('finish gives message_completed alone: the end of the text is added when a script is played', () => {
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
      'tool_call_completed',
      'message_completed',
    ])
  })

  test('each entry is seen alone: nothing is remembered between two', () => {
    interpret(['text', 'a'])
    expect(interpret(['finish', 'stop'])).toEqual(interpret(['finish', 'stop']))
  })
})

describe('sleep', () => {
  const warned = Symbol.for('allm-ts.warned.sleep')
  afterEach(() => vi.restoreAllMocks())

  test('it is a deprecated alias of delay that warns once a process', () => {
    Reflect.deleteProperty(globalThis, warned)
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    expect(interpret(['sleep', 5])).toEqual(interpret(['delay', 5]))
    interpret(['sleep', 5])
    fake({ script: [['sleep', 5]] })
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('say "delay"'))
  })

  test('delay does not warn', () => {
    Reflect.deleteProperty(globalThis, warned)
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    interpret(['delay', 5])
    expect(warn).not.toHaveBeenCalled()
  })
})
