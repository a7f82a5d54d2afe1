import type { AdapterOptions, ImageAdapter } from '../contracts/adapter.ts'
import type { Engine } from '../contracts/engine.ts'
import type { EngineParts, RetryOption } from '../contracts/options.ts'
import { linkedAbort } from '../core/abort.ts'
import { startTimer, type Clock } from '../core/clock.ts'
import type { NewId } from '../core/ids.ts'
import { keyFor } from '../core/keys.ts'
import { retry, type RetryPlan } from '../core/retry.ts'
import { span, type Span, type SpanFacts } from '../core/telemetry.ts'
import { cancelledCall, EngineError, ImageAdapterError } from '../errors/errors.ts'
import { mergeProviderOptions, unknownProviders } from '../make/provider-options.ts'
import { engineParts } from '../run/context.ts'
import { reportRetry, retryPlan } from '../run/retry-policy.ts'
import { assertValid, fine, optionsOf, type Check } from '../schema/checks.ts'
import { callOptionChecks } from '../schema/options.ts'
import { validateImageRequest } from '../schema/validate-images.ts'
import { defined, isObject } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { Image, ImageRequest, ImageResponse } from '../types/media.ts'
import type { ProviderOptions } from '../types/provider-options.ts'
import { imageFailure } from '../vision/resolve-images.ts'

/**
 * Makes images from a prompt, or from a whole request of any operation.
 *
 * It uses the engine's `imageAdapter` and `imageModel`, never its chat adapter and model. Transient failures are
 * retried by the engine's retry policy.
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

/** Edits an image, or combines several, by a prompt. The option `mask` limits the area. */
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
 * Makes variations of an image.
 *
 * The hosted providers no longer support it: their adapters refuse with `unsupported_operation` before anything is sent.
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
 * Sends an image request through the engine's image adapter.
 *
 * Refused before anything is sent, in this order: an engine without an image adapter, invalid options, an invalid
 * request, a missing model or key.
 */
async function dispatchImage(
  engine: Engine,
  request: ImageRequest,
  options: ImageCallOptions,
): Promise<ImageResponse> {
  const parts = engineParts(engine)
  const { imageAdapter } = parts
  if (imageAdapter === undefined) {
    const message = 'the engine has no image adapter: pass createEngine({ imageAdapter })'
    throw new EngineError('no_image_adapter', message)
  }
  assertValid('invalid_options', imageOptions(options))
  // A caller without types may pass anything; the validator reports it.
  const settled = isObject(request)
    ? withImageOptions(request, options, parts.defaults.metadata)
    : request
  assertValid('invalid_image_request', validateImageRequest(settled))
  assertValid('invalid_image_request', unknownProviders(settled, [imageAdapter.provider]))
  return runImageCall(settleImageCall(parts, imageAdapter, settled, options))
}

/** The defaults that all operations share. */
const blankRequest: Pick<
  ImageRequest,
  'n' | 'responseFormat' | 'inputImages' | 'providerOptions' | 'metadata'
> = { n: 1, responseFormat: 'base64', inputImages: [], providerOptions: {}, metadata: {} }

/** One image call with all settings resolved. */
interface ImageCall {
  readonly adapter: ImageAdapter
  readonly provider: string
  readonly request: ImageRequest
  readonly requestId: string
  /** Finds the API key when the call starts. It is not stored. */
  readonly findKey: () => string | undefined | Promise<string | undefined>
  readonly clock: Clock
  readonly newId: NewId
  readonly signal: AbortSignal | undefined
  readonly headers: AdapterOptions['headers']
  readonly requestTimeoutMs: number | undefined
  readonly retry: RetryOption | undefined
  readonly parentSpanId: string | undefined
}

/**
 * Resolves the settings of a call: its model, its id, its key, its timeout.
 *
 * An operation that the adapter does not support needs neither a model nor a key, so that the caller gets the adapter's
 * own error.
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
  const supported = adapter.supportedOperations().includes(request.operation)
  if (supported && model === undefined && adapter.needsModel === true) {
    const message = `${provider} needs a model: pass createEngine({ imageModel }), or the option model`
    throw new EngineError('missing_model', message, { provider, requestId })
  }
  const { apiKey, signal, headers } = options
  return {
    adapter,
    provider,
    request: model === undefined ? request : { ...request, model },
    requestId,
    findKey: () => (supported ? keyFor(adapter, { apiKey, keys }) : undefined),
    clock,
    newId,
    signal,
    headers,
    requestTimeoutMs: options.requestTimeoutMs ?? defaults.requestTimeoutMs,
    retry: options.retry ?? engine.retry,
    parentSpanId: engine.parentSpanId,
  }
}

/** Makes an image call: one retry loop, a timeout for each attempt, cancellation and telemetry. */
async function runImageCall(call: ImageCall): Promise<ImageResponse> {
  const { clock, signal } = call
  const trace = span('image', call, call.parentSpanId, () => imageFacts(call))
  try {
    const found = trace.run(call.findKey)
    const apiKey = found instanceof Promise ? await found : found
    const plan = (): RetryPlan =>
      retryPlan(call.retry, { clock, signal, onRetry: reportRetry(trace) })
    const response = await retry(plan, () => attempt(call, apiKey, trace))
    const { id: responseId, model: responseModel, usage } = response
    const images = response.images.length
    trace.stop({ images, responseId, responseModel, usage, content: response })
    return response
  } catch (error) {
    // The wait between two attempts rejects with the reason that the caller passed to `abort`.
    const failure = signal?.aborted === true ? cancelledCall(call) : error
    trace.error(failure)
    throw failure
  }
}

