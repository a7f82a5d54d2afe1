import type { ErrorData } from '../data/error-data.ts'
import { AllmError, type ErrorDetails } from './allm-error.ts'

/** Why a provider call failed. Closed. */
export type AdapterErrorReason =
  | 'authentication_failed'
  | 'rate_limited'
  | 'invalid_request'
  | 'content_filter'
  | 'context_length_exceeded'
  | 'provider_unavailable'
  | 'timeout'
  | 'network_error'
  | 'malformed_response'
  | 'unsupported_feature'
  | 'no_scripted_response'
  | 'unknown'

/** Every reason of an `AdapterError`. */
export const adapterErrorReasons: readonly AdapterErrorReason[] = [
  'authentication_failed',
  'rate_limited',
  'invalid_request',
  'content_filter',
  'context_length_exceeded',
  'provider_unavailable',
  'timeout',
  'network_error',
  'malformed_response',
  'unsupported_feature',
  'no_scripted_response',
  'unknown',
]

/** The reasons that may go away by themselves. */
export const transientReasons: ReadonlySet<string> = new Set([
  'rate_limited',
  'provider_unavailable',
  'timeout',
  'network_error',
])

/** The facts of a failed provider call. */
export interface AdapterErrorDetails extends ErrorDetails {
  readonly provider?: string | undefined
  /** The HTTP status, when there was an answer. */
  readonly status?: number | undefined
  /** How long the provider asked to wait. */
  readonly retryAfterMs?: number | undefined
  /** Whether trying again may help. Follows from the reason unless the provider said otherwise. */
  readonly retryable?: boolean | undefined
}

/** A provider call failed. Branch on `reason`. */
export class AdapterError extends AllmError {
  override readonly name = 'AdapterError'
  readonly kind = 'adapter'
  readonly reason: AdapterErrorReason
  readonly provider: string | undefined
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly retryable: boolean

  constructor(reason: AdapterErrorReason, message: string, details: AdapterErrorDetails = {}) {
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

/** The JSON fields that chat and image adapter errors share. */
export function adapterFacts(error: {
  readonly provider: string | undefined
  readonly status: number | undefined
  readonly retryAfterMs: number | undefined
  readonly retryable: boolean
}): Partial<ErrorData> {
  const { provider, status, retryAfterMs, retryable } = error
  return {
    ...(provider === undefined ? {} : { provider }),
    ...(status === undefined ? {} : { status }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    retryable,
  }
}
