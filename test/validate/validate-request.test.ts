import { describe, expect, test } from 'vitest'
import { assistant, toolResult, user } from '../../src/make/messages.ts'
import { modelRequest } from '../../src/make/requests.ts'
import { isSendable, validateRequest, validateThread } from '../../src/schema/validate.ts'
import type { Issue } from '../../src/types/error-data.ts'

const call = (id: string): { id: string; name: string; arguments: {} } => ({
  id,
  name: 'look',
  arguments: {},
})
const asks = (...ids: string[]): object => assistant('', { toolCalls: ids.map(call) })
const answers = (id: string): object => toolResult(id, 'ok')
const hello = user('hello')

describe('a conversation', () => {
  const rows: readonly [string, readonly object[], readonly Issue[]][] = [
    ['calls answered in any order', [hello, asks('a', 'b'), answers('b'), answers('a')], []],
    [
      'an id used again in a later turn',
      [asks('a'), answers('a'), asks('a'), answers('a'), hello],
      [],
    ],
    [
      'a call open at the end',
      [hello, asks('a', 'b'), answers('a')],
      [{ path: 'messages[1].toolCalls[1]', problem: 'tool call b is not answered' }],
    ],
    [
      'a call open when the user speaks',
      [asks('a'), hello],
      [{ path: 'messages[0].toolCalls[0]', problem: 'tool call a is not answered' }],
    ],
    [
      'an answer that comes too late',
      [asks('a'), hello, answers('a')],
      [
        { path: 'messages[0].toolCalls[0]', problem: 'tool call a is not answered' },
        {
          path: 'messages[2].toolCallId',
          problem: 'answers a, which is no call of the assistant message before it',
        },
      ],
    ],
    [
      'an answer to nobody',
      [hello, answers('z')],
      [
        {
          path: 'messages[1].toolCallId',
          problem: 'answers z, which is no call of the assistant message before it',
        },
      ],
    ],
    [
      'an answer to an earlier turn',
      [asks('a'), answers('a'), hello, answers('a')],
      [
        {
          path: 'messages[3].toolCallId',
          problem: 'answers a, which is no call of the assistant message before it',
        },
      ],
    ],
    [
      'a second answer',
      [asks('a'), answers('a'), answers('a')],
      [{ path: 'messages[2].toolCallId', problem: 'answers a a second time' }],
    ],
  ]

  test.each(rows)('with %s', (_name, messages, issues) => {
    expect(validateThread({ messages, metadata: {} })).toEqual(issues)
    expect(validateRequest({ messages, tools: [], providerOptions: {}, metadata: {} })).toEqual(
      issues,
    )
    expect(isSendable({ messages, metadata: {} })).toBe(issues.length === 0)
  })

  test('may be empty as a thread, but can not be sent', () => {
    expect(validateThread({ messages: [], metadata: {} })).toEqual([])
    expect(isSendable({ messages: [], metadata: {} })).toBe(false)
    expect(validateRequest(modelRequest([]))).toEqual([
      { path: 'messages', problem: 'must be a list of at least one message, not an empty list' },
    ])
  })

  test.each([null, undefined, 'text', {}, { messages: 5 }])('%j is not sendable', (value) => {
    expect(isSendable(value)).toBe(false)
  })
})

describe('a field', () => {
  const look = { name: 'look', description: '', schema: {} }
  const rows: readonly [string, object, readonly Issue[]][] = [
    [
      'a temperature out of range',
      { temperature: 2.1 },
      [{ path: 'temperature', problem: 'must be a number from 0 to 2, not 2.1' }],
    ],
    [
      'no tokens',
      { maxTokens: 0 },
      [{ path: 'maxTokens', problem: 'must be a positive integer, not 0' }],
    ],
    [
      'half a token',
      { maxTokens: 1.5 },
      [{ path: 'maxTokens', problem: 'must be a positive integer, not 1.5' }],
    ],
    [
      'an empty model',
      { model: '' },
      [{ path: 'model', problem: 'must be a string that is not empty, not ""' }],
    ],
    [
      'a format of its own',
      { responseFormat: { type: 'xml' } },
      [
        {
          path: 'responseFormat.type',
          problem: 'must be one of text, json_object, json_schema, not "xml"',
        },
      ],
    ],
    [
      'a schema that is a text',
      { responseFormat: { type: 'json_schema', name: 'x', schema: '{}', strict: true } },
      [{ path: 'responseFormat.schema', problem: 'must be a JSON object, not "{}"' }],
    ],
    [
      'an effort of its own',
      { reasoning: { effort: 'extreme' } },
      [
        {
          path: 'reasoning.effort',
          problem: 'must be one of none, minimal, low, medium, high, max, not "extreme"',
        },
      ],
    ],
    [
      'a cache that is off',
      { promptCache: false },
      [
        {
          path: 'promptCache',
          problem: 'must be true or an object with key and retention, not false',
        },
      ],
    ],
    [
      'a cache that lasts',
      { promptCache: { retention: 'forever' } },
      [{ path: 'promptCache.retention', problem: 'must be one of short, long, not "forever"' }],
    ],
    [
      'provider options that are none',
      { providerOptions: { openai: 5 } },
      [{ path: 'providerOptions.openai', problem: 'must be a JSON object, not 5' }],
    ],
    [
      'two tools of one name',
      { tools: [look, look] },
      [{ path: 'tools[1].name', problem: 'is used twice among the tools: look' }],
    ],
    [
      'a reserved name',
      { tools: [{ ...look, name: 'auto' }] },
      [{ path: 'tools[0].name', problem: 'must not be auto: it is a word of toolChoice' }],
    ],
    [
      'a handler in a request',
      { tools: [{ ...look, handler: () => 1 }] },
      [
        {
          path: 'tools[0]',
          problem: 'unknown key handler; legal are name, description, schema, strict',
        },
      ],
    ],
    [
      'the choice of a tool that is not there',
      { toolChoice: 'look' },
      [
        {
          path: 'toolChoice',
          problem: 'must be auto, none, required or the name of a tool of the request, not "look"',
        },
      ],
    ],
    [
      'a tool that is required of none',
      { toolChoice: 'required' },
      [{ path: 'toolChoice', problem: 'is required, but the request has no tools' }],
    ],
    ['the choice of a tool that is there', { toolChoice: 'look', tools: [look] }, []],
    [
      'a key in snake case',
      { tool_choice: 'auto' },
      [{ path: '', problem: 'unknown key tool_choice; did you mean toolChoice?' }],
    ],
  ]

  test.each(rows)('with %s', (_name, fields, issues) => {
    expect(validateRequest({ ...modelRequest([hello]), ...fields })).toEqual(issues)
  })
})

describe('a history that grows', () => {
  test('is walked once, not at every step', () => {
    let looks = 0
    const watched = new Proxy(user('hello', { metadata: { deep: { er: 1 } } }), {
      ownKeys: (target) => {
        looks++
        return Reflect.ownKeys(target)
      },
    })
    const request = modelRequest([watched])
    for (let step = 0; step < 5; step++) expect(validateRequest(request)).toEqual([])
    expect(looks).toBe(1)
  })

  test('keeps its problems: what is not legal is looked at again', () => {
    const bad = { role: 'user', content: 5 }
    const request = { ...modelRequest([]), messages: [bad] }
    expect(validateRequest(request)).toEqual(validateRequest(request))
    expect(validateRequest(request)).toHaveLength(1)
  })
})
