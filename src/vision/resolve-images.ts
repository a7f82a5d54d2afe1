import { ValidationError } from '../errors/errors.ts'
import type { Issue } from '../types/error-data.ts'
import type { Message, Part } from '../types/message.ts'
import type { ModelRequest } from '../types/request.ts'
import type { ImageLimits } from './image-limits.ts'
import { readImageFile, type ReadFile } from './read-image-file.ts'
import { resolveImage } from './resolve-image.ts'

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
 * The request comes back as it is, save that images in files are inline; addresses are passed on and never fetched.
 * All problems are in one `ValidationError` whose issues name message and part.
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
      ? { problem: 'is an image, and a system message holds text only' }
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
