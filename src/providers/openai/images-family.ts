import type { ImageOperation } from '../../types/media.ts'
import type { ImageLimits } from '../../vision/fetch-image.ts'

/** The kinds of image models, by what they can do and how their parameters are called. */
export interface ImageFamily {
  readonly operations: readonly ImageOperation[]
  /** The wishes that the family has a parameter for. */
  readonly wishes: readonly ('quality' | 'style' | 'background')[]
  /** The family's own words for a quality; a word that is not here is sent as it is. */
  readonly qualities: Readonly<Record<string, string>>
  /** Whether the form of the answer can be chosen; the others always answer with base64. */
  readonly responseFormat: boolean
  /** The most input images of an edit. */
  readonly maxImages: number
  /** What an input image may be. */
  readonly limits: Omit<ImageLimits, 'provider'>
}

const mebibyte = 1024 * 1024

const gpt: ImageFamily = {
  operations: ['generate', 'edit'],
  wishes: ['quality', 'background'],
  qualities: { standard: 'medium', hd: 'high' },
  responseFormat: false,
  maxImages: 16,
  limits: {
    maxBytes: 50 * mebibyte,
    mimeTypes: ['image/png', 'image/jpeg', 'image/webp'],
  },
}

const dallE2: ImageFamily = {
  operations: ['generate', 'edit'],
  wishes: [],
  qualities: {},
  responseFormat: true,
  maxImages: 1,
  limits: { maxBytes: 4 * mebibyte, mimeTypes: ['image/png'] },
}

const dallE3: ImageFamily = {
  ...dallE2,
  operations: ['generate'],
  wishes: ['quality', 'style'],
  qualities: { low: 'standard', medium: 'standard', high: 'hd' },
}

/** Models of other makers behind the same API: everything that was asked for is sent. */
const other: ImageFamily = {
  operations: ['generate', 'edit'],
  wishes: ['quality', 'style', 'background'],
  qualities: {},
  responseFormat: true,
  maxImages: 16,
  limits: {
    maxBytes: 50 * mebibyte,
    mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/gif'],
  },
}

/** The family that a model belongs to by its name. */
export function imageFamily(model: string | undefined): ImageFamily {
  if (model === undefined) return other
  if (/^(?:chat)?gpt-image(?:-|$)/.test(model)) return gpt
  if (model === 'dall-e-2') return dallE2
  return model === 'dall-e-3' ? dallE3 : other
}
