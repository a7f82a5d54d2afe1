import {
  AdapterError,
  ImageAdapterError,
  isAllmError,
  type AllmError,
} from '../../core/errors/errors.ts'
import { thrownText } from '../../core/errors/to-json-value.ts'
import { typeProblem } from '../../core/messages/sniff.ts'
import { assertValid } from '../../core/schema/checks.ts'
import { validateImage } from '../../core/schema/validate.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { assertNever, merged } from '../../core/types/guards.ts'
import type { Image, MediaFile } from '../../core/types/media.ts'
import type { Message, Part, Role } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { ImageLimits } from './fetch-image.ts'
import { bytesProblem, checkInlineImage } from './load-images.ts'

/** Which images and files a provider accepts. */
export interface MediaLimits extends ImageLimits {
  /** The maximum size of a decoded file. */
  readonly maxFileBytes: number
  /** That of a PDF, where it is another one. */
  readonly maxPdfBytes?: number
  /** Whether the API takes an image or a file of the assistant (each by default). One that it does not take is left out. */
  readonly takesBack?: (media: Image | MediaFile) => boolean
  /** What is left out is added to it. */
  readonly left?: Issue[]
}

/**
 * Checks every image and file of a request against a provider's limits. Nothing is read or fetched: URLs are passed on.
 *
 * Returns the request, with the type of an inline image that had none, and without what `takesBack` denies: what was added to an answer, or came
 * from another API, must not end a conversation. All problems are in one `ValidationError` whose
 * issues name message and part.
 */
export function resolveMedia(request: ModelRequest, limits: MediaLimits): ModelRequest {
  const issues: Issue[] = []
  const check = merged(limits, { issues })
  let isSame = true
  const messages = request.messages.map((message, index): Message => {
    const { role, content } = message
    if (typeof content === 'string') return message
    const resolved = content.map((part, at) => {
      const made = resolvePart(part, role, `messages[${index}].content[${at}]`, check)
      isSame &&= made === part
      return made
    })
    return { ...message, content: resolved }
  })
  assertValid('invalid_request', issues)
  return isSame ? request : { ...request, messages }
}

interface PartCheck extends MediaLimits {
  readonly issues: Issue[]
}

/** The part, an image with its type if it had none. What the API does not take back becomes an empty text: the other parts keep their places. */
function resolvePart(part: Part, role: Role, path: string, limits: PartCheck): Part {
  if (part.type !== 'image' && part.type !== 'file') return part
  const media = part.type === 'image' ? part.image : part.file
  const isOwn = role === 'assistant'
  if (isOwn && limits.takesBack?.(media) === false) {
    limits.left?.push({ path, problem: `${limits.provider} does not take it back here` })
    return { type: 'text', text: '' }
  }
  const { problem, image = media }: PartOutcome =
    role === 'system'
      ? { problem: 'must be text in a system message' }
      : part.type === 'file'
        ? { problem: fileProblem(part.file, limits) }
        : resolveImage(part.image, limits, isOwn)
  if (problem !== undefined) limits.issues.push({ path, problem })
  return image === media || part.type === 'file' ? part : { ...part, image }
}

/** Why a provider cannot be sent a file, as a sentence that follows the file's path. What an API takes, its renderer knows. */
function fileProblem(file: MediaFile, limits: MediaLimits): string | undefined {
  if (file.type !== 'base64') return addressProblem(file, limits)
  const { mimeType, base64 } = file
  const { provider, maxFileBytes, maxPdfBytes = maxFileBytes } = limits
  const maxBytes = mimeType === 'application/pdf' ? maxPdfBytes : maxFileBytes
  return bytesProblem(base64, { provider, maxBytes }) ?? typeProblem(mimeType, base64)
}

/** Why a provider cannot be sent the address or the id of an image or a file. Only the provider that knows an id is sent it. */
function addressProblem(
  media: Exclude<Image | MediaFile, { readonly type: 'base64' }>,
  { provider }: ImageLimits,
): string | undefined {
  switch (media.type) {
    case 'url':
      return isWebUrl(media.url) ? undefined : 'has a URL that is not http or https'
    case 'id':
      if (media.provider === provider) return undefined
      return `is a file at ${media.provider}; ${provider} cannot see it`
    default:
      return assertNever(media)
  }
}

/** What becomes of a part. */
interface PartOutcome {
  readonly problem?: string | undefined
  readonly image?: Image
}

/** An image that the provider accepts, or its problem as a sentence that follows the image's path. */
type ImageOutcome =
  | { readonly image: Image; readonly problem?: undefined }
  | { readonly problem: string }

/** Checks one image. An inline image is returned unchanged unless its type had to be found. */
export function resolveImage(image: Image, limits: ImageLimits, isOwn: boolean): ImageOutcome {
  switch (image.type) {
    case 'base64': {
      const type = checkInlineImage(image, limits, isOwn)
      if (type.problem !== undefined) return type
      return {
        image: type.mimeType === image.mimeType ? image : { ...image, mimeType: type.mimeType },
      }
    }
    case 'url':
    case 'id': {
      const problem = addressProblem(image, limits)
      return problem === undefined ? { image } : { problem }
    }
    default:
      return unknownImage(image)
  }
}

/** A message of unknown origin may have anything for an image, such as one that names a local file. */
function unknownImage(image: never): ImageOutcome {
  const [issue] = validateImage(image)
  return { problem: `is not an image: ${issue?.path} ${issue?.problem}` }
}

function isWebUrl(address: string): boolean {
  return URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)
}

/**
 * The error that an image call rejects with. An `AdapterError` becomes an `ImageAdapterError` with the same fields; a
 * foreign error becomes one with the reason `unknown`. Other errors, such as a cancellation, are returned unchanged.
 */
export function imageFailure(
  error: unknown,
  call: { readonly provider: string; readonly requestId?: string | undefined },
): AllmError {
  const { provider, requestId } = call
  if (error instanceof AdapterError) {
    const { reason, message, cause, metadata, status, retryAfterMs, retryable } = error
    const facts = { provider, requestId, cause, metadata, status, retryAfterMs, retryable }
    return new ImageAdapterError(
      reason === 'no_scripted_response' ? 'unknown' : reason,
      message,
      facts,
    )
  }
  if (isAllmError(error)) return error
  const facts = { provider, requestId, cause: error }
  return new ImageAdapterError('unknown', `${provider} failed: ${thrownText(error)}`, facts)
}
