import { ImageAdapterError } from '../errors/errors.ts'
import { base64Problem, base64ToBytes, bytesToBase64, sniffMimeType } from '../make/media.ts'
import type { Issue } from '../types/error-data.ts'
import { assertNever } from '../types/guards.ts'
import type { FileImage, Image, ImageRequest, InlineImage } from '../types/media.ts'
import { fetchImage, type ImageLimits, type Download } from './fetch-image.ts'

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

/** An image with its bytes, in the form in which they came: base64, or chunks of bytes. */
export interface LoadedImage {
  readonly mimeType: string
  readonly content: string | readonly Uint8Array[]
}

/** The number of base64 characters that are converted at once; a small number keeps garbage collection short. */
const sliceLength = 96 * 1024

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

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((size, { byteLength }) => size + byteLength, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.byteLength
  }
  return bytes
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
 * Returns the type: the declared one, or else the one that its first bytes show.
 */
export function checkInlineImage(image: InlineImage, limits: ImageLimits): TypeOutcome {
  const { base64, mimeType } = image
  // A saved message is JSON of unknown origin, so the text may be missing.
  if (typeof base64 !== 'string' || base64 === '') return { problem: 'has no bytes' }
  const size = decodedSize(base64)
  if (size > limits.maxBytes) return { problem: tooLarge(size, limits) }
  const problem = base64Problem(base64)
  if (problem !== undefined) return { problem }
  return settleMimeType(mimeType, sniffMimeType(base64), limits)
}

/** The image in a file, or its problem. */
type FileOutcome =
  | { readonly bytes: Uint8Array; readonly mimeType: string; readonly problem?: undefined }
  | { readonly problem: string }

/** Reads an image from its file and checks it. Every failure is a problem; nothing throws. */
export async function readFileImage(
  image: FileImage,
  limits: ImageLimits,
  readFile: ReadFile,
): Promise<FileOutcome> {
  let bytes: Uint8Array
  try {
    bytes = await readFile(image.path, limits.maxBytes)
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error)
    return { problem: `cannot be read from ${image.path}: ${text}` }
  }
  if (bytes.byteLength === 0) return { problem: `is an empty file, ${image.path}` }
  if (bytes.byteLength > limits.maxBytes) return { problem: tooLarge(bytes.byteLength, limits) }
  const type = settleMimeType(image.mimeType, sniffMimeType(bytes), limits)
  return type.problem === undefined ? { bytes, mimeType: type.mimeType } : type
}

/** The first bytes of an inline image, at most `length`; the rest is not decoded. */
export function inlineHead(base64: string, length: number): Uint8Array {
  return base64ToBytes(base64.slice(0, Math.ceil(length / 3) * 4))
}

/** The number of bytes that a base64 text encodes. */
function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor((base64.length * 3) / 4) - padding
}

function tooLarge(size: number, { provider, maxBytes }: ImageLimits): string {
  return `has ${size} bytes; ${provider} accepts at most ${maxBytes}`
}

/**
 * Reads a file. It may refuse a file longer than `maxBytes` without reading it; the caller checks the length again.
 */
export type ReadFile = (path: string, maxBytes: number) => Promise<Uint8Array>

/** The part of `node:fs/promises` that is used. */
interface FileSystem {
  open(path: string, flags: 'r'): Promise<FileHandle>
}

interface FileHandle {
  stat(): Promise<{ readonly size: number; isFile(): boolean }>
  readFile(): Promise<Uint8Array>
  close(): Promise<void>
}

interface Host {
  readonly process?: { readonly getBuiltinModule?: (name: string) => FileSystem | undefined }
}

/** Reads a file through Node's file system. Throws on a runtime without one. */
export const readImageFile: ReadFile = async (path, maxBytes) => {
  // Node is optional here, so its global is looked up, not declared.
  const files = (globalThis as Host).process?.getBuiltinModule?.('node:fs/promises')
  if (files === undefined) {
    throw new Error('this runtime has no file system; pass the bytes with imageFromBytes')
  }
  const file = await files.open(path, 'r')
  try {
    const facts = await file.stat()
    if (!facts.isFile()) throw new Error('it is not a regular file')
    if (facts.size > maxBytes) throw new Error(`it has ${facts.size} bytes`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** The type of an image, or its problem as a sentence that follows the image's path. */
type TypeOutcome =
  | { readonly mimeType: string; readonly problem?: undefined }
  | { readonly problem: string }

/**
 * Decides the type of an image from the declared type and from its first bytes.
 *
 * A type that the provider does not accept is a problem, and so are bytes that are known to be of another type than
 * declared. If the bytes are of an unknown type, the declared type is used and the provider decides.
 */
function settleMimeType(
  declared: string | undefined,
  found: string | undefined,
  limits: ImageLimits,
): TypeOutcome {
  const mimeType = declared === undefined || declared === '' ? found : declared
  if (mimeType === undefined)
    return { problem: 'has no mimeType, and its bytes are of no known type' }
  if (!limits.mimeTypes.includes(mimeType)) {
    return {
      problem: `is ${mimeType}; ${limits.provider} accepts ${limits.mimeTypes.join(', ')}`,
    }
  }
  if (found !== undefined && found !== mimeType) {
    return { problem: `is declared as ${mimeType}, but its bytes are ${found}` }
  }
  return { mimeType }
}
