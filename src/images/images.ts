import type { ImageAdapter } from '../contracts/adapter.ts'
import type { Engine } from '../contracts/engine.ts'
import type { EngineParts, RetryOption } from '../contracts/options.ts'
import { linkedAbort } from '../core/abort.ts'
import type { Clock } from '../core/clock.ts'
import type { NewId } from '../core/ids.ts'
import { keyFor } from '../core/keys.ts'
import { retry, type RetryPlan } from '../core/retry.ts'
import { emitTelemetry, isObserved, span, type Span, type SpanFacts } from '../core/telemetry.ts'
import { idleTimer } from '../core/timers.ts'
import { errorToJSON } from '../errors/error-json.ts'
import { EngineError, ImageAdapterError, StreamError } from '../errors/errors.ts'
import { engineParts } from '../run/context.ts'
import { retryPlan } from '../run/retry-policy.ts'
import { assertValid, fine, optionsOf, type Check } from '../schema/checks.ts'
import { callOptionChecks } from '../schema/options.ts'
import { validateImageRequest } from '../schema/validate.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject, ProviderOptions } from '../types/json.ts'
import type { Image, ImageRequest, ImageResponse } from '../types/media.ts'
import { imageFailure } from '../vision/resolve-images.ts'

/**
 * Makes images from a prompt, or from a whole request of any operation.
 *
 * It goes through the engine's `imageAdapter` and `imageModel`; nothing falls back to the chat slot. Transient failures
 * are tried again by the engine's retry policy.
 */
export async function generateImage(
  engine: Engine,
  promptOrRequest: string | ImageRequest,
  options: ImageCallOptions = {},
): Promise<ImageResponse> {
  const request: ImageRequest =
    typeof promptOrRequest === 'string'
      ? { operation: 'generate', prompt: promptOrRequest, ...blankRequest }
      : promptOrRequest
  return dispatchImage(engine, request, options)
}

/** Changes an image, or makes one out of several, as a prompt says. `mask` of the options limits where. */
export async function editImage(
  engine: Engine,
  imageOrImages: Image | readonly Image[],
  prompt: string,
  options: ImageCallOptions = {},
): Promise<ImageResponse> {
  const inputImages = isList(imageOrImages) ? imageOrImages : [imageOrImages]
  return dispatchImage(engine, { operation: 'edit', ...blankRequest, prompt, inputImages }, options)
}

function isList(value: Image | readonly Image[]): value is readonly Image[] {
  return Array.isArray(value)
}

/**
 * Makes images like the given one.
 *
 * The hosted providers no longer offer it: their adapters refuse with `unsupported_operation` before anything is sent.
 */
export async function imageVariations(
  engine: Engine,
  image: Image,
  options: ImageCallOptions = {},
): Promise<ImageResponse> {
  const request = { operation: 'variation', ...blankRequest, inputImages: [image] } as const
  return dispatchImage(engine, request, options)
}

/**
 * Sends an image request through the engine's image slot.
 *
 * What is refused before anything is sent: an engine without that slot, options that do not exist, a request that is not
 * legal, a missing model or key, in this order.
 */
async function dispatchImage(
  engine: Engine,
  request: ImageRequest,
  options: ImageCallOptions,
): Promise<ImageResponse> {
  const parts = engineParts(engine)
  const { imageAdapter } = parts
  if (imageAdapter === undefined) {
    const message = 'this engine makes no images: give createEngine an imageAdapter'
    throw new EngineError('no_image_adapter', message)
  }
  assertImageOptions(options)
  const settled = isObject(request)
    ? withImageOptions(request, options, parts.defaults.metadata)
    : request
  assertValid('invalid_image_request', validateImageRequest(settled))
  return runImageCall(settleImageCall(parts, imageAdapter, settled, options))
}

/** Callers without types may give anything; the validator says what is wrong with it. */
function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** The part of a request that no operation changes. */
const blankRequest: Pick<
  ImageRequest,
  'n' | 'responseFormat' | 'inputImages' | 'providerOptions' | 'metadata'
> = { n: 1, responseFormat: 'base64', inputImages: [], providerOptions: {}, metadata: {} }

