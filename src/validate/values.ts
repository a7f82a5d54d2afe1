import { must, type Check } from './check.ts'

/** Any string. */
export const text: Check = must('a string', (value) => typeof value === 'string')

/** A string with at least one character. */
export const someText: Check = must(
  'a string that is not empty',
  (value) => typeof value === 'string' && value !== '',
)

/** A boolean. */
export const flag: Check = must('true or false', (value) => typeof value === 'boolean')

/** An integer of at least 0. */
export const integer: Check = must(
  'an integer of at least 0',
  (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
)

/** An integer of at least 1. */
export const count: Check = must(
  'a positive integer',
  (value) => typeof value === 'number' && Number.isSafeInteger(value) && value > 0,
)

/** One of some words. */
export function oneOf(words: readonly string[]): Check {
  return must(
    `one of ${words.join(', ')}`,
    (value) => typeof value === 'string' && words.includes(value),
  )
}

/** A number between two bounds, both included. */
export function between(least: number, most: number): Check {
  return must(
    `a number from ${least} to ${most}`,
    (value) => typeof value === 'number' && value >= least && value <= most,
  )
}

/** A deadline. Timers take no more than 2^31 - 1 ms: beyond it they fire at once. */
export const timeoutMs: Check = must(
  'a positive number of milliseconds, at most 2147483647',
  (value) => typeof value === 'number' && value > 0 && value <= 2_147_483_647,
)
