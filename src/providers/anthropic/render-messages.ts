import { ValidationError } from '../../errors/errors.ts'
import { parseArguments, isObject } from './wire.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import {
  messageText,
  type Message,
  type Part,
  type ReasoningPart,
  type ToolCall,
} from '../../types/message.ts'

/** A turn of the wire: what one side says until the other does. */
interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: JsonObject[]
}

/** The messages of a request, as the API wants them. */
interface RenderedMessages {
  readonly system?: string
  readonly messages: readonly JsonObject[]
}

/** What the rendering depends on. */
interface MessageContext {
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

/** What is needed to render the assistant's messages. */
interface AssistantContext {
  readonly provider: string
  readonly ids: ToolIds
  /** Nothing follows the message, so a tool on the provider's side may still be at work. */
  readonly isLast: boolean
}

/**
 * The blocks of an assistant message: thinking and its like where they were, then text, with the calls in their places.
 *
 * Images are left out: the API takes none from the assistant. Empty when there is nothing that can be sent.
 */
function renderAssistant(message: Message, context: AssistantContext): JsonObject[] {
  const { content, toolCalls = [] } = message
  const parts: readonly Part[] =
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  const answered = answeredServerTools(parts, context)
  const blocks: JsonObject[] = []
  let placed = 0
  const placeCalls = (until: number): void => {
    for (const call of toolCalls.slice(placed, until)) blocks.push(renderCall(call, context.ids))
    placed = Math.max(placed, until)
  }
  for (const part of parts) {
    if (part.type === 'text') blocks.push(...renderText(part.text))
    if (part.type !== 'reasoning') continue
    const echo = echoedBlock(part, context.provider)
    if (echo === undefined || !isComplete(echo.block, answered, context.isLast)) continue
    placeCalls(echo.toolCalls)
    blocks.push(echo.block)
  }
  placeCalls(toolCalls.length)
  // The API refuses a message that ends in thinking, as one that was cut while it thought does.
  while (isThinking(blocks.at(-1))) blocks.pop()
  return blocks
}

/** Whether a block is a call of a tool on the provider's side. */
function isServerToolUse(block: JsonObject | undefined): boolean {
  const type = block?.['type']
  return type === 'server_tool_use' || type === 'mcp_tool_use'
}

function isThinking(block: JsonObject | undefined): boolean {
  const type = block?.['type']
  return type === 'thinking' || type === 'redacted_thinking'
}

/** The API refuses a server tool's call without its result, save where it paused over it. */
function isComplete(block: JsonObject, answered: ReadonlySet<unknown>, isLast: boolean): boolean {
  return isLast || !isServerToolUse(block) || answered.has(block['id'])
}

function answeredServerTools(
  parts: readonly Part[],
  { provider }: AssistantContext,
): ReadonlySet<unknown> {
  const answered = new Set<unknown>()
  for (const part of parts) {
    if (part.type === 'reasoning') answered.add(echoedBlock(part, provider)?.block['tool_use_id'])
  }
  return answered
}

function renderCall(call: ToolCall, ids: ToolIds): JsonObject {
  const block = {
    type: 'tool_use',
    id: ids.call(call.id),
    name: wireName(call.name, 'unnamed'),
    input: renderInput(call),
  }
  return isObject(call.opaque) ? { ...block, ...callFields(call.opaque) } : block
}

/** Arguments that are no JSON object can not be echoed as they were; the model is shown them in this wrapping. */
function renderInput({ arguments: input, rawArguments = '' }: ToolCall): JsonObject {
  if (Object.keys(input).length > 0 || parseArguments(rawArguments) !== undefined) return input
  return { INVALID_JSON: rawArguments }
}

/**
 * The text and image blocks of a message's content. Reasoning is left out.
 *
 * The API refuses a text that is empty or all spaces, so such a text makes no block.
 */
function renderContent(content: Message['content']): readonly JsonObject[] {
  if (typeof content === 'string') return renderText(content)
  const blocks: JsonObject[] = []
  for (const part of content) {
    if (part.type === 'text') blocks.push(...renderText(part.text))
    else if (part.type === 'image') blocks.push(renderImage(part.image))
  }
  return blocks
}

/** A text as a block; none when there is nothing but space. */
function renderText(text: string): readonly JsonObject[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}

/** An image as a block. A file has been read by now; one that has not is refused. */
function renderImage(image: Image): JsonObject {
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

/**
 * The members of a tool's call that the API wants back: who called it, when it was not the model itself, and its toolset.
 *
 * They are picked from a block of the wire, or from what a call keeps; anything else there belongs to someone else.
 */
export function callFields(from: JsonObject): JsonObject {
  const { caller, toolset_name } = from
  return {
    ...(isObject(caller) && caller['type'] !== 'direct' ? { caller } : {}),
    ...(typeof toolset_name === 'string' ? { toolset_name } : {}),
  }
}

/** The ids of a conversation's tool calls, as they go to the wire. */
interface ToolIds {
  /** The id of a call. Each call of a conversation gets its own, also where two answers used the same. */
  call(id: string): string
  /** The id that a result refers to: that of the last call with this id. */
  result(id: string): string
}

/**
 * Makes the ids of one conversation.
 *
 * The API takes letters, digits, `_` and `-`, and each id once. Other providers count from 0 in every answer, or write dots
 * and colons; their calls are renamed, and the results with them.
 */
function toolIds(): ToolIds {
  const used = new Set<string>()
  const latest = new Map<string, string>()
  return {
    call(id) {
      const base = wireName(id, 'call')
      let unique = base
      for (let count = 2; used.has(unique); count++) unique = `${base}_${count}`
      used.add(unique)
      latest.set(id, unique)
      return unique
    },
    result: (id) => latest.get(id) ?? wireName(id, 'call'),
  }
}

/** A name in the letters that the API takes; `fallback` when nothing is there. */
export function wireName(name: string, fallback: string): string {
  if (/^[\w-]+$/.test(name)) return name
  return name === '' ? fallback : name.replaceAll(/[^\w-]/g, '_')
}

/**
 * What a reasoning part keeps for the echo: the signature of a thinking block, the data of a redacted one, or a whole block
 * of a tool that ran on the provider's side.
 *
 * `toolCalls` counts the calls that came before the block; it is there only when some did, so that the order can be restored.
 */
export type ReasoningOpaque = (
  | { readonly signature: string }
  | { readonly redacted: string }
  | { readonly block: JsonObject }
) & { readonly toolCalls?: number }

/** A block to echo, and how many of the message's tool calls stand before it. */
interface EchoedBlock {
  readonly block: JsonObject
  readonly toolCalls: number
}

/**
 * The block that a reasoning part came from.
 *
 * `undefined` for a part of another provider, and for thinking that was cut before its signature: both would be refused.
 */
function echoedBlock(part: ReasoningPart, provider: string): EchoedBlock | undefined {
  const { opaque } = part
  if (part.provider !== provider || !isObject(opaque)) return undefined
  const { signature, redacted, block, toolCalls } = opaque
  const before = typeof toolCalls === 'number' ? toolCalls : 0
  if (typeof signature === 'string') {
    return { block: { type: 'thinking', thinking: part.text, signature }, toolCalls: before }
  }
  if (typeof redacted === 'string') {
    return { block: { type: 'redacted_thinking', data: redacted }, toolCalls: before }
  }
  return isObject(block) ? { block, toolCalls: before } : undefined
}