/** One image call with everything decided: nothing in it is looked up again. */
interface ImageCall {
  readonly adapter: ImageAdapter
  readonly provider: string
  readonly request: ImageRequest
  readonly requestId: string
  /** Finds the key when the call starts. It is kept nowhere. */
  readonly findKey: () => string | undefined
  readonly clock: Clock
  readonly newId: NewId
  readonly signal: AbortSignal | undefined
  readonly requestTimeoutMs: number | undefined
  readonly retry: RetryOption | undefined
}

/**
 * Decides everything about a call: its model, its id, where its key is looked for, its deadlines.
 *
 * An operation that the adapter does not offer needs neither a model nor a key, so that the adapter's own refusal is
 * what the caller sees.
 */
function settleImageCall(
  engine: EngineParts,
  adapter: ImageAdapter,
  request: ImageRequest,
  options: ImageCallOptions,
): ImageCall {
  const { provider } = adapter
  const { keys, clock, newId, defaults } = engine
  const requestId = options.requestId ?? newId('request')
  const model = request.model ?? engine.imageModel
  const offered = adapter.supportedOperations().includes(request.operation)
  if (offered && model === undefined && adapter.needsModel === true) {
    const message = `${provider} needs a model: set imageModel of the engine, or model of the call`
    throw new EngineError('missing_model', message, { provider, requestId })
  }
  const { apiKey, signal } = options
  return {
    adapter,
    provider,
    request: model === undefined ? request : { ...request, model },
    requestId,
    findKey: () => (offered ? keyFor(adapter, { apiKey, keys }) : undefined),
    clock,
    newId,
    signal,
    requestTimeoutMs: options.requestTimeoutMs ?? defaults.requestTimeoutMs,
    retry: options.retry ?? engine.retry,
  }
}

/** Makes an image call: one retry loop, a deadline for each attempt, cancellation and telemetry. */
async function runImageCall(call: ImageCall): Promise<ImageResponse> {
  const { clock, signal } = call
  const trace = imageSpan(call)
  try {
    const apiKey = call.findKey()
    const plan = (): RetryPlan =>
      retryPlan(call.retry, { clock, signal, onRetry: reportRetry(call) })
    const response = await retry(plan, () => attempt(call, apiKey))
    trace.stop({ images: response.images.length, content: response })
    return response
  } catch (error) {
    // The wait between two attempts rejects with whatever the caller gave to `abort`.
    const failure = signal?.aborted === true ? cancelled(call) : error
    trace.error(failure)
    throw failure
  }
}

/** One attempt. A deadline or a stop ends it at once, also when the adapter does not listen to its signal. */
async function attempt(call: ImageCall, apiKey: string | undefined): Promise<ImageResponse> {
  const { adapter, request, requestId, provider, clock, newId, requestTimeoutMs } = call
  if (call.signal?.aborted === true) throw cancelled(call)
  const abort = linkedAbort(call.signal)
  const idle = idleTimer(clock, (ms) => {
    const message = `${provider} took longer than ${ms} ms`
    abort.abort(new ImageAdapterError('timeout', message, { provider, requestId }))
  })
  idle.reset(requestTimeoutMs)
  try {
    const { signal } = abort
    const options = { requestId, signal, apiKey, clock, newId }
    const answer = adapter.generate(request, options)
    return conforming(await Promise.race([answer, stopped(signal, call)]), call)
  } catch (error) {
    throw imageFailure(error, call)
  } finally {
    idle.stop()
    abort.unlink()
  }
}

/** Rejects as soon as the signal is aborted: with the deadline's error, or as cancelled. */
function stopped(signal: AbortSignal, call: ImageCall): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        const reason: unknown = signal.reason
        reject(reason instanceof ImageAdapterError ? reason : cancelled(call))
      },
      { once: true },
    )
  })
}

function cancelled({ provider, requestId, signal }: ImageCall): StreamError {
  const message = `the call to ${provider} was cancelled`
  return new StreamError('cancelled', message, { provider, requestId, cause: signal?.reason })
}

