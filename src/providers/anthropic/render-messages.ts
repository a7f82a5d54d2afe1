import { parseObject } from '../../core/answer/message-builder.ts'
import { ValidationError } from '../../core/errors/errors.ts'
import { sharesReasoning } from '../../core/messages/provider-options.ts'
import { isErrorResult } from '../../core/messages/tool-messages.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Image, MediaFile } from '../../core/types/media.ts'
import {
  isBlank,
  messageParts,
  messageText,
  type Message,
  type PartOptions,
  type ProviderItemPart,
  type ReasoningPart,
  type ToolCall,
} from '../../core/types/message.ts'
import { fileKind, fileText, unsupportedFile, type FileKind } from '../shared/files.ts'
import { toolIds, type ToolIds } from '../shared/tool-ids.ts'

/** The messages of a request, in the API's form. */
interface RenderedMessages {
  readonly system?: string | readonly JsonObject[]
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
 * Everything in a legal thread is sent, except answers without content, reasoning of another provider and reasoning that was cut before it was
 * signed. Images and files of the assistant, which the API does not take, open the user's next turn.
 */
export function renderMessages(
  messages: readonly Message[],
  context: MessageContext,
): RenderedMessages {
  const { provider, prefill } = context
  const system = messages.filter(({ role }) => role === 'system')
  const turns = renderTurns(
    messages.filter((message) => message.role !== 'system' && !isBlank(message)),
    provider,
  )
  // The API requires a message: instructions without one are sent as the user's.
  const alone = turns.length === 0 ? system.pop() : undefined
  if (alone !== undefined) addBlocks(turns, 'user', renderContent(alone, provider))
  if (turns.length === 0) {
    const problem = 'must contain text or an image'
    throw new ValidationError('invalid_request', [{ path: 'messages', problem }])
  }
  endTurns(turns, prefill)
  return { ...renderSystem(system, provider), messages: turns.map(toWire) }
}

/** One text, or blocks if one of them has options, such as a cache breakpoint. */
function renderSystem(
  messages: readonly Message[],
  provider: string,
): Pick<RenderedMessages, 'system'> {
  const blocks = messages
    .flatMap((message) => renderContent(message, provider))
    .filter(({ type }) => type === 'text')
  if (blocks.length === 0) return {}
  if (!blocks.every(isPlainText)) return { system: blocks }
  const texts = messages.map(messageText).filter((text) => text.trim() !== '')
  return { system: texts.join('\n\n') }
}

/** Whether a block is a text and nothing else. */
function isPlainText(block: JsonObject): boolean {
  return typeof block['text'] === 'string' && Object.keys(block).length === 2
}

/** A turn of the API: consecutive messages of one role. */
interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: JsonObject[]
}

