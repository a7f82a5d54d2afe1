import type { AdapterErrorReason } from '../errors/adapter-error.ts'
import type { ImageAdapterErrorReason } from '../errors/image-adapter-error.ts'

/** When and how a call that failed before its first event is tried again. */
export interface RetryPolicy {
  /** Attempts in all, the first included. */
  readonly maxAttempts: number
  /** The wait after the first failure; it doubles with each. */
  readonly baseDelayMs: number
  /** The longest wait. A `Retry-After` beyond it fails at once. */
  readonly maxDelayMs: number
  /** Up to this much is added to each wait, at random. */
  readonly jitterMs: number
  readonly retryOn: readonly (AdapterErrorReason | ImageAdapterErrorReason)[]
  readonly respectRetryAfter: boolean
}

/** `'default'`, `false` for none, or what differs from the default. */
export type RetryOption = 'default' | false | Partial<RetryPolicy>
