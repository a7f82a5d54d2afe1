import { isAllmError, type AllmError } from '../errors/errors.ts'

/** Whether an error is what happened to a call, and so belongs to the session's record; else it is the caller's mistake. */
export function isFailure(error: unknown): error is AllmError {
  return isAllmError(error) && (error.kind === 'adapter' || error.kind === 'stream')
}