function renderTurns(messages: readonly Message[], provider: string): Turn[] {
  const turns: Turn[] = []
  // The API takes letters, digits, `_` and `-`.
  const ids = toolIds((id) => wireName(id, 'call'))
  const toolsets = new Map<string, JsonObject>()
  const serverTools = serverToolIds(messages, provider)
  messages.forEach((message, index) => {
    switch (message.role) {
      case 'user':
        addBlocks(turns, 'user', renderContent(message, provider))
        return
      case 'tool': {
        const id = message.toolCallId ?? ''
        const { toolset_name } = toolsets.get(id) ?? {}
        const block = {
          type: 'tool_result',
          tool_use_id: ids.result(id),
          ...resultContent(message, provider),
          ...(isErrorResult(message) ? { is_error: true } : {}),
          ...ownOptions(message, provider),
        }
        addResult(turns, toolset_name === undefined ? block : { ...block, toolset_name })
        return
      }
      case 'assistant': {
        const media = assistantMedia(message, provider)
        const isLast = index === messages.length - 1 && media.length === 0
        addBlocks(
          turns,
          'assistant',
          renderAssistant(message, { provider, ids, isLast, serverTools }),
        )
        for (const { id, opaque } of message.toolCalls ?? []) {
          toolsets.set(id, isObject(opaque) ? callFields(opaque) : {})
        }
        addBlocks(turns, 'user', media)
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

function resultContent({ role, content }: Message, provider: string): JsonObject {
  if (typeof content === 'string') return content.trim() === '' ? {} : { content }
  // The options of the message are for the result as a whole.
  const blocks = renderContent({ role, content }, provider)
  return blocks.length === 0 ? {} : { content: blocks }
}

function assistantMedia({ content }: Message, provider: string): readonly JsonObject[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => {
    switch (part.type) {
      case 'image':
        return [renderImage(part.image)]
      case 'file':
        return [renderFile(part.file, provider)]
      case 'text':
      case 'reasoning':
      case 'provider_item':
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
  // A turn that paused for a tool of the provider is sent back as it is.
  if (last?.role !== 'assistant' || isServerBlock(block)) return
  if (!prefill) {
    turns.push({ role: 'user', content: [{ type: 'text', text: continuation }] })
  } else if (typeof block?.['text'] === 'string') {
    last.content[last.content.length - 1] = { ...block, text: block['text'].trimEnd() }
  }
}

/** A single text is written as a string. */
function toWire({ role, content }: Turn): JsonObject {
  const [only] = content
  return content.length === 1 && only !== undefined && isPlainText(only)
    ? { role, content: only['text'] ?? '' }
    : { role, content }
}

/** What the rendering of an assistant message depends on. */
interface AssistantContext {
  readonly provider: string
  readonly ids: ToolIds
  /** Whether nothing follows the message, so that a tool that runs at the provider may still be running. */
  readonly isLast: boolean
  readonly serverTools: ServerToolIds
}

/** The ids of the server tool calls and of their results, in any message: a paused turn goes on in the next one. */
interface ServerToolIds {
  readonly called: ReadonlySet<unknown>
  readonly answered: ReadonlySet<unknown>
}

/**
 * The blocks of an assistant message: its parts in their order, with the calls in their places.
 *
 * Images are left out: the API takes none from the assistant. The list is empty when there is nothing that can be sent.
 */
function renderAssistant(message: Message, context: AssistantContext): JsonObject[] {
  const { toolCalls = [] } = message
  const parts = messageParts(message)
  const blocks: JsonObject[] = []
  const citations = citationsOf(message, context.provider)
  let placed = 0
  const placeCalls = (until: number): void => {
    for (const call of toolCalls.slice(placed, until)) blocks.push(renderCall(call, context.ids))
    placed = Math.max(placed, until)
  }
  for (const part of parts) {
    switch (part.type) {
      case 'text':
        blocks.push(...renderCited(part.text, citations, ownOptions(part, context.provider)))
        break
      case 'reasoning':
      case 'provider_item': {
        const echo = echoedBlock(part, context.provider)
        if (echo === undefined || isOrphan(echo.block, context)) break
        placeCalls(echo.toolCalls)
        blocks.push({ ...echo.block, ...ownOptions(part, context.provider) })
        break
      }
      case 'image':
      case 'file':
        break
      default:
        assertNever(part)
    }
  }
  placeCalls(toolCalls.length)
  return withLast(legalBlocks(blocks, toolCalls, context), ownOptions(message, context.provider))
}

/**
 * The blocks that the API takes back. It refuses a message that ends in thinking, such as one that was cut during its
 * thinking, and a call of a server tool without its result, except in a last message that paused for the tool.
 */
function legalBlocks(
  blocks: readonly JsonObject[],
  toolCalls: readonly ToolCall[],
  context: AssistantContext,
): JsonObject[] {
  const ended = withoutLastThinking(blocks)
  if (context.isLast && isServerBlock(ended.at(-1))) return ended
  return withoutLastThinking(blocks.filter((block) => isComplete(block, toolCalls, context)))
}

function withoutLastThinking(blocks: readonly JsonObject[]): JsonObject[] {
  return blocks.slice(0, blocks.findLastIndex((block) => !isThinking(block)) + 1)
}

/** The citations of an answer that are sent back, in the order of their texts, and how far the answer was rendered. */
interface Citations {
  readonly list: readonly {
    readonly start: number
    readonly end: number
    readonly citation: JsonObject
  }[]
  /** The first that was not rendered. */
  next: number
  /** Where the next text part begins in the text of the answer. */
  offset: number
}

/** Citations of web searches have to be sent back. Those of documents are left out: the API knows them by the documents' numbers. */
function citationsOf({ sources = [] }: Message, provider: string): Citations {
  const list = sources.flatMap(({ start, end, providerMetadata }) => {
    const citation = providerMetadata?.[provider]
    const isSearch = isObject(citation) && citation['type'] === 'web_search_result_location'
    return isSearch && start !== undefined && end !== undefined ? [{ start, end, citation }] : []
  })
  list.sort((left, right) => left.start - right.start || left.end - right.end)
  return { list, next: 0, offset: 0 }
}

/** A text of the answer: a block for each piece that has citations of its own, and for what is between them. */
function renderCited(text: string, citations: Citations, options: JsonObject): JsonObject[] {
  const { list, offset } = citations
  const pieces: { text: string; citations?: readonly JsonObject[] }[] = []
  let at = 0
  const add = (until: number, cited?: readonly JsonObject[]): void => {
    const piece = text.slice(at, until)
    const last = pieces.at(-1)
    at = until
    // The API refuses a block of nothing but white space.
    if (last !== undefined && (piece.trim() === '' || last.text.trim() === '')) {
      last.text += piece
      if (cited !== undefined) last.citations = cited
    } else pieces.push(cited === undefined ? { text: piece } : { text: piece, citations: cited })
  }
  for (;;) {
    const first = list[citations.next]
    if (first === undefined || first.start >= offset + text.length) break
    const cited: JsonObject[] = []
    for (; ; citations.next++) {
      const same = list[citations.next]
      if (same?.start !== first.start || same.end !== first.end) break
      cited.push(same.citation)
    }
    const [start, end] = [first.start - offset, first.end - offset]
    if (start < at || end <= start || end > text.length) continue
    if (start > at) add(start)
    add(end, cited)
  }
  if (at < text.length) add(text.length)
  citations.offset += text.length
  const blocks = pieces.flatMap((piece) =>
    piece.text.trim() === '' ? [] : [{ type: 'text', ...piece }],
  )
  return withLast(blocks, options)
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

/** Whether a block is one of the provider's own: a call of a tool that runs there, or its result. */
function isServerBlock(block: JsonObject | undefined): boolean {
  const type = block?.['type']
  return isServerToolUse(block) || (typeof type === 'string' && /._tool_result$/.test(type))
}

/** Whether a block may be sent: a server tool call only with its result. A tool that waits for one of the message's calls has none yet. */
function isComplete(
  block: JsonObject,
  toolCalls: readonly ToolCall[],
  { serverTools }: AssistantContext,
): boolean {
  const { id } = block
  if (!isServerToolUse(block) || serverTools.answered.has(id)) return true
  return toolCalls.some(({ opaque }) => {
    const caller = isObject(opaque) ? opaque['caller'] : undefined
    return isObject(caller) && caller['tool_id'] === id
  })
}

/** Whether a block is the result of a server tool without its call, such as one whose call was compacted away: the API refuses it. */
function isOrphan(block: JsonObject, { serverTools }: AssistantContext): boolean {
  return (
    isServerBlock(block) && !isServerToolUse(block) && !serverTools.called.has(block['tool_use_id'])
  )
}

function serverToolIds(messages: readonly Message[], provider: string): ServerToolIds {
  const called = new Set<unknown>()
  const answered = new Set<unknown>()
  for (const { content } of messages) {
    if (typeof content === 'string') continue
    for (const part of content) {
      if (part.type !== 'reasoning' && part.type !== 'provider_item') continue
      const block = echoedBlock(part, provider)?.block
      if (isServerToolUse(block)) called.add(block?.['id'])
      else answered.add(block?.['tool_use_id'])
    }
  }
  return { called, answered }
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

/** The text, image and document blocks of a message's content. Reasoning, and items of other providers, are left out. */
function renderContent(message: Message, provider: string): readonly JsonObject[] {
  const { content } = message
  const own = ownOptions(message, provider)
  if (typeof content === 'string') return renderText(content, own)
  const blocks: JsonObject[] = []
  for (const part of content) {
    const options = ownOptions(part, provider)
    switch (part.type) {
      case 'text':
        blocks.push(...renderText(part.text, options))
        break
      case 'image':
        blocks.push({ ...renderImage(part.image), ...options })
        break
      case 'file':
        blocks.push({ ...renderFile(part.file, provider), ...options })
        break
      case 'reasoning':
        break
      case 'provider_item':
        if (part.provider === provider) blocks.push({ ...part.item, ...options })
        break
      default:
        assertNever(part)
    }
  }
  return withLast(blocks, own)
}

/** Adds members to the last block. */
function withLast(blocks: JsonObject[], members: JsonObject): JsonObject[] {
  const last = blocks.at(-1)
  if (last !== undefined) blocks[blocks.length - 1] = { ...last, ...members }
  return blocks
}

/** The members that a part, a message or a tool gives its block: `cacheControl`, and others in the words of the API. */
export function ownOptions({ providerOptions }: PartOptions, provider: string): JsonObject {
  if (providerOptions === undefined) return {}
  const { anthropic, [provider]: own } = providerOptions
  const { cacheControl, ...members } = { ...anthropic, ...own }
  return cacheControl === undefined ? members : { ...members, cache_control: cacheControl }
}

/** A text as a block. The API refuses a text that is empty or white space, so such a text has no block. */
function renderText(text: string, options: JsonObject): readonly JsonObject[] {
  return text.trim() === '' ? [] : [{ type: 'text', text, ...options }]
}

/** A file as a block: PDFs and texts are documents. */
function renderFile(file: MediaFile, provider: string): JsonObject {
  const kind = fileKind(file)
  if (kind === 'image') return renderImage(file)
  const source = fileSource(file, kind)
  if (source === undefined) {
    const instead = 'documents are PDFs (also by URL), texts, and files by id'
    throw unsupportedFile(provider, file, instead)
  }
  const title = file.type === 'id' ? undefined : file.name
  return defined<JsonObject>({ type: 'document', source, title })
}

/** The API fetches only PDFs. A URL does not always say what it is. */
function fileSource(file: MediaFile, kind: FileKind): JsonObject | undefined {
  if (file.type === 'base64' && kind === 'text') {
    return { type: 'text', media_type: 'text/plain', data: fileText(file) }
  }
  const isTaken =
    file.type === 'id' || kind === 'pdf' || (file.type === 'url' && kind === 'unknown')
  return isTaken ? sourceOf(file) : undefined
}

/** An image as a block. */
function renderImage(image: Image): JsonObject {
  return { type: 'image', source: sourceOf(image) }
}

function sourceOf(data: Image | MediaFile): JsonObject {
  switch (data.type) {
    case 'base64':
      return { type: 'base64', media_type: data.mimeType, data: data.base64 }
    case 'url':
      return { type: 'url', url: data.url }
    case 'id':
      return { type: 'file', file_id: data.id }
    default:
      return assertNever(data)
  }
}

/**
 * The members of a tool call that the API wants back: the caller, when it was not the model itself, and the toolset.
 *
 * They are read from a block of an answer or from a call's `opaque`. Other members are ignored.
 */
export function callFields(from: JsonObject): JsonObject {
  const { caller, toolset_name } = from
  return {
    ...(isObject(caller) && caller['type'] !== 'direct' ? { caller } : {}),
    ...(typeof toolset_name === 'string' ? { toolset_name } : {}),
  }
}

/** A name in the letters that the API takes. An empty name is replaced by `fallback`. */
export function wireName(name: string, fallback: string): string {
  if (/^[\w-]+$/.test(name)) return name
  return name === '' ? fallback : name.replaceAll(/[^\w-]/g, '_')
}

/**
 * What a reasoning part keeps to be sent back: the signature of a thinking block, the data of a redacted one, or, in threads
 * that older versions saved, a whole block of a tool that ran at the provider.
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
 * The block that a part came from.
 *
 * Returns `undefined` for a part of another provider, and for thinking that was cut before its signature: the API would
 * refuse both.
 */
function echoedBlock(
  part: ReasoningPart | ProviderItemPart,
  provider: string,
): EchoedBlock | undefined {
  if (part.type === 'provider_item') {
    const { item: block, callsBefore: toolCalls = 0 } = part
    return part.provider === provider ? { block, toolCalls } : undefined
  }
  const { opaque } = part
  if (!sharesReasoning(part.provider, provider) || !isObject(opaque)) return undefined
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
