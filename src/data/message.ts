import type { JsonObject } from './json.ts'
import type { Part } from './part.ts'
import type { ToolCall } from './tool-call.ts'

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
