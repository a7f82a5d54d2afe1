import { ValidationError } from '../../errors/errors.ts'
import { callFields } from './call-fields.ts'
import { isObject } from './is-object.ts'
import { isServerToolUse, renderAssistant } from './render-assistant.ts'
import { renderContent, renderImage } from './render-blocks.ts'
import { toolIds } from './tool-ids.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import { messageText, type Message } from '../../types/message.ts'

/** A turn of the wire: what one side says until the other does. */
interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: JsonObject[]
}

/** The messages of a request, as the API wants them. */
export interface RenderedMessages {
  readonly system?: string
  readonly messages: readonly JsonObject[]
}

/** What the rendering depends on. */
export interface MessageContext {
  /** Reasoning of this provider is echoed; that of any other is left out. */
  readonly provider: string
  /** The model continues a last message of the assistant's; if not, it is asked to go on. */
  readonly prefill: boolean
}

/** The user's turn after an answer that was cut, for models that do not continue one by themselves. */
const continuation = 'Continue.'

/**
 * Renders a conversation: system messages lifted out, neighbours of one side merged, tool results first in the user's turn.
 *
 * Everything that is in a legal thread is sent, save reasoning of another provider and reasoning that was cut before it was
 * signed. Images of the assistant, which the API does not take, open the user's next turn.
 */
export function renderMessages(
  messages: readonly Message[],
  context: MessageContext,
): RenderedMessages {
  const system = messages.filter(({ role }) => role === 'system').map(messageText)
  const turns = renderTurns(
    messages.filter(({ role }) => role !== 'system'),
    context.provider,
  )
  // The API wants a message: instructions that stand alone are the user's.
  const alone = turns.length === 0 ? (system.pop() ?? '') : ''
  if (alone !== '') turns.push({ role: 'user', content: [...renderContent(alone)] })
  if (turns.length === 0) {
    const problem = 'has nothing to send: every message is empty'
    throw new ValidationError('invalid_request', [{ path: 'messages', problem }])
  }
  endTurns(turns, context.prefill)
  const lifted = system.filter((text) => text.trim() !== '').join('\n\n')
  return {
    ...(lifted === '' ? {} : { system: lifted }),
    messages: turns.map(toWire),
  }
}

function renderTurns(messages: readonly Message[], provider: string): Turn[] {
  const turns: Turn[] = []
  const ids = toolIds()
  const toolsets = new Map<string, JsonObject>()
  messages.forEach((message, index) => {
    switch (message.role) {
      case 'user':
        say(turns, 'user', renderContent(message.content))
        return
      case 'tool': {
        const id = message.toolCallId ?? ''
        const { toolset_name } = toolsets.get(id) ?? {}
        const block = {
          type: 'tool_result',
          tool_use_id: ids.result(id),
          ...resultContent(message),
        }
        answer(turns, toolset_name === undefined ? block : { ...block, toolset_name })
        return
      }
      case 'assistant': {
        const isLast = index === messages.length - 1
        say(turns, 'assistant', renderAssistant(message, { provider, ids, isLast }))
        for (const { id, opaque } of message.toolCalls ?? []) {
          toolsets.set(id, isObject(opaque) ? callFields(opaque) : {})
        }
        say(turns, 'user', assistantImages(message))
        return
      }
      case 'system':
        return
      default:
        assertNever(message.role)
    }
  })
  return turns
}

/** Adds blocks to the turn of a side; the same side twice makes one turn. */
function say(turns: Turn[], role: Turn['role'], blocks: readonly JsonObject[]): void {
  if (blocks.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) last.content.push(...blocks)
  else turns.push({ role, content: [...blocks] })
}

/** Adds a tool result. The API wants all of them first in the turn that follows the calls. */
function answer(turns: Turn[], block: JsonObject): void {
  const last = turns.at(-1)
  if (last?.role !== 'user') {
    turns.push({ role: 'user', content: [block] })
    return
  }
  const { content } = last
  const at = content.findIndex(({ type }) => type !== 'tool_result')
  content.splice(at === -1 ? content.length : at, 0, block)
}

function resultContent({ content }: Message): JsonObject {
  if (typeof content === 'string') return content.trim() === '' ? {} : { content }
  const blocks = renderContent(content)
  return blocks.length === 0 ? {} : { content: blocks }
}

function assistantImages({ content }: Message): readonly JsonObject[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => (part.type === 'image' ? [renderImage(part.image)] : []))
}

/** Makes the end legal: a last text of the assistant's has no space at its end, and not every model continues it. */
function endTurns(turns: Turn[], prefill: boolean): void {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== 'assistant' || isServerToolUse(block)) return
  if (!prefill) {
    turns.push({ role: 'user', content: [{ type: 'text', text: continuation }] })
  } else if (typeof block?.['text'] === 'string') {
    last.content[last.content.length - 1] = { type: 'text', text: block['text'].trimEnd() }
  }
}

/** One text alone is written as a string. */
function toWire({ role, content }: Turn): JsonObject {
  const [only] = content
  const { type, text } = only ?? {}
  return content.length === 1 && type === 'text' && text !== undefined
    ? { role, content: text }
    : { role, content }
}
