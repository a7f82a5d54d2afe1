import type { ImageAdapter } from '../adapter/image-adapter.ts'
import type { ImageOperation, ImageRequest } from '../data/image-request.ts'
import type { JsonObject } from '../data/json.ts'
import { isAllmError } from '../errors/allm-error.ts'
import { failureOf } from '../wire/plan-failure.ts'
import { renderImages, type ImageOutcome } from '../wire/render-images.ts'
import type { WireAnswer } from '../wire/wire-answer.ts'
import { wireEpoch } from '../wire/wire-renderer.ts'
import { missing, openaiWords, params } from './openai-words.ts'
import { paramProblem, type ParamTable, type RequestProblem } from './request-problem.ts'

const shared = [
  ...params([], 'n output_compression partial_images stream'),
  ...params(['string'], 'prompt model quality response_format output_format size'),
  ...params(['string'], 'background user'),
]

const tables: Readonly<Record<ImageOperation, ParamTable>> = {
  generate: Object.fromEntries([...shared, ...params(['string'], 'moderation style')]),
  edit: Object.fromEntries([...shared, ...params([], 'image images mask input_fidelity')]),
  variation: Object.fromEntries([...shared, ...params([], 'image')]),
}

/** What OpenAI's images endpoints refuse: unknown fields, and a prompt or an image that is not there. */
export function checkImages(
  operation: ImageOperation,
  body: JsonObject,
): RequestProblem | undefined {
  const image = body['image'] ?? body['images']
  return (
    paramProblem(body, tables[operation], openaiWords) ??
    (operation !== 'variation' && body['prompt'] === undefined ? missing('prompt') : undefined) ??
    (operation !== 'generate' && image === undefined ? missing('image') : undefined)
  )
}

/** Plays the next image entry as the provider's answer. */
export async function imageAnswer(
  provider: 'openai' | 'gemini',
  drawer: ImageAdapter,
  call: { readonly model: string; readonly requestId: string },
): Promise<WireAnswer> {
  const facts = { ...call, id: `fake-${call.requestId}`, created: wireEpoch }
  return renderImages(provider, await outcomeOf(drawer, call.requestId), facts)
}

/** The script's answer does not depend on the request. */
const anyRequest: ImageRequest = {
  operation: 'generate',
  n: 1,
  responseFormat: 'base64',
  inputImages: [],
  providerOptions: {},
  metadata: {},
}

async function outcomeOf(drawer: ImageAdapter, requestId: string): Promise<ImageOutcome> {
  try {
    const { images, usage } = await drawer.generate(anyRequest, { requestId })
    return { images, usage }
  } catch (error) {
    if (!isAllmError(error)) throw error
    const { reason, message, metadata, ...facts } = error.toJSON()
    if (metadata?.['cause'] === 'no_scripted_image')
      return { failure: { reason: 'no_scripted_response', message } }
    const known = reason === 'unsupported_operation' ? 'invalid_request' : reason
    return { failure: failureOf(known, { ...facts, message }) }
  }
}
