import type { JsonObject, JsonValue } from './json.ts'
import type { Image } from './media.ts'

/** Who speaks. */
export type Role = 'system' | 'user' | 'assistant' | 'tool'

/** One turn of a conversation. */
export interface Message {
  readonly role: Role
  readonly content: string | readonly Part[]
  /** The calls that an assistant message asked for, in the model's order. */
  readonly toolCalls?: readonly ToolCall[]
  /** The call that a tool message answers. */
  readonly toolCallId?: string
  readonly name?: string
  /**
   * Yours, except for three marks of ours: `partial` on an answer that was cut, `interrupted` on a tool
   * result that stands in for one that never came, `askUser` on one that stands in for the user's answer.
   */
  readonly metadata?: JsonObject
}

/** The text of a message: its text parts joined, or its content when that is a string. */
export function messageText(message: Message): string {
  const { content } = message
  if (typeof content === 'string') return content
  let text = ''
  for (const part of content) if (part.type === 'text') text += part.text
  return text
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

/** What a model thought aloud. Sent back only to the provider that it came from. */
export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  /** The provider's signature or encrypted content, echoed back as it came. */
  readonly opaque?: JsonValue
  /** The provider that `opaque` belongs to. */
  readonly provider?: string
}

/** One piece of a message's content. */
export type Part = TextPart | ImagePart | ReasoningPart

/** A tool invocation that the model asked for. */
export interface ToolCall {
  /** Unique within one response; the tool's result carries it back. */
  readonly id: string
  readonly name: string
  /** The decoded arguments; `{}` when `rawArguments` is not a JSON object. */
  readonly arguments: JsonObject
  /** The arguments as the model wrote them, also when they can not be parsed. */
  readonly rawArguments?: string
  /** What the provider wants echoed with this call, such as a thought signature. */
  readonly opaque?: JsonValue
}

/** A conversation: messages in order, and what the caller wants to keep beside them. */
export interface Thread {
  readonly messages: readonly Message[]
  readonly metadata: JsonObject
}

/** A thread of the given messages. */
export function thread(messages: readonly Message[] = [], metadata: JsonObject = {}): Thread {
  return { messages, metadata }
}

/** The thread with messages added at its end. The given thread is not changed. */
export function appendMessages(to: Thread, ...messages: readonly Message[]): Thread {
  // Unlike a spread, `concat` copies a long history once.
  return { ...to, messages: to.messages.concat(messages) }
}
