import type { ImageAdapter } from '../../core/contracts/adapter.ts'
import {
  AdapterError,
  ImageAdapterError,
  type ImageAdapterErrorReason,
} from '../../core/errors/errors.ts'
import { mergeOptions, optionsFor } from '../../core/messages/provider-options.ts'
import { assertValid, within } from '../../core/schema/checks.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type {
  Image,
  ImageOperation,
  ImageRequest,
  ImageResponse,
  ImageSize,
  ImageUsage,
  RemoteImage,
} from '../../core/types/media.ts'
import type { Warn } from '../../core/types/warning.ts'
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
import { asCount, asList, asObject, asText } from '../shared/read-json.ts'
import { failureParser, judgeFailure, readFailure } from '../shared/reported-failure.ts'
import { requestBody } from '../shared/request-body.ts'
import {
  fetchImagesIssues,
  type Download,
  type FetchImages,
  type ImageLimits,
} from '../vision/fetch-image.ts'
import {
  imageBlob,
  imageHead,
  loadInputs,
  type LoadedImage,
  type LoadedInputs,
} from '../vision/load-images.ts'
import { madeImage, type MadeImageFacts } from '../vision/made-image.ts'
import { pngHeader, type PngHeader } from '../vision/png-header.ts'
import { imageFailure } from '../vision/resolve-images.ts'
import { settleOptions, type OpenAiOptions } from './openai.ts'

/**
 * An adapter for OpenAI's images API, and for compatible servers: `generate`, and `edit` with several images and a mask.
 *
 * `variation` is refused before anything is sent: no current model offers it. Images of an edit that are given by URL are
 * fetched here only with the option `fetchImages`. Parameters of one model family (`output_format`, `moderation`, `input_fidelity`, …)
 * go into `providerOptions.openai`. A setting that the family has no parameter for is left out and named in the answer's
 * `warnings`. The option `api` is for chat and has no effect here.
 */
export function openaiImages(options: OpenAiImagesOptions = {}): ImageAdapter {
  const { fetchImages, ...connecting } = options
  assertValid('invalid_options', within('fetchImages', fetchImagesIssues(fetchImages)))
  const { connection, headers } = settleOptions(connecting)
  const { provider } = connection
  return {
    ...modelFacts(connection),
    supportedOperations: () => ['generate', 'edit'],
    generate: modelCaller({
      connection,
      headers,
      parseFailure: failureParser(provider),
      refuse: assertPossible,
      path: ({ operation }) => [operation === 'edit' ? '/images/edits' : '/images/generations'],
      body: (request, call, warn) => imageBody(request, { ...call, fetchImages }, warn),
      read: parseImages,
      failure: imageFailure,
    }),
  }
}

/** How to reach OpenAI's images API, and which images the adapter may fetch. */
export interface OpenAiImagesOptions extends OpenAiOptions {
  /**
   * Whether the images of an edit that are given by URL are fetched by this process, because the API takes only bytes.
   * `true` allows every public host, a function decides for each URL. Without it such an image is refused.
   */
  readonly fetchImages?: FetchImages | undefined
}

/** Throws if the model cannot answer the request. */
function assertPossible(request: ImageRequest, call: CallOrigin): void {
  const refusal = refusalOf(request, imageFamily(request.model))
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
    const message = 'OpenAI no longer offers variations; use the operation edit with a prompt'
    return { reason: 'unsupported_operation', message, metadata: { operation } }
  }
  if (!family.operations.includes(operation)) {
    const message = `${model} cannot ${operation} images`
    return { reason: 'unsupported_operation', message, metadata: { operation, model } }
  }
  if (responseFormat === 'url' && !family.responseFormat) {
    const message = `${model} returns images as base64 only; leave out responseFormat`
    return { reason: 'invalid_request', message, metadata: { model, responseFormat } }
  }
  if (inputImages.length > family.maxImages) {
    const message = `${model} accepts at most ${family.maxImages} input image(s), not ${inputImages.length}`
    return { reason: 'invalid_request', message, metadata: { model, maxImages: family.maxImages } }
  }
  if (request.providerOptions.openai?.['stream'] === true) {
    const message = 'images cannot be streamed; leave stream out of providerOptions.openai'
    return { reason: 'unsupported_feature', message }
  }
  return undefined
}

/** The settings that not every family has a parameter for. */
type OptionalSetting = 'quality' | 'style' | 'background'

