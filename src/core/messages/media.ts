import { base64ToBytes, bytesToBase64 } from '../base/base64.ts'
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
