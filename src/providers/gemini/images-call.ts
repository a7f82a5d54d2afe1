import type { ImageAdapter } from '../../contracts/adapter.ts'
import { randomId } from '../../core/ids.ts'
import { postForJson } from '../../http/post.ts'
import { imageBody } from './images-body.ts'
import { imageHttpCall } from './images-http.ts'
import { inputImages } from './images-inputs.ts'
import { assertPossible } from './images-refusal.ts'
import { parseImages } from './images-response.ts'
import type { Settings } from './settings.ts'
import { imageFailure } from '../../vision/resolve-images.ts'

/** Makes the calls of an adapter. What can not be asked of Gemini is refused before a key is looked for. */
export function imageCaller(settings: Settings): ImageAdapter['generate'] {
  return async (request, options = {}) => {
    const { provider } = settings
    const requestId = options.requestId ?? (options.newId ?? randomId)('request')
    assertPossible(request, { provider, requestId })
    const call = imageHttpCall(settings, request.model, { ...options, requestId })
    try {
      const images = await inputImages(request, call)
      const body = imageBody(request, images, provider)
      return parseImages(await postForJson({ ...call, body }), request, call)
    } catch (error) {
      throw imageFailure(error, call)
    }
  }
}
