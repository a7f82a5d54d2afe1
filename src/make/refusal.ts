import { ValidationError, type ValidationErrorReason } from '../errors/validation-error.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { describe } from '../validate/describe.ts'
import { unknownKeys } from '../validate/unknown-keys.ts'

/** The error of a constructor with one problem: what was refused, where, and what to write instead. */
export function refusal(
  reason: ValidationErrorReason,
  path: string,
  problem: string,
  cause?: unknown,
): ValidationError {
  return new ValidationError(reason, [{ path, problem }], { cause })
}

/** Throws when options are no object, or have a key that is not legal; the nearest that is legal is named. */
export function assertOptions(
  reason: ValidationErrorReason,
  options: unknown,
  legalKeys: readonly string[],
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw refusal(reason, '', `options must be an object, not ${describe(options)}`)
  }
  assertValid(reason, unknownKeys(options, legalKeys))
}
