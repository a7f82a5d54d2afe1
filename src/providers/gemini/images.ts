import type { ImageAdapter } from '../../core/contracts/adapter.ts'
import {
  AdapterError,
  ImageAdapterError,
  type ImageAdapterErrorReason,
} from '../../core/errors/errors.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import { assertValid, within } from '../../core/schema/checks.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type {
  ImageRequest,
  ImageResponse,
  ImageSize,
  ImageUsage,
  InlineImage,
} from '../../core/types/media.ts'
import type { Warning } from '../../core/types/warning.ts'
import { guardCall } from '../http/call.ts'
import { transportFailure } from '../http/failure.ts'
import type { JsonAnswer } from '../http/post.ts'
import type { UnsentCall } from '../shared/call.ts'
import {
  modelCaller,
  responseFields,
  type AnswerContext,
  type CallOrigin,
  modelFacts,
} from '../shared/model-caller.ts'
import { fetchImagesIssues, type FetchImages } from '../vision/fetch-image.ts'
import { base64Slices, imageBase64, loadInputs, type LoadedImage } from '../vision/load-images.ts'
import { madeImage } from '../vision/made-image.ts'
import { imageFailure } from '../vision/resolve-images.ts'
import { finishReasonOf, parseUsage, type WireAnswer, type WirePart } from './decode.ts'
import { blockedPrompt, parseFailure, reportedError } from './failure.ts'
import { imageLimits, keyHeader, settle, wholePath, type GeminiOptions } from './gemini.ts'

/**
 * An adapter for the Gemini models that make images: `generate`, and `edit` with the images inline in the prompt.
 *
 * `variation` and masks are refused before anything is sent. The image of an edit that is given by URL is fetched here only
 * with the option `fetchImages`. Gemini takes aspect ratios, so a size in pixels becomes the nearest one; `quality`, `style` and
 * `background` are not sent, and are listed in `warnings` of the response.
 */
export function geminiImages(options: GeminiImagesOptions = {}): ImageAdapter {
  const { fetchImages, ...connecting } = options
  assertValid('invalid_options', within('fetchImages', fetchImagesIssues(fetchImages)))
  const connection = settle(connecting)
  const { provider } = connection
  return {
    ...modelFacts(connection),
    supportedOperations: () => ['generate', 'edit'],
    generate: modelCaller({
      connection,
      keyHeader,
      parseFailure,
      refuse: assertSupported,
      path: (request) => [wholePath(provider, request.model)],
      body: async (request, call) =>
        imageBody(request, await inputImages(request, call, fetchImages), provider),
      read: parseImages,
      failure: imageFailure,
    }),
  }
}

/** How to reach Gemini's image models, and which images the adapter may fetch. */
export interface GeminiImagesOptions extends GeminiOptions {
  /**
   * Whether the images of an edit that are given by URL are fetched by this process, because they are sent as bytes. `true`
   * allows every public host, a function decides for each URL. Without it such an image is refused.
   */
  readonly fetchImages?: FetchImages | undefined
}

/** Throws if Gemini does not support something in a request. */
function assertSupported(request: ImageRequest, call: CallOrigin): void {
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
    const message = 'gemini does not support variation: use edit with a prompt'
    return { reason: 'unsupported_operation', message, metadata: { operation } }
  }
  if (mask !== undefined) {
    const message = 'gemini does not support mask: describe in the prompt what has to change'
    return { reason: 'unsupported_feature', message, metadata: { feature: 'mask' } }
  }
  if (responseFormat === 'url') {
    const message = 'gemini does not support responseFormat "url": leave it out to get base64'
    return { reason: 'invalid_request', message, metadata: { responseFormat } }
  }
  if (imageConfig(size) === undefined) {
    const message = `gemini does not support size ${JSON.stringify(size)}: pass an aspect ratio, such as "16:9", "1:1" or "3:4"`
    return { reason: 'invalid_request', message, metadata: { size } }
  }
  return undefined
}

