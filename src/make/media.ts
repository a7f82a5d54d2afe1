import { assertOptions, assertValid, describe, refusal, within } from '../schema/checks.ts'
import { base64Problem, imageMimeType, validateImage } from '../schema/validate.ts'
import { defined } from '../types/guards.ts'
import type { FileImage, ImageMimeType, InlineImage, RemoteImage } from '../types/media.ts'

/** What is known about an image before it is loaded. */
interface ImageOptions {
  /** The type, such as `image/png`. */
  readonly mimeType?: string | undefined
}

/**
 * An image at a URL. Nothing is fetched here; the provider or its adapter does that when the request is sent.
 *
 * Only `http` and `https` are accepted. For a data URI use `imageFromDataUri`.
 */
export function imageFromUrl(url: string | URL, options: ImageOptions = {}): RemoteImage {
  const address = String(url)
  if (/^data:/i.test(address)) {
    throw refusal('invalid_image', 'url', 'is a data URI; use imageFromDataUri')
  }
  assertOptions('invalid_image', options, ['mimeType'])
  const { mimeType } = options
  const image = defined<RemoteImage>({ type: 'url', url: address, mimeType })
  assertValid('invalid_image', validateImage(image))
  return image
}

/** An image from bytes, stored as base64. Without `mimeType`, the first bytes decide: png, jpeg, webp or gif. */
export function imageFromBytes(bytes: Uint8Array | ArrayBuffer, mimeType?: string): InlineImage {
  const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes
  if (!(view instanceof Uint8Array) || view.length === 0) {
    const problem = `must be a non-empty Uint8Array, not ${describe(bytes)}`
    throw refusal('invalid_image', 'bytes', problem)
  }
  const type = typeOf(view, mimeType)
  return { type: 'base64', base64: bytesToBase64(view), mimeType: type }
}

/** An image from base64. Line breaks, missing padding and the URL alphabet are refused. */
export function imageFromBase64(base64: string, mimeType?: string): InlineImage {
  if (typeof base64 !== 'string') {
    throw refusal('invalid_image', 'base64', `must be a base64 string, not ${describe(base64)}`)
  }
  const problem = base64Problem(base64)
  if (problem !== undefined) throw refusal('invalid_image', 'base64', problem)
  return { type: 'base64', base64, mimeType: typeOf(base64, mimeType) }
}

/** An image from a `data:image/png;base64,…` URI. Parameters of the type are dropped. */
export function imageFromDataUri(uri: string): InlineImage {
  const head = /^data:([^,;]*)((?:;[^,;]*)*),/i.exec(uri)
  if (head === null) {
    throw refusal('invalid_image', 'uri', `must be a data URI, not ${describe(uri)}`)
  }
  const [start, mimeType = '', parameters = ''] = head
  if (!/;base64$/i.test(parameters)) {
    throw refusal('invalid_image', 'uri', 'must contain base64, as in data:image/png;base64,…')
  }
  return imageFromBase64(uri.slice(start.length), mimeType.toLowerCase() || undefined)
}

const typeByExtension: Readonly<Record<string, ImageMimeType>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
}

/**
 * An image in a file. Nothing is read here; the file is read when a request with it is sent, and only on Node.
 *
 * The extension decides its type. With an unknown extension the type is found when the file is read.
 */
export function imageFromFile(path: string, options: ImageOptions = {}): FileImage {
  assertOptions('invalid_image', options, ['mimeType'])
  const extension = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''
  const mimeType = options.mimeType ?? typeByExtension[extension]
  const image = defined<FileImage>({ type: 'file', path, mimeType })
  assertValid('invalid_image', validateImage(image))
  return image
}

function typeOf(bytes: Uint8Array | string, given: string | undefined): string {
  const mimeType = given ?? sniffMimeType(bytes)
  if (mimeType === undefined) {
    const problem = 'cannot be recognized from the first bytes; pass it, such as "image/png"'
    throw refusal('invalid_image', 'mimeType', problem)
  }
  assertValid('invalid_image', within('mimeType', imageMimeType(mimeType)))
  return mimeType
}

/** The type of an image by its first bytes, passed as bytes or as base64. Returns `undefined` for any other format. */
export function sniffMimeType(image: Uint8Array | string): ImageMimeType | undefined {
  const start = typeof image === 'string' ? decodeStart(image) : latin1(image.subarray(0, 12))
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return 'image/gif'
  return start.startsWith('RIFF') && start.endsWith('WEBP') ? 'image/webp' : undefined
}

/** The first twelve bytes, which are enough for every type: sixteen characters of base64. */
function decodeStart(base64: string): string {
  try {
    return atob(base64.slice(0, 16))
  } catch {
    return ''
  }
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}

export { base64Problem } from '../schema/validate.ts'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

const padding = 61

/** A method that newer runtimes have. */
interface NativeBase64 {
  toBase64?(): string
}

/** Bytes as base64 with padding. Without `toBase64` of the runtime, 20 MB take about 100 ms. */
export function bytesToBase64(bytes: Uint8Array): string {
  const native: Uint8Array & NativeBase64 = bytes
  return native.toBase64?.() ?? encode(bytes)
}

/** Writes two characters for each 12 bits into a buffer that is decoded once: joining strings is several times slower. */
function encode(bytes: Uint8Array): string {
  const pairs = letterPairs()
  const out = new Uint16Array(Math.ceil(bytes.length / 3) * 2)
  let at = 0
  for (let index = 0; index < bytes.length; index += 3) {
    const group =
      ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0)
    out[at++] = pairs[group >> 12] ?? 0
    out[at++] = pairs[group & 4095] ?? 0
  }
  const letters = new Uint8Array(out.buffer)
  letters.fill(padding, letters.length - ((3 - (bytes.length % 3)) % 3))
  return new TextDecoder().decode(letters)
}

/** The two characters for each 12 bits, in the byte order of the machine. */
function letterPairs(): Uint16Array {
  const letters = new Uint8Array(8192)
  for (let value = 0; value < 4096; value++) {
    letters[value * 2] = alphabet.charCodeAt(value >> 6)
    letters[value * 2 + 1] = alphabet.charCodeAt(value & 63)
  }
  return new Uint16Array(letters.buffer)
}

/** The bytes of a base64 text. Throws what `atob` throws; check with `base64Problem` first. (`Uint8Array<ArrayBuffer>` needs TypeScript 5.7.) */
export function base64ToBytes(base64: string): ReturnType<typeof Uint8Array.from> {
  const binary = atob(base64)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}
