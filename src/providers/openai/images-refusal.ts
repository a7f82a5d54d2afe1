import { ImageAdapterError, type ImageAdapterErrorReason } from '../../errors/errors.ts'
import type { ImageFamily } from './images-family.ts'
import type { ImageRequest } from '../../types/media.ts'

/** Throws when something in a request can not be asked of its model. */
export function assertPossible(
  request: ImageRequest,
  family: ImageFamily,
  call: { readonly provider: string; readonly requestId: string },
): void {
  const refusal = refusalOf(request, family)
  if (refusal === undefined) return
  const { reason, message, metadata } = refusal
  throw new ImageAdapterError(reason, message, { ...call, metadata })
}

interface Refusal {
  readonly reason: ImageAdapterErrorReason
  readonly message: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

function refusalOf(request: ImageRequest, family: ImageFamily): Refusal | undefined {
  const { operation, model = 'the model', responseFormat, inputImages } = request
  if (operation === 'variation') {
    const message = 'variations are no longer offered; use edit with a prompt'
    return { reason: 'unsupported_operation', message, metadata: { operation } }
  }
  if (!family.operations.includes(operation)) {
    const message = `${model} can not ${operation} images`
    return { reason: 'unsupported_operation', message, metadata: { operation, model } }
  }
  if (responseFormat === 'url' && !family.responseFormat) {
    const message = `${model} gives base64 only; leave out responseFormat`
    return { reason: 'invalid_request', message, metadata: { model, responseFormat } }
  }
  if (inputImages.length > family.maxImages) {
    const message = `${model} takes ${family.maxImages} input image(s) at most, not ${inputImages.length}`
    return { reason: 'invalid_request', message, metadata: { model, maxImages: family.maxImages } }
  }
  if (request.providerOptions.openai?.['stream'] === true) {
    const message = 'images are not streamed; leave out stream of providerOptions.openai'
    return { reason: 'unsupported_feature', message }
  }
  return undefined
}
