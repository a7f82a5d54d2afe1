import { base64ToBytes, bytesToBase64, decodedSize, joined } from '../../core/base/base64.ts'
import { ImageAdapterError } from '../../core/errors/errors.ts'
import { sniffMimeType, typeProblem } from '../../core/messages/sniff.ts'
import { base64Problem } from '../../core/schema/validate.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { assertNever } from '../../core/types/guards.ts'
import type { Image, ImageRequest, InlineImage } from '../../core/types/media.ts'
import { addressRefusal, fetchImage, type Download, type ImageLimits } from './fetch-image.ts'

/** The loaded images of an edit. */
export interface LoadedInputs {
  readonly images: readonly LoadedImage[]
  readonly mask?: LoadedImage
}

/** How the inputs of an edit are loaded. */
interface InputSource extends Download {
  readonly limits: ImageLimits
}

/**
 * Loads the images and the mask of an edit, one after the other.
 *
 * All problems are in one `ImageAdapterError` `invalid_request`, as `issues` of its metadata. A failed connection is a
 * `network_error`. A cancellation throws what `fetch` threw.
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

/** A loaded image, or its problem as a sentence that follows the image's path. */
type LoadOutcome =
  | { readonly loaded: LoadedImage; readonly problem?: undefined }
  | { readonly problem: string }

/** Loads the bytes of an image and checks them. A failed connection throws; everything else is a problem. */
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
    case 'id':
      return { problem: 'is a file at the provider; pass its bytes' }
    case 'url': {
      const refused = addressRefusal(image.url, download.fetchImages)
      if (refused !== undefined) return { problem: refused }
      const got = await fetchImage(image.url, limits, download)
      if (got.problem !== undefined) return got
      const head = imageHead({ content: got.pieces }, 16)
      const type = settleMimeType(image.mimeType ?? got.mimeType, head, limits)
      if (type.problem !== undefined) return type
      return { loaded: { mimeType: type.mimeType, content: got.pieces } }
    }
    default:
      return assertNever(image)
  }
}

/** An image with its bytes, in the form in which they came: base64, or chunks of bytes. */
export interface LoadedImage {
  readonly mimeType: string
  readonly content: string | readonly Uint8Array[]
}

/** The number of base64 characters that are converted at once; a small number keeps garbage collection short. */
const sliceLength = 98_304

/** The image for a multipart body. Base64 is decoded in slices, so that the bytes are never in memory twice. */
export function imageBlob({ mimeType, content }: LoadedImage): Blob {
  if (typeof content !== 'string') return new Blob(content.map(ownBytes), { type: mimeType })
  const slices: Blob[] = []
  for (let at = 0; at < content.length; at += sliceLength) {
    slices.push(new Blob([base64ToBytes(content.slice(at, at + sliceLength))]))
  }
  return new Blob(slices, { type: mimeType })
}

/** The image as base64. */
export function imageBase64(image: Pick<LoadedImage, 'content'>): string {
  const { content } = image
  return typeof content === 'string' ? content : [...base64Slices(image)].join('')
}

/** The image as base64, in slices. */
export function* base64Slices({ content }: Pick<LoadedImage, 'content'>): Generator<string, void> {
  if (typeof content === 'string') {
    for (let at = 0; at < content.length; at += sliceLength) {
      yield content.slice(at, at + sliceLength)
    }
    return
  }
  const step = (sliceLength / 4) * 3
  let rest: Uint8Array = new Uint8Array()
  for (const piece of content) {
    const bytes = rest.byteLength === 0 ? piece : joined([rest, piece])
    // Three bytes make four characters; the remaining bytes go with the next chunk.
    const whole = bytes.byteLength - (bytes.byteLength % 3)
    for (let at = 0; at < whole; at += step) {
      yield bytesToBase64(bytes.subarray(at, Math.min(whole, at + step)))
    }
    rest = bytes.subarray(whole)
  }
  if (rest.byteLength > 0) yield bytesToBase64(rest)
}

/** The first bytes of the image, at most `length`. */
export function imageHead({ content }: Pick<LoadedImage, 'content'>, length: number): Uint8Array {
  if (typeof content === 'string') return inlineHead(content, length)
  const pieces: Uint8Array[] = []
  let missing = length
  for (const piece of content) {
    if (missing <= 0) break
    pieces.push(piece.subarray(0, missing))
    missing -= piece.byteLength
  }
  return joined(pieces)
}

/** The same bytes over an unshared buffer, which `Blob` needs. Only shared memory is copied. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes
  return buffer instanceof ArrayBuffer
    ? new Uint8Array(buffer, byteOffset, byteLength)
    : new Uint8Array(bytes)
}

/**
 * Checks an image against a provider's limits without decoding it: its size, that it is base64, and its type.
 *
 * Returns the type: the declared one, or else the one that its first bytes show. Of an image that a model made (`isOwn`)
 * the declared type is believed.
 */
export function checkInlineImage(
  image: InlineImage,
  limits: ImageLimits,
  isOwn: boolean = false,
): TypeOutcome {
  const { base64, mimeType } = image
  const problem = bytesProblem(base64, limits)
  return problem === undefined ? settleMimeType(mimeType, base64, limits, isOwn) : { problem }
}

/** Why a text is not the base64 of bytes that a provider accepts, as a sentence that follows the path of the image or the file. */
export function bytesProblem(base64: string, limits: SizeLimit): string | undefined {
  // A saved message is JSON of unknown origin, so the text may be missing.
  if (typeof base64 !== 'string' || base64 === '') return 'has no bytes'
  const size = decodedSize(base64)
  return size > limits.maxBytes ? tooLarge(size, limits) : base64Problem(base64)
}

type SizeLimit = Pick<ImageLimits, 'provider' | 'maxBytes'>

/** The first bytes of an inline image, at most `length`; the rest is not decoded. */
export function inlineHead(base64: string, length: number): Uint8Array {
  return base64ToBytes(base64.slice(0, Math.ceil(length / 3) * 4))
}

/** A file that a provider does not accept because of its size, as a sentence that follows its path. */
export function tooLarge(size: number, { provider, maxBytes }: SizeLimit): string {
  return `has ${size} bytes; ${provider} accepts at most ${maxBytes}`
}

/** The type of an image, or its problem as a sentence that follows the image's path. */
type TypeOutcome =
  | { readonly mimeType: string; readonly problem?: undefined }
  | { readonly problem: string }

/**
 * Decides the type of an image from the declared type and from its first bytes.
 *
 * A type that the provider does not accept is a problem, and so are bytes that are not of the declared type.
 */
function settleMimeType(
  declared: string | undefined,
  content: Uint8Array | string,
  limits: ImageLimits,
  isOwn: boolean = false,
): TypeOutcome {
  const mimeType = declared === undefined || declared === '' ? sniffMimeType(content) : declared
  if (mimeType === undefined)
    return { problem: 'has no mimeType, and its bytes are of no known type' }
  if (!limits.mimeTypes.includes(mimeType)) {
    return {
      problem: `is ${mimeType}; ${limits.provider} accepts ${limits.mimeTypes.join(', ')}`,
    }
  }
  const problem = isOwn ? undefined : typeProblem(mimeType, content)
  return problem === undefined ? { mimeType } : { problem }
}
