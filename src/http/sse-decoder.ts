import type { ErrorData } from '../types/error-data.ts'

/**
 * Turns a provider's server-sent events into events of ours. Synchronous; one is made for each call.
 *
 * `Out` is the adapter's event; this room moves bytes and does not know it.
 */
export interface SseDecoder<Out> {
  /** Decodes one event into `out`. It may throw an `AllmError`, which ends the stream. */
  push(data: string, event: string | undefined, out: Out[]): void
  /** The body is over: give what is still to be said. */
  end(out: Out[]): void
  /** Whether the provider's own end marker was seen. What follows it is not decoded. */
  readonly done: boolean
  /** Wraps an error as the last event. */
  failure(error: ErrorData): Out
}
