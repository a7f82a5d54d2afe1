import { assertNever } from '../data/assert-never.ts'
import type { Image } from '../data/image.ts'
import { base64ToBytes, bytesToBase64 } from '../make/base64.ts'
import { sniffMimeType } from '../make/sniff-mime-type.ts'
import { fetchImage, type Download } from './fetch-image.ts'
import type { ImageLimits } from './image-limits.ts'
import { settleMimeType } from './image-type.ts'
import { checkInlineImage, inlineHead, readFileImage } from './inline-image.ts'
import { readImageFile } from './read-image-file.ts'

/** An image whose bytes are here, in the form in which they came: base64 text, or bytes. */
export interface LoadedImage {
  readonly mimeType: string
  readonly content: string | Uint8Array
}

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
      return { loaded: { mimeType: file.mimeType, content: file.bytes } }
    }
    case 'url': {
      const got = await fetchImage(image.url, limits, download)
      if (got.problem !== undefined) return got
      const declared = image.mimeType ?? got.mimeType
      const type = settleMimeType(declared, sniffMimeType(got.bytes), limits)
      if (type.problem !== undefined) return type
      return { loaded: { mimeType: type.mimeType, content: got.bytes } }
    }
    default:
      return assertNever(image)
  }
}

/** Base64 characters that are decoded at once: three quarters of a mebibyte of bytes. */
const sliceLength = 1024 * 1024

/** The image for a multipart body. Base64 is decoded a slice at a time, so the bytes are never here twice. */
export function imageBlob({ mimeType, content }: LoadedImage): Blob {
  if (typeof content !== 'string') return new Blob([ownBytes(content)], { type: mimeType })
  const slices: Blob[] = []
  for (let at = 0; at < content.length; at += sliceLength) {
    slices.push(new Blob([ownBytes(base64ToBytes(content.slice(at, at + sliceLength)))]))
  }
  return new Blob(slices, { type: mimeType })
}

/** The image for a JSON body. */
export function imageBase64({ content }: LoadedImage): string {
  return typeof content === 'string' ? content : bytesToBase64(content)
}

/** The first bytes of the image, at most `length`. */
export function imageHead({ content }: LoadedImage, length: number): Uint8Array {
  return typeof content === 'string' ? inlineHead(content, length) : content.subarray(0, length)
}

/** The same bytes over a buffer that is not shared, which is what a `Blob` takes. Copies only shared memory. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes
  return buffer instanceof ArrayBuffer
    ? new Uint8Array(buffer, byteOffset, byteLength)
    : new Uint8Array(bytes)
}
