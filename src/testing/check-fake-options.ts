import { assertValid, count, fine, must, optionsOf, type Check } from '../schema/checks.ts'
import { usageCheck } from './usage-check.ts'

/** Refuses options that a fake does not have, by name, and values of the wrong kind. */
export function checkFakeOptions(options: unknown): void {
  assertValid('invalid_options', check(options))
}

const callback: Check = must('a function', (value) => typeof value === 'function')

/** `validateScript` has looked at it. */
const checkedBefore: Check = () => fine

const check: Check = optionsOf({
  script: checkedBefore,
  scripts: checkedBefore,
  streamScript: checkedBefore,
  scriptCursor: checkedBefore,
  usage: usageCheck,
  record: callback,
  cleanupObserver: callback,
  retryUntilCall: count,
})
