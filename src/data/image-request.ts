import type { Image } from './image.ts'
import type { JsonObject } from './json.ts'
import type { ProviderOptions } from './model-request.ts'

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
