import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { ToolCall } from '../../../src/core/types/message.ts'
import { addPartialArg, partialArgs } from '../../../src/providers/gemini/decode-calls.ts'
import { chunk, decode, fold, lastChunk, request } from './support.ts'

const call = (name: string, rest: JsonObject = {}): JsonObject => ({
  functionCall: { name, args: {}, ...rest },
})

async function callsOf(...parts: readonly JsonObject[]): Promise<readonly ToolCall[]> {
  return (await fold(lastChunk(parts))).toolCalls
}

describe('function calls', () => {
  test('a call is started and completed, after the block before it', async () => {
    const events = await decode([
      lastChunk([{ text: 'Hm.' }, call('add', { id: 'c1', args: { a: 1 } })]),
    ])
    const added = { id: 'c1', name: 'add', arguments: { a: 1 } }
    expect(events.slice(2)).toMatchObject([
      { type: 'text_completed', text: 'Hm.' },
      { type: 'tool_call_started', id: 'c1', name: 'add' },
      { type: 'tool_call_completed', call: added },
      {
        type: 'message_completed',
        finishReason: 'tool_calls',
        rawFinishReason: 'STOP',
        message: { role: 'assistant', content: 'Hm.', toolCalls: [added] },
      },
    ])
  })

  test('a signature is kept with the call that it came on', async () => {
    const [first, second] = await callsOf(
      { ...call('a', { id: '1' }), thoughtSignature: 'S1' },
      call('b', { id: '2' }),
    )
    expect(first?.opaque).toEqual({ thoughtSignature: 'S1' })
    expect(second).not.toHaveProperty('opaque')
  })

  test('absent arguments are empty, and arguments that are not an object are kept as text', async () => {
    const [absent, wrong] = await callsOf(
      { functionCall: { name: 'a', id: '1' } },
      { functionCall: { name: 'b', id: '2', args: [1] } },
    )
    expect(absent).toEqual({ id: '1', name: 'a', arguments: {} })
    expect(wrong).toEqual({ id: '2', name: 'b', arguments: {}, rawArguments: '[1]' })
  })

  test('a call without a name is ignored', async () => {
    expect(await callsOf({ functionCall: {} })).toEqual([])
  })
})

describe('ids', () => {
  test('identical calls without ids get different ids, the same every time', async () => {
    const parts = [call('roll'), call('roll')]
    const calls = await callsOf(...parts)
    expect(calls.map(({ id }) => id)).toEqual(['call_answer-1_1', 'call_answer-1_2'])
    expect(calls.map(({ opaque }) => opaque)).toEqual([{ sentId: null }, { sentId: null }])
    expect(await callsOf(...parts)).toEqual(calls)
  })

  test('a repeated id gets a number, and the sent one is kept', async () => {
    const calls = await callsOf(call('a', { id: 'x' }), call('b', { id: 'x' }))
    expect(calls.map(({ id }) => id)).toEqual(['x', 'x_2'])
    expect(calls[1]?.opaque).toEqual({ sentId: 'x' })
  })

  test('an id that is already in the thread is not used again', async () => {
    const taken = { id: 'call_run_1', name: 'a', arguments: {} }
    const asked = request({
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: '', toolCalls: [taken] },
        { role: 'tool', content: '1', toolCallId: 'call_run_1' },
      ],
    })
    const { responseId: _responseId, ...unnamed } = lastChunk([call('a')])
    const events = await decode([unnamed], {}, asked)
    expect(collectEventsSync(events).toolCalls[0]?.id).toBe('call_run_2')
  })

  test('newId makes the ids if it is given, and a constant one does not repeat ids', async () => {
    const events = await decode([lastChunk([call('a'), call('b')])], {
      newId: (kind) => `${kind}-7`,
    })
    const ids = collectEventsSync(events).toolCalls.map(({ id }) => id)
    expect(ids[0]).toBe('call-7')
    expect(new Set(ids).size).toBe(2)
  })

  test('an id is made of characters that every provider accepts', async () => {
    const events = await decode(
      [{ candidates: [{ content: { parts: [call('a')] }, finishReason: 'STOP' }] }],
      { requestId: 'räquest/7:with a very long name indeed, too long' },
    )
    expect(collectEventsSync(events).toolCalls[0]?.id).toMatch(/^[A-Za-z0-9_-]{1,40}$/)
  })
})

describe('streamed arguments', () => {
  const piece = (functionCall: JsonObject): JsonObject => chunk([{ functionCall }])

  test('pieces are put together, and the call is completed when they end', async () => {
    const events = await decode([
      piece({ name: 'find', id: 'c1', willContinue: true }),
      piece({
        partialArgs: [{ jsonPath: '$.where', stringValue: 'Bos', willContinue: true }],
        willContinue: true,
      }),
      piece({ partialArgs: [{ jsonPath: '$.where', stringValue: 'ton' }], willContinue: true }),
      piece({ partialArgs: [{ jsonPath: '$.limit', numberValue: 3 }], willContinue: true }),
      piece({}),
      lastChunk(),
    ])
    expect(events.filter(({ type }) => type.startsWith('tool_call'))).toEqual([
      { type: 'tool_call_started', id: 'c1', name: 'find' },
      {
        type: 'tool_call_completed',
        call: { id: 'c1', name: 'find', arguments: { where: 'Boston', limit: 3 } },
      },
    ])
  })

  test('a call that is still open at the end is completed with the arguments so far', async () => {
    const response = await fold(
      piece({ name: 'find', id: 'c1', willContinue: true }),
      chunk(
        [
          {
            functionCall: {
              partialArgs: [{ jsonPath: '$.a', boolValue: true }],
              willContinue: true,
            },
          },
        ],
        {
          finishReason: 'MAX_TOKENS',
        },
      ),
    )
    expect(response.finishReason).toBe('length')
    expect(response.toolCalls).toEqual([{ id: 'c1', name: 'find', arguments: { a: true } }])
  })

  test('a path that cannot be followed ends the stream as malformed', async () => {
    const events = await decode([
      piece({ name: 'find', willContinue: true }),
      piece({ partialArgs: [{ jsonPath: '$..*', numberValue: 1 }], willContinue: true }),
      lastChunk(),
    ])
    expect(events.at(-1)).toMatchObject({ error: { reason: 'malformed_event' } })
  })

  test.each([
    ['$.a.b[0].c', { a: { b: [{ c: 1 }] } }],
    [`$['a b']["c'd"]`, { 'a b': { "c'd": 1 } }],
    ['$.list[0]', { list: [1] }],
    ['$.__proto__.x', JSON.parse('{"__proto__":{"x":1}}')],
  ])('%s is followed', (jsonPath, expected) => {
    const args = partialArgs()
    addPartialArg(args, { jsonPath, numberValue: 1 })
    expect(args.root).toEqual(expected)
    expect(Object.getPrototypeOf(args.root)).toBe(Object.prototype)
  })

  test.each(['$', '$.a[7]', '$.a[', '$x'])('%s is refused', (jsonPath) => {
    expect(() => addPartialArg(partialArgs(), { jsonPath, nullValue: null })).toThrow(SyntaxError)
  })
})
