import type { Engine } from '../contracts/engine.ts'
import { EngineError } from '../errors/errors.ts'
import { settleImageCall } from './image-call.ts'
import { assertImageOptions, withImageOptions, type ImageCallOptions } from './image-options.ts'
import { runImageCall } from './run-image-call.ts'
import { partsOf } from '../run/context.ts'
import { assertValid } from '../schema/checks.ts'
import { validateImageRequest } from '../schema/validate.ts'
import type { ImageRequest, ImageResponse } from '../types/media.ts'

/**
 * Sends an image request through the engine's image slot.
 *
 * What is refused before anything is sent: an engine without that slot, options that do not exist, a request that is not
 * legal, a missing model or key, in this order.
 */
export async function dispatchImage(
  engine: Engine,
  request: ImageRequest,
  options: ImageCallOptions,
): Promise<ImageResponse> {
  const parts = partsOf(engine)
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
export const blankRequest: Pick<
  ImageRequest,
  'n' | 'responseFormat' | 'inputImages' | 'providerOptions' | 'metadata'
> = { n: 1, responseFormat: 'base64', inputImages: [], providerOptions: {}, metadata: {} }
