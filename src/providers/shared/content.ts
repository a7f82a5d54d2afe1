import { assertNever } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Image, MediaFile } from '../../core/types/media.ts'
import type { Message, ReasoningPart } from '../../core/types/message.ts'
import { fileKind, unsupportedFile } from './files.ts'

/** The content of a message by kinds, in the order of its parts. */
export interface SortedContent {
  /** The text parts joined. */
  readonly text: string
  /** The reasoning that came from this provider. That of others is not sent. */
  readonly reasoning: readonly ReasoningPart[]
  /** The images, and the files that are images. */
  readonly images: readonly (Image | MediaFile)[]
  /** All other files. */
  readonly files: readonly MediaFile[]
  /** The items that came from this provider, to be sent back unchanged. */
  readonly items: readonly JsonObject[]
}

/** Sorts the content of a message, for an API whose messages have one text, and images and files beside it. */
export function sortedContent({ content }: Message, provider: string): SortedContent {
  let text = ''
  const reasoning: ReasoningPart[] = []
  const images: (Image | MediaFile)[] = []
  const files: MediaFile[] = []
  const items: JsonObject[] = []
  if (typeof content === 'string') return { text: content, reasoning, images, files, items }
  for (const part of content) {
    switch (part.type) {
      case 'text':
        text += part.text
        break
      case 'image':
        images.push(part.image)
        break
      case 'file':
        if (fileKind(part.file) === 'image') images.push(part.file)
        else files.push(part.file)
        break
      case 'reasoning':
        if (part.provider === provider) reasoning.push(part)
        break
      case 'provider_item':
        if (part.provider === provider) items.push(part.item)
        break
      default:
        assertNever(part)
    }
  }
  return { text, reasoning, images, files, items }
}

/** The base64 of an image or a file, for an API that takes only bytes. One by URL or by id is refused. */
export function base64Of(file: Image | MediaFile, provider: string): string {
  if (file.type === 'base64') return file.base64
  throw unsupportedFile(provider, file, 'pass its bytes')
}

/** The names of the called tools by the ids of the calls, for an API whose results name the tool. */
export function toolNames(messages: readonly Message[]): ReadonlyMap<string, string> {
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls)
  return new Map(calls.map(({ id, name }) => [id, name]))
}
