import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderWire } from '../../../../src/server.ts'
import type { Script } from '../../../../src/testing.ts'
import { wireFormats } from '../../../../src/testing/server/wire-format.ts'
import { script } from '../../../support/scripts.ts'
import { wireBody, wireEvents, wireText } from './decode.ts'

const said: Script = [
  ['text', 'a'],
  ['delay', 30],
  ['delay', 20],
  ['text', 'b'],
  ['finish', 'stop'],
]

describe.each(wireFormats)('%s', (format) => {
  test('the same script and options give the same bytes', () => {
    fc.assert(
      fc.property(script, fc.boolean(), fc.integer(), (any, stream, seed) => {
        const options = { stream, chunking: { seed, maxBytes: 20 } }
        expect(renderWire(format, any, options)).toEqual(renderWire(format, any, options))
      }),
      { numRuns: 50 },
    )
  })

  test('a stream is server-sent events, a body is JSON', () => {
    const stream = renderWire(format, said, { stream: true })
    const body = renderWire(format, said)

    expect(stream.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect(body.headers['content-type']).toContain('application/json')
    expect(body.frames).toHaveLength(1)
  })

  test('the ids and the model are those that were asked for', () => {
    const options = { id: '7', model: 'a-model' }
    const text = wireText(format, said, { stream: true, ...options })

    expect(text).toContain('fake7')
    expect(text).toContain('"a-model"')
    expect(wireText(format, said, options)).toContain('fake7')
  })

  test('a delay is a wait before the next frame', () => {
    const { frames } = renderWire(format, said, { stream: true })
    const waits = frames.filter(({ delayMs }) => delayMs !== undefined)

    expect(waits).toMatchObject([{ delayMs: 50 }])
    expect(Buffer.from(waits[0]?.bytes ?? []).toString()).toContain('"b"')
  })

  test('a delay at the start holds back the first frame, and a body waits for all', () => {
    const late: Script = [['delay', 10], ...said]

    expect(renderWire(format, late, { stream: true }).frames[0]?.delayMs).toBe(10)
    expect(renderWire(format, late).frames[0]?.delayMs).toBe(60)
  })

  test('a raw chunk that is an object is sent as an event', () => {
    const chunk = { type: 'brand_new', odd: [1, null] }
    expect(wireEvents(format, [['raw_chunk', chunk], ...said])).toContainEqual(chunk)
  })

  test('a raw chunk that is not an object is wrapped', () => {
    expect(wireEvents(format, [['raw_chunk', 'odd'], ...said])).toContainEqual({
      type: 'raw_chunk',
      chunk: 'odd',
    })
  })

  test('a script without finish ends as with its default finish', () => {
    const calls: Script = [['tool_call', { id: 'c', name: 'f' }]]

    expect(wireText(format, [])).toBe(wireText(format, [['finish', 'stop']]))
    expect(wireText(format, calls)).toBe(wireText(format, [...calls, ['finish', 'tool_calls']]))
  })

  test('a whole answer is rendered like the entries that make it', () => {
    const usage = { inputTokens: 3, outputTokens: 4 }
    const whole: Script = [['ok', { outputText: 'hi', usage }]]
    const entries: Script = [
      ['text', 'hi'],
      ['usage', usage],
      ['finish', 'stop'],
    ]

    expect(wireText(format, whole, { stream: true })).toBe(
      wireText(format, entries, { stream: true }),
    )
  })

  test('a stream error cuts the connection, and a body with it', () => {
    const cut: Script = [
      ['text_delta', 'a'],
      ['stream_error', 'truncated', {}],
    ]

    expect(renderWire(format, cut, { stream: true }).end).toBe('cut')
    expect(renderWire(format, cut).end).toBe('cut')
    expect(() => wireBody(format, cut)).toThrow(SyntaxError)
  })

  test('a malformed event cannot be parsed, and the connection stays', () => {
    const malformed: Script = [
      ['text_delta', 'a'],
      ['stream_error', 'malformed_event', {}],
    ]

    expect(renderWire(format, malformed, { stream: true }).end).toBe('normal')
    expect(() => wireEvents(format, malformed)).toThrow(SyntaxError)
  })

  test('a time-out is silence: after the start, or before any answer', () => {
    const late: Script = [
      ['text', 'a'],
      ['error', 'timeout'],
    ]
    const never: Script = [['preflight_error', 'timeout', {}]]

    expect(renderWire(format, late, { stream: true })).toMatchObject({ status: 200, end: 'stall' })
    expect(renderWire(format, never)).toMatchObject({ status: 0, frames: [], end: 'stall' })
  })

  test('a network error before any answer is a closed connection', () => {
    const answer = renderWire(format, [['preflight_error', 'network_error', {}]])
    expect(answer).toMatchObject({ status: 0, frames: [], end: 'cut' })
  })

  test('a malformed answer is a page of a proxy', () => {
    const answer = renderWire(format, [['preflight_error', 'malformed_response', {}]])
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'text/html' } })
  })

  test('an invalid script is refused', () => {
    const wrong = [['txt', 'a']] as unknown as Script
    expect(() => renderWire(format, wrong)).toThrow('unknown tag "txt"')
  })
})

test('Gemini without alt=sse is one JSON array', () => {
  const text = wireText('gemini', said, { stream: true, framing: 'json_array' })
  const items = JSON.parse(text)

  expect(items).toEqual(wireEvents('gemini', said))
})

test('Chat Completions sends its usage only when it is asked for', () => {
  const counted: Script = [['usage', { inputTokens: 1, outputTokens: 2 }]]

  expect(wireText('openai_chat', counted, { stream: true })).toContain('"prompt_tokens":1')
  expect(wireText('openai_chat', counted, { stream: true, includeUsage: false })).not.toContain(
    'usage',
  )
})
