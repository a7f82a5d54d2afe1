import type { AdapterOptions, ImageAdapter } from '../../contracts/adapter.ts'
import { randomId } from '../../core/ids.ts'
import {
  AdapterError,
  ImageAdapterError,
  type ImageAdapterErrorReason,
} from '../../errors/errors.ts'
import { guardCall, type HttpCall } from '../../http/call.ts'
import { transportFailure } from '../../http/failure.ts'
import { postForJson, type JsonAnswer } from '../../http/post.ts'
import { secretFilter } from '../../http/secrets.ts'
import { blockedPrompt, parseFailure, reportedError, type CallFacts } from './failure.ts'
import { callKey, methodUrl, settle, type GeminiOptions, type Settings } from './gemini.ts'
import { finishReasonOf, parseUsage } from './usage.ts'
import { isJsonObject, type WireAnswer, type WirePart } from './wire.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type {
  ImageRequest,
  ImageResponse,
  ImageSize,
  ImageUsage,
  InlineImage,
} from '../../types/media.ts'
import type { ImageLimits } from '../../vision/fetch-image.ts'
import {
  base64Slices,
  imageBase64,
  loadInputs,
  type LoadedImage,
} from '../../vision/load-images.ts'
import { madeImage } from '../../vision/made-image.ts'
import { imageFailure } from '../../vision/resolve-images.ts'

/**
 * An adapter for the Gemini models that draw: `generate`, and `edit` with the images inline in the prompt.
 *
 * `variation` and masks are refused before anything is sent. An edit's image that is given by address is fetched here,
 * from public hosts only. Gemini draws in ratios, so a size in pixels becomes the nearest one; `quality`, `style` and
 * `background` are not sent and named in the answer's `metadata.droppedParameters`.
 */
export function geminiImages(options: GeminiOptions = {}): ImageAdapter {
  const settings = settle(options)
  const { provider, key } = settings
  return {
    provider,
    needsModel: true,
    key,
    supportedOperations: () => ['generate', 'edit'],
    generate: imageCaller(settings),
  }
}

/** Makes the calls of an adapter. What can not be asked of Gemini is refused before a key is looked for. */
function imageCaller(settings: Settings): ImageAdapter['generate'] {
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

/** A call without its body. */
type ImageHttpCall = Omit<HttpCall, 'body'> & { readonly requestId: string }

/** Where and how a request is sent. A model or a key that is missing is refused here. */
function imageHttpCall(
  settings: Settings,
  model: string | undefined,
  options: AdapterOptions & { readonly requestId: string },
): ImageHttpCall {
  const { provider, headers, fetch } = settings
  const { apiKey, requestId, signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  const url = methodUrl(settings, model, 'generateContent')
  const key = callKey(settings, apiKey)
  return {
    provider,
    url,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'x-goog-api-key': key }),
      ...headers,
    },
    parseFailure: (status, body, answered) =>
      parseFailure(provider, { status, body, headers: answered }),
    fetch,
    requestId,
    signal,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}

/** Throws when something in a request can not be asked of Gemini. */
function assertPossible(
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

/** A request holds a hundred megabytes, images as base64 included. */
const limits: Omit<ImageLimits, 'provider'> = {
  maxBytes: 75 * 1024 * 1024,
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
}

/** The images of an edit, loaded and checked. The deadline of the call also holds while they are fetched. */
async function inputImages(
  request: ImageRequest,
  call: ImageHttpCall,
): Promise<readonly LoadedImage[]> {
  if (request.operation !== 'edit') return []
  const { provider, fetch, requestId } = call
  const guard = guardCall({ ...call, body: null })
  try {
    const source = { limits: { provider, ...limits }, fetch, requestId, signal: guard.signal }
    return (await loadInputs(request, source)).images
  } catch (error) {
    throw transportFailure(error, call, guard.signal)
  } finally {
    guard.close()
  }
}

/**
 * The body of a request: the prompt, then the images of an edit inline, in their order.
 *
 * What is in `providerOptions.gemini`, and in the bag of a provider with another name, is merged last, object by object.
 */
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
  const { gemini = {}, [provider]: own = {} } = providerOptions
  return jsonWithImages(images, (base64) => {
    const inline = base64.map((data, index) => ({
      inlineData: { mimeType: images[index]?.mimeType ?? '', data },
    }))
    const contents: JsonValue = [{ role: 'user', parts: [{ text: prompt }, ...inline] }]
    const body = mergeObjects({ contents, generationConfig }, gemini)
    return provider === 'gemini' ? body : mergeObjects(body, own)
  })
}

