import { defined } from '../data/defined.ts'
import type { FileImage, ImageMimeType, InlineImage, RemoteImage } from '../data/image.ts'
import { assertValid } from '../validate/assert-valid.ts'
import { base64Problem } from '../validate/base64-problem.ts'
import { within } from '../validate/check.ts'
import { describe } from '../validate/describe.ts'
import { imageMimeType, validateImage } from '../validate/validate-image.ts'
import { bytesToBase64 } from './base64.ts'
import { assertOptions, refusal } from './refusal.ts'
import { sniffMimeType } from './sniff-mime-type.ts'

/** What is known of an image that is not here yet. */
export interface ImageOptions {
  /** The type, such as `image/png`. */
  readonly mimeType?: string | undefined
}

/**
 * An image at an address. Nothing is fetched here; the provider or its adapter does that when the request is sent.
 *
 * Only `http` and `https` are taken; a data URI belongs into `imageFromDataUri`.
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

/** An image of bytes, kept as base64. Without a type it is told by the first bytes: png, jpeg, webp or gif. */
export function imageFromBytes(bytes: Uint8Array | ArrayBuffer, mimeType?: string): InlineImage {
  const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes
  if (!(view instanceof Uint8Array) || view.length === 0) {
    const problem = `must be a Uint8Array that is not empty, not ${describe(bytes)}`
    throw refusal('invalid_image', 'bytes', problem)
  }
  const type = typeOf(view, mimeType)
  return { type: 'base64', base64: bytesToBase64(view), mimeType: type }
}

/** An image whose bytes are base64 already. Line breaks, missing padding and the URL alphabet are refused. */
export function imageFromBase64(base64: string, mimeType?: string): InlineImage {
  if (typeof base64 !== 'string') {
    throw refusal('invalid_image', 'base64', `must be a base64 string, not ${describe(base64)}`)
  }
  const problem = base64Problem(base64)
  if (problem !== undefined) throw refusal('invalid_image', 'base64', problem)
  return { type: 'base64', base64, mimeType: typeOf(base64, mimeType) }
}

/** An image from a `data:image/png;base64,…` address. Parameters of the type are dropped. */
export function imageFromDataUri(uri: string): InlineImage {
  const head = /^data:([^,;]*)((?:;[^,;]*)*),/i.exec(uri)
  if (head === null) {
    throw refusal('invalid_image', 'uri', `must be a data URI, not ${describe(uri)}`)
  }
  const [start, mimeType = '', parameters = ''] = head
  if (!/;base64$/i.test(parameters)) {
    throw refusal('invalid_image', 'uri', 'must hold base64: data:image/png;base64,…')
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
 * An image in a file. It is read when a request with it is sent, and only on Node; nothing is read here.
 *
 * Its type is told by the extension. One that is not known stays open until the bytes are there.
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
    const problem = 'can not be told from the first bytes; give it, such as "image/png"'
    throw refusal('invalid_image', 'mimeType', problem)
  }
  assertValid('invalid_image', within('mimeType', imageMimeType(mimeType)))
  return mimeType
}
