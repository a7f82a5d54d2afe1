import { expect, test } from 'vitest'
import { retryAfterMs } from '../../../src/providers/http/retry-after.ts'

const date = 'Tue, 14 Oct 2025 01:34:30 GMT'

test.each<[string, Record<string, string>, number | undefined]>([
  ['seconds', { 'retry-after': '20' }, 20_000],
  ['part of a second', { 'retry-after': '1.5' }, 1500],
  [
    'milliseconds, which take precedence over seconds',
    { 'retry-after-ms': '350', 'retry-after': '1' },
    350,
  ],
  [
    'a date, relative to the date of the response',
    { 'retry-after': date, date: 'Tue, 14 Oct 2025 01:34:00 GMT' },
    30_000,
  ],
  ['a date in the past', { 'retry-after': date, date: 'Tue, 14 Oct 2025 01:35:00 GMT' }, 0],
  ['a date, when nothing says what time it is', { 'retry-after': date }, undefined],
  ['zero milliseconds beside a second', { 'retry-after-ms': '0', 'retry-after': '1' }, 1000],
  ['zero milliseconds beside a date', { 'retry-after-ms': '0', 'retry-after': date, date }, 0],
  ['wrong milliseconds beside a second', { 'retry-after-ms': 'x', 'retry-after': '1' }, 1000],
  ['zero milliseconds alone', { 'retry-after-ms': '0' }, 0],
  ['zero milliseconds beside words', { 'retry-after-ms': '0', 'retry-after': 'soon' }, 0],
  ['milliseconds beside zero seconds', { 'retry-after-ms': '20', 'retry-after': '0' }, 20],
  ['nothing', {}, undefined],
  ['an empty value', { 'retry-after': ' ' }, undefined],
  ['a negative number', { 'retry-after': '-5' }, undefined],
  ['words', { 'retry-after': 'soon' }, undefined],
])('%s', (_name, headers, ms) => {
  expect(retryAfterMs(new Headers(headers))).toBe(ms)
})

test('without a date of the response the time that is passed in counts', () => {
  expect(retryAfterMs(new Headers({ 'retry-after': date }), Date.parse(date) - 5)).toBe(5)
})
