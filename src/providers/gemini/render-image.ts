import { ValidationError } from '../../errors/errors.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'

/** The types that a name's ending tells; Gemini likes to know the type of what it has to fetch. */
const endings: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
])

/** A picture as a part: its bytes, or the address that Gemini fetches it from. One in a file has to be read before. */
export function renderImage(image: Image, path: string): JsonObject {
  switch (image.type) {
    case 'base64':
      return { inlineData: { mimeType: image.mimeType, data: image.base64 } }
    case 'url': {
      const mimeType = image.mimeType ?? endings.get(endingOf(image.url))
      return { fileData: { ...(mimeType === undefined ? {} : { mimeType }), fileUri: image.url } }
    }
    case 'file': {
      const problem = 'is a file that has not been read'
      throw new ValidationError('invalid_request', [{ path, problem }])
    }
    default:
      return assertNever(image)
  }
}

/** What follows the last dot of an address's path, in small letters. */
function endingOf(url: string): string {
  const path = /^[^?#]*/.exec(url)?.[0] ?? ''
  return path.slice(path.lastIndexOf('.') + 1).toLowerCase()
}
