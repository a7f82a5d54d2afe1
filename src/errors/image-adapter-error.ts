import type { ErrorData } from '../data/error-data.ts'
import {
  adapterErrorReasons,
  adapterFacts,
  transientReasons,
  type AdapterErrorDetails,
  type AdapterErrorReason,
} from './adapter-error.ts'
import { AllmError } from './allm-error.ts'

/** Why an image call failed: the adapter reasons, and an operation that the provider does not offer. Closed. */
export type ImageAdapterErrorReason =
  | Exclude<AdapterErrorReason, 'no_scripted_response'>
  | 'unsupported_operation'

/** Every reason of an `ImageAdapterError`. */
export const imageAdapterErrorReasons: readonly ImageAdapterErrorReason[] = [
  ...adapterErrorReasons.filter((reason) => reason !== 'no_scripted_response'),
  'unsupported_operation',
]

/** An image call failed. Branch on `reason`. */
export class ImageAdapterError extends AllmError {
  override readonly name = 'ImageAdapterError'
  readonly kind = 'image_adapter'
  readonly reason: ImageAdapterErrorReason
  readonly provider: string | undefined
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly retryable: boolean

  constructor(reason: ImageAdapterErrorReason, message: string, details: AdapterErrorDetails = {}) {
    super(message, details)
    this.reason = reason
    this.provider = details.provider
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs
    this.retryable = details.retryable ?? transientReasons.has(reason)
  }

  protected override facts(): Partial<ErrorData> {
    return adapterFacts(this)
  }
}
