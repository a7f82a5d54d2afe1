import { ValidationError } from '../../errors/errors.ts'
import { callEchoOf, echoOf } from './opaque.ts'
import type { RenderTarget } from './render-target.ts'
import { assertNever } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { Image } from '../../types/media.ts'
import {
  messageText,
  type Message,
  type ReasoningPart,
  type ToolCall,
} from '../../types/message.ts'

/** A conversation in Gemini's words. */
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

/**
 * What the model said, as it said it: text, thoughts, pictures, then its calls, each with the signature that it came with.
 *
 * Reasoning of another provider is left out, and nothing else.
 */
function renderAssistant(message: Message, path: string, target: RenderTarget): JsonObject[] {
  const { content, toolCalls = [] } = message
  const parts: JsonObject[] = []
  if (typeof content === 'string') {
    if (content !== '') parts.push({ text: content })
  } else {
    for (const [index, part] of content.entries()) {
      if (part.type === 'image') parts.push(renderImage(part.image, `${path}.content[${index}]`))
      else if (part.type === 'reasoning') {
        if (part.provider === target.provider) addReasoning(parts, part)
      } else if (part.text !== '') parts.push({ text: part.text })
    }
  }
  return [...parts, ...renderCalls(toolCalls, target)]
}

function addReasoning(parts: JsonObject[], reasoning: ReasoningPart): void {
  const echo = echoOf(reasoning)
  switch (echo.type) {
    case 'thought': {
      const { text, signature } = echo
      if (text === '' && signature === undefined) return
      const signed = signature === undefined ? {} : { thoughtSignature: signature }
      parts.push({ text, thought: true, ...signed })
      return
    }
    case 'signature': {
      const previous = parts.at(-1)
      const gone = previous === undefined || 'thought' in previous || 'thoughtSignature' in previous
      // A signature whose part is gone goes back on an empty text.
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

/**
 * What Google documents for calls that its model did not make: from Gemini 3 on, a turn whose first call has
 * no signature is refused, and a thread may come from another provider.
 */
const signatureOfForeignCalls = 'skip_thought_signature_validator'

function renderCalls(calls: readonly ToolCall[], { family }: RenderTarget): JsonObject[] {
  const signed = calls.some(({ opaque }) => callEchoOf(opaque).thoughtSignature !== undefined)
  const needsSignature = family.gemini && family.version >= 300 && !signed
  return calls.map((call, index) => {
    const own = callEchoOf(call.opaque).thoughtSignature
    const thoughtSignature = needsSignature && index === 0 ? signatureOfForeignCalls : own
    return {
      functionCall: { ...wireId(call), name: call.name, args: call.arguments },
      ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
    }
  })
}

/** The id of a call as Gemini knows it: the one that it sent, none if it sent none, else ours. */
function wireId({ id, opaque }: ToolCall): { readonly id?: string } {
  const { sentId } = callEchoOf(opaque)
  if (sentId === null) return {}
  return { id: sentId ?? id }
}

/** A tool message and its place. */
interface ToolResult {
  readonly message: Message
  readonly path: string
}

/**
 * The results of a turn's calls, in the order of the calls, because Gemini may have sent no ids to match them by.
 *
 * Pictures are inside the response from Gemini 3 on, and beside it before. A result that answers none of the calls is a
 * `ValidationError`.
 */
function renderToolResults(
  results: readonly ToolResult[],
  calls: readonly ToolCall[],
  target: RenderTarget,
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
  { message, path }: ToolResult,
  call: ToolCall,
  { family }: RenderTarget,
): JsonObject[] {
  const inside: JsonObject[] = []
  const beside: JsonObject[] = []
  const parts = typeof message.content === 'string' ? [] : message.content
  for (const [index, part] of parts.entries()) {
    if (part.type !== 'image') continue
    const image = renderImage(part.image, `${path}.content[${index}]`)
    if (family.version >= 300 && part.image.type === 'base64') inside.push(image)
    else beside.push(image)
  }
  const functionResponse = {
    ...wireId(call),
    name: call.name,
    response: { output: messageText(message) },
    ...(inside.length === 0 ? {} : { parts: inside }),
  }
  return [{ functionResponse }, ...beside]
}

function unasked({ message, path }: ToolResult): ValidationError {
  const problem = `answers ${JSON.stringify(message.toolCallId)}, which the turn before did not call`
  return new ValidationError('invalid_thread', [{ path: `${path}.toolCallId`, problem }])
}

/** The types that a name's ending tells; Gemini likes to know the type of what it has to fetch. */
const endings: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['heic', 'image/heic'],
  ['heif', 'image/heif'],
])

/** A picture as a part: its bytes, or the address that Gemini fetches it from. One in a file has to be read before. */
function renderImage(image: Image, path: string): JsonObject {
  switch (image.type) {
    case 'base64':
      return { inlineData: { mimeType: image.mimeType, data: image.base64 } }
    case 'url': {
      const mimeType = image.mimeType ?? endings.get(endingOf(image.url))
      return { fileData: { ...(mimeType === undefined ? {} : { mimeType }), fileUri: image.url } }
    }
    case 'file': {
      const problem = 'is a file that has not been read'
      throw new ValidationError('invalid_request', [{ path, problem }])
    }
    default:
      return assertNever(image)
  }
}

/** What follows the last dot of an address's path, in small letters. */
function endingOf(url: string): string {
  const path = /^[^?#]*/.exec(url)?.[0] ?? ''
  return path.slice(path.lastIndexOf('.') + 1).toLowerCase()
}
