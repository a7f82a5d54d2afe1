import {
  assertOptions,
  assertValid,
  describe,
  refusal,
  someText,
  text,
  within,
} from '../schema/checks.ts'
import { base64Problem, imageMimeType, validateFile, validateImage } from '../schema/validate.ts'
import { defined } from '../types/guards.ts'
import type {
  Image,
  InlineFile,
  InlineImage,
  MediaFile,
  RemoteFile,
  RemoteImage,
  StoredFile,
  StoredImage,
} from '../types/media.ts'
import { readIssues, readLocalFile, type ReadOptions } from './read-file.ts'
import { mimeTypeOf, sniffMimeType, typeProblem } from './sniff.ts'

/** What is known about an image that is not here. */
interface ImageOptions {
  /** The type, such as `image/png`. */
  readonly mimeType?: string | undefined
}

/**
 * An image at a URL. Nothing is fetched here: the URL is sent to the provider, which fetches it.
 *
 * Only `http` and `https` are accepted. For a data URI use `imageFromDataUri`.
 */
export function imageFromUrl(url: string | URL, options: ImageOptions = {}): RemoteImage {
  const address = String(url)
  if (/^data:/i.test(address)) {
    throw refusal('invalid_image', 'url', 'is a data URI; use imageFromDataUri')
  }
  assertOptions('invalid_image', options, ['mimeType'])
  const mimeType = plainType(options.mimeType)
  const image = defined<RemoteImage>({ type: 'url', url: address, mimeType })
  assertValid('invalid_image', validateImage(image))
  return image
}

/**
 * An image from bytes, stored as base64. Without `mimeType`, the first bytes decide: png, jpeg, webp or gif. A `mimeType`
 * that the bytes contradict is refused.
 */
export function imageFromBytes(bytes: Uint8Array | ArrayBuffer, mimeType?: string): InlineImage {
  const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes
  if (!(view instanceof Uint8Array) || view.length === 0) {
    const problem = `must be a non-empty Uint8Array, not ${view instanceof Uint8Array ? 'an empty one' : describe(bytes)}`
    throw refusal('invalid_image', 'bytes', problem)
  }
  const type = typeOf(view, mimeType)
  return { type: 'base64', base64: bytesToBase64(view), mimeType: type }
}

/** An image from base64. Line breaks, missing padding, the URL alphabet and a `mimeType` that the bytes contradict are refused. */
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
  return imageFromBase64(uri.slice(start.length), mimeType || undefined)
}

/**
 * An image from a file, which is read at once: the value holds the bytes and does not name the path. Node only.
 *
 * Only a regular file is read, of at most `maxBytes` (20 MiB) and within `timeoutMs` (30,000).
 */
export async function imageFromFile(
  path: string,
  options: ImageFileOptions = {},
): Promise<InlineImage> {
  assertValid('invalid_image', readIssues(options, { mimeType: text }))
  const { mimeType, maxBytes = 20 * mebibyte } = options
  const read = await readLocalFile(path, { ...options, maxBytes })
  if (read.problem !== undefined) throw refusal('invalid_image', 'path', read.problem)
  return imageFromBytes(read.bytes, mimeType)
}

const mebibyte = 1_048_576

/** How an image is read from a file. */
interface ImageFileOptions extends ImageOptions, ReadOptions {}

/** An image that was uploaded to a provider before, by the provider's id for it. Only that provider is sent it. */
export function imageFromId(id: string, provider: string, options: ImageOptions = {}): StoredImage {
  assertOptions('invalid_image', options, ['mimeType'])
  const mimeType = plainType(options.mimeType)
  const image = defined<StoredImage>({ type: 'id', id, provider, mimeType })
  assertValid('invalid_image', validateImage(image))
  return image
}

/** What a file may be called. */
interface FileOptions {
  /** The name that the model sees, such as `report.pdf`. */
  readonly name?: string | undefined
}

/** A file from bytes, stored as base64. A `mimeType` that the bytes contradict is refused; its parameters are dropped. */
export function fileFromBytes(
  bytes: Uint8Array | ArrayBuffer,
  mimeType: string,
  options: FileOptions = {},
): InlineFile {
  const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes
  if (!(view instanceof Uint8Array) || view.length === 0) {
    const problem = `must be a non-empty Uint8Array, not ${view instanceof Uint8Array ? 'an empty one' : describe(bytes)}`
    throw refusal('invalid_file', 'bytes', problem)
  }
  return fileFromBase64(bytesToBase64(view), mimeType, options)
}

/** A file from base64. Line breaks, missing padding, the URL alphabet and a `mimeType` that the bytes contradict are refused. */
export function fileFromBase64(
  base64: string,
  mimeType: string,
  options: FileOptions = {},
): InlineFile {
  const plain = plainType(mimeType)
  const file = checkedFile<InlineFile>({ type: 'base64', base64, mimeType: plain }, options)
  const problem = typeProblem(file.mimeType, base64)
  if (problem !== undefined) throw refusal('invalid_file', 'mimeType', problem)
  return file
}

