import { describe, expect, test } from 'vitest'
import { AdapterError } from '../../../src/core/errors/errors.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { openai } from '../../../src/openai.ts'
import { sse } from '../../support/http-server.ts'
import { chunk } from './chunk.ts'
import { generated, streamed, type Api } from './decode.ts'
import { readAll, request, sentBody } from './request.ts'

const done = '[DONE]'
const json = 'application/json'

/** The result of a streaming call: its last event, or what it throws. */
async function outcome(api: Api, body: string, type = 'text/event-stream'): Promise<unknown> {
  const headers = { 'content-type': type }
  const fetch = (): Promise<Response> => Promise.resolve(new Response(body, { headers }))
  const events = readAll(openai({ api, apiKey: 'k', fetch }).stream(request(), {}))
  return events.then(
    (all) => all.at(-1),
    (error: unknown) => error,
  )
}

describe('a whole answer', () => {
  const message = { role: 'assistant', content: 'Hello' }
  const whole = (delta: JsonObject | null): JsonObject => ({
    choices: [{ index: 0, finish_reason: 'stop', message, delta }],
  })

  test.each<[string, JsonObject | null]>([
    ['no', null],
    ['an empty', { role: 'assistant', content: '', tool_calls: [] }],
  ])('is read if %s delta stands beside its message', async (_name, delta) => {
    expect((await generated('chat', whole(delta))).outputText).toBe('Hello')
  })

  test('that grows beside the deltas of a stream is not read twice', async () => {
    const grown = (content: string, delta: string, finish: string | null): JsonObject => ({
      choices: [
        { index: 0, message: { content }, delta: { content: delta }, finish_reason: finish },
      ],
    })
    const parts = [grown('He', 'He', null), grown('Hello', 'llo', null), grown('Hello', '', 'stop')]
    expect((await streamed('chat', ...parts)).outputText).toBe('Hello')
  })

  test.each([json, 'text/event-stream', 'text/plain', ''])('is read as %j', async (type) => {
    const body = JSON.stringify(whole(null))
    expect(await outcome('chat', body, type)).toMatchObject({ message: { content: 'Hello' } })
  })

  test('of Responses is known by its output', async () => {
    const content = [{ type: 'output_text', text: 'Hello' }]
    const response = { id: 'r', status: 'completed', output: [{ type: 'message', content }] }
    expect((await generated('responses', response)).outputText).toBe('Hello')
  })
})

describe('reasoning', () => {
  test.each(['reasoning_content', 'reasoning', 'reasoning_text', 'thinking'])(
    'is found as %s',
    async (name) => {
      const { message } = await streamed('chat', chunk({ [name]: 'Hm' }), chunk({}, 'stop'), done)
      expect(message.content).toMatchObject([{ type: 'reasoning', text: 'Hm' }])
    },
  )

  test('is found in a part of the content, as a text or as a list', async () => {
    const content = [
      { type: 'thinking', thinking: 'One. ' },
      { type: 'thinking', thinking: [{ type: 'text', text: 'Two.' }] },
      { text: 'Hello' },
    ]
    const { message, outputText } = await streamed('chat', chunk({ content }, 'stop'), done)
    expect(message.content).toMatchObject([{ text: 'One. Two.' }, { type: 'text' }])
    expect(outputText).toBe('Hello')
  })
})

describe('tool calls', () => {
  test('without ids that all have the index 0 are told apart by their names', async () => {
    const call = (x: number): JsonObject =>
      chunk({
        tool_calls: [{ index: 0, id: '', function: { name: 'f', arguments: `{"x":${x}}` } }],
      })
    const { toolCalls } = await streamed('chat', call(1), call(2), chunk({}, 'tool_calls'), done)
    expect(toolCalls.map((one) => one.arguments)).toEqual([{ x: 1 }, { x: 2 }])
  })

  test('that are empty are ignored, and a call without a name gets one', async () => {
    const { toolCalls } = await streamed(
      'chat',
      chunk({
        tool_calls: [
          { index: 0, function: {} },
          { index: 1, id: 'a', function: {} },
        ],
      }),
      chunk({}, 'tool_calls'),
      done,
    )
    expect(toolCalls).toEqual([{ id: 'a', name: 'unnamed', arguments: {} }])
  })

  test.each([
    ['its id', 'i', 'c'],
    ['the id of its call', 'j', 'c'],
  ])('an item that has another number at the end is found by %s', async (_name, id, call_id) => {
    const item = { type: 'function_call', id: 'i', call_id: 'c', name: 'f', arguments: '{"x":1}' }
    const output = [{ ...item, id, call_id }]
    const { toolCalls } = await streamed(
      'responses',
      { type: 'response.output_item.added', output_index: 3, item: { ...item, arguments: '' } },
      { type: 'response.output_item.done', output_index: 3, item },
      { type: 'response.completed', response: { status: 'completed', output } },
    )
    expect(toolCalls).toMatchObject([{ id: 'c', arguments: { x: 1 } }])
  })

  test('get their arguments from the done event when there were no deltas', async () => {
    const item = { type: 'function_call', id: 'i', call_id: 'c', name: 'f', arguments: '' }
    const { toolCalls } = await streamed(
      'responses',
      { type: 'response.output_item.added', output_index: 0, item },
      { type: 'response.function_call_arguments.done', output_index: 0, arguments: '{"x":1}' },
      { type: 'response.completed', response: { status: 'completed', output: [] } },
    )
    expect(toolCalls).toMatchObject([{ id: 'c', name: 'f', arguments: { x: 1 } }])
  })
})

describe('an error in place of an answer', () => {
  test.each<[string, JsonObject, string, string]>([
    ['Mistral’s', { object: 'error', message: 'no', type: 'x' }, 'unknown', 'no'],
    ['a text', { error: 'no' }, 'unknown', 'no'],
    ['a list', { error: [{ message: 'no', code: '429' }] }, 'rate_limited', 'no'],
    ['problems', { error: { message: { a: 1 }, code: 400 } }, 'invalid_request', '{"a":1}'],
  ])('is understood: %s', async (_name, body, reason, message) => {
    const error = await outcome('chat', JSON.stringify(body), json)
    expect(error).toBeInstanceOf(AdapterError)
    expect(error).toMatchObject({ reason, message })
  })

  test.each(['{"foo":1}', '{"choices":[]}', 'Bad gateway'])(
    'that cannot be understood is a malformed response: %s',
    async (body) => {
      expect(await outcome('chat', body)).toMatchObject({ reason: 'malformed_response' })
    },
  )
})

test('a stream that ends inside an event is truncated', async () => {
  const cut = sse(chunk({ content: 'Hel' })) + 'data: {"choices":[{"ind'
  expect(await outcome('chat', cut)).toMatchObject({
    type: 'error',
    error: { reason: 'truncated' },
  })
})

test('a user message without parts is an empty text', async () => {
  const { body } = await sentBody(request({ messages: [{ role: 'user', content: [] }] }), {
    api: 'chat',
  })
  expect(body).toMatchObject({ messages: [{ role: 'user', content: '' }] })
})
