import type { PartialResult } from '../data/partial-result.ts'
import type { ErrorData } from '../data/error-data.ts'
import type { AllmError } from '../errors/allm-error.ts'
import { errorFromJSON } from '../errors/error-json.ts'

/** The error that ended a run, with what had been received as its `partial`. */
export function failureOf(error: ErrorData, partial: PartialResult): AllmError {
  const failure = errorFromJSON(error)
  failure.partial = partial
  return failure
}
