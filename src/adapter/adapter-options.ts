import type { Clock } from '../async/clock.ts'
import type { NewId } from '../async/new-id.ts'

/**
 * What accompanies a request on its way to an adapter. All of it is optional, so that an adapter can be called by hand.
 *
 * An engine times out by itself and passes no timeouts on; an adapter that is called directly honours them.
 */
export interface AdapterOptions {
  /** The id of the run, for `message_started` and errors. */
  readonly requestId?: string | undefined
  /** Cancels the call: the connection is closed, and the stream ends as `cancelled`. */
  readonly signal?: AbortSignal | undefined
  /** The key to use. Never stored, never in an event or an error. */
  readonly apiKey?: string | undefined
  /** Milliseconds to the first event; beyond it the call fails with `timeout`. */
  readonly requestTimeoutMs?: number | undefined
  /** Milliseconds between two events; beyond it the stream ends with an `AdapterError` `timeout`. */
  readonly streamTimeoutMs?: number | undefined
  /** Also give `raw_chunk` events. */
  readonly includeRawChunks?: boolean | undefined
  /** The default key of a prompt cache. */
  readonly sessionId?: string | undefined
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
}
