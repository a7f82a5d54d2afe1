import { assertOptions, assertValid, json, within } from '../schema/checks.ts'
import { part, validateMessage } from '../schema/validate.ts'
import { defined, keysOf } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Image } from '../types/media.ts'
import type { ImageDetail, ImagePart, Message, Part, TextPart, ToolCall } from '../types/message.ts'

/** What a message may have besides its content. */
interface MessageOptions {
  /** The author's name, for providers that support it. */
  readonly name?: string | undefined
  readonly metadata?: JsonObject | undefined
}

/** What an assistant message may have besides its content. */
interface AssistantOptions extends MessageOptions {
  /** The tool calls of the message, in order. */
  readonly toolCalls?: readonly ToolCall[] | undefined
}

/** A system message: the instructions for a conversation. */
export function system(text: string | readonly Part[], options: MessageOptions = {}): Message {
  return message('system', text, options, messageKeys)
}

/** A user message: a text, or a list of `textPart` and `imagePart`. */
export function user(textOrParts: string | readonly Part[], options: MessageOptions = {}): Message {
  return message('user', textOrParts, options, messageKeys)
}

/** An assistant message. An empty list of tool calls is the same as none. */
export function assistant(
  textOrParts: string | readonly Part[],
  options: AssistantOptions = {},
): Message {
  return message('assistant', textOrParts, options, assistantKeys)
}

const messageKeys = /* @__PURE__ */ keysOf<MessageOptions>({ name: true, metadata: true })

const assistantKeys = ['toolCalls', ...messageKeys]

function message(
  role: 'system' | 'user' | 'assistant',
  content: Message['content'],
  options: AssistantOptions,
  knownKeys: readonly string[],
): Message {
  assertOptions('invalid_message', options, knownKeys)
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
 * A tool message, which answers a tool call: a text, a list of parts, or any JSON value, which is encoded as JSON.
 *
 * A list counts as parts when every item is a part, otherwise as JSON. A value that JSON cannot hold is refused with its path.
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

/** A text part of a message. */
export function textPart(text: string): TextPart {
  const made: TextPart = { type: 'text', text }
  assertValid('invalid_message', part(made))
  return made
}

/** An image part of a message. `detail` sets the resolution that the model sees, for providers that support it. */
export function imagePart(
  image: Image,
  options: { readonly detail?: ImageDetail | undefined } = {},
): ImagePart {
  assertOptions('invalid_message', options, ['detail'])
  const made = defined<ImagePart>({ type: 'image', image, detail: options.detail })
  assertValid('invalid_message', part(made))
  return made
}
