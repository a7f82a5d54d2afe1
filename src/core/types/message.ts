import { assertNever } from './guards.ts'
import type { JsonObject, JsonValue } from './json.ts'
import type { Image, MediaFile } from './media.ts'

/** Every role. */
export const roles = ['system', 'user', 'assistant', 'tool'] as const

/** The author of a message. */
export type Role = (typeof roles)[number]

/** Every finish reason. */
export const finishReasons = [
  'stop',
  'length',
  'tool_calls',
  'content_filter',
  'error',
  'other',
] as const

/** Why a message ended. Any other reason of a provider is `other`, with the provider's own word in `rawFinishReason`. */
export type FinishReason = (typeof finishReasons)[number]

/** The reasons of an answer that ended by itself. */
type OwnEnd = 'stop' | 'tool_calls'

/** Whether a model ended its answer by itself. */
export function endedByItself(finishReason: FinishReason): finishReason is OwnEnd {
  return finishReason === 'tool_calls' || finishReason === 'stop'
}

/** One turn of a conversation. Its `providerOptions` are for its last part, such as a cache breakpoint after the message. */
export interface Message extends PartOptions {
  readonly role: Role
  readonly content: string | readonly Part[]
  /** The tool calls of an assistant message, in the model's order. */
  readonly toolCalls?: readonly ToolCall[]
  /** The call that a tool message answers. */
  readonly toolCallId?: string
  readonly name?: string
  /** Where the model's statements come from: citations, annotations and grounding, the same for every provider. */
  readonly sources?: readonly Source[]
  /**
   * Why an answer ended, if it did not end by itself: it was cut at the length limit or filtered, the provider reported an error, or
   * gave a reason of its own. Absent after `stop` and `tool_calls`. An answer that has not ended has none either: `metadata.partial`
   * says that it was broken off, `metadata.paused` that the provider continues it in the next message.
   *
   * An answer of which nothing was left is an empty message with its reason. Providers are not sent it.
   */
  readonly finishReason?: Exclude<FinishReason, OwnEnd>
  /** The `name` of the engine that gave the answer, also of a partial one. Absent if the engine has no name. Providers are not sent it. */
  readonly agent?: string
  /**
   * Yours, except for the keys that the library sets. On an answer: `partial` if it was cut off, `paused` if the provider
   * continues it in the next one, `answers` if the user answered questions of its calls that are for a handler or an agent. On a tool message: `interrupted` and `reason` if a result never came, `reported` if it had
   * been started and cannot come any more, `pending` if it comes later, `askUser` until the user has answered, and then `answeredByUser` and the `question`, `denied`, `isError`, `approvedArguments`, `handoff` if it has handed the conversation over.
   * On the user's words and on answers: `at`, their time, if a run has noted it. On a user message that the user did not write: `lateResultOf`, `repair`, `structuredFinalize`, `compacted`.
   */
  readonly metadata?: JsonObject
}

/** The text of a message: its text parts joined, or its content when that is a string. */
export function messageText(message: Message): string {
  const { content } = message
  if (typeof content === 'string') return content
  return content.map(partText).join('')
}

/** Whether a message is an answer without content and calls, such as one that was filtered. No provider takes one, so it is not sent. */
export function isBlank({ role, content, toolCalls = [] }: Message): boolean {
  return role === 'assistant' && content.length === 0 && toolCalls.length === 0
}

/** What the user said to a question that a call of an answer asked. */
export interface GivenAnswer {
  readonly toolCallId: string
  readonly content: Message['content']
}

/** What the user said to questions of the calls of an answer, if its session has noted it. */
export function answersOf({ metadata }: Message): readonly GivenAnswer[] {
  const answers: unknown = metadata?.['answers']
  return Array.isArray(answers) ? answers.filter(isAnswer) : []
}

/** Metadata may be anybody's. */
function isAnswer(value: unknown): value is GivenAnswer {
  if (typeof value !== 'object' || value === null) return false
  const { toolCallId, content } = value as Partial<Record<keyof GivenAnswer, unknown>>
  return typeof toolCallId === 'string' && (typeof content === 'string' || Array.isArray(content))
}

