import { imageHead, type LoadedImage, type LoadedInputs } from '../../vision/load-images.ts'
import { pngHeader, type PngHeader } from '../../vision/png-header.ts'

/** Enough of a PNG to hold its header, its palette and the list of its transparent colours. */
const headLength = 4096

/**
 * What is certainly wrong with a mask, as far as its first bytes tell: that nothing in it is transparent, or that it is not
 * as large as the first image. What can not be told is left to the provider.
 */
export function maskProblem({ images, mask }: LoadedInputs): string | undefined {
  const header = headerOf(mask)
  if (header === undefined) return undefined
  if (header.alpha === false) return 'mask has no transparent places: it needs an alpha channel'
  const image = headerOf(images[0])
  if (image === undefined) return undefined
  if (image.width === header.width && image.height === header.height) return undefined
  return `mask is ${dimensions(header)} and inputImages[0] is ${dimensions(image)}: they must be equal`
}

function headerOf(image: LoadedImage | undefined): PngHeader | undefined {
  return image === undefined ? undefined : pngHeader(imageHead(image, headLength))
}

function dimensions({ width, height }: PngHeader): string {
  return `${width}x${height}`
}
