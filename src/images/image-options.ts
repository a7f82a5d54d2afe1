import type { RetryOption } from '../contracts/options.ts'
import { assertValid, fine, optionsOf, type Check } from '../schema/checks.ts'
import { callOptionChecks } from '../schema/options.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject, ProviderOptions } from '../types/json.ts'
import type { Image, ImageRequest } from '../types/media.ts'

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
export function assertImageOptions(options: ImageCallOptions): void {
  assertValid('invalid_options', imageOptions(options))
}

/** What becomes part of the request is checked there. */
const later: Check = () => fine

const { model, providerOptions, metadata } = callOptionChecks
const { signal, retry, requestId, apiKey, requestTimeoutMs } = callOptionChecks

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
  retry,
  requestId,
  apiKey,
  requestTimeoutMs,
} satisfies Readonly<Record<keyof ImageCallOptions, Check>>)

/**
 * The request with the call's options over it, and the engine's metadata under it.
 *
 * Each provider's parameters are merged key by key. Those of the engine are for its chat calls, whose API is another.
 */
export function withImageOptions(
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
