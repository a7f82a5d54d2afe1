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
import { withoutSecrets } from '../../http/secrets.ts'
import { judgeFailure, parseFailure, readFailure } from './failure.ts'
import { callHeaders, settleOptions, type OpenAiOptions, type OpenAiSettings } from './openai.ts'
import { mergeBody } from './render-request.ts'
import { asCount, asList, asObject, asText } from './wire.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type {
  Image,
  ImageOperation,
  ImageRequest,
  ImageResponse,
  ImageSize,
  ImageUsage,
  RemoteImage,
} from '../../types/media.ts'
import type { ImageLimits } from '../../vision/fetch-image.ts'
import {
  imageBlob,
  imageHead,
  loadInputs,
  type LoadedImage,
  type LoadedInputs,
} from '../../vision/load-images.ts'
import { madeImage, type MadeImageFacts } from '../../vision/made-image.ts'
import { pngHeader, type PngHeader } from '../../vision/png-header.ts'
import { imageFailure } from '../../vision/resolve-images.ts'

/**
 * An adapter for OpenAI's images API, and for servers that speak it: `generate`, and `edit` with several images and a mask.
 *
 * `variation` is refused before anything is sent: no current model offers it. An edit's image that is given by address is
 * fetched here, from public hosts only. Parameters of one model family (`output_format`, `moderation`,
 * `input_fidelity`, …) go into `providerOptions.openai`; a wish that the family has no parameter for is not sent and
 * named in the answer's `metadata.droppedParameters`. The option `api` is for chat and says nothing here.
 */
export function openaiImages(options: OpenAiOptions = {}): ImageAdapter {
  const settings = settleOptions(options)
  const { provider, official, hasKey } = settings
  return {
    provider,
    needsModel: true,
    key: { required: official, own: hasKey },
    supportedOperations: () => ['generate', 'edit'],
    generate: imageCaller(settings),
  }
}

