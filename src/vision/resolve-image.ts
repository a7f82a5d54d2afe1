import { bytesToBase64 } from '../make/media.ts'
import { assertNever } from '../types/guards.ts'
import type { Image } from '../types/media.ts'
import type { ImageLimits } from './image-limits.ts'
import { checkInlineImage, readFileImage } from './inline-image.ts'
import type { ReadFile } from './read-image-file.ts'

/** An image that a provider takes, or what is wrong with it in words that follow the image's place. */
export type ImageOutcome =
  | { readonly image: Image; readonly problem?: undefined }
  | { readonly problem: string }

/**
 * Checks one image and, when it is in a file, reads it.
 *
 * An inline image is given back as it is unless its type had to be found; an address is not fetched.
 */
export async function resolveImage(
  image: Image,
  limits: ImageLimits,
  readFile: ReadFile,
): Promise<ImageOutcome> {
  switch (image.type) {
    case 'base64': {
      const type = checkInlineImage(image, limits)
      if (type.problem !== undefined) return type
      return {
        image: type.mimeType === image.mimeType ? image : { ...image, mimeType: type.mimeType },
      }
    }
    case 'url':
      return isWebAddress(image.url)
        ? { image }
        : { problem: 'has an address that is not http or https' }
    case 'file': {
      const file = await readFileImage(image, limits, readFile)
      if (file.problem !== undefined) return file
      const { path: _path, ...facts } = image
      const { bytes, mimeType } = file
      return { image: { ...facts, type: 'base64', base64: bytesToBase64(bytes), mimeType } }
    }
    default:
      return assertNever(image)
  }
}

function isWebAddress(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol } = new URL(address)
  return protocol === 'https:' || protocol === 'http:'
}
