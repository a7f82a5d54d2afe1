import { expect, test } from 'vitest'
import { sharedSummary } from '../support/shared-reporter.ts'

test('skipped tests that need ../shared are counted, and the summary says that a clone without it is complete', () => {
  const names = [
    'recorded (../shared/fixtures) > a',
    'schema (../shared/oracles) > b',
    'another > c',
  ]
  expect(sharedSummary(names)).toMatch(/^2 tests were skipped because they need \.\.\/shared/)
  expect(sharedSummary(names)).toContain('A clone without it is complete in itself')
})

test('there is no summary when none of them needs ../shared', () => {
  expect(sharedSummary(['another > c'])).toBeUndefined()
})
