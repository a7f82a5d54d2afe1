import type { Issue } from '../data/error-data.ts'
import { ValidationError, type ValidationErrorReason } from '../errors/validation-error.ts'

/** Throws a `ValidationError` that holds every problem; returns when there is none. */
export function assertValid(reason: ValidationErrorReason, issues: readonly Issue[]): void {
  if (issues.length > 0) throw new ValidationError(reason, issues)
}
