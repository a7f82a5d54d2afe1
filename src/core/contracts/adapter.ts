import type { Clock } from '../base/clock.ts'
import type { NewId } from '../base/ids.ts'
import type { KeyNeed, KeySource } from '../base/keys.ts'
import type { ModelEvent } from '../types/events.ts'
import { keysOf } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { ImageOperation, ImageRequest, ImageResponse } from '../types/media.ts'
import type {
  EmbeddingRequest,
  EmbeddingResponse,
  ModerationRequest,
  ModerationResponse,
  RerankRequest,
  RerankResponse,
  SpeechRequest,
  SpeechStart,
  TranscriptionRequest,
  TranscriptionResponse,
} from '../types/models.ts'
import type { ModelRequest } from '../types/request.ts'
import type { ModelResponse, Usage } from '../types/response.ts'

/**
 * The contract that every provider meets. `allm-ts/conformance` proves it.
 *
 * - **Lazy.** `stream` sends nothing; the first `next()` does.
 * - **Batches.** Each item holds all events of one read, at least one; the simplest adapter yields `[event]`.
 * - **First content.** The first event comes with the first content: text, reasoning, a call, an image or the end.
 *   `message_started` travels with it, so that a failure right after the provider's handshake can still be retried.
 * - **Pre-flight.** A failure before the first event (no key, a rejected request, a 401, a timeout) throws an
 *   `AdapterError`. Local problems throw `ValidationError` or `EngineError`.
 * - **Mid-stream.** A later failure is the last event, `{type: 'error', error}`: an `AdapterError` when the provider
 *   reported it, a `StreamError` when the transport broke. Iteration then ends normally.
 * - **One end.** `message_completed` or `error` comes last, exactly one of them. A body that ends without the
 *   provider's own end marker is `StreamError` `truncated`.
 * - **Resource-safe.** `return()` (by `break` or `throw` in the consumer) and `options.signal` close the connection; the server sees
 *   it within 500 ms.
 * - **Usage** has our field names: `inputTokens` includes cached reads and writes, `outputTokens` includes reasoning, and a
 *   count that was not reported is absent.
 * - **Limits.** What the headers of a response say about the provider's limits is told to `options.onRateLimit`.
 * - **No retries.** The engine has the one retry loop.
 */
export interface ChatAdapter {
  /** The provider's name: the key namespace, and `provider` in events and errors. */
  readonly provider: string
  /** The model that the adapter was made with: the default of an engine, and of a request that goes to the adapter directly. */
  readonly model?: string | undefined
  /** Whether a request without a model fails with `missing_model` before the adapter is called. */
  readonly needsModel?: boolean
  /** Whether a key has to be found before the adapter is called. Absent: no key is looked up. */
  readonly key?: KeyNeed
  /**
   * For an adapter that hands its calls to others, as a fallback does: the names of their providers. Each may be the `provider` of an
   * event or an error, and have `providerOptions`. Such an adapter finds the key of each provider by `options.keys`, never gives the key
   * or the headers of one to another, and keeps `requestTimeoutMs` and `streamTimeoutMs` for each by itself: an engine leaves that to it.
   */
  readonly providers?: readonly string[] | undefined
  /**
   * What makes its answers differ from those of another adapter of its provider, such as the address. A cache has a digest of it in its keys. It is
   * a function, so that a printed adapter does not show it.
   */
  readonly identity?: (() => JsonObject) | undefined
  /** The scheme, host and port that it calls, for telemetry. Nothing else of an address: that may hold a key. */
  readonly server?: string | undefined
  /** What the adapter was made of. Only functions of this library read it, to make other calls of the same API. */
  readonly wire?: (() => unknown) | undefined
  stream(request: ModelRequest, options?: AdapterOptions): AsyncIterable<readonly ModelEvent[]>
  /**
   * The same call, answered by the provider in one piece. Optional: the engine always streams and folds. Its result equals the
   * fold of `stream`, and it rejects where the stream would throw or end in `error`.
   */
  generate?(request: ModelRequest, options?: AdapterOptions): Promise<ModelResponse>
  /** The models of the provider, for `listModels`. Optional; as in all calls of an adapter, nothing is retried here. */
  listModels?(options?: AdapterOptions): Promise<readonly ModelInfo[]>
  /** Counts the input tokens of a request as the provider does, for `countTokens`. Optional. */
  countTokens?(request: ModelRequest, options?: AdapterOptions): Promise<TokenCount>
}

/** A model of a provider. What the provider does not say is absent. */
export interface ModelInfo {
  /** What a request names it by. */
  readonly id: string
  /** Its name for people. */
  readonly name?: string
  /** When it was made, in milliseconds since 1970. */
  readonly created?: number
  /** The longest input, in tokens. Of some providers, that of input and output together. */
  readonly inputTokenLimit?: number
  /** The longest answer, in tokens. */
  readonly outputTokenLimit?: number
  /** Everything that the provider says about it, in its own words. */
  readonly metadata: JsonObject
}

