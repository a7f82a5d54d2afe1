import { expect, test } from 'vitest'
import { ValidationError } from '../../../src/core/errors/errors.ts'
import { assertValid, nearest, unknownKeys } from '../../../src/core/schema/checks.ts'

test('every unknown key is named, with the place of its object', () => {
  expect(unknownKeys({ maxTurn: 1, model: 'm', foo: 2 }, ['maxTurns', 'model'], 'options')).toEqual(
    [
      { path: 'options', problem: 'unknown key maxTurn; did you mean maxTurns?' },
      { path: 'options', problem: 'unknown key foo; known keys are maxTurns, model' },
    ],
  )
  expect(unknownKeys({}, [])).toEqual([])
  expect(unknownKeys(undefined, ['a'])).toEqual([])
})

test.each<[string, string | undefined]>([
  ['temprature', 'temperature'],
  ['max_tokens', 'maxTokens'],
  ['MAXTOKENS', 'maxTokens'],
  ['tool', 'tools'],
  ['toolz', 'tools'],
  ['colour', undefined],
  ['', undefined],
  ['x'.repeat(10_000), undefined],
])('%.20s is near %s', (word, expected) => {
  expect(nearest(word, ['temperature', 'maxTokens', 'tools'])).toBe(expected)
})

test('assertValid throws all problems at once, and nothing when there are none', () => {
  assertValid('invalid_tool', [])
  const issues = [
    { path: 'a', problem: 'is wrong' },
    { path: '', problem: 'unknown key b' },
  ]
  const error = new ValidationError('invalid_tool', issues)
  expect(() => assertValid('invalid_tool', issues)).toThrow(error)
  expect(error.message).toBe('invalid tool: a is wrong; unknown key b')
})
