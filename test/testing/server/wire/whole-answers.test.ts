import { describe, expect, test } from 'vitest'
import type { Image } from '../../../../src/core/types/media.ts'
import type { ModelResponse } from '../../../../src/core/types/response.ts'
import { renderWire } from '../../../../src/server.ts'
import type { Script } from '../../../../src/testing.ts'
import { wireFormats } from '../../../../src/testing/server/wire-format.ts'
import { wireLimits } from '../../../../src/testing/server/wire-limits.ts'
import { decodeWire, generateWire, wireEvents, wireText } from './decode.ts'

const image: Image = { type: 'base64', base64: 'iVBORw0KGgo=', mimeType: 'image/png' }

function ok(response: Partial<ModelResponse>): Script {
  return [['ok', response]]
}

describe.each(wireFormats)('%s', (format) => {
  test('the parts of a message come in their order, and its calls after them', async () => {
    const script = ok({
      message: {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Hm.' },
          { type: 'text', text: 'Yes.' },
        ],
        toolCalls: [{ id: 'c', name: 'f', arguments: { x: 1 } }],
      },
    })
    const answer = await decodeWire(format, script)

    expect(answer.message.content).toMatchObject([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Yes.' },
    ])
    expect(answer.toolCalls).toMatchObject([{ id: 'c', name: 'f', arguments: { x: 1 } }])
    expect(answer.finishReason).toBe('tool_calls')
  })

  test('its id and its model are those of the answer', async () => {
    const { id, model } = await decodeWire(format, ok({ id: 'mine', model: 'my-model' }))

    expect(id).toContain('mine')
    expect(model).toBe('my-model')
  })

  test('an answer that failed fails after what it said', async () => {
    const error = { kind: 'adapter', reason: 'rate_limited', message: 'no more' } as const
    const answer = await decodeWire(format, ok({ outputText: 'Par', error }))

    expect(answer.outputText).toBe('Par')
    expect(answer.error).toMatchObject({ kind: 'adapter', reason: 'rate_limited' })
  })

  test('an answer whose transport broke is cut', () => {
    const error = { kind: 'stream', reason: 'truncated', message: 'gone' } as const
    const answer = renderWire(format, ok({ outputText: 'Par', error }), { stream: true })

    expect(answer.end).toBe('cut')
  })

  test('an image that the model made arrives where there is a place for it', async () => {
    const content = [{ type: 'image', image }] as const
    const script = ok({ message: { role: 'assistant', content } })
    const answers = [await decodeWire(format, script), await generateWire(format, script)]

    for (const answer of answers) {
      const parts = typeof answer?.message.content === 'string' ? [] : answer?.message.content
      const images = parts?.filter((part) => part.type === 'image') ?? []
      expect(images.map((part) => part.image)).toMatchObject(
        wireLimits[format].images ? [{ type: 'base64', base64: image.base64 }] : [],
      )
    }
  })
})

test('an image by its address is a file of Gemini', () => {
  const remote: Image = { type: 'url', url: 'https://example.com/a.png' }
  const content = [{ type: 'image', image: remote }] as const

  expect(wireText('gemini', ok({ message: { role: 'assistant', content } }))).toContain(
    '"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a.png"}',
  )
})

test('a failure of a harness in the midst of an answer is inside the stream', () => {
  const script: Script = [
    ['text_delta', 'Par'],
    ['error', 'provider_unavailable', {}],
  ]
  expect(wireEvents('anthropic', script).at(-1)).toMatchObject({ type: 'error' })
})

test('a whole call after its pieces adds what is left of it', () => {
  const script: Script = [
    ['tool_call_delta', { id: 'a', name: 'f', argumentsDelta: '{"x":' }],
    ['tool_call', { id: 'a', name: 'f', rawArguments: '{"x":1}' }],
  ]
  const deltas = wireEvents('openai_responses', script).flatMap((event) => {
    const { type, delta } = event as { type: string; delta?: string }
    return type === 'response.function_call_arguments.delta' ? [delta] : []
  })

  expect(deltas).toEqual(['{"x":', '1}'])
})

test('a call without a name gets its id as its name', async () => {
  const script: Script = [['tool_call_delta', { id: 'f1', argumentsDelta: '{}' }]]
  const { toolCalls } = await decodeWire('openai_chat', script)

  expect(toolCalls).toMatchObject([{ id: 'f1', name: 'f1' }])
})
