import { assertNever } from './guards.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Image } from './media.ts'

/** Every role. */
export const roles = ['system', 'user', 'assistant', 'tool'] as const

/** The author of a message. */
export type Role = (typeof roles)[number]

/** One turn of a conversation. */
export interface Message {
  readonly role: Role
  readonly content: string | readonly Part[]
  /** The tool calls of an assistant message, in the model's order. */
  readonly toolCalls?: readonly ToolCall[]
  /** The call that a tool message answers. */
  readonly toolCallId?: string
  readonly name?: string
  /**
   * Yours, except for three keys that the library sets: `partial` on an answer that was cut off, `interrupted` on a
   * placeholder for a tool result that never came, `askUser` on a placeholder for the user's answer.
   */
  readonly metadata?: JsonObject
}

/** The text of a message: its text parts joined, or its content when that is a string. */
export function messageText(message: Message): string {
  const { content } = message
  if (typeof content === 'string') return content
  return content.map(partText).join('')
}

/** Only text parts count as text. */
function partText(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'image':
    case 'reasoning':
      return ''
    default:
      return assertNever(part)
  }
}

/** How closely a vision model looks. Only OpenAI knows the difference. */
export type ImageDetail = 'auto' | 'low' | 'high'

/** Text within a message. */
export interface TextPart {
  readonly type: 'text'
  readonly text: string
}

/** An image within a message. */
export interface ImagePart {
  readonly type: 'image'
  readonly image: Image
  readonly detail?: ImageDetail
}

/** Reasoning text of a model. Sent back only to the provider that it came from. */
export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  /** The provider's signature or encrypted content, sent back unchanged. */
  readonly opaque?: JsonValue
  /** The provider that `opaque` belongs to. */
  readonly provider?: string
}

/** One piece of a message's content. */
export type Part = TextPart | ImagePart | ReasoningPart

/** A tool call that the model made. */
export interface ToolCall {
  /** Unique within one response; the tool's result carries it back. */
  readonly id: string
  readonly name: string
  /** The decoded arguments; `{}` when `rawArguments` is not a JSON object. */
  readonly arguments: JsonObject
  /** The arguments as the model wrote them, even when they cannot be parsed. */
  readonly rawArguments?: string
  /** Data that the provider needs back with this call, such as a thought signature. */
  readonly opaque?: JsonValue
}

/** A conversation: messages in order, and metadata of the caller. */
export interface Thread {
  readonly messages: readonly Message[]
  readonly metadata: JsonObject
}

/** A thread of the given messages. */
export function thread(messages: readonly Message[] = [], metadata: JsonObject = {}): Thread {
  return { messages, metadata }
}

/** A copy of the thread with messages added at its end. */
export function appendMessages(to: Thread, ...messages: readonly Message[]): Thread {
  // `concat` copies a long history once; a spread would iterate over it.
  return { ...to, messages: to.messages.concat(messages) }
}