function mergeObjects(left: JsonObject, right: JsonObject): JsonObject {
  const result: Record<string, JsonValue> = { ...left }
  for (const [key, value] of Object.entries(right)) {
    const known = result[key]
    const both = isJsonObject(known) && isJsonObject(value)
    result[key] = both ? mergeObjects(known, value) : value
  }
  return result
}

/** From so many characters or bytes on a body is made a slice at a time. */
const largeBody = 4 * 1024 * 1024

/**
 * A body of JSON with images in it. `render` is given the base64 of each image.
 *
 * A small body is text. A large one is a blob that is filled a slice at a time, because as text it would be in memory three
 * times before it is sent.
 */
function jsonWithImages(
  images: readonly LoadedImage[],
  render: (base64: readonly string[]) => JsonObject,
): string | Blob {
  const size = images.reduce((sum, image) => sum + sizeOf(image), 0)
  if (size < largeBody) return JSON.stringify(render(images.map(imageBase64)))
  // Base64 needs no escapes, so it can take the place of a mark that occurs nowhere else.
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

/** The ratios that Gemini draws in. */
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

/** How far the nearest ratio may be from what was asked for. */
const tolerance = 0.05

/**
 * A size in Gemini's words, which has ratios and steps of resolution instead of pixels.
 *
 * `16:9` is a ratio and `2K` a step; `1536x1024` and `{width, height}` become the nearest ratio. `auto` leaves the choice
 * to the model. `undefined` when no ratio is near.
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

/** Reads an answer: the images of all candidates in their order, drafts that belong to a thought left out. */
function parseImages(
  { value }: JsonAnswer,
  request: ImageRequest,
  call: ImageHttpCall,
): ImageResponse {
  // What Gemini sends; every member is checked where it is read.
  const answer = (value ?? {}) as WireAnswer
  const parts = list(answer.candidates).flatMap(({ content }) => list(content?.parts))
  const said = parts.filter(({ thought }) => thought !== true)
  const images = said.flatMap(imageOf)
  const outputText = said.map(({ text }) => (typeof text === 'string' ? text : '')).join('')
  if (images.length === 0) throw noImage(answer, outputText, call)
  const { provider, requestId } = call
  const dropped = droppedWishes(request)
  return defined<ImageResponse>({
    requestId,
    id: answer.responseId,
    model: answer.modelVersion ?? request.model,
    provider,
    images,
    usage: usageOf(answer, images.length),
    metadata: {
      ...(outputText === '' ? {} : { outputText }),
      ...(dropped.length === 0 ? {} : { droppedParameters: dropped }),
      ...request.metadata,
    },
  })
}

/** Gemini has no parameter for these, so they were not sent. */
function droppedWishes(request: ImageRequest): readonly string[] {
  return (['quality', 'style', 'background'] as const).filter(
    (name) => request[name] !== undefined && request[name] !== 'auto',
  )
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
 * Why an answer has no image: an error in its place, a prompt or an image that was blocked (`content_filter`), or a model
 * that wrote something instead (`malformed_response`, with what it wrote).
 */
function noImage(answer: WireAnswer, outputText: string, call: ImageHttpCall): AdapterError {
  const { provider, requestId, headers } = call
  const facts: CallFacts = { provider, requestId, hideKey: secretFilter(headers) }
  if (answer.error) return reportedError(answer, facts)
  if (answer.promptFeedback?.['blockReason']) return blockedPrompt(answer, facts)
  const { finishReason, finishMessage } = answer.candidates?.[0] ?? {}
  const word = finishReason ?? 'no reason given'
  const detail = typeof finishMessage === 'string' ? finishMessage : outputText.slice(0, 200)
  const message = `${provider} made no image (${word})${detail === '' ? '' : `: ${detail}`}`
  const filtered = finishReasonOf(word, false) === 'content_filter'
  return new AdapterError(filtered ? 'content_filter' : 'malformed_response', message, {
    provider,
    requestId,
    metadata: finishReason === undefined ? {} : { finishReason },
  })
}
