import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import { bodySplitter, jsonSplitter } from '../../../src/providers/gemini/split-body.ts'
import { decodeBytes } from '../../support/decode-bytes.ts'
import { bareDecoder, chunk, eventsOf, lastChunk, sseBody, stubbed } from './support.ts'

const chunks = [
  chunk([{ text: 'Grüße, 世界 "{[', thought: true }]),
  chunk([{ text: 'a\r\nb 👍' }]),
  chunk([{ functionCall: { name: 'add', args: { a: '}\\"]' } }, thoughtSignature: 'Uw==' }]),
  { ...lastChunk(), usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2 } },
]
const error = JSON.stringify({ error: { code: 500, message: 'late', status: 'INTERNAL' } }, null, 2)

const bodies = {
  'server-sent events with CRLF': sseBody(chunks),
  'server-sent events with LF': sseBody(chunks, '\n'),
  'a list of JSON objects': `[${chunks.map((item) => JSON.stringify(item, null, 2)).join('\r\n,\r\n')}\r\n]`,
  'server-sent events and a bare error': sseBody(chunks) + error,
}

const bytesOf = (body: string): Uint8Array => new TextEncoder().encode(body)

/** The events of a body that arrives in these pieces, and the problem that stopped it. */
function decodePieces(pieces: readonly Uint8Array[]) {
  const { events, done, stopped } = decodeBytes('gemini', bareDecoder, bodySplitter(), pieces)
  if (stopped !== undefined) return { events, problem: stopped.problem }
  return done ? { events } : { events, problem: 'no end' }
}

const read = (body: string): Promise<readonly ModelEvent[]> => eventsOf(stubbed({ body }).adapter)

describe.each(Object.entries(bodies))('%s', (_name, body) => {
  const bytes = bytesOf(body)

  test('is read the same for every cut', () => {
    const whole = JSON.stringify(decodePieces([bytes]))
    expect(decodePieces([bytes]).events.length).toBeGreaterThan(5)
    for (let at = 1; at < bytes.length; at++) {
      const pieces = [bytes.subarray(0, at), bytes.subarray(at)]
      expect(JSON.stringify(decodePieces(pieces)), `cut at ${at}`).toBe(whole)
    }
  })

  test('is read the same byte by byte, also by the adapter', async () => {
    const cuts = Array.from({ length: bytes.length }, (_, index) => index + 1)
    expect(await eventsOf(stubbed({ body, cuts }).adapter)).toEqual(await read(body))
  })
})

test('all framings of the same chunks decode to the same events', async () => {
  const events = await read(bodies['server-sent events with CRLF'])
  expect(events.at(-1)).toMatchObject({ type: 'message_completed', finishReason: 'tool_calls' })
  expect(await read(bodies['server-sent events with LF'])).toEqual(events)
  expect(await read(bodies['a list of JSON objects'])).toEqual(events)
})

test('a bare error after the events is the last event', async () => {
  const events = await read(bodies['server-sent events and a bare error'])
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { reason: 'provider_unavailable' } })
})

describe('a body that breaks off', () => {
  test.each(['server-sent events with CRLF', 'a list of JSON objects'] as const)(
    'is never read as complete: %s',
    (name) => {
      const bytes = bytesOf(bodies[name].trimEnd().replace(/\s*\]$/, ''))
      expect(decodePieces([bytes])).not.toHaveProperty('problem')
      for (let length = 0; length < bytes.length; length++) {
        const { problem } = decodePieces([bytes.subarray(0, length)])
        expect(problem === 'no end' || problem instanceof SyntaxError, `${length} bytes`).toBe(true)
      }
    },
  )

  test('ends the stream as truncated', async () => {
    const body = bodies['server-sent events with CRLF']
    const events = await read(body.slice(0, body.length - 20))
    expect(events.at(-1)).toMatchObject({ error: { kind: 'stream', reason: 'truncated' } })
  })
})

describe('splitting', () => {
  const split = (text: string): string[] => {
    const found: string[] = []
    const splitter = bodySplitter()
    splitter.feed(text, (data) => found.push(data))
    splitter.end((data) => found.push(data))
    return found
  }

  test.each([
    ['an empty list', '[]', []],
    ['nothing', '', []],
    ['a lone object', ' {"a":1}', ['{"a":1}']],
    ['consecutive objects', '{"a":1}\n{"b":2}', ['{"a":1}', '{"b":2}']],
    ['a comment first', ': hi\n\ndata: {"a":1}\n\n', ['{"a":1}']],
    ['an event without its blank line', 'data: {"a":1}', ['{"a":1}']],
    ['an end marker without its blank line', 'data: [DONE]', ['[DONE]']],
  ])('%s', (_name, text, expected) => {
    expect(split(text)).toEqual(expected)
  })

  test('an object that never ends is refused at the limit', () => {
    const splitter = jsonSplitter(16)
    expect(() => splitter.feed(`{"a":"${'x'.repeat(32)}`, () => undefined)).toThrow(RangeError)
  })
})
