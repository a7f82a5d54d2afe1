import { base64ToBytes, bytesToBase64 } from '../make/media.ts'
import { inlineHead } from './inline-image.ts'

/** An image whose bytes are here, in the form in which they came: base64 text, or pieces of bytes. */
export interface LoadedImage {
  readonly mimeType: string
  readonly content: string | readonly Uint8Array[]
}

/** Base64 characters that are made or read at once: few enough for what they leave behind to be swept up quickly. */
const sliceLength = 96 * 1024

/** The image for a multipart body. Base64 is decoded a slice at a time, so the bytes are never here twice. */
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

/** The image as base64, a slice at a time: joined they are the whole. */
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
    // Three bytes make four characters; what is left over goes with the next piece.
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

/** The same bytes over a buffer that is not shared, which is what a `Blob` takes. Copies only shared memory. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes
  return buffer instanceof ArrayBuffer
    ? new Uint8Array(buffer, byteOffset, byteLength)
    : new Uint8Array(bytes)
}
