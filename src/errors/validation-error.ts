import type { ErrorData, Issue } from '../data/error-data.ts'
import { AllmError, type ErrorDetails } from './allm-error.ts'
import { redact } from './redact.ts'

/** What kind of value was refused. Closed. */
export type ValidationErrorReason =
  | 'invalid_request'
  | 'invalid_message'
  | 'invalid_thread'
  | 'invalid_tool'
  | 'invalid_session'
  | 'invalid_image'
  | 'invalid_image_request'
  | 'invalid_options'
  | 'invalid_script'
  | 'invalid_output'

/** Every reason of a `ValidationError`. */
export const validationErrorReasons: readonly ValidationErrorReason[] = [
  'invalid_request',
  'invalid_message',
  'invalid_thread',
  'invalid_tool',
  'invalid_session',
  'invalid_image',
  'invalid_image_request',
  'invalid_options',
  'invalid_script',
  'invalid_output',
]

/** A value was refused before anything was sent. `issues` holds every problem, with its place. */
export class ValidationError extends AllmError {
  override readonly name = 'ValidationError'
  readonly kind = 'validation'
  readonly reason: ValidationErrorReason
  readonly issues: readonly Issue[]

  constructor(reason: ValidationErrorReason, issues: readonly Issue[], details: ErrorDetails = {}) {
    super(`${reason.replaceAll('_', ' ')}: ${issues.map(sentence).join('; ')}`, details)
    this.reason = reason
    this.issues = issues.map(({ path, problem }) => ({ path, problem: redact(problem) }))
  }

  protected override facts(): Partial<ErrorData> {
    return { issues: this.issues }
  }
}

function sentence({ path, problem }: Issue): string {
  return path === '' ? problem : `${path} ${problem}`
}
