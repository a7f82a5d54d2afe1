import { ValidationError } from '../../errors/errors.ts'
import { parseObject } from '../../make/message-builder.ts'
import { assertNever, isObject } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import {
  messageText,
  type Message,
  type Part,
  type ReasoningPart,
  type ToolCall,
} from '../../types/message.ts'

/** The messages of a request, in the API's form. */
interface RenderedMessages {
  readonly system?: string
  readonly messages: readonly JsonObject[]
}

/** What the rendering depends on. */
interface MessageContext {
  /** Reasoning of this provider is sent back. Reasoning of other providers is left out. */
  readonly provider: string
  /** Whether the model continues a last message of the assistant. If not, it is asked to continue. */
  readonly prefill: boolean
}

/**
 * Renders a conversation: system messages move to `system`, consecutive messages of one role are merged into one turn, and
 * tool results come first in the user's turn.
 *
 * Everything in a legal thread is sent, except reasoning of another provider and reasoning that was cut before it was
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
  // The API requires a message: instructions without one are sent as the user's.
  const alone = turns.length === 0 ? (system.pop() ?? '') : ''
  if (alone !== '') turns.push({ role: 'user', content: [...renderContent(alone)] })
  if (turns.length === 0) {
    const problem = 'must contain text or an image: every message is empty'
    throw new ValidationError('invalid_request', [{ path: 'messages', problem }])
  }
  endTurns(turns, context.prefill)
  const lifted = system.filter((text) => text.trim() !== '').join('\n\n')
  return {
    ...(lifted === '' ? {} : { system: lifted }),
    messages: turns.map(toWire),
  }
}

/** A turn of the wire: consecutive messages of one role. */
interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: JsonObject[]
}

