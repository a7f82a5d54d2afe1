import type { JsonObject } from './json.ts'

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