/** Adapters are also written elsewhere, so what they answer is looked at before it is handed on. */
function conforming(response: ImageResponse, { provider, requestId }: ImageCall): ImageResponse {
  if (Array.isArray(response?.images)) return response
  const message = `${provider} gave an answer without images`
  throw new ImageAdapterError('malformed_response', message, { provider, requestId })
}

/** Starts the span of an image call. */
function imageSpan(call: ImageCall): Span {
  return span('image', imageFacts(call), call.clock)
}

/** Tells listeners of each attempt that failed and is tried again. */
function reportRetry(call: ImageCall): NonNullable<RetryPlan['onRetry']> {
  return (failure, attempt, delayMs) => {
    if (!isObserved()) return
    const { partial: _content, ...error } = errorToJSON(failure)
    const at = call.clock.now()
    emitTelemetry({ name: 'retry', at, ...imageFacts(call), attempt, delayMs, error })
  }
}

function imageFacts({ requestId, provider, request }: ImageCall): SpanFacts {
  return { requestId, provider, model: request.model, operation: request.operation }
}

/**
 * Every option of an image call. Unknown keys are refused by name.
 *
 * Precedence is that of all calls: the call, then the request, then the engine, then the default.
 */
export interface ImageCallOptions {
  /** The engine's `imageModel` unless told; never its chat model. */
  readonly model?: string | undefined
  readonly n?: number | undefined
  readonly size?: ImageRequest['size'] | undefined
  readonly quality?: ImageRequest['quality'] | undefined
  readonly style?: ImageRequest['style'] | undefined
  readonly background?: ImageRequest['background'] | undefined
  readonly responseFormat?: ImageRequest['responseFormat'] | undefined
  /** The transparent places of this image are those that an edit may change. */
  readonly mask?: Image | undefined
  /** Merged over the request's, key by key. Those of the engine are for its chat calls. */
  readonly providerOptions?: ProviderOptions | undefined
  /** Merged over the request's and the engine's. Never sent; it is on the response. */
  readonly metadata?: JsonObject | undefined
  readonly signal?: AbortSignal | undefined
  readonly retry?: RetryOption | undefined
  readonly requestId?: string | undefined
  /** For this call only; stored nowhere. */
  readonly apiKey?: string | undefined
  /** Milliseconds that each attempt may take. */
  readonly requestTimeoutMs?: number | undefined
}

/** Refuses options that do not exist, with the nearest that does, and values of the wrong kind. */
function assertImageOptions(options: ImageCallOptions): void {
  assertValid('invalid_options', imageOptions(options))
}

/** What becomes part of the request is checked there. */
const later: Check = () => fine

const { model, providerOptions, metadata } = callOptionChecks

const { signal, retry: retryCheck, requestId, apiKey, requestTimeoutMs } = callOptionChecks

const imageOptions = optionsOf({
  model,
  n: later,
  size: later,
  quality: later,
  style: later,
  background: later,
  responseFormat: later,
  mask: later,
  providerOptions,
  metadata,
  signal,
  retry: retryCheck,
  requestId,
  apiKey,
  requestTimeoutMs,
} satisfies Readonly<Record<keyof ImageCallOptions, Check>>)

/**
 * The request with the call's options over it, and the engine's metadata under it.
 *
 * Each provider's parameters are merged key by key. Those of the engine are for its chat calls, whose API is another.
 */
function withImageOptions(
  request: ImageRequest,
  options: ImageCallOptions,
  engineMetadata: JsonObject = {},
): ImageRequest {
  return {
    ...request,
    ...defined<Partial<ImageRequest>>({
      model: options.model,
      n: options.n,
      size: options.size,
      quality: options.quality,
      style: options.style,
      background: options.background,
      responseFormat: options.responseFormat,
      mask: options.mask,
    }),
    providerOptions: mergeProviderOptions(request.providerOptions, options.providerOptions),
    metadata: { ...engineMetadata, ...request.metadata, ...options.metadata },
  }
}

function mergeProviderOptions(
  request: ProviderOptions,
  call: ProviderOptions | undefined,
): ProviderOptions {
  if (call === undefined) return request
  const merged: Record<string, JsonObject | undefined> = { ...request }
  for (const [provider, options] of Object.entries(call)) {
    merged[provider] = { ...merged[provider], ...options }
  }
  return merged
}