/** A file at a URL. Nothing is fetched here: the URL is sent to the provider, which fetches it. */
export function fileFromUrl(
  url: string | URL,
  mimeType?: string,
  options: FileOptions = {},
): RemoteFile {
  const plain = plainType(mimeType)
  return checkedFile<RemoteFile>({ type: 'url', url: String(url), mimeType: plain }, options)
}

/** A file that was uploaded to a provider before, by the provider's id for it. Only that provider is sent it. */
export function fileFromId(
  id: string,
  provider: string,
  options: { readonly mimeType?: string | undefined } = {},
): StoredFile {
  assertOptions('invalid_file', options, ['mimeType'])
  const mimeType = plainType(options.mimeType)
  const file = defined<StoredFile>({ type: 'id', id, provider, mimeType })
  assertValid('invalid_file', validateFile(file))
  return file
}

/** How a file is read. */
interface PathOptions extends FileOptions, ReadOptions {
  /** The type, such as `application/pdf`. By default the ending of the name decides. */
  readonly mimeType?: string | undefined
}

/**
 * A file from a path, which is read at once: the value holds the bytes, and of the path only the name. Node only.
 *
 * Only a regular file is read, of at most `maxBytes` (50 MiB) and within `timeoutMs` (30,000).
 */
export async function fileFromPath(path: string, options: PathOptions = {}): Promise<InlineFile> {
  assertValid('invalid_file', readIssues(options, { mimeType: text, name: someText }))
  const { maxBytes = 50 * mebibyte } = options
  const read = await readLocalFile(path, { ...options, maxBytes })
  if (read.problem !== undefined) throw refusal('invalid_file', 'path', read.problem)
  const mimeType = options.mimeType ?? mimeTypeOf(path)
  if (mimeType === undefined) {
    const problem = 'is not known by the ending of the name; pass it, such as "application/pdf"'
    throw refusal('invalid_file', 'mimeType', problem)
  }
  const name = options.name ?? path.split(/[\\/]/).pop()
  return fileFromBytes(read.bytes, mimeType, { name })
}

/** A type without its parameters, in lower case: browsers name a recording `audio/webm;codecs=opus`. The checks see anything else as it is. */
function plainType<T extends string | undefined>(given: T): T | string {
  return typeof given === 'string' ? given.replace(/;.*/s, '').trim().toLowerCase() : given
}

type Loose<T> = { readonly [K in keyof T]: T[K] | undefined }

function checkedFile<T extends InlineFile | RemoteFile>(
  fields: Loose<Omit<T, 'name'>>,
  options: FileOptions,
): T {
  assertOptions('invalid_file', options, ['name'])
  // Every member of T but the name is in the fields.
  const file = defined<T>({ ...fields, name: options.name } as Loose<T>)
  assertValid('invalid_file', validateFile(file))
  return file
}

/** A file without what else a response that is a file has: `speak` returns one. Anything else is returned as it is. */
export function plainFile(file: MediaFile): MediaFile {
  if (file?.type !== 'base64' || !('requestId' in file)) return file
  const { type, base64, mimeType, name } = file
  return defined<InlineFile>({ type, base64, mimeType, name })
}

/** The bytes of an image or file that holds them. */
export function imageToBytes(image: Image | MediaFile): ReturnType<typeof Uint8Array.from> {
  return base64ToBytes(inline(image).base64)
}

/** An image or file that holds its bytes as a `data:` URI. */
export function imageToDataUri(image: Image | MediaFile): string {
  const { mimeType, base64 } = inline(image)
  return `data:${mimeType};base64,${base64}`
}

function inline(image: Image | MediaFile): InlineImage | InlineFile {
  if (image.type === 'base64') return image
  throw refusal('invalid_image', 'type', `must be base64, not ${describe(image.type)}`)
}

/** The type of an image: the given one if the bytes confirm it, else the one that its first bytes show. */
function typeOf(content: Uint8Array | string, given: string | undefined): string {
  const mimeType = plainType(given) ?? sniffMimeType(content)
  if (mimeType === undefined) {
    const problem = 'cannot be recognized from the first bytes; pass it, such as "image/png"'
    throw refusal('invalid_image', 'mimeType', problem)
  }
  assertValid('invalid_image', within('mimeType', imageMimeType(mimeType)))
  const problem = typeProblem(mimeType, content)
  if (problem !== undefined) throw refusal('invalid_image', 'mimeType', problem)
  return mimeType
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

/** The number of bytes that a base64 text encodes. */
export function decodedSize(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.floor((base64.length * 3) / 4) - padding
}

/** Pieces of bytes as one. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((size, { byteLength }) => size + byteLength, 0))
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.byteLength
  }
  return bytes
}
