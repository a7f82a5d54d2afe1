import type { JsonObject, ProviderOptions } from './json.ts'

/** The image types that are told apart by their first bytes. Gemini does not take GIFs; the others take all four. */
export type ImageMimeType = 'image/png' | 'image/jpeg' | 'image/webp' | 'image/gif'

interface ImageFacts {
  readonly width?: number
  readonly height?: number
  /** The prompt as the provider rewrote it before drawing. */
  readonly revisedPrompt?: string
  readonly metadata?: JsonObject
}

/** An image whose bytes are here, as base64. */
export interface InlineImage extends ImageFacts {
  readonly type: 'base64'
  readonly base64: string
  readonly mimeType: string
}

/** An image that the provider (or an adapter) has to fetch. */
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

/** What to do: a new image, a changed one, or others like one. */
export type ImageOperation = 'generate' | 'edit' | 'variation'

/** Every image operation. */
export const imageOperations: readonly ImageOperation[] = ['generate', 'edit', 'variation']

/** A size in the provider's words, or in pixels. */
export type ImageSize = 'auto' | (string & {}) | { readonly width: number; readonly height: number }

/** One image call's input, as plain data. `imageRequest(prompt)` fills the defaults. */
export interface ImageRequest {
  readonly operation: ImageOperation
  readonly model?: string
  readonly prompt?: string
  /** How many images; 1 unless told. */
  readonly n: number
  readonly size?: ImageSize
  readonly quality?: 'low' | 'medium' | 'standard' | 'high' | 'hd' | 'auto' | (string & {})
  readonly style?: 'natural' | 'vivid' | (string & {})
  readonly background?: 'transparent' | 'opaque' | 'auto'
  /** How the images come back: their bytes, or an address to fetch them from. */
  readonly responseFormat: 'base64' | 'url'
  readonly inputImages: readonly Image[]
  readonly mask?: Image
  readonly providerOptions: ProviderOptions
  readonly metadata: JsonObject
}

/** What an image call consumed. Absent means not reported. */
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
