import { expect, test } from 'vitest'
import { ToolError, toolErrorReasons } from '../../src/errors/errors.ts'
import { messageOf } from '../../src/tools/failures.ts'
import { errorContent } from '../../src/tools/results.ts'
import { simple } from './support.ts'

const raised = (cause: unknown): ToolError => new ToolError('handler_raised', 'internal', { cause })
const read = (error: ToolError): string => JSON.parse(errorContent(error)).error

test.each(toolErrorReasons)('the model reads one sentence of %s, and no class name', (reason) => {
  const content = errorContent(new ToolError(reason, 'what happened', { cause: new Error('why') }))

  expect(Object.keys(JSON.parse(content))).toEqual(['error'])
  expect(content).not.toMatch(/Error|stack|cause/)
})

test.each([
  ['an error', new TypeError('no row'), 'the tool failed: no row'],
  ['an error of several lines', new Error('\n first\nsecond'), 'the tool failed: first'],
  ['an error without words', new Error(''), 'the tool failed'],
  ['a string', 'no row', 'the tool failed: no row'],
  ['something with a message', { message: 'no row' }, 'the tool failed: no row'],
  ['anything else', { code: 1 }, 'the tool failed'],
  ['nothing', undefined, 'the tool failed'],
])('of a handler that threw %s it reads the first line', (_what, cause, text) => {
  expect(read(raised(cause))).toBe(text)
})

test('keys are redacted', () => {
  const text = read(raised(new Error('401 for sk-ant-REDACTED')))

  expect(text).toBe('the tool failed: 401 for [redacted]')
})

test('a long sentence is cut at 300 characters, never within one', () => {
  const text = read(raised(new Error('😀'.repeat(400))))

  expect(text.length).toBeLessThanOrEqual(300)
  expect(text).toMatch(/😀…$/u)
})

test('a failure that a handler reports is read as it was written, in one line', () => {
  expect(read(new ToolError('handler_failed', 'sold out\n\ttry \u0007Monday'))).toBe(
    'sold out try Monday',
  )
})

test('a compact tool whose arguments were refused adds its help', () => {
  const compact = simple('weather', () => 1, { compact: true })
  const refused = new ToolError('invalid_arguments', 'invalid arguments: city: is missing')

  expect(JSON.parse(errorContent(refused, compact))).toEqual({
    error: 'invalid arguments: city: is missing',
    help: '## weather\nDoes weather.\nArguments (JSON Schema): {}',
  })
  expect(JSON.parse(errorContent(raised('x'), compact))).toEqual({ error: 'the tool failed: x' })
})

test('what was thrown has words only if they are a string', () => {
  expect(messageOf({ message: 5 })).toBe('')
  expect(messageOf(null)).toBe('')
})