function renderTurns(messages: readonly Message[], provider: string): Turn[] {
  const turns: Turn[] = []
  const ids = toolIds()
  const toolsets = new Map<string, JsonObject>()
  messages.forEach((message, index) => {
    switch (message.role) {
      case 'user':
        addBlocks(turns, 'user', renderContent(message.content))
        return
      case 'tool': {
        const id = message.toolCallId ?? ''
        const { toolset_name } = toolsets.get(id) ?? {}
        const block = {
          type: 'tool_result',
          tool_use_id: ids.result(id),
          ...resultContent(message),
        }
        addResult(turns, toolset_name === undefined ? block : { ...block, toolset_name })
        return
      }
      case 'assistant': {
        const isLast = index === messages.length - 1
        addBlocks(turns, 'assistant', renderAssistant(message, { provider, ids, isLast }))
        for (const { id, opaque } of message.toolCalls ?? []) {
          toolsets.set(id, isObject(opaque) ? callFields(opaque) : {})
        }
        addBlocks(turns, 'user', assistantImages(message))
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

/** Adds blocks to the last turn when it has this role, else to a new one. */
function addBlocks(turns: Turn[], role: Turn['role'], blocks: readonly JsonObject[]): void {
  if (blocks.length === 0) return
  const last = turns.at(-1)
  if (last?.role === role) last.content.push(...blocks)
  else turns.push({ role, content: [...blocks] })
}

/** Adds a tool result. The API requires all results at the start of the turn that follows the calls. */
function addResult(turns: Turn[], block: JsonObject): void {
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
  return content.flatMap((part) => {
    switch (part.type) {
      case 'image':
        return [renderImage(part.image)]
      case 'text':
      case 'reasoning':
        return []
      default:
        return assertNever(part)
    }
  })
}

/** The user's turn after an answer that was cut, for models that do not continue it by themselves. */
const continuation = 'Continue.'

/** Makes the end legal: a last text of the assistant must not end in white space, and not every model continues it. */
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

/** A single text is written as a string. */
function toWire({ role, content }: Turn): JsonObject {
  const [only] = content
  const { type, text } = only ?? {}
  return content.length === 1 && type === 'text' && text !== undefined
    ? { role, content: text }
    : { role, content }
}

/** What the rendering of an assistant message depends on. */
interface AssistantContext {
  readonly provider: string
  readonly ids: ToolIds
  /** Whether the message is the last one, so that a tool that runs at the provider may still be running. */
  readonly isLast: boolean
}

/**
 * The blocks of an assistant message: its parts in their order, with the calls in their places.
 *
 * Images are left out: the API takes none from the assistant. The list is empty when there is nothing that can be sent.
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
    switch (part.type) {
      case 'text':
        blocks.push(...renderText(part.text))
        break
      case 'reasoning': {
        const echo = echoedBlock(part, context.provider)
        if (echo === undefined || !isComplete(echo.block, answered, context.isLast)) break
        placeCalls(echo.toolCalls)
        blocks.push(echo.block)
        break
      }
      case 'image':
        break
      default:
        assertNever(part)
    }
  }
  placeCalls(toolCalls.length)
  // The API refuses a message that ends in thinking, such as one that was cut during its thinking.
  while (isThinking(blocks.at(-1))) blocks.pop()
  return blocks
}

/** Whether a block is a call of a tool that runs at the provider. */
function isServerToolUse(block: JsonObject | undefined): boolean {
  const type = block?.['type']
  return type === 'server_tool_use' || type === 'mcp_tool_use'
}

function isThinking(block: JsonObject | undefined): boolean {
  const type = block?.['type']
  return type === 'thinking' || type === 'redacted_thinking'
}

/** The API refuses a server tool call without its result, except in the last message, where it paused for the tool. */
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

/** The API takes only a JSON object. Arguments that are not one are shown to the model in this wrapping. */
function renderInput({ arguments: input, rawArguments = '' }: ToolCall): JsonObject {
  const isValid = rawArguments.trim() === '' || parseObject(rawArguments) !== undefined
  return isValid || Object.keys(input).length > 0 ? input : { INVALID_JSON: rawArguments }
}

/** The text and image blocks of a message's content. Reasoning is left out. */
function renderContent(content: Message['content']): readonly JsonObject[] {
  if (typeof content === 'string') return renderText(content)
  const blocks: JsonObject[] = []
  for (const part of content) {
    switch (part.type) {
      case 'text':
        blocks.push(...renderText(part.text))
        break
      case 'image':
        blocks.push(renderImage(part.image))
        break
      case 'reasoning':
        break
      default:
        assertNever(part)
    }
  }
  return blocks
}

/** A text as a block. The API refuses a text that is empty or white space, so such a text has no block. */
function renderText(text: string): readonly JsonObject[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}

/** An image as a block. Images in files are read before; a file that was not read is refused. */
function renderImage(image: Image): JsonObject {
  switch (image.type) {
    case 'base64': {
      const { base64: data, mimeType: media_type } = image
      return { type: 'image', source: { type: 'base64', media_type, data } }
    }
    case 'url':
      return { type: 'image', source: { type: 'url', url: image.url } }
    case 'file':
      throw new ValidationError('invalid_image', [
        { path: image.path, problem: 'must be read before the request is rendered' },
      ])
    default:
      return assertNever(image)
  }
}

/**
 * The members of a tool call that the API wants back: the caller, when it was not the model itself, and the toolset.
 *
 * They are read from a block of the wire or from a call's `opaque`. Other members are ignored.
 */
export function callFields(from: JsonObject): JsonObject {
  const { caller, toolset_name } = from
  return {
    ...(isObject(caller) && caller['type'] !== 'direct' ? { caller } : {}),
    ...(typeof toolset_name === 'string' ? { toolset_name } : {}),
  }
}

/** The ids of a conversation's tool calls on the wire. */
interface ToolIds {
  /** The id of a call. Each call of a conversation gets its own, also when two answers used the same. */
  call(id: string): string
  /** The id that a result refers to: the id of the last call with this id. */
  result(id: string): string
}

/**
 * Makes the ids of one conversation.
 *
 * The API takes letters, digits, `_` and `-`, and each id once. Other providers count from 0 in every answer, or use dots
 * and colons; their calls are renamed, and the results too.
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

/** A name in the letters that the API takes. An empty name is replaced by `fallback`. */
export function wireName(name: string, fallback: string): string {
  if (/^[\w-]+$/.test(name)) return name
  return name === '' ? fallback : name.replaceAll(/[^\w-]/g, '_')
}

/**
 * What a reasoning part keeps to be sent back: the signature of a thinking block, the data of a redacted one, or a whole
 * block of a tool that ran at the provider.
 *
 * `toolCalls` is the number of calls before the block, so that the order can be restored. It is absent when there were none.
 */
export type ReasoningOpaque = (
  | { readonly signature: string }
  | { readonly redacted: string }
  | { readonly block: JsonObject }
) & { readonly toolCalls?: number }

/** A block to send back, and how many of the message's tool calls come before it. */
interface EchoedBlock {
  readonly block: JsonObject
  readonly toolCalls: number
}

/**
 * The block that a reasoning part came from.
 *
 * Returns `undefined` for a part of another provider, and for thinking that was cut before its signature: the API would
 * refuse both.
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
