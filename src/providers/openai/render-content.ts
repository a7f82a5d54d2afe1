import { AdapterError } from '../../errors/errors.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import {
  messageText,
  type ImagePart,
  type Message,
  type Part,
  type ToolCall,
} from '../../types/message.ts'

/** The parts of a message; a string is one text part. */
export function partsOf(message: Message): readonly Part[] {
  const { content } = message
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** How an endpoint spells the two kinds of content. */
export interface ContentWords {
  text(text: string): JsonObject
  image(part: ImagePart): JsonObject
}

/** Content without reasoning: text alone is a string, with an image it is a list. */
export function renderContent(message: Message, words: ContentWords): JsonValue {
  const parts = partsOf(message).filter((part) => part.type !== 'reasoning')
  const [only] = parts
  if (only === undefined) return ''
  if (parts.length === 1 && only.type === 'text') return only.text
  return parts.map((part) => (part.type === 'text' ? words.text(part.text) : words.image(part)))
}

/** The text of a tool result, for Chat Completions, which takes nothing else there. */
export function textAlone(message: Message, provider: string): string {
  if (partsOf(message).some((part) => part.type === 'image')) {
    const problem = 'Chat Completions takes no images in tool results; api: "responses" does'
    throw new AdapterError('unsupported_feature', problem, { provider })
  }
  return messageText(message)
}

/** An image as OpenAI takes it: an address, or a data URI. Files have been read before. */
export function imageAddress(image: Image, provider: string): string {
  switch (image.type) {
    case 'url':
      return image.url
    case 'base64':
      return `data:${image.mimeType};base64,${image.base64}`
    case 'file':
      throw new AdapterError('unsupported_feature', `the image ${image.path} was not read`, {
        provider,
      })
    default:
      return assertNever(image)
  }
}

/** The arguments of a call as JSON text: as the model wrote them, unless that is no JSON object. */
export function argumentsJson(call: ToolCall): string {
  const { rawArguments, arguments: decoded } = call
  const usable = rawArguments !== undefined && Object.keys(decoded).length > 0
  return usable ? rawArguments : JSON.stringify(decoded)
}
