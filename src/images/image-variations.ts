import type { Engine } from '../contracts/engine.ts'
import { blankRequest, dispatchImage } from './dispatch-image.ts'
import type { ImageCallOptions } from './image-options.ts'
import type { Image, ImageResponse } from '../types/media.ts'

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
