import { AllmError, type ErrorDetails } from './allm-error.ts'

/** Why a session refused an operation. Closed. */
export type SessionErrorReason =
  | 'illegal_status'
  | 'unknown_tool_call_id'
  | 'session_in_error_state'
  | 'unreadable'
  | 'stale'

/** Every reason of a `SessionError`. */
export const sessionErrorReasons: readonly SessionErrorReason[] = [
  'illegal_status',
  'unknown_tool_call_id',
  'session_in_error_state',
  'unreadable',
  'stale',
]

/** A session refused an operation; it was not changed. The message says what is legal now. */
export class SessionError extends AllmError {
  override readonly name = 'SessionError'
  readonly kind = 'session'
  readonly reason: SessionErrorReason

  constructor(reason: SessionErrorReason, message: string, details: ErrorDetails = {}) {
    super(message, details)
    this.reason = reason
  }
}
