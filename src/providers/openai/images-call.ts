import type { ImageAdapter } from '../../contracts/adapter.ts'
import { randomId } from '../../core/ids.ts'
import { postForJson } from '../../http/post.ts'
import { imageBody } from './images-body.ts'
import { imageFamily } from './images-family.ts'
import { imageHttpCall } from './images-http.ts'
import { assertPossible } from './images-refusal.ts'
import { parseImages } from './images-response.ts'
import type { OpenAiSettings } from './openai-options.ts'
import { imageFailure } from '../../vision/resolve-images.ts'

/** Makes the calls of an adapter. What can not be asked of the model is refused before a key is looked at. */
export function imageCaller(settings: OpenAiSettings): ImageAdapter['generate'] {
  return async (request, options = {}) => {
    const { provider } = settings
    const requestId = options.requestId ?? (options.newId ?? randomId)('request')
    const family = imageFamily(request.model)
    assertPossible(request, family, { provider, requestId })
    const call = imageHttpCall(settings, request.operation, { ...options, requestId })
    try {
      const { body, dropped } = await imageBody(request, family, call)
      return parseImages(await postForJson({ ...call, body }), { request, call, dropped })
    } catch (error) {
      throw imageFailure(error, call)
    }
  }
}
