import { expect, test } from 'vitest'
import { ndjsonSplitter } from '../../../src/providers/http/ndjson.ts'

function split(...chunks: readonly string[]): readonly string[] {
  const lines: string[] = []
  const splitter = ndjsonSplitter()
  for (const chunk of chunks) splitter.feed(chunk, (line) => lines.push(line))
  splitter.end((line) => lines.push(line))
  return lines
}

test.each([
  ['one line', '{"a":1}\n', ['{"a":1}']],
  ['CRLF', '{"a":1}\r\n{"b":2}\r\n', ['{"a":1}', '{"b":2}']],
  ['blank lines', '\n\n{"a":1}\n \n\n{"b":2}', ['{"a":1}', '{"b":2}']],
  ['a last line without its end', '{"a":1}\n{"b"', ['{"a":1}', '{"b"']],
  ['a byte order mark', '\uFEFF{"a":1}\n', ['{"a":1}']],
  [
    'line separators of Unicode, which are no line ends in JSON',
    '"\u2028\u2029"\n',
    ['"\u2028\u2029"'],
  ],
  ['nothing', '', []],
])('%s', (_name, text, expected) => {
  expect(split(text)).toEqual(expected)
  for (let at = 0; at <= text.length; at++) {
    expect(split(text.slice(0, at), text.slice(at)), `cut at ${at}`).toEqual(expected)
  }
  expect(split(...Array.from(text))).toEqual(expected)
})

test('a line that never ends is refused at the limit', () => {
  const splitter = ndjsonSplitter(16)
  splitter.feed('x'.repeat(16), () => undefined)
  expect(() => splitter.feed('x', () => undefined)).toThrow(RangeError)
})
