import type { ErrorData } from '../data/error-data.ts'
import { AllmError, type ErrorDetails } from './allm-error.ts'

/** How a tool call failed. Closed. */
export type ToolErrorReason =
  | 'handler_raised'
  | 'handler_failed'
  | 'timeout'
  | 'invalid_return'
  | 'invalid_arguments'
  | 'not_found'
  | 'encoding_failed'

/** Every reason of a `ToolError`. */
export const toolErrorReasons: readonly ToolErrorReason[] = [
  'handler_raised',
  'handler_failed',
  'timeout',
  'invalid_return',
  'invalid_arguments',
  'not_found',
  'encoding_failed',
]

/** The facts of a failed tool call. */
export interface ToolErrorDetails extends ErrorDetails {
  readonly toolName?: string | undefined
  readonly toolCallId?: string | undefined
}

/** A tool call failed. The model sees one short sentence of it; the caller sees all. */
export class ToolError extends AllmError {
  override readonly name = 'ToolError'
  readonly kind = 'tool'
  readonly reason: ToolErrorReason
  readonly toolName: string | undefined
  readonly toolCallId: string | undefined

  constructor(reason: ToolErrorReason, message: string, details: ToolErrorDetails = {}) {
    super(message, details)
    this.reason = reason
    this.toolName = details.toolName
    this.toolCallId = details.toolCallId
  }

  protected override facts(): Partial<ErrorData> {
    return {
      ...(this.toolName === undefined ? {} : { toolName: this.toolName }),
      ...(this.toolCallId === undefined ? {} : { toolCallId: this.toolCallId }),
    }
  }
}
