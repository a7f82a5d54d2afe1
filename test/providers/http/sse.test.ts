import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sseSplitter } from '../../../src/providers/http/sse.ts'
import { sniffedBody, wholeBody } from '../../../src/providers/http/whole-body.ts'

type Event = readonly [data: string, event: string | undefined]

/** The events of a text that arrives in these chunks. */
function split(chunks: readonly string[], limit?: number): readonly Event[] {
  const events: Event[] = []
  const onEvent = (data: string, event: string | undefined): void => {
    events.push([data, event])
  }
  const splitter = sseSplitter(limit)
  for (const chunk of chunks) splitter.feed(chunk, onEvent)
  splitter.end(onEvent)
  return events
}

test.each<[string, string, readonly Event[]]>([
  [
    'LF',
    'data: a\n\ndata: b\n\n',
    [
      ['a', undefined],
      ['b', undefined],
    ],
  ],
  ['CRLF', 'event: x\r\ndata: a\r\n\r\n', [['a', 'x']]],
  [
    'CR alone',
    'event: x\rdata: a\r\rdata: b\r\r',
    [
      ['a', 'x'],
      ['b', undefined],
    ],
  ],
  [
    'mixed line endings',
    'event: x\ndata: a\r\n\rdata: b\n\r\n',
    [
      ['a', 'x'],
      ['b', undefined],
    ],
  ],
  ['several data lines', 'data: a\ndata: b\ndata\ndata: c\n\n', [['a\nb\n\nc', undefined]]],
  [
    'one leading space only',
    'data:  a\n\ndata:b\n\n',
    [
      [' a', undefined],
      ['b', undefined],
    ],
  ],
  ['comments', ': hello\n\n:\n\ndata: a\n: between\ndata: b\n\n', [['a\nb', undefined]]],
  ['ids and retries', 'id: 1\nretry: 5\ndata: a\n\n', [['a', undefined]]],
  [
    'names that only have the same prefix',
    'dataset: a\nevents: b\ndata: c\n\n',
    [['c', undefined]],
  ],
  ['a name without data', 'event: x\n\ndata: a\n\n', [['a', undefined]]],
  ['an empty name', 'event: x\nevent:\ndata: a\n\n', [['a', undefined]]],
  [
    'empty data',
    'data:\n\ndata\n\n',
    [
      ['', undefined],
      ['', undefined],
    ],
  ],
  ['a byte order mark', '\uFEFFdata: a\n\n', [['a', undefined]]],
  [
    'no blank line at the end',
    'data: a\n\nevent: x\ndata: b',
    [
      ['a', undefined],
      ['b', 'x'],
    ],
  ],
  ['a line ending and no blank line', 'data: a\n', [['a', undefined]]],
  ['nothing', '', []],
])('%s', (_name, text, events) => {
  expect(split([text])).toEqual(events)
  expect(split(Array.from(text)), 'character by character').toEqual(events)
  for (let at = 0; at <= text.length; at++) {
    expect(split([text.slice(0, at), text.slice(at)]), `cut at ${at}`).toEqual(events)
  }
})

/** Lines that are easily misread, with every kind of line ending. */
const hostileText = fc
  .array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom('data', 'data:', 'data: ', 'event: x', 'event:', 'event', ':', ': c', ''),
        fc.constantFrom('id: 7', 'retry: 3', 'dat', 'data :a', ' data: a', 'DATA: a', '\uFEFF'),
        fc.string({ maxLength: 6 }).map((text) => `data: ${text.replaceAll(/[\r\n\0]/g, '')}`),
      ),
      fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\r\n\r\n', '\r\r'),
    ),
    { maxLength: 20 },
  )
  .map((lines) => lines.flat().join(''))

describe('against a second parser', () => {
  test('hostile streams give the same events', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const events: Event[] = []
        const parser = createParser({
          onEvent: ({ data, event }) => events.push([data, event === '' ? undefined : event]),
        })
        // It holds back an event without a blank line; ours emits it at the end. So both get a blank line.
        const ended = `${text}\n\n`
        parser.feed(ended)
        expect(split([ended])).toEqual(events)
      }),
      { numRuns: 2000 },
    )
  })

  test('the events do not depend on where the stream is cut', () => {
    fc.assert(
      fc.property(hostileText, fc.array(fc.nat({ max: 40 }), { maxLength: 6 }), (text, cuts) => {
        const at = [0, ...cuts, text.length].filter((cut) => cut <= text.length)
        const edges = at.toSorted((a, b) => a - b)
        const chunks = edges.slice(1).map((to, index) => text.slice(edges[index], to))
        expect(split(chunks)).toEqual(split([text]))
      }),
      { numRuns: 2000 },
    )
  })
})

test('an event that grows beyond the limit is refused', () => {
  expect(() => split(['data: ', 'a'.repeat(50), 'a'.repeat(50)], 80)).toThrow(RangeError)
  expect(() => split(['data: 1234567890\n'.repeat(10)], 80)).toThrow('longer than 80')
  expect(split([`data: ${'a'.repeat(70)}\n\n`.repeat(10)], 80)).toHaveLength(10)
})

test('one event in very many chunks is joined once', () => {
  const pieces = Array.from({ length: 20_000 }, (_, index) => `${index},`)
  const [event] = split(['data: ', ...pieces, '\n\n'])
  expect(event?.[0]).toBe(pieces.join(''))
})

test('a body that is one JSON document is one event, and an empty body has no event', () => {
  const given: Event[] = []
  const take = (data: string, event: string | undefined): void => {
    given.push([data, event])
  }
  for (const body of ['{"a":\n\n1}', ' \n']) {
    const splitter = wholeBody()
    for (const letter of body) splitter.feed(letter, take)
    splitter.end(take)
  }
  expect(given).toEqual([['{"a":\n\n1}', undefined]])
  expect(() => wholeBody(4).feed('12345', take)).toThrow(RangeError)
})

test.each<[string, string, readonly Event[]]>([
  ['a document', ' \n{"a":1}', [[' \n{"a":1}', undefined]]],
  ['a list', '[1]', [['[1]', undefined]]],
  ['a stream', '\n: hi\n\ndata: a\n\n', [['a', undefined]]],
  ['nothing', ' \n', []],
])('a body that begins like %s is read as such', (_name, text, events) => {
  const given: Event[] = []
  const take = (data: string, event: string | undefined): void => {
    given.push([data, event])
  }
  const splitter = sniffedBody()
  splitter.feed(text, take)
  splitter.end(take)
  expect(splitter.isDocument).toBe(/^\s*[[{]/.test(text))
  expect(given.map(([data, event]) => [data.trim(), event])).toEqual(
    events.map(([data, event]) => [data.trim(), event]),
  )
})
