import type { Engine } from '../contracts/engine.ts'
import { blankRequest, dispatchImage } from './dispatch-image.ts'
import type { ImageCallOptions } from './image-options.ts'
import type { ImageRequest, ImageResponse } from '../types/media.ts'

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
