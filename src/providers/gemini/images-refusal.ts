import { ImageAdapterError, type ImageAdapterErrorReason } from '../../errors/errors.ts'
import { imageConfig } from './images-size.ts'
import type { ImageRequest } from '../../types/media.ts'

/** Throws when something in a request can not be asked of Gemini. */
export function assertPossible(
  request: ImageRequest,
  call: { readonly provider: string; readonly requestId: string },
): void {
  const refusal = refusalOf(request)
  if (refusal === undefined) return
  const { reason, message, metadata } = refusal
  throw new ImageAdapterError(reason, message, { ...call, metadata })
}

interface Refusal {
  readonly reason: ImageAdapterErrorReason
  readonly message: string
  readonly metadata: Readonly<Record<string, unknown>>
}

function refusalOf({ operation, size, mask, responseFormat }: ImageRequest): Refusal | undefined {
  if (operation === 'variation') {
    const message = 'gemini makes no variations; use edit with a prompt'
    return { reason: 'unsupported_operation', message, metadata: { operation } }
  }
  if (mask !== undefined) {
    const message = 'gemini has no masks; say in the prompt what is to be changed'
    return { reason: 'unsupported_feature', message, metadata: { feature: 'mask' } }
  }
  if (responseFormat === 'url') {
    const message = 'gemini gives base64 only; leave out responseFormat'
    return { reason: 'invalid_request', message, metadata: { responseFormat } }
  }
  if (imageConfig(size) === undefined) {
    const message =
      'gemini draws in ratios: no ratio of its own is near this size (try "16:9", "1:1", "3:4")'
    return { reason: 'invalid_request', message, metadata: { size } }
  }
  return undefined
}
