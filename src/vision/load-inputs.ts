import { ImageAdapterError } from '../errors/errors.ts'
import type { Issue } from '../types/error-data.ts'
import type { Image, ImageRequest } from '../types/media.ts'
import type { Download } from './fetch-image.ts'
import type { ImageLimits } from './image-limits.ts'
import { loadImage } from './load-image.ts'
import type { LoadedImage } from './loaded-image.ts'

/** The images that an edit works on. */
export interface LoadedInputs {
  readonly images: readonly LoadedImage[]
  readonly mask?: LoadedImage
}

/** How the inputs of an edit are loaded. */
export interface InputSource extends Download {
  readonly limits: ImageLimits
}

/**
 * Loads the images and the mask of an edit, one after the other.
 *
 * All problems are in one `ImageAdapterError` `invalid_request` whose metadata holds them as `issues`; a connection that
 * breaks is a `network_error`. A stop throws what `fetch` threw.
 */
export async function loadInputs(
  request: Pick<ImageRequest, 'inputImages' | 'mask'>,
  source: InputSource,
): Promise<LoadedInputs> {
  const issues: Issue[] = []
  const load = async (image: Image, path: string): Promise<LoadedImage | undefined> => {
    const outcome = await loadImage(image, source.limits, source)
    if (outcome.problem === undefined) return outcome.loaded
    issues.push({ path, problem: outcome.problem })
    return undefined
  }
  const images: LoadedImage[] = []
  for (const [index, image] of request.inputImages.entries()) {
    const loaded = await load(image, `inputImages[${index}]`)
    if (loaded !== undefined) images.push(loaded)
  }
  const mask = request.mask && (await load(request.mask, 'mask'))
  if (issues.length > 0) throw refusal(issues, source)
  return mask === undefined ? { images } : { images, mask }
}

function refusal(issues: readonly Issue[], source: InputSource): ImageAdapterError {
  const { limits, requestId } = source
  const sentences = issues.map(({ path, problem }) => `${path} ${problem}`)
  return new ImageAdapterError('invalid_request', sentences.join('; '), {
    provider: limits.provider,
    requestId,
    metadata: { issues },
  })
}
