import { describe, expect, test } from 'vitest'
import { readQuestion, readReply } from '../../../src/bridges/mcp/elicit.ts'

describe('the address of a question', () => {
  test.each(['https://bank.test/confirm?id=7', 'http://localhost:8080/'])(
    '%s is for the user to visit',
    (url) => {
      expect(readQuestion({ message: 'Sign in', url })).toMatchObject({ url })
    },
  )

  test.each([
    ['that runs code', 'javascript:alert(1)'],
    ['that runs code behind a space', ' javascript:alert(1)'],
    ['that is a page itself', 'data:text/html,<script>alert(1)</script>'],
    ['of a file', 'file:///etc/passwd'],
    ['that is none', 'not an address'],
    ['that is very long', `https://bank.test/${'x'.repeat(10_000)}`],
    ['that is a number', 7],
  ])('%s is left out, because a page would make a link of it', (_title, url) => {
    expect(readQuestion({ message: 'Sign in', url })).not.toHaveProperty('url')
  })
})

describe('the form of a question', () => {
  const pattern = '^(a+)+$'
  const requestedSchema = {
    type: 'object',
    properties: { seat: { type: 'string', pattern, maxLength: 100 } },
    required: ['seat'],
  }

  test('keeps its patterns for the page, and they are not run', () => {
    const asked = readQuestion({ message: 'Which seat?', requestedSchema })
    expect(asked.schema).toEqual(requestedSchema)
    const seat = `${'a'.repeat(60)}!`
    expect(readReply(seat, asked)).toEqual({ action: 'accept', content: { seat } })
  })

  test('is checked except for its patterns', () => {
    const asked = readQuestion({ message: 'Which seat?', requestedSchema })
    expect(readReply('{}', asked)).toBe('seat is missing.')
    expect(readReply('x'.repeat(101), asked)).toContain('at most 100 characters')
  })
})
