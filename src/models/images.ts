import type { ImageAdapter } from '../core/contracts/adapter.ts'
import type { Engine } from '../core/contracts/engine.ts'
import { ImageAdapterError } from '../core/errors/errors.ts'
import { mergeProviderOptions } from '../core/messages/provider-options.ts'
import type { Check } from '../core/schema/checks.ts'
import { validateImageRequest } from '../core/schema/validate-images.ts'
import { defined, isObject } from '../core/types/guards.ts'
import type { Image, ImageRequest, ImageResponse } from '../core/types/media.ts'
import { imageFailure } from '../providers/vision/resolve-images.ts'
import {
  callModel,
  later,
  modelCallOptions,
  type ModelCallOptions,
  type SingleCallKind,
} from './call.ts'

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

/** Every option of an image call. */
export interface ImageCallOptions extends ModelCallOptions {
  readonly n?: number | undefined
  readonly size?: ImageRequest['size'] | undefined
  readonly quality?: ImageRequest['quality'] | undefined
  readonly style?: ImageRequest['style'] | undefined
  readonly background?: ImageRequest['background'] | undefined
  readonly responseFormat?: ImageRequest['responseFormat'] | undefined
  /** An edit may change the image where the mask is transparent. */
  readonly mask?: Image | undefined
}

/** Sends an image request through the engine's image adapter. */
function dispatchImage(
  engine: Engine,
  request: ImageRequest,
  options: ImageCallOptions,
): Promise<ImageResponse> {
  return callModel(
    engine,
    imageCalls,
    options,
    // A caller without types may pass anything; the validator reports it.
    (fields) =>
      isObject(request) ? { ...request, ...withOptions(request, options, fields) } : request,
  )
}

/** The fields of a request that the options of the call, and the metadata of the engine, change. */
function withOptions(
  request: ImageRequest,
  options: ImageCallOptions,
  fields: Pick<ImageRequest, 'metadata'>,
): Partial<ImageRequest> {
  const { model, n, size, quality, style, background, responseFormat, mask } = options
  const { providerOptions, metadata } = request
  return {
    ...defined<Partial<ImageRequest>>({
      model,
      n,
      size,
      quality,
      style,
      background,
      responseFormat,
      mask,
    }),
    providerOptions: mergeProviderOptions(providerOptions, options.providerOptions),
    metadata: { ...fields.metadata, ...metadata, ...options.metadata },
  }
}

/** The defaults that all operations share. */
const blankRequest: Pick<
  ImageRequest,
  'n' | 'responseFormat' | 'inputImages' | 'providerOptions' | 'metadata'
> = { n: 1, responseFormat: 'base64', inputImages: [], providerOptions: {}, metadata: {} }

const imageCalls: SingleCallKind<'image', ImageRequest, ImageResponse> = {
  slot: 'image',
  span: 'image',
  options: modelCallOptions({
    n: later,
    size: later,
    quality: later,
    style: later,
    background: later,
    responseFormat: later,
    mask: later,
  } satisfies Readonly<Record<Exclude<keyof ImageCallOptions, keyof ModelCallOptions>, Check>>),
  request: validateImageRequest,
  invalid: 'invalid_image_request',
  isPossible: (adapter, { operation }) => adapter.supportedOperations().includes(operation),
  failure: imageFailure,
  async send(adapter, request, given) {
    return conforming(await adapter.generate(request, given), adapter, given.requestId)
  },
  outcome: ({ images, id, model, usage }) => ({
    images: images.length,
    responseId: id,
    responseModel: model,
    usage,
  }),
}

/** The response, if it is one. */
function conforming(
  response: ImageResponse,
  { provider }: ImageAdapter,
  requestId: string | undefined,
): ImageResponse {
  if (Array.isArray(response?.images)) return response
  const message = `${provider} returned a response without images`
  throw new ImageAdapterError('malformed_response', message, { provider, requestId })
}
