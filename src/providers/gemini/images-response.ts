import type { JsonAnswer } from '../../http/post.ts'
import { noImage } from './images-absence.ts'
import type { ImageHttpCall } from './images-http.ts'
import { parseUsage } from './parse-usage.ts'
import type { WireAnswer, WirePart } from './wire-answer.ts'
import { defined } from '../../types/guards.ts'
import type { ImageRequest, ImageResponse, ImageUsage, InlineImage } from '../../types/media.ts'
import { madeImage } from '../../vision/made-image.ts'

/** Reads an answer: the images of all candidates in their order, drafts that belong to a thought left out. */
export function parseImages(
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
