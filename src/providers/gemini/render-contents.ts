import { ValidationError } from '../../core/errors/errors.ts'
import { sharesReasoning } from '../../core/messages/provider-options.ts'
import { isErrorResult } from '../../core/messages/tool-messages.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { Image, MediaFile } from '../../core/types/media.ts'
import {
  messageText,
  type Message,
  type ReasoningPart,
  type ToolCall,
} from '../../core/types/message.ts'
import { fileKind, fileMimeType, unsupportedFile } from '../shared/files.ts'
import { callEchoOf, echoOf } from './opaque.ts'

/** What the rendering of a conversation depends on. */
export interface ContentsTarget {
  /** The provider name on the reasoning that is sent; reasoning of any other provider is left out. */
  readonly provider: string
  /** Whether the model refuses a turn whose first call has no thought signature. */
  readonly needsSignatures: boolean
  /** Whether the model takes the images and documents of a tool result inside the result. */
  readonly mediaInResults: boolean
}

/** A conversation as Gemini takes it. */
interface Conversation {
  /** The texts of the system messages, wherever they stood. */
  readonly system: readonly JsonObject[]
  readonly contents: readonly JsonObject[]
}

interface Turn {
  readonly role: 'user' | 'model'
  readonly parts: JsonObject[]
}

/**
 * Renders messages as turns. Gemini's turns alternate, begin with the user and are never empty: neighbours of one role become
 * one turn, a message without content is left out, and a conversation that the model begins gets a blank user turn first.
 */
