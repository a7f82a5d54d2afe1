import type { ErrorData } from '../data/error-data.ts'
import { AllmError, type ErrorDetails } from './allm-error.ts'

/** What the caller asked for that the engine can not do. Closed. */
export type EngineErrorReason =
  | 'missing_adapter'
  | 'missing_model'
  | 'missing_key'
  | 'unknown_tool'
  | 'invalid_engine'
  | 'unsupported_response_format'
  | 'no_image_adapter'

/** Every reason of an `EngineError`. */
export const engineErrorReasons: readonly EngineErrorReason[] = [
  'missing_adapter',
  'missing_model',
  'missing_key',
  'unknown_tool',
  'invalid_engine',
  'unsupported_response_format',
  'no_image_adapter',
]

/** The facts of a request that the engine refused. */
export interface EngineErrorDetails extends ErrorDetails {
  readonly provider?: string | undefined
}

/** The engine is not set up for what was asked. Nothing was sent. */
export class EngineError extends AllmError {
  override readonly name = 'EngineError'
  readonly kind = 'engine'
  readonly reason: EngineErrorReason
  readonly provider: string | undefined

  constructor(reason: EngineErrorReason, message: string, details: EngineErrorDetails = {}) {
    super(message, details)
    this.reason = reason
    this.provider = details.provider
  }

  protected override facts(): Partial<ErrorData> {
    return this.provider === undefined ? {} : { provider: this.provider }
  }
}
