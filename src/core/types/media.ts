import type { JsonObject } from './json.ts'
import type { ProviderOptions } from './provider-options.ts'
import type { Warning } from './warning.ts'

/** The image types that are recognized by their first bytes. Gemini does not accept GIF; the other providers accept all four. */
export type ImageMimeType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'

interface ImageFacts {
  readonly width?: number
  readonly height?: number
  /** The prompt as the provider rewrote it before drawing. */
  readonly revisedPrompt?: string
  readonly metadata?: JsonObject
}

/** Bytes, as base64. */
interface InlineData {
  readonly type: 'base64'
  readonly base64: string
  readonly mimeType: string
  readonly name?: string
}

/** Something at an address. The library passes the address on to the provider. */
interface RemoteData {
  readonly type: 'url'
  readonly url: string
  readonly mimeType?: string
  readonly name?: string
}

/** Something that was uploaded to a provider before, by the provider's id for it. */
interface StoredData {
  readonly type: 'id'
  readonly id: string
  /** The provider that knows the id. No other provider is sent it. */
  readonly provider: string
  readonly mimeType?: string
}

/** An image that holds its bytes, as base64. */
export interface InlineImage extends InlineData, ImageFacts {}

/** An image that the provider fetches. An image adapter fetches it only with its option `fetchImages`. */
export interface RemoteImage extends RemoteData, ImageFacts {}

/** An image that was uploaded to a provider before. */
export interface StoredImage extends StoredData, ImageFacts {}

/** An image as plain data: its bytes, a URL, or a provider's id. It never names a local path. */
export type Image = InlineImage | RemoteImage | StoredImage

/** A file that holds its bytes, as base64: a PDF, a recording, a film, a text, by its `mimeType`. */
export interface InlineFile extends InlineData {}

/** A file that the provider fetches. */
export interface RemoteFile extends RemoteData {}

/** A file that was uploaded to a provider before. */
export interface StoredFile extends StoredData {}

/** A file as plain data: its bytes, a URL, or a provider's id. It never names a local path. */
export type MediaFile = InlineFile | RemoteFile | StoredFile

/** Every image operation. */
export const imageOperations = ['generate', 'edit', 'variation'] as const

/** What to make: a new image, an edited one, or variations of one. */
export type ImageOperation = (typeof imageOperations)[number]

/** A size as the provider names it, or in pixels. */
export type ImageSize = 'auto' | (string & {}) | { readonly width: number; readonly height: number }

/** One image call's input, as plain data. `imageRequest(prompt)` fills the defaults. */
export interface ImageRequest {
  readonly operation: ImageOperation
  readonly model?: string
  readonly prompt?: string
  /** The number of images; 1 by default. */
  readonly n: number
  readonly size?: ImageSize
  readonly quality?: 'low' | 'medium' | 'standard' | 'high' | 'hd' | 'auto' | (string & {})
  readonly style?: 'natural' | 'vivid' | (string & {})
  readonly background?: 'transparent' | 'opaque' | 'auto'
  /** How the images are returned: as bytes, or as a URL to fetch them from. */
  readonly responseFormat: 'base64' | 'url'
  /** The images to edit or to vary. */
  readonly inputImages: readonly Image[]
  /** Where an edit may change the image. OpenAI only. */
  readonly mask?: Image
  readonly providerOptions: ProviderOptions
  /** Yours. Never sent to a provider. */
  readonly metadata: JsonObject
}

/** What an image call consumed. An absent field was not reported. */
export interface ImageUsage {
  readonly images: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly totalTokens?: number
  readonly size?: string
  readonly quality?: string
  readonly extra?: JsonObject
}

/** One image call's output. */
export interface ImageResponse {
  readonly requestId: string
  readonly id?: string
  readonly model?: string
  readonly provider: string
  readonly images: readonly Image[]
  readonly usage: ImageUsage
  /** The settings of the request that the provider or the model could not take. Empty when all were sent. */
  readonly warnings: readonly Warning[]
  readonly metadata: JsonObject
}
