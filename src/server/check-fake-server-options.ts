import {
  assertValid,
  between,
  count,
  fine,
  flag,
  integer,
  listOf,
  must,
  oneOf,
  optionsOf,
  shape,
  someText,
  text,
  type Check,
} from '../schema/checks.ts'
import type { FakeServerOptions } from './fake-server-options.ts'
import { validateScript } from '../testing/check-script.ts'
import { fakeImages } from '../testing/fake-images.ts'

/** Throws a `ValidationError` that holds every problem of the scripts, of the image script, or of the options. */
export function checkFakeServerOptions(options: FakeServerOptions): void {
  validateScript({ script: options.script, scripts: options.scripts })
  fakeImages({ script: options.images })
  assertValid('invalid_options', check(options))
}

const anything: Check = () => fine

const share: Check = between(0, 1)

const milliseconds: Check = must(
  'a number of milliseconds, 0 or more',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)

const seed: Check = must('an integer', Number.isSafeInteger)

const status: Check = must(
  'an HTTP status from 400 to 599',
  (value) => Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599,
)

const failures: Check = optionsOf({
  seed,
  rate429: share,
  rate5xx: share,
  retryAfterMs: milliseconds,
  slowMs: milliseconds,
  rateSlow: share,
  cutAfter: count,
  rateCut: share,
  malformedAt: integer,
  rateMalformed: share,
})

const fault: Check = optionsOf({
  status,
  retryAfterMs: milliseconds,
  message: text,
  slowMs: milliseconds,
  cutAfter: integer,
  malformedAt: integer,
})

const check: Check = optionsOf({
  script: anything,
  scripts: anything,
  images: anything,
  repeat: flag,
  cursor: oneOf(['shared', 'per_key']),
  requireKey: flag,
  validateRequests: flag,
  models: listOf(someText),
  chunking: shape({ seed, maxBytes: count }),
  failures: (value) => failures(value),
  faults: listOf((value) => (value === null ? fine : fault(value))),
  port: must('a port', (value) => Number.isInteger(value) && between(0, 65_535)(value) === fine),
  host: someText,
  requestLimit: count,
  clock: must('a clock with now and sleep', isClock),
})

function isClock(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'now' in value && 'sleep' in value
}
