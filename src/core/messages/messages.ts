import {
  assertOptions,
  assertValid,
  describe,
  flag,
  json,
  optionsOf,
  refusal,
  within,
  type Check,
} from '../schema/checks.ts'
import { part, validateMessage } from '../schema/validate.ts'
import { defined, isObject, keysOf } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import type { Image, MediaFile } from '../types/media.ts'
import {
  appendMessages as append,
  messageText as textOf,
  type FilePart,
  type ImageDetail,
  type ImagePart,
  type Message,
  type Part,
  type ProviderItemPart,
  type TextPart,
  type Thread,
  type ToolCall,
} from '../types/message.ts'
import { plainFile } from './media.ts'
import { typeIssues } from './sniff.ts'

/** What a message may have besides its content. */
interface MessageOptions {
  /** The author's name, for providers that support it. */
  readonly name?: string | undefined
  readonly metadata?: JsonObject | undefined
  /** Settings of one provider for this message alone, such as a cache breakpoint after it. */
  readonly providerOptions?: Message['providerOptions'] | undefined
}

/** What every part may have. */
type PartSettings = Pick<MessageOptions, 'providerOptions'>

/** What an assistant message may have besides its content. */
interface AssistantOptions extends MessageOptions {
  /** The tool calls of the message, in order. */
  readonly toolCalls?: readonly ToolCall[] | undefined
}

/** A system message: the instructions for a conversation. */
export function system(text: string | readonly Part[], options: MessageOptions = {}): Message {
  return message('system', text, options, messageKeys)
}

/** A user message: a text, or a list of `textPart`, `imagePart` and `filePart`. */
export function user(textOrParts: string | readonly Part[], options: MessageOptions = {}): Message {
  return message('user', textOrParts, options, messageKeys)
}

/** An assistant message. An empty list of tool calls is the same as none. */
export function assistant(
  textOrParts: string | readonly Part[],
  options: AssistantOptions = {},
): Message {
  return message('assistant', textOrParts, options, ['toolCalls', ...messageKeys])
}

const messageKeys = /* @__PURE__ */ keysOf<MessageOptions>({
  name: true,
  metadata: true,
  providerOptions: true,
})

function message(
  role: 'system' | 'user' | 'assistant',
  content: Message['content'],
  options: AssistantOptions,
  knownKeys: readonly string[],
): Message {
  assertOptions('invalid_message', options, knownKeys)
  const { name, metadata, toolCalls, providerOptions } = options
  const made = defined<Message>({
    role,
    content,
    toolCalls: toolCalls?.length === 0 ? undefined : toolCalls,
    name,
    metadata,
    providerOptions,
  })
  assertValid('invalid_message', validateMessage(made))
  return made
}

/** The options of `toolResult` and `Session.submitToolResult`. */
export interface SubmitOptions {
  /** The work failed: the model reads the content as an error. */
  readonly isError?: boolean | undefined
}

/** The problems of such options. */
export const submitOptions: Check = /* @__PURE__ */ optionsOf({
  isError: flag,
} satisfies Readonly<Record<keyof SubmitOptions, Check>>)

/**
 * A tool message, which answers a tool call: a text, a list of parts, or any JSON value, which is encoded as JSON.
 *
 * A list counts as parts when every item is a part, otherwise as JSON. A value that JSON cannot hold is refused with its path.
 */
export function toolResult(
  toolCallId: string,
  content: JsonValue | readonly Part[],
  options: SubmitOptions = {},
): Message {
  assertValid('invalid_message', submitOptions(options))
  const result = encode(content)
  const made: Message =
    options.isError === true
      ? { role: 'tool', content: asError(result), toolCallId, metadata: { isError: true } }
      : { role: 'tool', content: result, toolCallId }
  assertValid('invalid_message', validateMessage(made))
  return made
}

/** Not every provider can mark a result, so that the text says it too. */
function asError(content: Message['content']): Message['content'] {
  return typeof content === 'string' ? JSON.stringify({ error: content }) : content
}

function encode(content: unknown): Message['content'] {
  if (typeof content === 'string') return content
  if (isPartList(content)) {
    assertValid('invalid_message', within('content', typeIssues(content)))
    return content
  }
  assertValid('invalid_message', within('content', json(content)))
  return JSON.stringify(content)
}

function isPartList(content: unknown): content is readonly Part[] {
  return (
    Array.isArray(content) && content.length > 0 && content.every((item) => part(item).length === 0)
  )
}

/** A text part of a message. `providerOptions` are for this part alone, such as a cache breakpoint after it. */
export function textPart(text: string, options: PartSettings = {}): TextPart {
  assertOptions('invalid_message', options, ['providerOptions'])
  const made = defined<TextPart>({ type: 'text', text, providerOptions: options.providerOptions })
  assertValid('invalid_message', part(made))
  return made
}

/** An image part of a message. `detail` sets the resolution that the model sees, for providers that support it. */
export function imagePart(
  image: Image,
  options: PartSettings & { readonly detail?: ImageDetail | undefined } = {},
): ImagePart {
  assertOptions('invalid_message', options, ['detail', 'providerOptions'])
  const { detail, providerOptions } = options
  const made = defined<ImagePart>({ type: 'image', image, detail, providerOptions })
  assertValid('invalid_message', part(made))
  return made
}

/**
 * A file part of a message: a PDF, audio, video or text. What `speak` returns is a file too. An API that does not take it refuses the call by
 * name.
 */
export function filePart(file: MediaFile, options: PartSettings = {}): FilePart {
  assertOptions('invalid_message', options, ['providerOptions'])
  const { providerOptions } = options
  const made = defined<FilePart>({ type: 'file', file: plainFile(file), providerOptions })
  assertValid('invalid_message', part(made))
  return made
}

/**
 * An item in the words of one provider's API, for what only that API understands, such as the answer to an approval request. It
 * is sent unchanged to that provider and left out for all others.
 */
export function providerItem(provider: string, item: JsonObject): ProviderItemPart {
  const made: ProviderItemPart = { type: 'provider_item', provider, item }
  assertValid('invalid_message', part(made))
  return made
}

// What the library itself uses trusts its messages. These are for callers, who may have none.

/** The text of a message: its text parts joined, or its content when that is a string. */
export function messageText(message: Message): string {
  const given: unknown = message
  const content = isObject(given) ? given['content'] : undefined
  if (typeof content === 'string' || Array.isArray(content)) return textOf(message)
  const problem = `must be a message, such as user("…"), not ${describe(given)}`
  throw refusal('invalid_message', 'message', problem)
}

/** A copy of the thread with messages added at its end. */
export function appendMessages(to: Thread, ...messages: readonly Message[]): Thread {
  const given: unknown = to
  if (isObject(given) && Array.isArray(given['messages'])) return append(to, ...messages)
  const problem = `must be a thread, as thread("…") makes it or a result has it, not ${describe(given)}`
  throw refusal('invalid_thread', 'thread', problem)
}
