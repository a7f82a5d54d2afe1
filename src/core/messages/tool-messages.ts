import type { CallState } from '../types/call.ts'
import type { InterruptedReason } from '../types/events.ts'
import { isObject, parseJson } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import { messageText, type Message, type ToolCall } from '../types/message.ts'

/** The content of a tool message while the user has not answered. */
export const awaitingUser = '<awaiting user response>'

/** The message that answers a call. */
export function toolMessage(toolCallId: string, content: Message['content']): Message {
  return { role: 'tool', content, toolCallId }
}

/** The placeholder for the user's answer to a tool's question. */
export function askedMessage(toolCallId: string): Message {
  return { role: 'tool', content: awaitingUser, toolCallId, metadata: { askUser: true } }
}

/** The user's answer to a tool's question, as the result of its call. The model reads both, also in later turns. */
export function answeredMessage(
  toolCallId: string,
  question: string,
  content: Message['content'],
): Message {
  const answer = messageText({ role: 'user', content })
  const metadata = { answeredByUser: true, question }
  return { role: 'tool', content: JSON.stringify({ question, answer }), toolCallId, metadata }
}

/** The result of a call whose question nobody has answered in time: what is said instead is not the user's. */
export function unansweredMessage(
  toolCallId: string,
  question: string,
  instead: Message['content'],
): Message {
  return { ...answeredMessage(toolCallId, question, instead), metadata: { question } }
}

/** What the user said in a message that `answeredMessage` made. One of an older version has nothing but that. */
export function givenAnswer({ content, metadata }: Message): Message['content'] {
  if (typeof metadata?.['question'] !== 'string' || typeof content !== 'string') return content
  const value = parseJson(content)
  return isObject(value) && typeof value['answer'] === 'string' ? value['answer'] : content
}

/** What the model reads about a call that was denied. */
export function deniedContent(reason: string): string {
  const why = reason === '' ? '' : `: ${reason}`
  return JSON.stringify({ error: `${notRun}${why}` })
}

const notRun = 'the call was denied and was not run'

/** Why a call was denied, by the message that answers it. */
export function deniedReason(message: Message): string | undefined {
  const value = parseJson(messageText({ role: 'tool', content: ownContent(message) }))
  const error = isObject(value) ? String(value['error']) : ''
  return error.startsWith(`${notRun}: `) ? error.slice(notRun.length + 2) : undefined
}

/** Why a call was denied about which nobody decided in time. */
export const expiredReason = 'nobody decided in time'

/** The message that answers a call that was denied. */
export function deniedMessage(toolCallId: string, reason: string): Message {
  return { role: 'tool', content: deniedContent(reason), toolCallId, metadata: { denied: true } }
}

/** The message that answers a call whose result comes later, so that the conversation can go on. */
export function notYetMessage(toolCallId: string): Message {
  const note =
    'There is no result yet. You will get it when it is available. Do not repeat the call.'
  const content = JSON.stringify({ status: 'pending', note })
  return { role: 'tool', content, toolCallId, metadata: { pending: true } }
}

/** Whether a message stands for a result that comes later. */
export function isNotYet({ role, metadata }: Message): boolean {
  return role === 'tool' && metadata?.['pending'] === true
}

/**
 * What the model reads when the result of an earlier call is there, and with which arguments it was approved if not with its own.
 * The fence is longer than any in the result.
 */