/** Makes the calls of an adapter. What can not be asked of the model is refused before a key is looked at. */
function imageCaller(settings: OpenAiSettings): ImageAdapter['generate'] {
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

/** A call of the images API without its body. */
type ImageHttpCall = Omit<HttpCall, 'body'> & { readonly requestId: string }

/** Where and how an operation is sent. A key that is needed and missing is refused here. */
function imageHttpCall(
  settings: OpenAiSettings,
  operation: ImageOperation,
  { apiKey, ...options }: AdapterOptions & { readonly requestId: string },
): ImageHttpCall {
  const { provider, baseUrl, fetch } = settings
  const { requestId, signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  const { headers } = callHeaders(settings, { apiKey, stream: false, requestId })
  // The platform writes the type of a form itself, with its boundary.
  const { 'content-type': _type, ...formHeaders } = headers
  const edit = operation === 'edit'
  return {
    provider,
    url: addressOf(baseUrl, edit ? '/images/edits' : '/images/generations'),
    headers: edit ? formHeaders : headers,
    parseFailure: (status, body, answered) => parseFailure(provider, status, body, answered),
    fetch,
    requestId,
    signal,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}

function addressOf(baseUrl: string, path: string): string {
  const address = new URL(baseUrl)
  address.pathname = address.pathname.replace(/\/+$/, '') + path
  return address.href
}

/** Throws when something in a request can not be asked of its model. */
function assertPossible(
  request: ImageRequest,
  family: ImageFamily,
  call: { readonly provider: string; readonly requestId: string },
): void {
  const refusal = refusalOf(request, family)
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
    const message = 'variations are no longer offered; use edit with a prompt'
    return { reason: 'unsupported_operation', message, metadata: { operation } }
  }
  if (!family.operations.includes(operation)) {
    const message = `${model} can not ${operation} images`
    return { reason: 'unsupported_operation', message, metadata: { operation, model } }
  }
  if (responseFormat === 'url' && !family.responseFormat) {
    const message = `${model} gives base64 only; leave out responseFormat`
    return { reason: 'invalid_request', message, metadata: { model, responseFormat } }
  }
  if (inputImages.length > family.maxImages) {
    const message = `${model} takes ${family.maxImages} input image(s) at most, not ${inputImages.length}`
    return { reason: 'invalid_request', message, metadata: { model, maxImages: family.maxImages } }
  }
  if (request.providerOptions.openai?.['stream'] === true) {
    const message = 'images are not streamed; leave out stream of providerOptions.openai'
    return { reason: 'unsupported_feature', message }
  }
  return undefined
}

/** The kinds of image models, by what they can do and how their parameters are called. */
interface ImageFamily {
  readonly operations: readonly ImageOperation[]
  /** The wishes that the family has a parameter for. */
  readonly wishes: readonly ('quality' | 'style' | 'background')[]
  /** The family's own words for a quality; a word that is not here is sent as it is. */
  readonly qualities: Readonly<Record<string, string>>
  /** Whether the form of the answer can be chosen; the others always answer with base64. */
  readonly responseFormat: boolean
  /** The most input images of an edit. */
  readonly maxImages: number
  /** What an input image may be. */
  readonly limits: Omit<ImageLimits, 'provider'>
}

const mebibyte = 1024 * 1024

const gpt: ImageFamily = {
  operations: ['generate', 'edit'],
  wishes: ['quality', 'background'],
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
  wishes: [],
  qualities: {},
  responseFormat: true,
  maxImages: 1,
  limits: { maxBytes: 4 * mebibyte, mimeTypes: ['image/png'] },
}

const dallE3: ImageFamily = {
  ...dallE2,
  operations: ['generate'],
  wishes: ['quality', 'style'],
  qualities: { low: 'standard', medium: 'standard', high: 'hd' },
}

/** Models of other makers behind the same API: everything that was asked for is sent. */
const other: ImageFamily = {
  operations: ['generate', 'edit'],
  wishes: ['quality', 'style', 'background'],
  qualities: {},
  responseFormat: true,
  maxImages: 16,
  limits: {
    maxBytes: 50 * mebibyte,
    mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/gif'],
  },
}

/** The family that a model belongs to by its name. */
function imageFamily(model: string | undefined): ImageFamily {
  if (model === undefined) return other
  if (/^(?:chat)?gpt-image(?:-|$)/.test(model)) return gpt
  if (model === 'dall-e-2') return dallE2
  return model === 'dall-e-3' ? dallE3 : other
}

/** A body, and what was asked for and is not in it. */
interface ImageBody {
  readonly body: string | FormData
  readonly dropped: readonly string[]
}

/** The body of a request: JSON to generate, a form with the images to edit. */
async function imageBody(
  request: ImageRequest,
  family: ImageFamily,
  call: ImageHttpCall,
): Promise<ImageBody> {
  const { provider, requestId } = call
  const { fields, dropped } = renderFields(request, family, provider)
  if (request.operation !== 'edit') return { body: JSON.stringify(fields), dropped }
  const inputs = await load(request, family, call)
  const problem = maskProblem(inputs)
  if (problem === undefined) return { body: renderForm(fields, inputs), dropped }
  throw new ImageAdapterError('invalid_request', problem, { provider, requestId })
}

/** The deadline of the call also holds while its images are fetched. */
async function load(
  request: ImageRequest,
  { limits }: ImageFamily,
  call: ImageHttpCall,
): Promise<LoadedInputs> {
  const { provider, fetch, requestId } = call
  const guard = guardCall({ ...call, body: null })
  try {
    const source = { limits: { provider, ...limits }, fetch, requestId, signal: guard.signal }
    return await loadInputs(request, source)
  } catch (error) {
    throw transportFailure(error, call, guard.signal)
  } finally {
    guard.close()
  }
}

/** The parameters of a request under the names of its model's family. */
interface RenderedFields {
  readonly fields: JsonObject
  /** The wishes that the family has no parameter for. */
  readonly dropped: readonly string[]
}

/**
 * Renders a request. `quality`, `style` and `background` are wishes: a family that has no such parameter is not sent it.
 *
 * What is in `providerOptions.openai`, and in the bag of a provider with another name, comes last and wins.
 */
function renderFields(
  request: ImageRequest,
  family: ImageFamily,
  provider: string,
): RenderedFields {
  const { prompt, model, n, size, responseFormat } = request
  const { wishes, dropped } = renderWishes(request, family)
  const body: JsonObject = {
    ...(prompt === undefined ? {} : { prompt }),
    ...(model === undefined ? {} : { model }),
    n,
    ...(size === undefined ? {} : { size: sizeText(size) }),
    ...wishes,
    ...(family.responseFormat
      ? { response_format: responseFormat === 'url' ? 'url' : 'b64_json' }
      : {}),
  }
  const { openai, [provider]: own } = request.providerOptions
  const shared = mergeBody(body, openai)
  return { fields: provider === 'openai' ? shared : mergeBody(shared, own), dropped }
}

function renderWishes(
  request: ImageRequest,
  family: ImageFamily,
): { readonly wishes: JsonObject; readonly dropped: readonly string[] } {
  const wishes: Record<string, JsonValue> = {}
  const dropped: string[] = []
  for (const name of ['quality', 'style', 'background'] as const) {
    const word = request[name]
    if (word === undefined) continue
    // An edit keeps the style of what it edits; the API has no such parameter there.
    const known =
      family.wishes.includes(name) && !(name === 'style' && request.operation === 'edit')
    if (known) wishes[name] = name === 'quality' ? (family.qualities[word] ?? word) : word
    else if (word !== 'auto') dropped.push(name)
  }
  return { wishes, dropped }
}

function sizeText(size: ImageSize): string {
  return typeof size === 'string' ? size : `${size.width}x${size.height}`
}

/** The same parameters with images, as a form. One image is `image`, several are `image[]`. */
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

/** Enough of a PNG to hold its header, its palette and the list of its transparent colours. */
const headLength = 4096

/**
 * What is certainly wrong with a mask, as far as its first bytes tell: that nothing in it is transparent, or that it is not
 * as large as the first image. What can not be told is left to the provider.
 */
function maskProblem({ images, mask }: LoadedInputs): string | undefined {
  const header = headerOf(mask)
  if (header === undefined) return undefined
  if (header.alpha === false) return 'mask has no transparent places: it needs an alpha channel'
  const image = headerOf(images[0])
  if (image === undefined) return undefined
  if (image.width === header.width && image.height === header.height) return undefined
  return `mask is ${dimensions(header)} and inputImages[0] is ${dimensions(image)}: they must be equal`
}

function headerOf(image: LoadedImage | undefined): PngHeader | undefined {
  return image === undefined ? undefined : pngHeader(imageHead(image, headLength))
}

function dimensions({ width, height }: PngHeader): string {
  return `${width}x${height}`
}

/** What an answer is read against. */
interface AnswerContext {
  readonly request: ImageRequest
  readonly call: ImageHttpCall
  readonly dropped: readonly string[]
}

/** Reads an answer of the images API. An item without bytes and address, as a filter leaves it, is passed over. */
function parseImages(
  { value, status, headers }: JsonAnswer,
  { request, call, dropped }: AnswerContext,
): ImageResponse {
  const { provider, requestId } = call
  const body = asObject(value) ?? {}
  const items = asList(body['data'])
  const images = items.flatMap((item) => parseImage(item, body, request.responseFormat) ?? [])
  if (images.length === 0) throw noImage(body, call, status)
  const providerRequestId = headers.get('x-request-id')
  return defined<ImageResponse>({
    requestId,
    model: request.model,
    provider,
    images,
    usage: parseUsage(body, images.length),
    metadata: {
      ...(providerRequestId === null ? {} : { providerRequestId }),
      ...(dropped.length === 0 ? {} : { droppedParameters: dropped }),
      ...request.metadata,
    },
  })
}

/** The form that was asked for, or the one that came: some models know only one. */
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

/** Why a successful answer has no image: it reports a failure, everything was filtered, or it is no answer at all. */
function noImage(body: JsonObject, call: ImageHttpCall, status: number): AdapterError {
  const { provider, requestId, headers } = call
  const facts = { provider, requestId, status }
  if (body['error'] !== undefined) {
    const failure = withoutSecrets(judgeFailure(provider, readFailure(body)), headers)
    const { reason, message, ...details } = failure
    return new AdapterError(reason, message, { ...facts, ...details })
  }
  const { data } = body
  return Array.isArray(data) && data.length === 0
    ? new AdapterError('content_filter', `${provider} answered with no image`, facts)
    : new AdapterError('malformed_response', `${provider} answered without images`, facts)
}
