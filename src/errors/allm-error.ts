import { defined } from '../data/defined.ts'
import type { ErrorData, ErrorKind } from '../data/error-data.ts'
import type { JsonObject } from '../data/json.ts'
import type { PartialResult } from '../data/partial-result.ts'
import { redact, redactJson, redactObject } from './redact.ts'
import { toJsonValue } from './to-json-value.ts'

/** Marks our errors across duplicate copies of the package, where `instanceof` does not work. */
const brand: unique symbol = Symbol.for('allm-ts.error')

/** What every error may carry beside its reason and message. */
export interface ErrorDetails {
  readonly cause?: unknown
  /** Plain data; keys are redacted and what JSON can not hold is described. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
  readonly requestId?: string | undefined
  readonly partial?: PartialResult | undefined
}

/**
 * The base of every error of this library. Branch on `kind` and `reason`; `message` is for people.
 *
 * Messages and metadata never hold a key: whatever has the shape of one is redacted here.
 */
export abstract class AllmError extends Error {
  abstract readonly kind: ErrorKind
  abstract readonly reason: string
  readonly metadata: JsonObject
  readonly requestId: string | undefined
  /** What had been received when the call failed. Set on errors that reject `generate`, `step` and `chat`. */
  partial: PartialResult | undefined

  constructor(message: string, details: ErrorDetails = {}) {
    super(redact(message), details.cause === undefined ? {} : { cause: details.cause })
    this.metadata = redactObject(toJsonValue(details.metadata ?? {}) as JsonObject)
    this.requestId = details.requestId
    this.partial = details.partial
    Object.defineProperty(this, brand, { value: true })
  }

  /** The error as plain data; `errorFromJSON` gives it back. The cause is described, never copied. */
  toJSON(): ErrorData {
    return defined<ErrorData>({
      kind: this.kind,
      reason: this.reason,
      message: this.message,
      metadata: Object.keys(this.metadata).length === 0 ? undefined : this.metadata,
      cause: this.cause === undefined ? undefined : redactJson(toJsonValue(this.cause)),
      requestId: this.requestId,
      partial: this.partial,
      ...this.facts(),
    })
  }

  /** The fields that this kind of error adds to its JSON. */
  protected facts(): Partial<{ [K in keyof ErrorData]: ErrorData[K] | undefined }> {
    return {}
  }
}

/** Whether a value is an error of this library, also when it comes from another copy of the package. */
export function isAllmError(value: unknown): value is AllmError {
  return typeof value === 'object' && value !== null && brand in value
}
