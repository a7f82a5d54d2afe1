import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Image, ImageRequest, ImageUsage } from '../../core/types/media.ts'
import type { Usage } from '../../core/types/response.ts'
import { fakeImages, type ImageScriptEntry } from '../fakes/fake-images.ts'
import { checkOpenaiImages } from './check-openai.ts'
import { refusedPlan, type PlanFailure, type WirePlan } from './plan.ts'
import { outcomeOf, type ServedModel } from './served-model.ts'
import { openaiHeaders } from './wire-failure.ts'
import { wireEpoch, type WireAnswer } from './wire-format.ts'
import { renderPlan, type PlanOptions } from './wire.ts'

/** The images of a call. */
interface DrawnImages {
  readonly images: readonly Image[]
  readonly usage?: ImageUsage
}

/** The outcome of one image call: images, or the provider's refusal. */
export type ImageOutcome = { readonly answer: DrawnImages } | { readonly failure: PlanFailure }

/** The images endpoints of OpenAI, and the Gemini models that make images. */
export function servedImages(script: readonly ImageScriptEntry[]): ServedModel {
  const drawer = fakeImages({ script })
  return {
    check: ({ operation = 'generate' }, body) => checkOpenaiImages(operation, body),
    async answer({ provider }, { model, requestId }) {
      const outcome = await outcomeOf(drawer.generate(anyRequest, { requestId }))
      const options = { id: `fake-${requestId}`, model, requestId, created: wireEpoch }
      return renderImages(provider, outcome, options)
    },
  }
}

/** The answer of an image script does not depend on the request. */
const anyRequest: ImageRequest = {
  operation: 'generate',
  n: 1,
  responseFormat: 'base64',
  inputImages: [],
  providerOptions: {},
  metadata: {},
}

/** Renders an image call as the answer of OpenAI's images endpoints, or of a Gemini image model. */
export function renderImages(
  provider: 'openai' | 'gemini',
  outcome: ImageOutcome,
  options: Pick<PlanOptions, 'id' | 'model' | 'requestId' | 'created'>,
): WireAnswer {
  const settled: PlanOptions = { ...options, stream: false, includeUsage: true, framing: 'sse' }
  if (provider === 'openai' && 'answer' in outcome) return openaiImages(outcome.answer, settled)
  const plan: WirePlan =
    'answer' in outcome ? imagePlan(outcome.answer) : refusedPlan(outcome.failure)
  return renderPlan(provider === 'openai' ? 'openai_chat' : 'gemini', plan, settled)
}

function imagePlan({ images, usage }: DrawnImages): WirePlan {
  const { inputTokens, outputTokens, totalTokens } = usage ?? {}
  const counted = defined<Usage>({ inputTokens, outputTokens, totalTokens })
  return defined<WirePlan>({
    blocks: images.map((image) => ({ type: 'image', text: '', image })),
    steps: [],
    usage: Object.keys(counted).length === 0 ? undefined : counted,
    end: { type: 'finished', reason: 'stop' },
  })
}

function openaiImages({ images, usage }: DrawnImages, options: PlanOptions): WireAnswer {
  const body: JsonObject = {
    created: options.created,
    data: images.map(imageItem),
    ...outputFacts(images, usage),
    ...tokens(usage),
  }
  return {
    status: 200,
    headers: { ...openaiHeaders(options.requestId), 'content-type': 'application/json' },
    frames: [{ bytes: new TextEncoder().encode(JSON.stringify(body)) }],
    end: 'normal',
  }
}

function imageItem(image: Image): JsonObject {
  const { revisedPrompt } = image
  const content =
    image.type === 'base64'
      ? { b64_json: image.base64 }
      : { url: image.type === 'url' ? image.url : image.id }
  return revisedPrompt === undefined ? content : { ...content, revised_prompt: revisedPrompt }
}

/** The facts about all images of an answer, taken from the first image. */
function outputFacts(images: readonly Image[], usage: ImageUsage | undefined): JsonObject {
  const { mimeType, width, height } = images[0] ?? {}
  const drawn = width === undefined || height === undefined ? undefined : `${width}x${height}`
  const size = usage?.size ?? drawn
  return {
    ...(mimeType === undefined ? {} : { output_format: mimeType.replace('image/', '') }),
    ...(size === undefined ? {} : { size }),
    ...(usage?.quality === undefined ? {} : { quality: usage.quality }),
  }
}

/** Counters are sent together or not at all. A missing total is the sum. */
function tokens(usage: ImageUsage | undefined): JsonObject {
  const { inputTokens, outputTokens, totalTokens, extra } = usage ?? {}
  if (inputTokens === undefined && outputTokens === undefined && totalTokens === undefined)
    return {}
  const total = totalTokens ?? (inputTokens ?? 0) + (outputTokens ?? 0)
  return {
    usage: {
      input_tokens: inputTokens ?? 0,
      input_tokens_details: { text_tokens: inputTokens ?? 0, image_tokens: 0 },
      output_tokens: outputTokens ?? 0,
      total_tokens: total,
      ...extra,
    },
  }
}
