import { renderAssistant } from './render-assistant.ts'
import { renderImage } from './render-image.ts'
import type { RenderTarget } from './render-target.ts'
import { renderToolResults, type ToolResult } from './render-tool-results.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import { messageText, type Message, type ToolCall } from '../../types/message.ts'

/** A conversation in Gemini's words. */
export interface Conversation {
  /** The texts of the system messages, wherever they stood. */
  readonly system: readonly JsonObject[]
  readonly contents: readonly JsonObject[]
}

interface Turn {
  readonly role: 'user' | 'model'
  readonly parts: JsonObject[]
}

/**
 * Messages as turns. Gemini's turns alternate, begin with the user and are never empty, so neighbours of one role become one
 * turn, a message without content is left out, and a conversation that the model begins is opened by a blank.
 */
export function renderContents(messages: readonly Message[], target: RenderTarget): Conversation {
  const system: JsonObject[] = []
  const turns: Turn[] = []
  let calls: readonly ToolCall[] = []
  let results: ToolResult[] = []
  const flush = (): void => {
    add(turns, 'user', renderToolResults(results, calls, target))
    results = []
  }
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`
    if (message.role !== 'tool') flush()
    switch (message.role) {
      case 'system':
        if (messageText(message) !== '') system.push({ text: messageText(message) })
        break
      case 'user':
        add(turns, 'user', renderUser(message, path))
        break
      case 'assistant':
        calls = message.toolCalls ?? []
        add(turns, 'model', renderAssistant(message, path, target))
        break
      case 'tool':
        results.push({ message, path })
        break
      default:
        assertNever(message.role)
    }
  }
  flush()
  if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', parts: [{ text: ' ' }] })
  return { system, contents: turns.map(({ role, parts }) => ({ role, parts })) }
}

function add(turns: Turn[], role: Turn['role'], parts: readonly JsonObject[]): void {
  if (parts.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) last.parts.push(...parts)
  else turns.push({ role, parts: [...parts] })
}

function renderUser({ content }: Message, path: string): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }]
  const parts: JsonObject[] = []
  for (const [index, part] of content.entries()) {
    if (part.type === 'image') parts.push(renderImage(part.image, `${path}.content[${index}]`))
    else if (part.type === 'text' && part.text !== '') parts.push({ text: part.text })
  }
  return parts
}
