import { errorFromJSON } from '../errors/error-json.ts'
import type { AllmError } from '../errors/errors.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { PartialResult } from '../types/results.ts'

/** The error that ended a run, with what had been received as its `partial`. */
export function failureOf(error: ErrorData, partial: PartialResult): AllmError {
  const failure = errorFromJSON(error)
  failure.partial = partial
  return failure
}
