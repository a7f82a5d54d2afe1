import type { HttpCall } from '../../http/call.ts'
import type { AnthropicSettings } from './anthropic-options.ts'
import type { DecodedCall } from './decoder-state.ts'
import { httpCall, type KeyedOptions } from './http-call.ts'
import { renderRequest } from './render-request.ts'
import type { ModelRequest } from '../../types/request.ts'
import type { ImageLimits } from '../../vision/fetch-image.ts'
import { hasImages, resolveImages } from '../../vision/resolve-images.ts'

/** A call that is to be made. */
export interface CallPlan {
  readonly settings: AnthropicSettings
  readonly request: ModelRequest
  readonly options: KeyedOptions
  /** What the answer's decoder has to know; what only the rendering tells is filled in here. */
  readonly answer: DecodedCall
}

/** The API counts an image's base64, of which it takes 10 MiB. */
const maxImageBytes = (10 * 1024 * 1024 * 3) / 4

const mimeTypes: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** Makes the HTTP call of a request: images are checked and read, the request is rendered, the key is found. */
export async function callFor(plan: CallPlan, stream: boolean): Promise<HttpCall> {
  const { settings, options, answer } = plan
  const { provider } = settings
  const limits: ImageLimits = { provider, maxBytes: maxImageBytes, mimeTypes }
  const request = hasImages(plan.request) ? await resolveImages(plan.request, limits) : plan.request
  const { body, answerTool, adjusted } = renderRequest(request, settings)
  answer.answerTool = answerTool
  answer.adjusted = adjusted
  return httpCall(settings, JSON.stringify({ ...body, stream }), options, answer)
}