/** The images of an edit, loaded and checked. The timeout of the call applies to fetching them too. */
async function inputImages(
  request: ImageRequest,
  call: UnsentCall,
  fetchImages: FetchImages | undefined,
): Promise<readonly LoadedImage[]> {
  if (request.operation !== 'edit') return []
  const { provider, fetch, requestId } = call
  const guard = guardCall(call)
  const { signal } = guard
  try {
    const from = { limits: { provider, ...imageLimits }, fetch, fetchImages, requestId, signal }
    return (await loadInputs(request, from)).images
  } catch (error) {
    throw transportFailure(error, call, guard.signal)
  } finally {
    guard.close()
  }
}

/** The body of a request: the prompt, then the images of an edit inline, in their order. Provider options are merged last. */
function imageBody(
  request: ImageRequest,
  images: readonly LoadedImage[],
  provider: string,
): string | Blob {
  const { prompt = '', n, size, providerOptions } = request
  const image = imageConfig(size) ?? {}
  const generationConfig: JsonObject = {
    responseModalities: ['TEXT', 'IMAGE'],
    ...(n > 1 ? { candidateCount: n } : {}),
    ...(Object.keys(image).length === 0 ? {} : { imageConfig: image }),
  }
  return jsonWithImages(images, (base64) => {
    const inline = base64.map((data, index) => ({
      inlineData: { mimeType: images[index]?.mimeType ?? '', data },
    }))
    const contents: JsonValue = [{ role: 'user', parts: [{ text: prompt }, ...inline] }]
    const own = optionsFor('gemini', provider, providerOptions)
    return mergeOptions({ contents, generationConfig }, own)
  })
}

/** A body with more characters or bytes of images than this is made slice by slice. */
const largeBody = 4 * 1024 * 1024

/**
 * A JSON body with images in it. `render` gets the base64 of each image.
 *
 * A small body is text. A large one is a blob that is filled slice by slice, because as text it would be in memory three
 * times before it is sent.
 */
function jsonWithImages(
  images: readonly LoadedImage[],
  render: (base64: readonly string[]) => JsonObject,
): string | Blob {
  const size = images.reduce((sum, image) => sum + sizeOf(image), 0)
  if (size < largeBody) return JSON.stringify(render(images.map(imageBase64)))
  // Base64 needs no escapes, so it can replace a mark that occurs nowhere else.
  const marks = images.map(() => crypto.randomUUID())
  let text = JSON.stringify(render(marks))
  const pieces: Blob[] = []
  for (const [index, mark] of marks.entries()) {
    const [before = '', after] = text.split(mark, 2)
    const image = images[index]
    if (after === undefined || image === undefined) continue
    pieces.push(new Blob([before]))
    for (const slice of base64Slices(image)) pieces.push(new Blob([slice]))
    text = after
  }
  return new Blob([...pieces, text])
}