/** A kind of image model: what it can do and what its parameters are called. */
interface ImageFamily {
  readonly operations: readonly ImageOperation[]
  /** The optional settings that the family has a parameter for. */
  readonly settings: readonly OptionalSetting[]
  /** The family's own words for a quality. A word that is not in the table is sent as it is. */
  readonly qualities: Readonly<Record<string, string>>
  /** Whether the form of the answer can be chosen. Otherwise it is always base64. */
  readonly responseFormat: boolean
  /** The largest number of input images of an edit. */
  readonly maxImages: number
  /** The limits of an input image. */
  readonly limits: Omit<ImageLimits, 'provider'>
}

const mebibyte = 1024 * 1024

const gpt: ImageFamily = {
  operations: ['generate', 'edit'],
  settings: ['quality', 'background'],
  qualities: { standard: 'medium', hd: 'high' },
  responseFormat: false,
  maxImages: 16,
  limits: {
    maxBytes: 50 * mebibyte,
    mimeTypes: ['image/png', 'image/jpeg', 'image/webp'],
  },
}

const dallE2: ImageFamily = {
  operations: ['generate', 'edit'],
  settings: [],
  qualities: {},
  responseFormat: true,
  maxImages: 1,
  limits: { maxBytes: 4 * mebibyte, mimeTypes: ['image/png'] },
}

const dallE3: ImageFamily = {
  ...dallE2,
  operations: ['generate'],
  settings: ['quality', 'style'],
  qualities: { low: 'standard', medium: 'standard', high: 'hd' },
}

/** Models of other providers behind the same API: all settings are sent. */
const other: ImageFamily = {
  operations: ['generate', 'edit'],
  settings: ['quality', 'style', 'background'],
  qualities: {},
  responseFormat: true,
  maxImages: 16,
  limits: {
    maxBytes: 50 * mebibyte,
    mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/gif'],
  },
}

/** The family of a model, by its name. */
function imageFamily(model: string | undefined): ImageFamily {
  if (model === undefined) return other
  if (/^(?:chat)?gpt-image(?:-|$)/.test(model)) return gpt
  if (model === 'dall-e-2') return dallE2
  return model === 'dall-e-3' ? dallE3 : other
}

/** The body of a request: JSON for `generate`, a form with the images for `edit`. */
async function imageBody(
  request: ImageRequest,
  call: UnsentCall & Pick<Download, 'fetchImages'>,
  warn: Warn,
): Promise<string | FormData> {
  const { provider, requestId } = call
  const family = imageFamily(request.model)
  const fields = renderFields(request, family, provider, warn)
  if (request.operation !== 'edit') return JSON.stringify(fields)
  const inputs = await load(request, family, call)
  const problem = maskProblem(inputs)
  if (problem === undefined) return renderForm(fields, inputs)
  throw new ImageAdapterError('invalid_request', problem, { provider, requestId })
}

/** Loads the input images. The timeout of the call applies here too. */
async function load(
  request: ImageRequest,
  { limits }: ImageFamily,
  call: UnsentCall & Pick<Download, 'fetchImages'>,
): Promise<LoadedInputs> {
  const { provider, fetch, fetchImages, requestId } = call
  const guard = guardCall(call)
  const { signal } = guard
  try {
    const from = { limits: { provider, ...limits }, fetch, fetchImages, requestId, signal }
    return await loadInputs(request, from)
  } catch (error) {
    throw transportFailure(error, call, guard.signal)
  } finally {
    guard.close()
  }
}

/** The parameters of a request under the names of its model's family. Provider options are merged over them. */
function renderFields(
  request: ImageRequest,
  family: ImageFamily,
  provider: string,
  warn: Warn,
): JsonObject {
  const { operation, prompt, model, n, size, quality, style, background, responseFormat } = request
  const setting = (name: OptionalSetting, word: string | undefined): string | undefined => {
    // An edit keeps the style of the image that it edits; the API has no such parameter there.
    const known = family.settings.includes(name) && !(name === 'style' && operation === 'edit')
    if (!known && word !== undefined && word !== 'auto') {
      warn(name, `${model ?? provider} has no parameter for it`)
    }
    return known ? word : undefined
  }
  const wanted = setting('quality', quality)
  const form = responseFormat === 'url' ? 'url' : 'b64_json'
  const body = requestBody<ImageRequest>({
    prompt: { prompt },
    model: { model },
    n: { n },
    size: { size: size === undefined ? undefined : sizeText(size) },
    quality: { quality: wanted === undefined ? undefined : (family.qualities[wanted] ?? wanted) },
    style: { style: setting('style', style) },
    background: { background: setting('background', background) },
    responseFormat: { response_format: family.responseFormat ? form : undefined },
    // Decides the path of the call.
    operation: {},
    // Sent as files.
    inputImages: {},
    mask: {},
    // Merged over the whole body below.
    providerOptions: {},
    // Never sent.
    metadata: {},
  })
  return mergeOptions(body, optionsFor('openai', provider, request.providerOptions))
}