/** The tokens of a request. */
export interface TokenCount {
  /** All input tokens: the messages, the instructions, the tools and the format of the answer. */
  readonly inputTokens: number
}

/** What the adapters of all models have that are not chat. */
export interface ModelAdapter {
  /** The provider's name: the key namespace, and `provider` in responses and errors. */
  readonly provider: string
  /** The model that the adapter was made with: the default of an engine, and of a request that goes to the adapter directly. */
  readonly model?: string | undefined
  /** Whether a request without a model fails with `missing_model` before the adapter is called. */
  readonly needsModel?: boolean
  /** Whether a key has to be found before the adapter is called. Absent: no key is looked up. */
  readonly key?: KeyNeed
  /** The scheme, host and port that it calls, for telemetry. */
  readonly server?: string | undefined
}

/**
 * The contract of a provider that makes images.
 *
 * An operation outside `supportedOperations()` fails with `unsupported_operation` before any I/O. Every
 * failure rejects with an `ImageAdapterError`. The request's metadata is on the response.
 */
export interface ImageAdapter extends ModelAdapter {
  supportedOperations(): readonly ImageOperation[]
  generate(request: ImageRequest, options?: AdapterOptions): Promise<ImageResponse>
}

/**
 * The contract of a provider that makes embeddings.
 *
 * One call to `embed` is one call to the provider: the engine has split the texts by `limits`, and a request without a text, or with more
 * than `limits.maxTexts`, fails with `invalid_request` before any I/O. The response has a vector for each text, in their order, all of one
 * length and of finite numbers; what the provider sent otherwise is `malformed_response`. Every failure rejects with an `AdapterError`, a
 * cancellation with `StreamError` `cancelled`. The request's metadata is on the response.
 */
export interface EmbeddingAdapter extends ModelAdapter {
  readonly limits: EmbeddingLimits
  embed(request: EmbeddingRequest, options?: AdapterOptions): Promise<EmbeddingResponse>
}

/** What one embedding call may have. */
export interface EmbeddingLimits {
  readonly maxTexts: number
  /**
   * Of all texts together. The engine counts a token for each byte of UTF-8, which is never too low. A text that is over the limit alone
   * is a call of its own, and left to the provider.
   */
  readonly maxTokens?: number | undefined
}

/**
 * The contract of a provider that judges content. One call has a result for each text, in their order, or one for all parts together.
 * A verdict that the provider did not give is `malformed_response`, never "not flagged". Failures and metadata as those of embeddings.
 */
export interface ModerationAdapter extends ModelAdapter {
  /** The most texts of one call. A request beyond it fails with `invalid_request` before any I/O; `moderate` splits longer lists. */
  readonly maxTexts: number
  /** The most images of one call; any number without it. A request beyond it fails likewise; `moderate` judges each with all of the text. */
  readonly maxImages?: number | undefined
  moderate(request: ModerationRequest, options?: AdapterOptions): Promise<ModerationResponse>
}

/**
 * The contract of a provider that speaks.
 *
 * Lazy as a chat stream: the first `next()` sends the call. `speech_started` comes first, with the first bytes; then come the bytes as they
 * arrive, each piece with at least one; `speech_completed` ends it. A failure throws from `next()`: an `AdapterError`, or a `StreamError` when
 * the transport broke or the call was cancelled. `return()` and the signal close the connection. All bytes together are one file of
 * the type that `speech_started` names. An answer without any is `malformed_response`, and one that breaks off never ends with `speech_completed`.
 * The request's metadata is on `speech_started`.
 */
export interface SpeechAdapter extends ModelAdapter {
  speak(request: SpeechRequest, options?: AdapterOptions): AsyncIterable<SpeechEvent>
}

/** Something that a speech adapter has received. */
export type SpeechEvent =
  | ({ readonly type: 'speech_started' } & SpeechStart)
  | { readonly type: 'audio_delta'; readonly bytes: Uint8Array }
  | { readonly type: 'speech_completed'; readonly usage: Usage }

/**
 * The contract of a provider that writes down what is said. A file that is larger than `maxBytes` fails with `invalid_request`, and the
 * limit in the message, before any I/O. Times are in seconds, and none ends before it starts. Failures and metadata as those of embeddings.
 */
export interface TranscriptionAdapter extends ModelAdapter {
  /** The largest file that the provider takes, in bytes. Absent: no limit is known. */
  readonly maxBytes?: number | undefined
  transcribe(
    request: TranscriptionRequest,
    options?: AdapterOptions,
  ): Promise<TranscriptionResponse>
}

