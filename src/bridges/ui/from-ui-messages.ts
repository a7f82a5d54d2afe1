import { assistantMessage } from '../../core/answer/message-builder.ts'
import type { Approval } from '../../core/contracts/options.ts'
import { ValidationError } from '../../core/errors/errors.ts'
import {
  fileFromBase64,
  fileFromUrl,
  imageFromDataUri,
  imageFromUrl,
} from '../../core/messages/media.ts'
import {
  deniedMessage,
  interruptedMessage,
  toolMessage,
} from '../../core/messages/tool-messages.ts'
import {
  assertValid,
  describe,
  json,
  listOf,
  must,
  oneOf,
  optionsOf,
  refusal,
  refuse,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import { validateMessage } from '../../core/schema/validate.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { isObject } from '../../core/types/guards.ts'
import type { Message, Part, Source, ToolCall } from '../../core/types/message.ts'
import type { UiMessageInput } from './ui-types.ts'

/** What a page may say only when it is accepted. */
export const acceptedFromUi = ['system', 'tools', 'image_url', 'file_url'] as const

/** Something that a page may say only when it is accepted. */
export type AcceptedFromUi = (typeof acceptedFromUi)[number]

/** The options of what reads the messages of a page. */
export interface FromUiOptions {
  /**
   * What the page is trusted to say. `system`: instructions. `tools`: which calls there were, and what came of them. `image_url`, `file_url`:
   * addresses that the provider fetches.
   */
  readonly accept?: readonly AcceptedFromUi[] | undefined
}

/** Checks the options, and gives what they accept. */
export function acceptedBy(options: FromUiOptions): Accepts {
  const checks: Record<keyof FromUiOptions, Check> = { accept: listOf(oneOf(acceptedFromUi)) }
  assertValid('invalid_options', optionsOf(checks)(options))
  return (name) => options.accept?.includes(name) === true
}

/**
 * The messages of a page as messages of the library: texts, and files that hold their bytes. It is for conversations that only the page keeps.
 *
 * A page is not trusted. System messages, and files at an address, are refused; calls and their results are left out. `accept` lets them
 * in. Reasoning is left out always: what its provider needs back is not in the page. Throws a `ValidationError` that names the part.
 */
export function fromUiMessages(
  messages: readonly UiMessageInput[],
  options: FromUiOptions = {},
): readonly Message[] {
  const accepts = acceptedBy(options)
  return checkedMessages(messages).flatMap((message, index) => {
    const path = `messages[${index}]`
    if (message.role === 'assistant') {
      const isLast = index === messages.length - 1
      return fromAssistant(message, path, accepts, isLast)
    }
    if (message.role === 'user') return { role: 'user', content: wordsOf(message, path, accepts) }
    if (message.role === 'system' && accepts('system')) {
      const texts = message.parts.map((part, at) => textOf(part, `${path}.parts[${at}]`))
      return { role: 'system', content: texts.join('') }
    }
    const problem =
      message.role === 'system'
        ? 'is system, which a page may not write; put it into `instructions`, or pass accept: ["system"]'
        : `must be user or assistant, not ${describe(message.role)}`
    throw refusal('invalid_message', `${path}.role`, problem)
  })
}

type Accepts = (name: AcceptedFromUi) => boolean

/** A part of a page, of which only the type is known. */
type Fields = Readonly<Record<string, unknown>> & { readonly type: string }

/** A message of a page, whose parts have types. */
export interface CheckedMessage extends UiMessageInput {
  readonly parts: readonly Fields[]
}

/** Refuses messages that are not a list of messages with parts. */
export function checkedMessages(messages: readonly UiMessageInput[]): readonly CheckedMessage[] {
  const typed = must(
    'a part with a type',
    (value) => isObject(value) && typeof value['type'] === 'string',
  )
  const check = listOf((value) => {
    if (!isObject(value)) return refuse('a UI message', value)
    return within('parts', listOf(typed)(value['parts']))
  })
  assertValid('invalid_message', within('messages', check(messages)))
  return messages
}

function textOf({ type, text }: Fields, path: string): string {
  if (type !== 'text') return ''
  if (typeof text === 'string') return text
  throw refusal('invalid_message', `${path}.text`, `must be a string, not ${describe(text)}`)
}

/** The content of a user message. */
export function wordsOf(
  { parts }: CheckedMessage,
  path: string,
  accepts: Accepts,
): Message['content'] {
  const content = parts.flatMap((part, index): Part[] => {
    const at = `${path}.parts[${index}]`
    if (part.type === 'file') return [mediaPart(part, at, accepts)]
    return part.type === 'text' ? [{ type: 'text', text: textOf(part, at) }] : []
  })
  const [first] = content
  if (first === undefined) throw refusal('invalid_message', path, 'has no text and no file')
  return content.length === 1 && first.type === 'text' ? first.text : content
}

function mediaPart(part: Fields, path: string, accepts: Accepts): Part {
  const { url, mediaType: type, filename } = part
  const mediaType = typeof type === 'string' ? type : ''
  const isImage = mediaType.startsWith('image')
  const address = typeof url === 'string' ? url : ''
  const name = typeof filename === 'string' && filename !== '' ? { name: filename } : {}
  const data = /^data:[^,]*;base64,/i.exec(address)
  try {
    if (data !== null) {
      if (isImage) return { type: 'image', image: { ...imageFromDataUri(address), ...name } }
      const base64 = address.slice(data[0].length)
      return { type: 'file', file: fileFromBase64(base64, mediaType, name) }
    }
    const kind = isImage ? 'image_url' : 'file_url'
    if (!accepts(kind)) {
      throw refusal(
        'invalid_message',
        '',
        `must hold its bytes (data:…;base64,…), not name an address; accept: ["${kind}"] allows it`,
      )
    }
    return isImage
      ? { type: 'image', image: { ...imageFromUrl(address), ...name } }
      : { type: 'file', file: fileFromUrl(address, mediaType || undefined, name) }
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    throw refusal('invalid_message', `${path}.url`, error.issues[0]?.problem ?? error.message)
  }
}

/** The messages of one UI message of the assistant: one for each step, and the results of its calls. */
function fromAssistant(
  { parts }: CheckedMessage,
  path: string,
  accepts: Accepts,
  isLast: boolean,
): readonly Message[] {
  const messages: Message[] = []
  let step: Step = { content: [], calls: [], sources: [] }
  const flush = (isEnd: boolean): void => {
    const { content, calls, sources } = step
    const toolCalls = calls.map(({ call }) => call)
    step = { content: [], calls: [], sources: [] }
    if (content.length + toolCalls.length === 0) return
    const message = assistantMessage(content, toolCalls, sources)
    assertAt(path, validateMessage(message))
    messages.push(message)
    for (const { call, part } of calls) {
      // Only the last calls can still be settled, by the option `approvals` of `chat`.
      if (isEnd && part['state'] === 'approval-responded') continue
      const result = resultOf(call.id, part)
      if (result !== undefined) messages.push(result)
      else if (!isEnd) messages.push(interruptedMessage(call.id, 'interrupted'))
    }
  }
  parts.forEach((part, index) => {
    const at = `${path}.parts[${index}]`
    const [tool] = toolParts({ parts: [part] })
    if (part.type === 'step-start') flush(false)
    else if (part.type === 'data-restart') step = { content: [], calls: [], sources: [] }
    else if (part.type === 'text') step.content.push({ type: 'text', text: textOf(part, at) })
    else if (part.type === 'file' && isTaken(part, accepts)) {
      step.content.push(mediaPart(part, at, accepts))
    } else if (part.type === 'source-url' && typeof part['url'] === 'string') {
      const { title } = part
      step.sources.push({
        type: 'url',
        url: part['url'],
        ...(typeof title === 'string' && { title }),
      })
    } else if (tool !== undefined && accepts('tools') && tool.part['state'] !== 'input-streaming') {
      step.calls.push({ call: callOf(tool, at), part })
    }
  })
  flush(isLast)
  return messages
}

interface Step {
  readonly content: Part[]
  readonly calls: { readonly call: ToolCall; readonly part: Fields }[]
  readonly sources: Source[]
}

/** Whether a file of an answer can be given back. One at an address is left out unless addresses are accepted. */
function isTaken({ url, mediaType }: Fields, accepts: Accepts): boolean {
  const isImage = typeof mediaType === 'string' && mediaType.startsWith('image')
  return textIn(url).startsWith('data:') || accepts(isImage ? 'image_url' : 'file_url')
}

/** Throws the problems of what is at a path. */
function assertAt(path: string, issues: readonly Issue[]): void {
  const placed = issues.map(({ path: place, problem }) => ({ path: `${path}.${place}`, problem }))
  assertValid('invalid_message', placed)
}

function callOf({ id, name, part }: UiToolPart, path: string): ToolCall {
  const { input = {} } = part
  for (const key of ['input', 'output']) assertAt(path, within(key, json(part[key] ?? null)))
  return { id, name, arguments: isObject(input) ? (input as ToolCall['arguments']) : {} } // Just checked.
}

/** A text of a page, which may have sent anything instead. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The message that answers a call, if the page has an answer. */
function resultOf(id: string, part: Fields): Message | undefined {
  const { state, output = null, errorText, preliminary } = part
  const decision = approvalOf(part)
  if (state === 'output-available' && preliminary !== true) return toolMessage(id, written(output))
  if (state === 'output-error') {
    const content = JSON.stringify({ error: textIn(errorText) })
    return { ...toolMessage(id, content), metadata: { isError: true } }
  }
  if (state === 'output-denied' || decision?.approved === false) {
    return deniedMessage(id, decision?.reason ?? '')
  }
  return undefined
}

/** An output as the content of a message. */
export function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** A call in a message of a page. */
export interface UiToolPart {
  readonly id: string
  readonly name: string
  readonly part: Fields
}

/** The calls in a message of a page. A part without an id of a call is none. */
export function toolParts({ parts }: Pick<UiMessageInput, 'parts'>): readonly UiToolPart[] {
  // A page may send anything.
  const given: readonly unknown[] = Array.isArray(parts) ? parts : []
  return given.flatMap((value) => {
    if (!isObject(value)) return []
    const { type, toolCallId: id, toolName } = value
    const isDynamic = type === 'dynamic-tool'
    const name = isDynamic ? toolName : /^tool-(.+)/s.exec(textIn(type))?.[1]
    if (typeof name !== 'string' || typeof id !== 'string' || !name || !id) return []
    return { id, name, part: value as Fields } // Its type is a string.
  })
}

/** The parts of the last step of a message. */
export function lastStep({ parts }: Pick<UiMessageInput, 'parts'>): readonly unknown[] {
  const given: readonly unknown[] = Array.isArray(parts) ? parts : []
  return given.slice(
    given.findLastIndex((part) => isObject(part) && part['type'] === 'step-start') + 1,
  )
}

/** Whether a call has an end in the page, or was decided there. */
export function isSettled({ state, preliminary }: Fields): boolean {
  return /^(output-|approval-responded)/.test(textIn(state)) && preliminary !== true
}

/** Whether the last step of a message has calls, and all are settled. A page that sends by itself does so then. */
export function isComplete(message: UiMessageInput): boolean {
  const tools = toolParts({ parts: lastStep(message) as UiMessageInput['parts'] }) // It reads anything.
  return tools.length > 0 && tools.every(({ part }) => isSettled(part))
}

/**
 * For `sendAutomaticallyWhen` of `useChat`: whether the page has settled what an answer waits for, by decisions, outputs of calls that the page
 * runs and outputs of calls that ask. Unlike the functions of `ai` it also looks at answers before the last one, which were open when the user went on.
 */
export function sendWhenSettled({
  messages,
}: {
  readonly messages: readonly UiMessageInput[]
}): boolean {
  return messages.some((message, index) => {
    if (message.role !== 'assistant') return false
    const tools = toolParts(message)
    const last = lastStep(message)
    const later = messages.slice(index + 1)
    // The user's words have answered the first question. The next one was asked again.
    const isAnswered = (id: string): boolean =>
      asks(id, message) &&
      later.some(({ role }) => role === 'user') &&
      !later.some((other) => asks(id, other))
    // The call of an agent waits for what is inside.
    const isAgent = (id: string): boolean => tools.some((tool) => tool.id.startsWith(`${id}/`))
    const waiting = tools.filter(({ id, part }) => !isSettled(part) && !isAgent(id))
    if (!waiting.every(({ id }) => isAnswered(id))) return false
    return tools.some(({ id, part }) => {
      if (!isSettled(part) || later.some((other) => ends(id, other))) return false
      if (part['state'] === 'approval-responded') return !ends(id, message)
      // The server leaves no step in which all calls have an end. After the user's words, only the output of the question that is asked now is certainly new.
      const isAsked = later.at(-1)?.parts.some((one) => one['id'] === id) === true
      return last.includes(part) && (waiting.length === 0 || isAsked)
    })
  })
}

function asks(id: string, { parts }: UiMessageInput): boolean {
  return parts.some((part) => part.type === 'data-question' && part['id'] === id)
}

/** Whether a message has the end of a call. */
function ends(id: string, message: UiMessageInput): boolean {
  return toolParts(message).some(
    (tool) => tool.id === id && textIn(tool.part['state']).startsWith('output-'),
  )
}

/** What the page decided about a call, if it did: by its approval, or as AI SDK 5 can say it, by an output `{ approved }`. */
export function approvalOf({ state, approval, output }: Fields): Decision | undefined {
  const given = state === 'approval-responded' || state === 'output-denied' ? approval : output
  if (!isObject(given) || typeof given['approved'] !== 'boolean') return undefined
  const { approved, reason } = given
  return { approved, ...(typeof reason === 'string' && { reason }) }
}

/** What a page decided about a call. */
export interface Decision {
  readonly approved: boolean
  readonly reason?: string
}

/**
 * What the page decided about calls, for the option `approvals` of `chat`. Use it with `accept: ['tools']`, and know that such a page can also
 * invent the call that it approves: `uiCommands` decides about the calls of a session only.
 */
export function uiApprovals(
  messages: readonly UiMessageInput[],
): Readonly<Record<string, Approval>> {
  const last = checkedMessages(messages).at(-1)
  const decided = last === undefined ? [] : toolParts(last)
  return Object.fromEntries(
    decided.flatMap(({ id, part }) => {
      const decision = part['state'] === 'approval-responded' ? approvalOf(part) : undefined
      if (decision === undefined) return []
      return [[id, decision.approved ? true : { deny: decision.reason ?? '' }]]
    }),
  )
}