/** The parts of a message. A string is one text part. */
export function messageParts({ content }: Message): readonly Part[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

/** Only text parts count as text. */
function partText(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'image':
    case 'file':
    case 'reasoning':
    case 'provider_item':
      return ''
    default:
      return assertNever(part)
  }
}

/** Every type of source. */
export const sourceTypes = ['url', 'file'] as const

/** A source that a model cites: a page on the web, or a document. */
export interface Source {
  readonly type: (typeof sourceTypes)[number]
  readonly url?: string
  readonly title?: string
  /** The passage of the source that is cited. */
  readonly text?: string
  /** Where the statement begins in the text of the message: `messageText(message).slice(start, end)`. */
  readonly start?: number
  readonly end?: number
  /** The citation in the words of the provider's API, under the name of the provider. */
  readonly providerMetadata?: JsonObject
}

/** How closely a vision model looks. Only OpenAI knows the difference. */
export type ImageDetail = 'auto' | 'low' | 'high'

/** What every part, message and tool may have. */
export interface PartOptions {
  /** Settings of one provider for this one alone, such as a cache breakpoint. Other providers ignore them. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>>
}

/** Text within a message. */
export interface TextPart extends PartOptions {
  readonly type: 'text'
  readonly text: string
}

/** An image within a message. */
export interface ImagePart extends PartOptions {
  readonly type: 'image'
  readonly image: Image
  readonly detail?: ImageDetail
}

/** A file within a message: a PDF, audio, video or text, by its `mimeType`. */
export interface FilePart extends PartOptions {
  readonly type: 'file'
  readonly file: MediaFile
}

/** Reasoning text of a model. Sent back only to the provider that it came from. */
export interface ReasoningPart extends PartOptions {
  readonly type: 'reasoning'
  readonly text: string
  /** The provider's signature or encrypted content, sent back unchanged. */
  readonly opaque?: JsonValue
  /** The provider that `opaque` belongs to. */
  readonly provider?: string
}

/**
 * Something that only its provider understands: a web search, code that the provider ran, an approval request of its MCP
 * client. It is sent back unchanged, in its place, to the provider that it came from, and left out for all others.
 */
export interface ProviderItemPart extends PartOptions {
  readonly type: 'provider_item'
  readonly provider: string
  /** The item in the words of the provider's API. */
  readonly item: JsonObject
  /** The number of the message's tool calls that came before the item; absent when there were none. */
  readonly callsBefore?: number
}

/** One piece of a message's content. */
export type Part = TextPart | ImagePart | FilePart | ReasoningPart | ProviderItemPart

/** A tool call that the model made. */
export interface ToolCall<Name extends string = string, Arguments extends JsonObject = JsonObject> {
  /** Unique among the calls of a thread: the second call with the id `c1` is `c1_2`. The tool's result carries it back. */
  readonly id: string
  readonly name: Name
  /** The decoded arguments; `{}` when `rawArguments` is not a JSON object. */
  readonly arguments: Arguments
  /** The arguments as the model wrote them, even when they cannot be parsed. */
  readonly rawArguments?: string
  /** Data that the provider needs back with this call, such as a thought signature. */
  readonly opaque?: JsonValue
}

/** A conversation: messages in order, and metadata of the caller. */
export interface Thread {
  readonly messages: readonly Message[]
  readonly metadata: JsonObject
}

/** Messages, or a text, which is one user message. */
export type MessagesInput = string | readonly Message[]

/** The messages of an input. */
export function toMessages(input: MessagesInput): readonly Message[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input
}

/** A thread of the given messages. */
export function thread(messages: MessagesInput = [], metadata: JsonObject = {}): Thread {
  return { messages: toMessages(messages), metadata }
}

/** A copy of the thread with messages added at its end. */
export function appendMessages(to: Thread, ...messages: readonly Message[]): Thread {
  // `concat` copies a long history once; a spread would iterate over it.
  return { ...to, messages: to.messages.concat(messages) }
}

/** The last call with this id. */
export function callOf({ messages }: Thread, toolCallId: string): ToolCall | undefined {
  for (const { toolCalls = [] } of messages.toReversed()) {
    const call = toolCalls.find(({ id }) => id === toolCallId)
    if (call !== undefined) return call
  }
  return undefined
}
