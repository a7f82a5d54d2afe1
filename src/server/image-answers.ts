import type { ImageAdapter } from '../contracts/adapter.ts'
import { isAllmError } from '../errors/errors.ts'
import type { ImageRequest } from '../types/media.ts'
import { failureOf } from '../wire/plan-failure.ts'
import { renderImages, type ImageOutcome } from '../wire/render-images.ts'
import type { WireAnswer } from '../wire/wire-answer.ts'
import { wireEpoch } from '../wire/wire-renderer.ts'

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
