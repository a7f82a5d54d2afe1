import type { ModelRequest } from '../data/model-request.ts'
import type { ModelResponse } from '../data/model-response.ts'
import type { ModelEvent } from '../events/model-event.ts'
import type { AdapterOptions } from './adapter-options.ts'

/**
 * The contract that every provider meets. `allm-ts/conformance` proves it.
 *
 * - **Lazy.** `stream` sends nothing; the first `next()` does.
 * - **Batches.** Each item is all that one read gave, at least one event; the simplest adapter yields `[event]`.
 * - **Pre-flight.** A failure before the first event (no key, a refused request, a 401, a time-out) throws an
 *   `AdapterError`. Local problems throw `ValidationError` or `EngineError`.
 * - **Mid-stream.** A later failure is the last event, `{type: 'error', error}`: an `AdapterError` when the provider
 *   reported it, a `StreamError` when the transport broke. Iteration then ends normally.
 * - **One end.** `message_completed` or `error` comes last, exactly one of them. A body that ends without the
 *   provider's own end marker is `StreamError` `truncated`.
 * - **Resource-safe.** `return()` (by `break` or `throw` in the consumer) and `options.signal` close the connection; the server sees
 *   it within 500 ms.
 * - **Usage** is in our field names: `inputTokens` includes cached reads and writes, `outputTokens` includes reasoning,
 *   what was not reported is absent.
 * - **No retries.** The engine has the one retry loop.
 */
export interface ChatAdapter {
  /** The provider's name: the key namespace, and `provider` in events and errors. */
  readonly provider: string
  /** Whether a request without a model is refused with `missing_model` before the adapter is called. */
  readonly needsModel?: boolean
  /** Whether a key has to be found before the adapter is called. Absent: no key is looked up. */
  readonly key?: KeyNeed
  stream(request: ModelRequest, options?: AdapterOptions): AsyncIterable<readonly ModelEvent[]>
  /**
   * The same call without streaming on the wire. Optional: the engine always streams and folds. Where it exists,
   * its result equals the fold of `stream`, and it rejects where the stream would throw or end in `error`.
   */
  generate?(request: ModelRequest, options?: AdapterOptions): Promise<ModelResponse>
}

/** What an adapter says about its key; the key itself is nowhere to be seen. */
export interface KeyNeed {
  /** Refuse the call with `missing_key` when none is found. */
  readonly required: boolean
  /** The adapter was made with a key of its own: only a key of the call or of the engine goes before it. */
  readonly own: boolean
}
