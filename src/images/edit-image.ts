import type { Engine } from '../contracts/engine.ts'
import { blankRequest, dispatchImage } from './dispatch-image.ts'
import type { ImageCallOptions } from './image-options.ts'
import type { Image, ImageResponse } from '../types/media.ts'

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
