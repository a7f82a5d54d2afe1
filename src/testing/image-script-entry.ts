import type { ImageAdapterError } from '../errors/errors.ts'
import type { ErrorData } from '../types/error-data.ts'
import type { Image, ImageResponse, ImageUsage } from '../types/media.ts'

/** What a scripted image answer may say beside its images. */
export type ScriptedImageFacts = Partial<
  Pick<ImageResponse, 'requestId' | 'id' | 'model' | 'metadata'>
> & { readonly usage?: Partial<ImageUsage> }

/** One entry of an image script. */
export type ImageScriptEntry =
  | readonly ['ok', readonly Image[]]
  | readonly ['ok', readonly Image[], ScriptedImageFacts]
  /** The error that the call rejects with, or its JSON. */
  | readonly ['error', ImageAdapterError | ErrorData]
  /** The first n−1 calls fail with `rate_limited`; the n-th goes on to the next entry. */
  | readonly ['retry_until_call', number]
