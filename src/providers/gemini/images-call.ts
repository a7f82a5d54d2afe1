import type { ImageAdapter } from '../../adapter/image-adapter.ts'
import { postForJson } from '../../http/post-for-json.ts'
import { imageFailure } from '../../vision/image-failure.ts'
import { identifyCall } from './call-facts.ts'
import { imageBody } from './images-body.ts'
import { assertPossible } from './images-refusal.ts'
import { parseImages } from './images-response.ts'
import type { Settings } from './settings.ts'
import { methodUrl, wireCall } from './wire-call.ts'

/** Makes the calls of an adapter. What can not be asked of Gemini is refused before a key is looked for. */
export function imageCaller(settings: Settings): ImageAdapter['generate'] {
  return async (request, options = {}) => {
    assertPossible(request, { provider: settings.provider, requestId: options.requestId })
    const url = methodUrl(settings, request.model, 'generateContent')
    const identified = identifyCall(settings, options)
    const call = wireCall(url, {}, { ...identified, settings, options })
    try {
      const body = await imageBody(request, call)
      return parseImages(await postForJson({ ...call, body }), request, identified.facts)
    } catch (error) {
      throw imageFailure(error, identified.facts)
    }
  }
}
