import type { ErrorData } from '../data/error-data.ts'
import { AllmError, type ErrorDetails } from './allm-error.ts'

/** How a stream broke. Closed. */
export type StreamErrorReason =
  | 'cancelled'
  | 'timeout'
  | 'malformed_event'
  | 'truncated'
  | 'adapter_error'
  | 'unknown'

/** Every reason of a `StreamError`. */
export const streamErrorReasons: readonly StreamErrorReason[] = [
  'cancelled',
  'timeout',
  'malformed_event',
  'truncated',
  'adapter_error',
  'unknown',
]

/** The facts of a broken stream. */
export interface StreamErrorDetails extends ErrorDetails {
  readonly provider?: string | undefined
  /** How many events had come before. */
  readonly eventIndex?: number | undefined
}

/** The transport broke, or the stream was stopped. Branch on `reason`. */
export class StreamError extends AllmError {
  override readonly name = 'StreamError'
  readonly kind = 'stream'
  readonly reason: StreamErrorReason
  readonly provider: string | undefined
  readonly eventIndex: number | undefined

  constructor(reason: StreamErrorReason, message: string, details: StreamErrorDetails = {}) {
    super(message, details)
    this.reason = reason
    this.provider = details.provider
    this.eventIndex = details.eventIndex
  }

  protected override facts(): Partial<ErrorData> {
    return {
      ...(this.provider === undefined ? {} : { provider: this.provider }),
      ...(this.eventIndex === undefined ? {} : { eventIndex: this.eventIndex }),
    }
  }
}
