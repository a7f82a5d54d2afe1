import { expect, test } from 'vitest'
import { outcomeBrand } from '../../src/contracts/tool.ts'
import { askUser, fail, halt } from '../../src/make/tools.ts'
import { readOutcome } from '../../src/tools/execute.ts'
import { call } from './support.ts'

const toCall = call('c0', 'x')
const branded = (fields: object): object => ({ [outcomeBrand]: true, ...fields })

test.each([
  ['undefined', undefined],
  ['a string', 'halt'],
  ['an object that looks like an outcome', { type: 'halt', reason: 'x', result: 1 }],
  ['a list', [1]],
])('%s is a value', (_what, value) => {
  expect(readOutcome(toCall, value)).toEqual({ type: 'value', value })
})

test('askUser, halt and fail are what they say', () => {
  expect(readOutcome(toCall, askUser('which?', { a: [1] }))).toEqual({
    type: 'ask_user',
    question: 'which?',
    options: { a: [1] },
  })
  expect(readOutcome(toCall, halt('shipped', 5))).toEqual({
    type: 'halt',
    reason: 'shipped',
    result: 5,
  })
  expect(readOutcome(toCall, fail('no'))).toMatchObject({
    type: 'error',
    error: { reason: 'handler_failed', message: 'no' },
  })
  expect(readOutcome(toCall, fail(''))).toMatchObject({ error: { message: 'tool x failed' } })
})

test.each([
  ['an unknown type', { type: 'nap' }, 'it is none of askUser, halt and fail'],
  ['a question that is no text', { type: 'ask_user', question: 5 }, 'the question is not a string'],
  ['options that are a list', { type: 'ask_user', question: 'a', options: [] }, 'not an object'],
  [
    'options that are not JSON',
    { type: 'ask_user', question: 'a', options: { f: () => 1 } },
    'f is a function',
  ],
  ['a halt without a reason', { type: 'halt', result: 1 }, 'the reason of a halt is not a word'],
  ['an empty halt reason', { type: 'halt', reason: '' }, 'the reason of a halt is not a word'],
  ['a failure that is not JSON', { type: 'fail', reason: new Map() }, 'the value is a Map'],
])('%s is invalid_return', (_what, fields, problem) => {
  expect(readOutcome(toCall, branded(fields))).toMatchObject({
    type: 'error',
    error: {
      reason: 'invalid_return',
      toolName: 'x',
      toolCallId: 'c0',
      message: expect.stringContaining(problem),
    },
  })
})
