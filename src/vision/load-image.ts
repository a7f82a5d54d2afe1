import { sniffMimeType } from '../make/media.ts'
import { assertNever } from '../types/guards.ts'
import type { Image } from '../types/media.ts'
import { fetchImage, type Download } from './fetch-image.ts'
import type { ImageLimits } from './image-limits.ts'
import { settleMimeType } from './image-type.ts'
import { checkInlineImage, readFileImage } from './inline-image.ts'
import { imageHead, type LoadedImage } from './loaded-image.ts'
import { readImageFile } from './read-image-file.ts'

/** A loaded image, or what is wrong with it in words that follow the image's place. */
export type LoadOutcome =
  | { readonly loaded: LoadedImage; readonly problem?: undefined }
  | { readonly problem: string }

/** Gets an image's bytes here, wherever they are, and checks them. A connection that breaks throws; all else is a problem. */
export async function loadImage(
  image: Image,
  limits: ImageLimits,
  download: Download,
): Promise<LoadOutcome> {
  switch (image.type) {
    case 'base64': {
      const type = checkInlineImage(image, limits)
      if (type.problem !== undefined) return type
      return { loaded: { mimeType: type.mimeType, content: image.base64 } }
    }
    case 'file': {
      const file = await readFileImage(image, limits, readImageFile)
      if (file.problem !== undefined) return file
      return { loaded: { mimeType: file.mimeType, content: [file.bytes] } }
    }
    case 'url': {
      const got = await fetchImage(image.url, limits, download)
      if (got.problem !== undefined) return got
      const found = sniffMimeType(imageHead({ content: got.pieces }, 16))
      const type = settleMimeType(image.mimeType ?? got.mimeType, found, limits)
      if (type.problem !== undefined) return type
      return { loaded: { mimeType: type.mimeType, content: got.pieces } }
    }
    default:
      return assertNever(image)
  }
}
