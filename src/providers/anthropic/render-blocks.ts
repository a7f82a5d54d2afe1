import { ValidationError } from '../../errors/errors.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import type { Message } from '../../types/message.ts'

/**
 * The text and image blocks of a message's content. Reasoning is left out.
 *
 * The API refuses a text that is empty or all spaces, so such a text makes no block.
 */
export function renderContent(content: Message['content']): readonly JsonObject[] {
  if (typeof content === 'string') return renderText(content)
  const blocks: JsonObject[] = []
  for (const part of content) {
    if (part.type === 'text') blocks.push(...renderText(part.text))
    else if (part.type === 'image') blocks.push(renderImage(part.image))
  }
  return blocks
}

/** A text as a block; none when there is nothing but space. */
export function renderText(text: string): readonly JsonObject[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}

/** An image as a block. A file has been read by now; one that has not is refused. */
export function renderImage(image: Image): JsonObject {
  switch (image.type) {
    case 'base64': {
      const { base64: data, mimeType: media_type } = image
      return { type: 'image', source: { type: 'base64', media_type, data } }
    }
    case 'url':
      return { type: 'image', source: { type: 'url', url: image.url } }
    case 'file':
      throw new ValidationError('invalid_image', [{ path: image.path, problem: 'was not read' }])
    default:
      return assertNever(image)
  }
}
