import type { Clock } from '../async/clock.ts'
import { fakeImages } from '../testing/fake-images.ts'
import type { ImageScriptEntry } from '../testing/image-script-entry.ts'
import type { Script } from '../testing/script-entry.ts'
import { validateScript } from '../testing/validate-script.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { fine, must, type Check } from '../validate/check.ts'
import { listOf, optionsOf, shape } from '../validate/shape.ts'
import { between, count, flag, integer, oneOf, someText, text } from '../validate/values.ts'
import type { WireChunking } from '../wire/wire-answer.ts'
import type { Fault, SeededFailures } from './faults.ts'

/** What a fake server is made of. Everything but `clock` is JSON, and all of it is checked when the server is made. */
export interface FakeServerOptions {
  /** What one call does. */
  readonly script?: Script | undefined
  /** What each call does, one list a call. */
  readonly scripts?: readonly Script[] | undefined
  /** What image calls do, one entry a call. */
  readonly images?: readonly ImageScriptEntry[] | undefined
  /** Begin again after the last script instead of failing (false). */
  readonly repeat?: boolean | undefined
  /** One place in the scripts for all (`shared`), or one for each API key, so that parallel tests do not disturb each other. */
  readonly cursor?: 'shared' | 'per_key' | undefined
  /** Refuse requests without a key (true). Any key will do. */
  readonly requireKey?: boolean | undefined
  /** Refuse requests that the provider would refuse (true). */
  readonly validateRequests?: boolean | undefined
  /** The names that the models endpoints list. */
  readonly models?: readonly string[] | undefined
  /** Cut what is sent into other pieces. */
  readonly chunking?: WireChunking | undefined
  /** What goes wrong by chance. */
  readonly failures?: SeededFailures | undefined
  /** What goes wrong with the first calls, one item a call; `null` for nothing. */
  readonly faults?: readonly (Fault | null)[] | undefined
  /** 0, the default, is any free port. */
  readonly port?: number | undefined
  /** The address to listen on (`127.0.0.1`). */
  readonly host?: string | undefined
  /** How many of the last requests are kept at least (10 000). */
  readonly requestLimit?: number | undefined
  /** Delays go through it. */
  readonly clock?: Clock | undefined
}

/** Throws a `ValidationError` that holds every problem of the scripts, of the image script, or of the options. */
export function checkFakeServerOptions(options: FakeServerOptions): void {
  validateScript({ script: options.script, scripts: options.scripts })
  fakeImages({ script: options.images })
  assertValid('invalid_options', check(options))
}

const any: Check = () => fine

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
  script: any,
  scripts: any,
  images: any,
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