export function renderContents(messages: readonly Message[], target: ContentsTarget): Conversation {
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
        add(turns, 'user', renderParts(message, target))
        break
      case 'assistant':
        calls = message.toolCalls ?? []
        add(turns, 'model', renderParts(message, target))
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

/**
 * The content of a message, part by part, then its calls, except those that came before an item of the provider. Only this
 * provider's own reasoning and items are sent.
 */
function renderParts(message: Message, target: ContentsTarget): JsonObject[] {
  const { role, content, toolCalls = [] } = message
  const { provider } = target
  const calls = renderCalls(toolCalls, target)
  if (typeof content === 'string') return content === '' ? calls : [{ text: content }, ...calls]
  const parts: JsonObject[] = []
  for (const part of content) {
    switch (part.type) {
      case 'text':
        if (part.text !== '') parts.push({ text: part.text })
        break
      case 'image':
        parts.push(renderMedia(part.image))
        break
      case 'file':
        parts.push(renderFile(part.file, provider))
        break
      case 'reasoning':
        if (role === 'assistant' && sharesReasoning(part.provider, provider)) {
          addReasoning(parts, part)
        }
        break
      case 'provider_item': {
        if (part.provider !== provider) break
        const left = calls.length - (toolCalls.length - (part.callsBefore ?? 0))
        parts.push(...calls.splice(0, left), part.item)
        break
      }
      default:
        assertNever(part)
    }
  }
  return [...parts, ...calls]
}

function addReasoning(parts: JsonObject[], reasoning: ReasoningPart): void {
  const echo = echoOf(reasoning)
  switch (echo.type) {
    case 'thought': {
      const { text, signature } = echo
      if (text === '' && signature === undefined) return
      parts.push(defined<JsonObject>({ text, thought: true, thoughtSignature: signature }))
      return
    }
    case 'signature': {
      const previous = parts.at(-1)
      const gone = previous === undefined || 'thought' in previous || 'thoughtSignature' in previous
      // A signature whose part is gone is sent on an empty text.
      if (gone) parts.push({ text: '', thoughtSignature: echo.signature })
      else parts.splice(-1, 1, { ...previous, thoughtSignature: echo.signature })
      return
    }
    case 'part':
      parts.push(echo.part)
      return
    default:
      assertNever(echo)
  }
}

/** The signature that Google documents for calls that its model did not make, as in a thread from another provider. */
const signatureOfForeignCalls = 'skip_thought_signature_validator'

/** The calls of a turn, each with the signature that it came with. */
function renderCalls(
  calls: readonly ToolCall[],
  { needsSignatures }: ContentsTarget,
): JsonObject[] {
  const signed = calls.some(({ opaque }) => callEchoOf(opaque).thoughtSignature !== undefined)
  const needsSignature = needsSignatures && !signed
  return calls.map((call, index) => {
    const own = callEchoOf(call.opaque).thoughtSignature
    const thoughtSignature = needsSignature && index === 0 ? signatureOfForeignCalls : own
    const functionCall = { ...wireId(call), name: call.name, args: call.arguments }
    return defined<JsonObject>({ functionCall, thoughtSignature })
  })
}

/** The id of a call as Gemini knows it: the one that it sent, none if it sent none. A foreign call keeps its id. */
function wireId({ id, opaque }: ToolCall): { readonly id?: string } {
  const { sentId } = callEchoOf(opaque)
  if (sentId === null) return {}
  return { id: sentId ?? id }
}

/** A tool message and its path in the request. */
interface ToolResult {
  readonly message: Message
  readonly path: string
}

/**
 * The results of a turn's calls, in the order of the calls, because Gemini may have sent no ids to match them by. A result
 * that answers none of the calls is a `ValidationError`.
 */
function renderToolResults(
  results: readonly ToolResult[],
  calls: readonly ToolCall[],
  target: ContentsTarget,
): JsonObject[] {
  const answers = results.map((result) => {
    const order = calls.findIndex(({ id }) => id === result.message.toolCallId)
    return { result, order, call: calls[order] }
  })
  answers.sort((left, right) => left.order - right.order)
  return answers.flatMap(({ result, call }) => {
    if (call === undefined) throw unasked(result)
    return renderResult(result, call, target)
  })
}

function renderResult(
  { message }: ToolResult,
  call: ToolCall,
  target: ContentsTarget,
): JsonObject[] {
  const inside: JsonObject[] = []
  const beside: JsonObject[] = []
  const parts = typeof message.content === 'string' ? [] : message.content
  for (const part of parts) {
    switch (part.type) {
      case 'image':
      case 'file': {
        const media =
          part.type === 'image' ? renderMedia(part.image) : renderFile(part.file, target.provider)
        ;(target.mediaInResults && fitsResult(media) ? inside : beside).push(media)
        break
      }
      case 'text':
        // All text of the message is the output below.
        break
      case 'provider_item':
        if (part.provider === target.provider) beside.push(part.item)
        break
      case 'reasoning':
        // A tool does not reason.
        break
      default:
        assertNever(part)
    }
  }
  const functionResponse = {
    ...wireId(call),
    name: call.name,
    response: {
      [isErrorResult(message) ? 'error' : 'output']:
        messageText(message) || (beside.length > 0 ? 'The result follows.' : ''),
    },
    ...(inside.length === 0 ? {} : { parts: inside }),
  }
  return [{ functionResponse }, ...beside]
}

/** A result holds images, PDFs and plain text, inline. Everything else stands beside it. */
function fitsResult({ inlineData }: JsonObject): boolean {
  const mimeType = isObject(inlineData) ? inlineData['mimeType'] : undefined
  return typeof mimeType === 'string' && resultTypes.test(mimeType)
}

const resultTypes = /^(?:image\/.*|application\/pdf|text\/plain)$/

function unasked({ message, path }: ToolResult): ValidationError {
  const problem = `answers ${JSON.stringify(message.toolCallId)}, which is not a call of the assistant message before it`
  return new ValidationError('invalid_thread', [{ path: `${path}.toolCallId`, problem }])
}

/** A file as a part: PDFs, texts, images, audio and video. */
function renderFile(file: MediaFile, provider: string): JsonObject {
  if (fileKind(file) === 'other') {
    throw unsupportedFile(provider, file, 'it reads PDFs, texts, images, audio and video')
  }
  return renderMedia(file)
}

/** An image or a file: its bytes, or the address that Gemini reads it from. */
function renderMedia(media: Image | MediaFile): JsonObject {
  switch (media.type) {
    case 'base64': {
      // Gemini knows texts by the family `text` alone.
      const mimeType = media.mimeType === 'application/json' ? 'text/plain' : media.mimeType
      return { inlineData: { mimeType, data: media.base64 } }
    }
    case 'url':
      return { fileData: fileData(media.url, fileMimeType(media)) }
    case 'id':
      return { fileData: fileData(fileUri(media.id), media.mimeType) }
    default:
      return assertNever(media)
  }
}

function fileData(fileUri: string, mimeType: string | undefined): JsonObject {
  return defined<JsonObject>({ mimeType, fileUri })
}

/** The address of an uploaded file: its name, such as `files/abc`, below the address of the API. */
function fileUri(id: string): string {
  return /^[a-z]+:\/\//.test(id) ? id : `https://generativelanguage.googleapis.com/v1beta/${id}`
}
