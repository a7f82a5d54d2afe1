import { expect, test } from 'vitest'
import { brief, describe as described, within } from '../../../src/core/schema/checks.ts'

test.each([
  ['a\nb', String.raw`a\u000ab`],
  ['\u001b[2J', String.raw`\u001b[2J`],
  ['a\u007f\u0085\u2028\u2029b', String.raw`a\u007f\u0085\u2028\u2029b`],
  ['ünï 🦜', 'ünï 🦜'],
])('a name in the text of a problem has no control characters: %j', (name, shown) => {
  expect(brief(name)).toBe(shown)
})

test('neither has a value, nor a path', () => {
  expect(described('a\n\u0085\u2028')).toBe(String.raw`"a\n\u0085\u2028"`)
  const [issue] = within('a\n\u0085', [{ path: '', problem: 'is wrong' }])
  expect(issue?.path).toBe(String.raw`["a\n\u0085"]`)
})
