import {
  AdapterError,
  ImageAdapterError,
  isAllmError,
  ValidationError,
  type AllmError,
} from '../errors/errors.ts'
import { bytesToBase64 } from '../make/media.ts'
import type { Issue } from '../types/error-data.ts'
import { assertNever } from '../types/guards.ts'
import type { Image } from '../types/media.ts'
import type { Message, Part } from '../types/message.ts'
import type { ModelRequest } from '../types/request.ts'
import type { ImageLimits } from './fetch-image.ts'
import { checkInlineImage, readFileImage, readImageFile, type ReadFile } from './load-images.ts'

/** Whether any message of a request has an image. */
export function hasImages(request: ModelRequest): boolean {
  for (const { content } of request.messages) {
    if (typeof content === 'string') continue
    for (const part of content) if (part.type === 'image') return true
  }
  return false
}

/**
 * Checks every image of a request against a provider's limits, and reads those that are in files.
 *
 * Returns the request with the images in files made inline. URLs are passed on and never fetched. All problems are in
 * one `ValidationError` whose issues name message and part.
 */
export async function resolveImages(
  request: ModelRequest,
  limits: ImageLimits,
  readFile: ReadFile = readImageFile,
): Promise<ModelRequest> {
  const issues: Issue[] = []
  let messages: Message[] | undefined
  for (const [index, message] of request.messages.entries()) {
    if (typeof message.content === 'string') continue
    const check: PartCheck = { limits, readFile, issues, path: `messages[${index}].content` }
    const content = await resolveParts(message.content, message.role === 'system', check)
    if (content === message.content) continue
    messages ??= [...request.messages]
    messages[index] = { ...message, content }
  }
  if (issues.length > 0) throw new ValidationError('invalid_request', issues)
  return messages === undefined ? request : { ...request, messages }
}

interface PartCheck {
  readonly limits: ImageLimits
  readonly readFile: ReadFile
  readonly issues: Issue[]
  readonly path: string
}

/** The parts, with images from files inline. The same array when none was replaced. */
async function resolveParts(
  parts: readonly Part[],
  inSystem: boolean,
  { limits, readFile, issues, path }: PartCheck,
): Promise<readonly Part[]> {
  let resolved: Part[] | undefined
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'image') continue
    const outcome = inSystem
      ? { problem: 'is an image; a system message can contain only text' }
      : await resolveImage(part.image, limits, readFile)
    if (outcome.problem !== undefined) {
      issues.push({ path: `${path}[${index}]`, problem: outcome.problem })
    } else if (outcome.image !== part.image) {
      resolved ??= [...parts]
      resolved[index] = { ...part, image: outcome.image }
    }
  }
  return resolved ?? parts
}

/** An image that the provider accepts, or its problem as a sentence that follows the image's path. */
type ImageOutcome =
  | { readonly image: Image; readonly problem?: undefined }
  | { readonly problem: string }

/**
 * Checks one image and, if it is in a file, reads it.
 *
 * An inline image is returned unchanged unless its type had to be found. A URL is not fetched.
 */
async function resolveImage(
  image: Image,
  limits: ImageLimits,
  readFile: ReadFile,
): Promise<ImageOutcome> {
  switch (image.type) {
    case 'base64': {
      const type = checkInlineImage(image, limits)
      if (type.problem !== undefined) return type
      return {
        image: type.mimeType === image.mimeType ? image : { ...image, mimeType: type.mimeType },
      }
    }
    case 'url':
      return isWebUrl(image.url) ? { image } : { problem: 'has a URL that is not http or https' }
    case 'file': {
      const file = await readFileImage(image, limits, readFile)
      if (file.problem !== undefined) return file
      const { path: _path, ...facts } = image
      const { bytes, mimeType } = file
      return { image: { ...facts, type: 'base64', base64: bytesToBase64(bytes), mimeType } }
    }
    default:
      return assertNever(image)
  }
}

function isWebUrl(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol } = new URL(address)
  return protocol === 'https:' || protocol === 'http:'
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
  const text = error instanceof Error ? error.message : String(error)
  const facts = { provider, requestId, cause: error }
  return new ImageAdapterError('unknown', `${provider} failed: ${text}`, facts)
}
