import { type } from 'arktype'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { user } from '../../../src/core/messages/messages.ts'
import { assertNever, defined } from '../../../src/core/types/guards.ts'
import { appendMessages, messageText, thread } from '../../../src/core/types/message.ts'
import { addUsage, usageFields, type Usage } from '../../../src/core/types/response.ts'
import { isStandardSchema } from '../../../src/core/types/standard-schema.ts'
import { usage } from '../../support/arbitraries.ts'

test('assertNever names what it was given', () => {
  expect(() => assertNever('surprise' as never)).toThrow('unexpected value: "surprise"')
})

test('defined drops the keys without a value and keeps null, 0 and the empty text', () => {
  expect(defined<object>({ a: undefined, b: null, c: 0, d: '', e: false })).toStrictEqual({
    b: null,
    c: 0,
    d: '',
    e: false,
  })
})

test('the text of a message is its text parts, joined', () => {
  expect(messageText(user('a'))).toBe('a')
  const content = [
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'a' },
    { type: 'text', text: 'b' },
  ] as const
  expect(messageText({ role: 'assistant', content })).toBe('ab')
  expect(messageText({ role: 'user', content: [] })).toBe('')
})

test('a thread grows by copies', () => {
  const empty = thread()
  const one = appendMessages(empty, user('a'))
  const three = appendMessages(one, user('b'), user('c'))
  expect(empty).toStrictEqual({ messages: [], metadata: {} })
  expect(one.messages).toHaveLength(1)
  expect(three.messages.map(messageText)).toEqual(['a', 'b', 'c'])
  expect(appendMessages(thread([], { a: 1 })).metadata).toEqual({ a: 1 })
})

describe('usage', () => {
  test('is added field by field; what nobody reported stays absent', () => {
    expect(addUsage({}, {})).toStrictEqual({})
    expect(addUsage({ inputTokens: 0 }, {})).toStrictEqual({ inputTokens: 0 })
    expect(
      addUsage({ inputTokens: 1, outputTokens: 2 }, { inputTokens: 3, reasoningTokens: 4 }),
    ).toStrictEqual({
      inputTokens: 4,
      outputTokens: 2,
      reasoningTokens: 4,
    })
  })

  test('is added in any order and grouping', () => {
    fc.assert(
      fc.property(usage, usage, usage, (a, b, c) => {
        expect(addUsage(a, b)).toStrictEqual(addUsage(b, a))
        expect(addUsage(addUsage(a, b), c)).toStrictEqual(addUsage(a, addUsage(b, c)))
        expect(addUsage(a, {})).toStrictEqual(counted(a))
      }),
    )
  })

  const counted = (of: Usage): Usage =>
    Object.fromEntries(
      usageFields.filter((field) => field in of).map((field) => [field, of[field]]),
    )
})

test('a schema of a library is told from JSON Schema by its mark', () => {
  expect(isStandardSchema(z.string())).toBe(true)
  expect(isStandardSchema(type('string'))).toBe(true)
  for (const value of [{ type: 'string' }, null, undefined, 'string', () => 1]) {
    expect(isStandardSchema(value)).toBe(false)
  }
})
