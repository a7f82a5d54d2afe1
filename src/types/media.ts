import type { JsonObject, ProviderOptions } from './json.ts'

/** The image types that are recognized by their first bytes. Gemini does not accept GIF; the other providers accept all four. */
export type ImageMimeType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'

interface ImageFacts {
  readonly width?: number
  readonly height?: number
  /** The prompt as the provider rewrote it before drawing. */
  readonly revisedPrompt?: string
  readonly metadata?: JsonObject
}

/** An image that holds its bytes, as base64. */
export interface InlineImage extends ImageFacts {
  readonly type: 'base64'
  readonly base64: string
  readonly mimeType: string
}

/** An image that the provider or its adapter fetches. */
export interface RemoteImage extends ImageFacts {
  readonly type: 'url'
  readonly url: string
  readonly mimeType?: string
}

/** An image in a file. It is read when a request is sent, never before, and only on Node. */
export interface FileImage extends ImageFacts {
  readonly type: 'file'
  readonly path: string
  readonly mimeType?: string
}

/** An image as plain data: inline bytes, a URL, or a path. */
export type Image = InlineImage | RemoteImage | FileImage

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
  readonly inputImages: readonly Image[]
  readonly mask?: Image
  readonly providerOptions: ProviderOptions
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
  readonly metadata: JsonObject
}
