import { expect, test } from 'vitest'
import { cutAfterEvents, malformEvent, renderWire, slowAnswer } from '../../../../src/server.ts'
import type { Script } from '../../../../src/testing.ts'
import { wireFormats } from '../../../../src/testing/server/wire-format.ts'

const script: Script = [
  ['text', 'a'],
  ['text', 'b'],
  ['text', 'c'],
]

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString()

test.each(wireFormats)('a stream of %s is cut after some events', (format) => {
  const answer = renderWire(format, script, { stream: true })
  const cut = cutAfterEvents(answer, 2)

  expect(cut.frames).toEqual(answer.frames.slice(0, 2))
  expect(cut.end).toBe('cut')
})

test('a stream that has no more events than that is whole', () => {
  const answer = renderWire('gemini', script, { stream: true })
  expect(cutAfterEvents(answer, 99)).toBe(answer)
})

test.each(wireFormats)('a body of %s is cut in its middle', (format) => {
  const cut = cutAfterEvents(renderWire(format, script), 3)

  expect(cut.end).toBe('cut')
  expect(() => JSON.parse(text(cut.frames[0]?.bytes))).toThrow(SyntaxError)
})

test.each(wireFormats)(
  'one event of %s is malformed, and the others are as they were',
  (format) => {
    const answer = renderWire(format, script, { stream: true })
    const { frames } = malformEvent(answer, 1)

    expect(frames).toHaveLength(answer.frames.length)
    expect(frames.toSpliced(1, 1)).toEqual(answer.frames.toSpliced(1, 1))
    expect(text(frames[1]?.bytes)).toMatch(/\n\n$/)
    expect(() => JSON.parse(/data: (.*)/.exec(text(frames[1]?.bytes))?.[1] ?? '0')).toThrow(
      SyntaxError,
    )
  },
)

test('an end marker is malformed as well', () => {
  const { frames } = malformEvent(renderWire('openai_chat', [], { stream: true }), 2)
  expect(text(frames[2]?.bytes)).toBe('data: {\n\n')
})

test('a slow answer waits longer before its first byte', () => {
  const answer = renderWire('anthropic', [['delay', 5], ...script], { stream: true })
  expect(slowAnswer(answer, 10).frames[0]?.delayMs).toBe(15)
})
