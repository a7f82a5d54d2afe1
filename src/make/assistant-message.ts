import type { Message, Part, ToolCall } from '../types/message.ts'

/**
 * The assistant message that a sequence of finished blocks makes. Adapters and the fold both use it, so they agree.
 *
 * Content is a string when there is nothing but text (blocks joined), else the parts in their order.
 */
export function assistantMessage(parts: readonly Part[], toolCalls: readonly ToolCall[]): Message {
  const content = parts.every((part) => part.type === 'text')
    ? parts.map((part) => part.text).join('')
    : parts
  return toolCalls.length === 0
    ? { role: 'assistant', content }
    : { role: 'assistant', content, toolCalls }
}
