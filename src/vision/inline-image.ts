import { base64Problem, base64ToBytes, sniffMimeType } from '../make/media.ts'
import type { FileImage, InlineImage } from '../types/media.ts'
import type { ImageLimits } from './image-limits.ts'
import { settleMimeType, type TypeOutcome } from './image-type.ts'
import type { ReadFile } from './read-image-file.ts'

/**
 * Checks an image against a provider's limits without decoding it: its size, that it is base64, and its type.
 *
 * The type comes back: the declared one, or else the one that the first bytes tell.
 */
export function checkInlineImage(image: InlineImage, limits: ImageLimits): TypeOutcome {
  const { base64, mimeType } = image
  // A saved message is JSON from anywhere, so the text may be missing after all.
  if (typeof base64 !== 'string' || base64 === '') return { problem: 'has no bytes' }
  const size = decodedSize(base64)
  if (size > limits.maxBytes) return { problem: tooLarge(size, limits) }
  if (!wellFormed.has(image)) {
    const problem = base64Problem(base64)
    if (problem !== undefined) return { problem }
    wellFormed.add(image)
  }
  return settleMimeType(mimeType, sniffMimeType(base64), limits)
}

/** Data is readonly, so the images of a history that grows are walked once and not at every step. */
const wellFormed = new WeakSet<InlineImage>()

/** What was in a file, or what was wrong with it. */
export type FileOutcome =
  | { readonly bytes: Uint8Array; readonly mimeType: string; readonly problem?: undefined }
  | { readonly problem: string }

/** Reads an image from its file and checks it like any other. Every failure is a problem, never a throw. */
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
    return { problem: `can not be read from ${image.path}: ${text}` }
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

/** How many bytes a base64 text stands for. */
function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor((base64.length * 3) / 4) - padding
}

function tooLarge(size: number, { provider, maxBytes }: ImageLimits): string {
  return `has ${size} bytes, and ${provider} takes at most ${maxBytes}`
}
