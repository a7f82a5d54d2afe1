import type { JsonAnswer } from '../../http/post.ts'
import { noImage } from './images-absence.ts'
import type { ImageHttpCall } from './images-http.ts'
import { asCount, asList, asObject, asText } from './wire-value.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type {
  Image,
  ImageRequest,
  ImageResponse,
  ImageUsage,
  RemoteImage,
} from '../../types/media.ts'
import { madeImage, type MadeImageFacts } from '../../vision/made-image.ts'

/** What an answer is read against. */
export interface AnswerContext {
  readonly request: ImageRequest
  readonly call: ImageHttpCall
  readonly dropped: readonly string[]
}

/** Reads an answer of the images API. An item without bytes and address, as a filter leaves it, is passed over. */
export function parseImages(
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
