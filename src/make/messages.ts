import { assertOptions, assertValid, json, within } from '../schema/checks.ts'
import { part, validateMessage } from '../schema/validate.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Image } from '../types/media.ts'
import type { ImageDetail, ImagePart, Message, Part, TextPart, ToolCall } from '../types/message.ts'

/** What a message may carry beside its content. */
interface MessageOptions {
  /** Who speaks, where a provider can use it. */
  readonly name?: string | undefined
  readonly metadata?: JsonObject | undefined
}

/** What an assistant message may carry beside its content. */
interface AssistantOptions extends MessageOptions {
  /** The calls that the message asks for, in their order. */
  readonly toolCalls?: readonly ToolCall[] | undefined
}

/** The instructions that a conversation stands under. */
export function system(text: string | readonly Part[], options: MessageOptions = {}): Message {
  return message('system', text, options, messageKeys)
}

/** What the user says: a text, or a list of `textPart` and `imagePart`. */
export function user(textOrParts: string | readonly Part[], options: MessageOptions = {}): Message {
  return message('user', textOrParts, options, messageKeys)
}

/** What the assistant said. An empty list of tool calls is the same as none. */
export function assistant(
  textOrParts: string | readonly Part[],
  options: AssistantOptions = {},
): Message {
  return message('assistant', textOrParts, options, assistantKeys)
}

const messageKeys = ['name', 'metadata']

const assistantKeys = ['toolCalls', ...messageKeys]

function message(
  role: 'system' | 'user' | 'assistant',
  content: Message['content'],
  options: AssistantOptions,
  legalKeys: readonly string[],
): Message {
  assertOptions('invalid_message', options, legalKeys)
  const { name, metadata, toolCalls } = options
  const made = defined<Message>({
    role,
    content,
    toolCalls: toolCalls?.length === 0 ? undefined : toolCalls,
    name,
    metadata,
  })
  assertValid('invalid_message', validateMessage(made))
  return made
}

/**
 * The answer to a tool call: a text, a list of parts, or any JSON value, which is written as JSON.
 *
 * A list is taken as parts when every item is one, else as JSON. What JSON can not hold is refused with its place.
 */
export function toolResult(toolCallId: string, content: JsonValue | readonly Part[]): Message {
  const made: Message = { role: 'tool', content: encode(content), toolCallId }
  assertValid('invalid_message', validateMessage(made))
  return made
}

function encode(content: unknown): Message['content'] {
  if (typeof content === 'string') return content
  if (isPartList(content)) return content
  assertValid('invalid_message', within('content', json(content)))
  return JSON.stringify(content)
}

function isPartList(content: unknown): content is readonly Part[] {
  return (
    Array.isArray(content) && content.length > 0 && content.every((item) => part(item).length === 0)
  )
}

/** A piece of text among the parts of a message. */
export function textPart(text: string): TextPart {
  const made: TextPart = { type: 'text', text }
  assertValid('invalid_message', part(made))
  return made
}

/** An image among the parts of a message. `detail` says how closely the model shall look, where it knows the difference. */
export function imagePart(
  image: Image,
  options: { readonly detail?: ImageDetail | undefined } = {},
): ImagePart {
  assertOptions('invalid_message', options, ['detail'])
  const made = defined<ImagePart>({ type: 'image', image, detail: options.detail })
  assertValid('invalid_message', part(made))
  return made
}