/** One attempt. A timeout or a cancellation ends it at once, even when the adapter ignores its signal. */
async function attempt(
  call: ImageCall,
  apiKey: string | undefined,
  trace: Span,
): Promise<ImageResponse> {
  const { adapter, request, requestId, provider, clock, newId, headers, requestTimeoutMs } = call
  if (call.signal?.aborted === true) throw cancelledCall(call)
  const abort = linkedAbort(call.signal)
  const onTimeout = (): void => {
    const message = `${provider} took longer than ${requestTimeoutMs} ms`
    abort.abort(new ImageAdapterError('timeout', message, { provider, requestId }))
  }
  const cancelTimer =
    requestTimeoutMs === undefined ? undefined : startTimer(clock, requestTimeoutMs, onTimeout)
  try {
    const { signal } = abort
    const options = { requestId, signal, apiKey, headers, clock, newId, spanId: trace.id }
    const answer = trace.run(() => adapter.generate(request, options))
    return conforming(await Promise.race([answer, stopped(signal, call)]), call)
  } catch (error) {
    throw imageFailure(error, call)
  } finally {
    cancelTimer?.()
    abort.unlink()
  }
}

/** Rejects when the signal is aborted: with the timeout's error, or as cancelled. */
function stopped(signal: AbortSignal, call: ImageCall): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        const reason: unknown = signal.reason
        reject(reason instanceof ImageAdapterError ? reason : cancelledCall(call))
      },
      { once: true },
    )
  })
}

/** Adapters are also written by others, so their response is checked. */
function conforming(response: ImageResponse, { provider, requestId }: ImageCall): ImageResponse {
  if (Array.isArray(response?.images)) return response
  const message = `${provider} returned a response without images`
  throw new ImageAdapterError('malformed_response', message, { provider, requestId })
}

function imageFacts(call: ImageCall): SpanFacts & { readonly content: ImageRequest } {
  const { requestId, provider, adapter, request } = call
  const { model, metadata, operation } = request
  const { server } = adapter
  return { requestId, provider, server, model, metadata, operation, content: request }
}

/**
 * Every option of an image call. Unknown keys are refused by name.
 *
 * Precedence is that of all calls: the call, then the request, then the engine, then the default.
 */
export interface ImageCallOptions {
  /** The engine's `imageModel` by default, never its chat model. */
  readonly model?: string | undefined
  readonly n?: number | undefined
  readonly size?: ImageRequest['size'] | undefined
  readonly quality?: ImageRequest['quality'] | undefined
  readonly style?: ImageRequest['style'] | undefined
  readonly background?: ImageRequest['background'] | undefined
  readonly responseFormat?: ImageRequest['responseFormat'] | undefined
  /** An edit may change the image where the mask is transparent. */
  readonly mask?: Image | undefined
  /** Merged over those of the request, key by key. Those of the engine apply to its chat calls only. */
  readonly providerOptions?: ProviderOptions | undefined
  /** Merged over that of the request and of the engine. Never sent; the response has it. */
  readonly metadata?: JsonObject | undefined
  readonly signal?: AbortSignal | undefined
  readonly retry?: RetryOption | undefined
  readonly requestId?: string | undefined
  /** For this call only. It is not stored. */
  readonly apiKey?: string | undefined
  /** Headers of this call, which override the adapter's. Those of the engine are sent with its chat calls only. Not stored. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Milliseconds that each attempt may take. */
  readonly requestTimeoutMs?: number | undefined
}

/** For options that become fields of the request, which is checked later. */
const later: Check = () => fine

const { model, providerOptions, metadata } = callOptionChecks

const { signal, retry: retryCheck, requestId, apiKey, headers, requestTimeoutMs } = callOptionChecks

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
  headers,
  requestTimeoutMs,
} satisfies Readonly<Record<keyof ImageCallOptions, Check>>)

/**
 * The request with the options of the call and the metadata of the engine.
 *
 * The parameters of each provider are merged key by key. Those of the engine apply to its chat calls only.
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