/**
 * The contract of a provider that ranks documents by a query. The response has a result for each document, or for the best `topN`: sorted,
 * the best first, each with another document of the request and a finite score. What the provider sent otherwise is
 * `malformed_response`. Failures and metadata as those of embeddings.
 */
export interface RerankAdapter extends ModelAdapter {
  rerank(request: RerankRequest, options?: AdapterOptions): Promise<RerankResponse>
}

/** The adapters of the models that are not chat, by the name of their slots in an engine: `imageAdapter` and `imageModel`. */
export interface ModelAdapters {
  readonly image: ImageAdapter
  readonly embedding: EmbeddingAdapter
  readonly moderation: ModerationAdapter
  readonly speech: SpeechAdapter
  readonly transcription: TranscriptionAdapter
  readonly rerank: RerankAdapter
}

/** The name of a slot. */
export type ModelSlot = keyof ModelAdapters

/** The method that tells the adapter of a slot. */
export const slotMethods: { readonly [Slot in ModelSlot]: keyof ModelAdapters[Slot] & string } = {
  image: 'generate',
  embedding: 'embed',
  moderation: 'moderate',
  speech: 'speak',
  transcription: 'transcribe',
  rerank: 'rerank',
}

/** Every slot. */
export const modelSlots: readonly ModelSlot[] = keysOf(slotMethods)

/**
 * The options of an adapter call. All are optional, so that an adapter can be called directly.
 *
 * An engine keeps the timeouts itself, whatever the adapter does. It passes `streamTimeoutMs` on, because only the adapter knows
 * when the finish reason of an answer has come. An adapter that is called directly honours both.
 */
export interface AdapterOptions {
  /** The id of the run, for `message_started` and errors. */
  readonly requestId?: string | undefined
  /** Cancels the call: the connection is closed, and the stream ends as `cancelled`. */
  readonly signal?: AbortSignal | undefined
  /** The key to use. Never stored, never in an event or an error. */
  readonly apiKey?: string | undefined
  /** Finds the key of a provider. Only for an adapter with `providers`; its `apiKey` is that of the call, and for `provider` alone. */
  readonly keys?: KeySource | undefined
  /** Headers of this call, which override the adapter's; `anthropic-beta` is added to it. Never stored, never in an event or an error. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Milliseconds to the first content; beyond it the call fails with `timeout`. */
  readonly requestTimeoutMs?: number | undefined
  /** For an adapter that makes calls wait for a place before they are sent, as `limit` does. Given by the side that keeps `requestTimeoutMs`. */
  readonly queue?: CallQueue | undefined
  /** Milliseconds of silence after the first content; beyond it the stream ends with an `AdapterError` `timeout`. Whatever the provider sends ends a silence. */
  readonly streamTimeoutMs?: number | undefined
  /** The longest answer in bytes (64 MiB), streamed or not. A longer one ends with `StreamError` `too_large`. */
  readonly maxResponseBytes?: number | undefined
  /**
   * To be called when the provider has sent something, whatever it is: a ping or a comment makes no event, and still ends a
   * silence. The engine, which keeps the timeouts, hears of such things in no other way.
   */
  readonly onActivity?: (() => void) | undefined
  /** To be called with what the headers of a response say about the provider's limits, also of a refusal, if they say anything. */
  readonly onRateLimit?: ((limits: RateLimits) => void) | undefined
  /** Also emit `raw_chunk` events. */
  readonly includeRawChunks?: boolean | undefined
  /** The default key of a prompt cache. */
  readonly sessionId?: string | undefined
  readonly clock?: Clock | undefined
  readonly newId?: NewId | undefined
  /** The telemetry span of the call, for events of the adapter's own. Absent when nobody listens. */
  readonly spanId?: string | undefined
}

/** The time that a call waits on this side, before it is sent. It is not the provider's: `requestTimeoutMs` does not count it. */
export interface CallQueue {
  /** How long the call may wait; absent: as long as it takes. */
  readonly timeoutMs?: number | undefined
  /**
   * To be called when the wait begins. The returned function is called right before the call is sent: `requestTimeoutMs` counts from then on. If it throws,
   * the call is not sent and fails with that.
   */
  enter(): () => void
}

/** What a provider says about its limits. What it does not say is absent. */
export interface RateLimits {
  readonly requests?: RateLimit | undefined
  /** Of all tokens, or the tightest that the provider has at the moment. */
  readonly tokens?: RateLimit | undefined
  readonly inputTokens?: RateLimit | undefined
  readonly outputTokens?: RateLimit | undefined
}

/** One limit of a provider. */
export interface RateLimit {
  readonly limit?: number | undefined
  readonly remaining?: number | undefined
  /** Milliseconds until all of it is there again. */
  readonly resetMs?: number | undefined
}
