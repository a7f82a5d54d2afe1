import { defined } from '../data/defined.ts'
import type { ImageRequest } from '../data/image-request.ts'
import { describe } from '../validate/describe.ts'
import { assertOptions, refusal } from './refusal.ts'

/** What an image request may say beside its prompt. */
export type ImageRequestOptions = {
  readonly [K in Exclude<keyof ImageRequest, 'prompt'>]?: ImageRequest[K] | undefined
}

const legalKeys = [
  'operation',
  'model',
  'n',
  'size',
  'quality',
  'style',
  'background',
  'responseFormat',
  'inputImages',
  'mask',
  'providerOptions',
  'metadata',
] satisfies readonly (keyof ImageRequestOptions)[]

/**
 * One image call's input, as plain data: one new image as base64, unless told otherwise.
 *
 * Input images without an `operation` make it an edit. Unknown keys are refused here; the whole is checked when it is
 * sent, or by `validateImageRequest`. A variation has no prompt: pass `undefined`.
 */
export function imageRequest(
  prompt: string | undefined,
  options: ImageRequestOptions = {},
): ImageRequest {
  assertOptions('invalid_image_request', options, legalKeys)
  if (prompt !== undefined && typeof prompt !== 'string') {
    throw refusal('invalid_image_request', 'prompt', `must be a string, not ${describe(prompt)}`)
  }
  const { inputImages = [], providerOptions = {}, metadata = {}, ...rest } = options
  const { n = 1, responseFormat = 'base64', ...others } = rest
  const { operation = inputImages.length > 0 ? 'edit' : 'generate', ...optional } = others
  return defined<ImageRequest>({
    ...optional,
    operation,
    prompt,
    n,
    responseFormat,
    inputImages,
    providerOptions,
    metadata,
  })
}
