import { mapTexts, redact as withoutKeys, redactJson } from '../../core/errors/redact.ts'
import { assertNever, defined, parseJson } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image, ImageRequest, MediaFile } from '../../core/types/media.ts'
import type { Message, Part } from '../../core/types/message.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { ModelResponse } from '../../core/types/response.ts'
import type { ChatOutcome } from '../../core/types/results.ts'
import type { EndEvent, StartEvent } from './conventions.ts'
import type { OtelAttributes } from './shapes.ts'

/** Changes a text before it leaves the process. */
export type Redact = (text: string) => string

/** The longest text, and the longest attribute, in characters. */
const maxText = 4000
const maxAttribute = 32_000

/**
 * What was sent and what came back, as the conventions write it. Nothing unless the listener asked for content.
 *
 * Keys are removed by their looks and by the names of their fields, and `redact` is applied to every text. A text, a list of messages
 * (the last ones stay) and an attribute are bounded. Bytes of images and files are left out.
 */
export function contentAttributes(
  { name, phase, content }: StartEvent | EndEvent,
  redact: Redact = (text) => text,
): OtelAttributes {
  if (content === undefined) return {}
  const safe = (value: JsonValue): string => JSON.stringify(tidy(value, redact))
  // What the library puts into its events: the arguments and the result of a call, …
  if (name === 'tool') {
    const text = safe(content as JsonValue)
    const key = phase === 'start' ? 'gen_ai.tool.call.arguments' : 'gen_ai.tool.call.result'
    return { [key]: text.length > maxAttribute ? `${text.slice(0, maxAttribute)}…` : text }
  }
  const list: List = (items, toJson) => lastOnes(items, (item) => safe(toJson(item)))
  // … what is sent, and what comes back.
  if (phase === 'start') return requestAttributes(content as Sent, list)
  const { finalResponse = content as Answer } = content as Partial<ChatOutcome>
  const { message, finishReason } = finalResponse
  if (message === undefined || finishReason === undefined) return {}
  // The conventions have their own word for one of the reasons.
  const reason = finishReason === 'tool_calls' ? 'tool_call' : finishReason
  const answer = list([message], (one) => ({ ...toMessage(one), finish_reason: reason }))
  return { 'gen_ai.output.messages': answer }
}

/** A short text without keys, such as the message of an error. */
export function safeText(text: string, redact: Redact = (same) => same): string {
  return redact(withoutKeys(text.slice(0, maxText))).slice(0, 1000)
}

/** Items as a list of JSON. Only what is kept of them is made. */
type List = <T>(items: readonly T[], toJson: (item: T) => JsonObject) => string | undefined

/** A model request, the thread of a run, or an image request. */
type Sent = Partial<Pick<ModelRequest, 'messages' | 'tools'> & Pick<ImageRequest, 'prompt'>>

/** An answer, or images, which are not told. */
type Answer = Partial<ModelResponse>

/** A value without keys, whose texts are short. What is far too long is cut first, so that looking for keys has a bounded price. */
function tidy(value: JsonValue, redact: Redact): JsonValue {
  const bounded = mapTexts(value, (text) => text.slice(0, 4 * maxText))
  return mapTexts(redactJson(bounded), (text) => {
    const safe = redact(text)
    return safe.length > maxText ? `${safe.slice(0, maxText)}…` : safe
  })
}

/** As many of the last items as fit into an attribute; `undefined` if there are none. */
function lastOnes<T>(items: readonly T[], toText: (item: T) => string): string | undefined {
  const kept: string[] = []
  let size = 0
  for (const item of items.toReversed()) {
    const text = toText(item)
    size += text.length + 1
    if (size > maxAttribute) break
    kept.unshift(text)
  }
  return items.length === 0 ? undefined : `[${kept.join(',')}]`
}

function requestAttributes(
  { prompt = '', messages = [{ role: 'user', content: prompt }], tools = [] }: Sent,
  list: List,
): OtelAttributes {
  const system = messages.filter(isSystem).flatMap(toParts)
  const chat = messages.filter((message) => !isSystem(message))
  return defined<OtelAttributes>({
    'gen_ai.system_instructions': list(system, (part) => part),
    'gen_ai.input.messages': list(chat, toMessage),
    'gen_ai.tool.definitions': list(tools, ({ name, description, schema }) => ({
      type: 'function',
      name,
      description,
      parameters: schema,
    })),
  })
}

function isSystem({ role }: Message): boolean {
  return role === 'system'
}

function toMessage(message: Message): JsonObject {
  return { role: message.role, parts: toParts(message) }
}

function toParts({ role, content, toolCalls = [], toolCallId: id = '' }: Message): JsonObject[] {
  const parts: JsonObject[] =
    typeof content === 'string' ? [{ type: 'text', content }] : content.map(toPart)
  if (role === 'tool') {
    // A result that is JSON has fields, whose names may say that they are secret.
    const response = typeof content === 'string' ? (parseJson(content) ?? content) : parts
    return [{ type: 'tool_call_response', id, response: response as JsonValue }]
  }
  return [
    // An answer of calls has no text.
    ...(content === '' ? [] : parts),
    ...toolCalls.map(({ id, name, arguments: args }) => ({
      type: 'tool_call',
      id,
      name,
      arguments: args,
    })),
  ]
}

function toPart(part: Part): JsonObject {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, content: part.text }
    case 'image':
      return toMedia(part.image, part.type)
    case 'file':
      return toMedia(part.file, part.file.mimeType?.split('/')[0] ?? part.type)
    case 'provider_item':
      return { type: part.type }
    default:
      return assertNever(part)
  }
}

/** An image or a file without its bytes, and without its address, which may have a signature. */
function toMedia({ type, mimeType = '' }: Image | MediaFile, modality: string): JsonObject {
  return { type: mediaTypes[type], modality, mime_type: mimeType }
}

const mediaTypes = { base64: 'blob', url: 'uri', id: 'file' } as const