function sizeOf({ content }: LoadedImage): number {
  if (typeof content === 'string') return content.length
  return content.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** The aspect ratios that Gemini supports. */
const ratios = [
  '1:1',
  '2:3',
  '3:2',
  '3:4',
  '4:3',
  '4:5',
  '5:4',
  '9:16',
  '16:9',
  '21:9',
  '1:4',
  '4:1',
  '1:8',
  '8:1',
] as const

/** How far the nearest ratio may be from the requested one. */
const tolerance = 0.05

/**
 * A size as Gemini takes it: an aspect ratio or a resolution, not pixels.
 *
 * `16:9` is a ratio and `2K` a resolution; `1536x1024` and `{width, height}` become the nearest ratio. `auto` leaves the
 * choice to the model. Returns `undefined` if no ratio is near.
 */
function imageConfig(size: ImageSize | undefined): JsonObject | undefined {
  if (size === undefined || size === 'auto') return {}
  if (typeof size !== 'string') return nearestRatio(size.width / size.height)
  if (/^\d+(?:\.\d+)?K$|^512(?:px)?$/i.test(size)) return { imageSize: size.toUpperCase() }
  if (/^\d+:\d+$/.test(size)) return { aspectRatio: size }
  const [, width, height] = /^(\d+)\s*[x×]\s*(\d+)$/i.exec(size) ?? []
  return nearestRatio(Number(width) / Number(height))
}

function nearestRatio(wanted: number): JsonObject | undefined {
  let best: string | undefined
  let least = tolerance
  for (const ratio of ratios) {
    const [width, height] = ratio.split(':').map(Number)
    const distance = Math.abs(wanted / ((width ?? 1) / (height ?? 1)) - 1)
    if (distance <= least) [best, least] = [ratio, distance]
  }
  return best === undefined ? undefined : { aspectRatio: best }
}

/** Reads a response: the images of all candidates in their order, without the drafts that belong to a thought. */
function parseImages({ value }: JsonAnswer, context: AnswerContext<ImageRequest>): ImageResponse {
  const { request, call } = context
  // Parsed from JSON; every member is checked where it is read.
  const answer = (value ?? {}) as WireAnswer
  const parts = list(answer.candidates).flatMap(({ content }) => list(content?.parts))
  const shown = parts.filter(({ thought }) => thought !== true)
  const images = shown.flatMap(imageOf)
  const outputText = shown.map(({ text }) => (typeof text === 'string' ? text : '')).join('')
  if (images.length === 0) throw noImage(answer, outputText, call)
  const { responseId: id, modelVersion: model } = answer
  const metadata = outputText === '' ? {} : { outputText }
  return {
    ...responseFields(context, { id, model, metadata }),
    images,
    usage: usageOf(answer, images.length),
    warnings: warningsOf(request),
  }
}

/** The settings that were left out, because Gemini has no parameter for them. */
function warningsOf(request: ImageRequest): readonly Warning[] {
  return (['quality', 'style', 'background'] as const)
    .filter((name) => request[name] !== undefined && request[name] !== 'auto')
    .map((setting) => ({ setting, problem: 'Gemini has no parameter for it' }))
}

function imageOf({ inlineData }: WirePart): readonly InlineImage[] {
  const { data, mimeType } = inlineData ?? {}
  const image = typeof data === 'string' ? madeImage(data, { mimeType }) : undefined
  return image === undefined ? [] : [image]
}

function usageOf({ usageMetadata }: WireAnswer, images: number): ImageUsage {
  const { inputTokens, outputTokens, totalTokens, extra } = parseUsage(usageMetadata ?? {})
  return defined<ImageUsage>({ images, inputTokens, outputTokens, totalTokens, extra })
}

function list<T>(value: readonly T[] | undefined): readonly T[] {
  return isList(value) ? value : []
}

function isList<T>(value: readonly T[] | undefined): value is readonly T[] {
  return Array.isArray(value)
}

/**
 * The error of a response without an image: Gemini's own error, a blocked prompt or image (`content_filter`), or a model that
 * wrote text instead (`malformed_response`, with the text).
 */
function noImage(answer: WireAnswer, outputText: string, call: UnsentCall): AdapterError {
  const { provider, requestId } = call
  if (answer.error) return reportedError(answer.error, call)
  if (answer.promptFeedback?.['blockReason']) return blockedPrompt(answer, call)
  const { finishReason, finishMessage } = answer.candidates?.[0] ?? {}
  const reason = finishReason ?? 'no finish reason'
  const detail = typeof finishMessage === 'string' ? finishMessage : outputText.slice(0, 200)
  const message = `${provider} made no image (${reason})${detail === '' ? '' : `: ${detail}`}`
  const filtered = finishReasonOf(reason, false) === 'content_filter'
  return new AdapterError(filtered ? 'content_filter' : 'malformed_response', message, {
    provider,
    requestId,
    metadata: finishReason === undefined ? {} : { finishReason },
  })
}