function sizeText(size: ImageSize): string {
  return typeof size === 'string' ? size : `${size.width}x${size.height}`
}

/** The parameters and the images as a form. One image is `image`, several are `image[]`. */
function renderForm(fields: JsonObject, { images, mask }: LoadedInputs): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null) form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  const name = images.length === 1 ? 'image' : 'image[]'
  for (const [index, image] of images.entries()) {
    form.append(name, imageBlob(image), fileName(`image-${index + 1}`, image))
  }
  if (mask !== undefined) form.append('mask', imageBlob(mask), fileName('mask', mask))
  return form
}

function fileName(stem: string, { mimeType }: LoadedImage): string {
  return `${stem}.${mimeType.slice(mimeType.indexOf('/') + 1)}`
}

/** Enough bytes of a PNG to hold its header, its palette and the list of its transparent colours. */
const headLength = 4096

/**
 * The problem of a mask, as far as its first bytes show it: nothing in it is transparent, or its size differs from that of the
 * first image. Anything else is left to the provider.
 */
function maskProblem({ images, mask }: LoadedInputs): string | undefined {
  const header = headerOf(mask)
  if (header === undefined) return undefined
  if (header.alpha === false) return 'mask has no transparent pixels: it needs an alpha channel'
  const image = headerOf(images[0])
  if (image === undefined) return undefined
  if (image.width === header.width && image.height === header.height) return undefined
  return `mask is ${dimensions(header)} and inputImages[0] is ${dimensions(image)}: their sizes must be equal`
}

function headerOf(image: LoadedImage | undefined): PngHeader | undefined {
  return image === undefined ? undefined : pngHeader(imageHead(image, headLength))
}

function dimensions({ width, height }: PngHeader): string {
  return `${width}x${height}`
}

/** Reads an answer of the images API. Items without data and URL, which a filter leaves behind, are ignored. */
function parseImages(
  { value, status, headers }: JsonAnswer,
  context: AnswerContext<ImageRequest>,
): ImageResponse {
  const { request, call } = context
  const body = asObject(value) ?? {}
  const items = asList(body['data'])
  const images = items.flatMap((item) => parseImage(item, body, request.responseFormat) ?? [])
  if (images.length === 0) throw noImage(body, call, status)
  const usage = parseUsage(body, images.length)
  return { ...responseFields(context, { headers }), images, usage }
}

/** The image in the requested form, or in the form that the answer has: some models know only one. */
function parseImage(
  item: unknown,
  body: JsonObject,
  wanted: ImageRequest['responseFormat'],
): Image | undefined {
  const { b64_json, url: address, revised_prompt } = asObject(item) ?? {}
  const base64 = asText(b64_json)
  const url = asText(address)
  const facts = factsOf(body, asText(revised_prompt))
  if (url !== undefined && (wanted === 'url' || base64 === undefined)) {
    return defined<RemoteImage>({ type: 'url', url, ...facts })
  }
  return base64 === undefined ? undefined : madeImage(base64, facts)
}

function factsOf({ output_format, size }: JsonObject, revisedPrompt?: string): MadeImageFacts {
  const format = asText(output_format)
  const [width, height] =
    /^(\d+)x(\d+)$/
      .exec(asText(size) ?? '')
      ?.slice(1)
      .map(Number) ?? []
  return {
    mimeType: format === undefined ? undefined : `image/${format === 'jpg' ? 'jpeg' : format}`,
    width,
    height,
    revisedPrompt,
  }
}

function parseUsage({ usage, size, quality }: JsonObject, images: number): ImageUsage {
  const { input_tokens, output_tokens, total_tokens, ...extra } = asObject(usage) ?? {}
  return defined<ImageUsage>({
    images,
    inputTokens: asCount(input_tokens),
    outputTokens: asCount(output_tokens),
    totalTokens: asCount(total_tokens),
    size: asText(size),
    quality: asText(quality),
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  })
}

/** Why a successful answer has no image: it reports a failure, everything was filtered, or it is malformed. */
function noImage(body: JsonObject, call: UnsentCall, status: number): AdapterError {
  const { provider, requestId } = call
  const facts = { provider, requestId, status }
  if (body['error'] !== undefined) {
    const { reason, message, ...details } = judgeFailure(provider, readFailure(body))
    return new AdapterError(reason, message, { ...facts, ...details })
  }
  const { data } = body
  return Array.isArray(data) && data.length === 0
    ? new AdapterError('content_filter', `${provider} answered with no image`, facts)
    : new AdapterError('malformed_response', `${provider} answered without images`, facts)
}