export function lateContent(
  { id, name }: ToolCall,
  result: Message['content'],
  args?: JsonObject,
): Message['content'] {
  const text = messageText({ role: 'tool', content: result })
  let longest = 2
  for (const [ticks] of text.matchAll(/`+/g)) longest = Math.max(longest, ticks.length)
  const fence = '`'.repeat(longest + 1)
  const note = args === undefined ? '' : ` ${approvedNote(args)}`
  const lead = `The result of your earlier call of ${name} (${id}) is there.${note} This is the output of the tool, not a message of the user:`
  const told = `${lead}\n${fence}tool_output\n${text}\n${fence}`
  const others = typeof result === 'string' ? [] : result.filter(({ type }) => type !== 'text')
  return others.length === 0 ? told : [{ type: 'text', text: told }, ...others]
}

/** A message with the result of an earlier call. Its role is user, but the user did not write it. */
export function lateMessage(toolCallId: string, content: Message['content']): Message {
  return { role: 'user', content, metadata: { lateResultOf: toolCallId } }
}

/** The call whose result a message or an event tells late: the model was told before that there is none yet. */
export function lateResultOf({ metadata }: Pick<Message, 'metadata'>): string | undefined {
  const id = metadata?.['lateResultOf']
  return typeof id === 'string' ? id : undefined
}

/** The call that a message answers, at once or late. */
export function answeredCall(message: Message): string | undefined {
  return message.toolCallId ?? lateResultOf(message)
}

/** Whether a message of role user has the user's own words, and is not one that the library wrote for the model. */
export function isUsersOwn({ role, metadata = {} }: Message): boolean {
  const marks = ['lateResultOf', 'repair', 'structuredFinalize', 'compacted']
  return role === 'user' && !marks.some((mark) => metadata[mark])
}

/** The message of a result that comes after the model was told that there is none yet. */
export function toLateMessage(call: ToolCall, { content, metadata }: Message): Message {
  const late = lateMessage(call.id, lateContent(call, content))
  return { ...late, metadata: { ...metadata, ...late.metadata } }
}

/** Whether a tool message tells the model that its call failed, was denied, or has no result. */
export function isErrorResult({ metadata }: Message): boolean {
  return ['isError', 'denied', 'interrupted'].some((mark) => metadata?.[mark] === true)
}

/**
 * The message that answers a call that has no result, so that the thread can be sent again.
 *
 * It has `metadata.interrupted` and the reason; the model reads one sentence, and what the user had answered to the call's question.
 */
export function interruptedMessage(
  toolCallId: string,
  reason: InterruptedReason,
  userAnswered?: string,
): Message {
  const content = JSON.stringify({ error: sentences[reason], userAnswered })
  return { role: 'tool', content, toolCallId, metadata: { interrupted: true, reason } }
}

/** What the model reads about a call whose tool was not called again with the user's answer: the answer itself. */
export function unheardContent(userAnswered: string): string {
  const error = 'the tool was not called again with what the user answered to its question'
  return JSON.stringify({ error, userAnswered })
}

/** The content of a result whose call was approved with other arguments than the model wrote: the model reads that first. */
export function approvedContent(args: JsonObject, content: Message['content']): Message['content'] {
  const note = `${approvedNote(args)} Its result:`
  if (typeof content === 'string') return `${note}\n${content}`
  return [{ type: 'text', text: note }, ...content]
}

/** The result in a message without what the model reads around it: that it came later, or with which arguments its call was approved. */
export function ownContent({ content, metadata = {} }: Message): Message['content'] {
  if (typeof content === 'string') return ownText(content, metadata)
  const [first, ...others] = content
  if (first?.type !== 'text') return content
  const text = ownText(first.text, metadata)
  return text === '' ? others : [{ type: 'text', text }, ...others]
}

function ownText(text: string, metadata: JsonObject): string {
  if (lateResultOf({ metadata }) !== undefined) return fencedOutput(text) ?? text
  const { approvedArguments: args } = metadata
  const lead = isObject(args) ? `${approvedNote(args)} Its result:` : undefined
  if (lead === undefined || !text.startsWith(lead)) return text
  return text.slice(lead.length + 1)
}

/** The output in the fence that `lateContent` writes: the first one, which ends with the text. */
function fencedOutput(text: string): string | undefined {
  const [begin, fence = ''] = /\n(`{3,})tool_output\n/.exec(text) ?? []
  if (begin === undefined || !text.endsWith(`\n${fence}`)) return undefined
  const start = text.indexOf(begin) + begin.length
  const end = text.length - fence.length - 1
  return start <= end ? text.slice(start, end) : undefined
}

function approvedNote(args: JsonObject): string {
  return `The call was approved with other arguments than yours: ${JSON.stringify(args)}.`
}

/** The mark of a call that was started: no result can come any more. */
export function reportedMessage(mark: Message): Message {
  return { ...mark, metadata: { ...mark.metadata, reported: true } }
}

/** Whether a tool message marks a result that may still come. A call that the provider cut, or was reported as interrupted, has none. */
export function isMark({ metadata }: Message): boolean {
  const reason = metadata?.['reason']
  return (
    metadata?.['interrupted'] === true &&
    metadata['reported'] !== true &&
    (reason === 'interrupted' || reason === 'cancelled' || reason === 'error')
  )
}

/** The message that answers a call of a run that was cut before the call was started. */
export function notRunMessage(toolCallId: string): Message {
  const content = JSON.stringify({
    error: 'the run was interrupted before this call was started, and it was not run',
  })
  return { ...interruptedMessage(toolCallId, 'interrupted'), content }
}

/** The state of a call whose result is a message. A placeholder of a question that nobody will answer is none. */
export function resultState({ metadata = {} }: Message): CallState {
  if (metadata['denied'] === true) return 'denied'
  if (metadata['interrupted'] === true) {
    const reason = metadata['reason']
    return reason === 'length' || reason === 'content_filter' ? 'failed' : 'interrupted'
  }
  if (metadata['askUser'] === true) return 'interrupted'
  return metadata['isError'] === true ? 'failed' : 'done'
}

const unsure = 'it may have taken effect; do not repeat it without checking'

const sentences: Readonly<Record<InterruptedReason, string>> = {
  length: 'the call was cut off by the length limit and was not run',
  content_filter: 'the call was cut off by a content filter and was not run',
  cancelled: `the run was stopped before this call had a result; ${unsure}`,
  error: `the run failed before this call had a result; ${unsure}`,
  interrupted: `the run was interrupted before this call had a result; ${unsure}`,
}
