import { givenAnswer } from '../../../core/messages/tool-messages.ts'
import type { CallApproval, CallQuestion } from '../../../core/types/call.ts'
import type { ErrorData } from '../../../core/types/error-data.ts'
import { assertNever, defined, isObject, parseJson } from '../../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../../core/types/json.ts'
import { messageText, type Message, type Part, type ToolCall } from '../../../core/types/message.ts'
import type { CallRecord, Session, SessionCommand } from '../../../core/types/session.ts'
import { pendingCalls } from '../../../engine/calls/pending.ts'
import { ownRecords } from '../../../engine/calls/records.ts'
import { expiry } from '../../../engine/calls/settle.ts'
import { finishWords } from '../finish-words.ts'

/** A message as it is shown, with the calls of an answer and their results in one place. */
export interface TranscriptItem {
  /** The place of the message in the thread. */
  readonly index: number
  readonly message: Message
  readonly marks: readonly Mark[]
  readonly at?: number
  readonly calls: readonly CallItem[]
}

/** A word about a message that its text does not say. */
export interface Mark {
  readonly label: string
  readonly tone: 'person' | 'error' | 'quiet' | 'tool'
}

/** A tool call and what became of it. */
export interface CallItem {
  readonly call: ToolCall
  /** The place of the result in the thread, if there is one. */
  readonly resultIndex?: number
  readonly result?: Message
  readonly state: CallState
  readonly marks: readonly Mark[]
  /** What was decided about it: by whom, when, why, and with which arguments in place of those of the model. */
  readonly approval?: CallApproval
  /** What it asked, and the answer if there is one. */
  readonly question?: CallQuestion
}

/** What became of a call. */
export type CallState =
  | 'done'
  | 'failed'
  | 'denied'
  | 'interrupted'
  | 'waiting_approval'
  | 'waiting_answer'
  | 'waiting_result'
  | 'approved'
  | 'refused'
  | 'answered'
  | 'running'
  | 'not_started'

/**
 * The messages of a session in order. A result stands with its call; one without a call stands alone. What is in `decided` was said about
 * calls that wait, and nobody has taken it yet.
 */
export function transcriptOf(
  session: Session,
  decided: readonly SessionCommand[] = [],
): readonly TranscriptItem[] {
  const { messages } = session.thread
  const items: TranscriptItem[] = []
  const used = new Set<number>()
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const about = decidedCalls(session, decided)
  // They are in the order of the calls in the thread.
  const records = ownRecords(session).values()
  for (const [index, message] of messages.entries()) {
    if (used.has(index)) continue
    const calls = (message.toolCalls ?? []).map((call) => {
      const resultIndex = resultOf(messages, index, call.id)
      if (resultIndex !== -1) used.add(resultIndex)
      const isOpen = index === last && isUnderWay(session, message)
      const record = records.next().value
      return callItem(session, call, { resultIndex, isOpen, about, record })
    })
    const at = message.metadata?.['at']
    items.push({
      index,
      message,
      marks: messageMarks(message),
      calls,
      ...(typeof at === 'number' && { at }),
    })
  }
  return items
}

/** The result of a call: among the tool messages that follow the answer. */
function resultOf(messages: readonly Message[], answer: number, id: string): number {
  for (let at = answer + 1; messages[at]?.role === 'tool'; at++) {
    if (messages[at]?.toolCallId === id) return at
  }
  return -1
}

/** Whether an answer, or the calls of it, are not at their end. */
function isUnderWay({ status, run }: Session, { metadata }: Message): boolean {
  if (status !== 'idle') return false
  return run?.phase === 'tools' || (run?.phase === 'model' && metadata?.['partial'] === true)
}

/** What is known of a call besides its session. */
interface CallPlace {
  /** -1 without a result. */
  readonly resultIndex: number
  /** Its answer is not at its end. */
  readonly isOpen: boolean
  readonly about: DecidedCalls
  readonly record: CallRecord | undefined
}

function callItem(
  { thread }: Session,
  call: ToolCall,
  { resultIndex, isOpen, about, record }: CallPlace,
): CallItem {
  const stored = thread.messages[resultIndex]
  const known = callState(record, stored, isOpen)
  const state = decidedState(known, about.get(call.id)) ?? known
  // While a call is under way the thread has a stand-in, so that it can be sent at any moment.
  const result = state === 'running' || state === 'not_started' ? undefined : stored
  return defined<CallItem>({
    call,
    state,
    marks: callMarks(record, result),
    result,
    resultIndex: result === undefined ? undefined : resultIndex,
    approval: record?.approval,
    question: record?.question ?? (result && toldQuestion(result)),
  })
}

/** The question in a message with its answer: an earlier call with the same id has no record of it. */
function toldQuestion(message: Message): CallQuestion | undefined {
  const question = message.metadata?.['question']
  if (typeof question !== 'string') return undefined
  return { text: question, answer: givenAnswer(message) }
}

/** The result of a call, unless it is nothing but the answer to its question, which stands beside it. */
export function ownResult({ result, question }: CallItem): Message | undefined {
  const isAnswer =
    result?.metadata?.['answeredByUser'] === true || result?.metadata?.['askUser'] === true
  return isAnswer && question !== undefined ? undefined : result
}

function callState(
  record: CallRecord | undefined,
  result: Message | undefined,
  isOpen: boolean,
): CallState {
  const { state = 'proposed', question } = record ?? {}
  switch (state) {
    case 'awaiting_approval':
      return 'waiting_approval'
    case 'asking':
      return question?.answer === undefined ? 'waiting_answer' : 'running'
    case 'awaiting_result':
      return 'waiting_result'
    case 'running':
    case 'proposed':
    case 'approved':
      // A run that was stopped or failed has left it.
      if (!isOpen && result?.metadata?.['interrupted'] === true) return 'interrupted'
      return state === 'running' ? 'running' : 'not_started'
    case 'denied':
    case 'done':
    case 'failed':
    case 'interrupted':
      return state
    default:
      return assertNever(state)
  }
}

/** The commands that nobody has taken yet, by the calls that they are about. */
type DecidedCalls = ReadonlyMap<string, SessionCommand['type']>

function decidedCalls(session: Session, decided: readonly SessionCommand[]): DecidedCalls {
  const about = new Map<string, SessionCommand['type']>()
  if (decided.length === 0) return about
  const calls = new Map(pendingCalls(session).map(({ ticket, call }) => [ticket, call.id]))
  for (const command of decided) {
    if (command.type === 'resume') continue
    const { toolCallId } = command
    const ticket = command.type === 'send' ? command.answers : command.ticket
    // A message that names nothing answers the question that is open.
    const open =
      command.type === 'send' && ticket === undefined ? session.pendingToolCallId : undefined
    const id = toolCallId ?? calls.get(ticket ?? '') ?? open
    if (id !== undefined && !about.has(id)) about.set(id, command.type)
  }
  return about
}

/** The state of a call that waited, and about which something was decided that nobody has taken yet. */
function decidedState(
  state: CallState,
  decided: SessionCommand['type'] | undefined,
): CallState | undefined {
  if (state === 'waiting_approval' && decided === 'approve') return 'approved'
  if (state === 'waiting_approval' && decided === 'deny') return 'refused'
  if (state === 'waiting_answer' && decided === 'send') return 'answered'
  if (state === 'waiting_result' && decided === 'submitToolResult') return 'answered'
  return undefined
}

/** The words for a state, with a sign, so that no state is told by its colour alone. */
export const callWords: Readonly<
  Record<CallState, { readonly label: string; readonly sign: string; readonly tone: Mark['tone'] }>
> = {
  done: { label: 'done', sign: '✓', tone: 'quiet' },
  failed: { label: 'failed', sign: '×', tone: 'error' },
  denied: { label: 'denied', sign: '⊘', tone: 'person' },
  interrupted: { label: 'interrupted', sign: '⌁', tone: 'error' },
  waiting_approval: { label: 'waits for approval', sign: '!', tone: 'person' },
  waiting_answer: { label: 'asks', sign: '?', tone: 'person' },
  waiting_result: { label: 'waits for a result', sign: '…', tone: 'person' },
  approved: { label: 'approved, not run yet', sign: '◷', tone: 'person' },
  refused: { label: 'denied, not taken yet', sign: '◷', tone: 'person' },
  answered: { label: 'answered, not taken yet', sign: '◷', tone: 'person' },
  running: { label: 'running', sign: '▶', tone: 'tool' },
  not_started: { label: 'not started', sign: '○', tone: 'quiet' },
}

function messageMarks({ role, finishReason, metadata = {} }: Message): readonly Mark[] {
  const marks: Mark[] = []
  if (finishReason !== undefined) marks.push({ label: finishWords[finishReason], tone: 'error' })
  const add = (key: string, label: string, tone: Mark['tone']): void => {
    if (metadata[key] !== undefined && metadata[key] !== false) marks.push({ label, tone })
  }
  add('partial', 'partial', 'error')
  add('paused', 'paused by the provider', 'quiet')
  add('compacted', 'summary of earlier messages', 'quiet')
  add('repair', 'asked again: the answer did not match', 'quiet')
  add('structuredFinalize', 'asked for the final form', 'quiet')
  add('lateResultOf', 'result that came later', 'tool')
  if (role === 'tool') marks.push({ label: 'result without its call', tone: 'quiet' })
  return marks
}

function callMarks(record: CallRecord | undefined, result?: Message): readonly Mark[] {
  const marks: Mark[] = []
  const { metadata = {} } = result ?? {}
  const author = record?.question?.by ?? record?.approval?.by
  if (author === expiry) marks.push({ label: 'expired', tone: 'person' })
  const { reason, answeredByUser, approvedArguments, pending, reported, handoff } = metadata
  const isInterrupted = metadata['interrupted'] === true
  if (isInterrupted && typeof reason === 'string' && reason !== 'interrupted') {
    marks.push({ label: `because: ${reason}`, tone: 'error' })
  }
  if (reported === true) marks.push({ label: 'may have had effects', tone: 'error' })
  if (approvedArguments !== undefined) {
    marks.push({ label: 'approved with other arguments', tone: 'person' })
  }
  if (answeredByUser === true && author !== expiry) {
    marks.push({ label: 'answered by a person', tone: 'person' })
  }
  if (pending === true) marks.push({ label: 'comes later', tone: 'quiet' })
  if (handoff !== undefined) marks.push({ label: 'another engine goes on', tone: 'tool' })
  return marks
}

/** The parts of a message's content, a text as one part. */
export function partsOf({ content }: Message): readonly Part[] {
  if (typeof content !== 'string') return content
  return content === '' ? [] : [{ type: 'text', text: content }]
}

/** The text of a result as JSON, if it is an object or a list. */
export function jsonOf(message: Message): JsonValue | undefined {
  const text = messageText(message)
  if (!/^\s*[[{]/.test(text)) return undefined
  return parseJson(text) as JsonValue | undefined
}

/** The options of a question that can be offered as buttons: a list of texts, under any of the usual names. */
export function choicesOf(options: JsonObject | undefined): readonly string[] {
  if (options === undefined) return []
  const lists = ['choices', 'options', 'suggestions'].map((name) => options[name])
  const list =
    lists.find((value) => Array.isArray(value)) ?? Object.values(options).find(Array.isArray)
  if (!Array.isArray(list)) return []
  return list.slice(0, 12).flatMap((choice: unknown) => {
    if (typeof choice === 'string') return [choice]
    if (!isObject(choice)) return []
    const text = choice['value'] ?? choice['label']
    return typeof text === 'string' ? [text] : []
  })
}

/** What a question offers, as one text, where it is not a list of choices. */
export function optionsText({ options }: CallQuestion): string {
  if (options === undefined || Object.keys(options).length === 0) return ''
  const choices = choicesOf(options)
  return choices.length > 0 ? choices.join(' · ') : JSON.stringify(options)
}

/** An error and everything that led to it, the last failure first. */
export function errorChain(error: ErrorData): readonly ErrorData[] {
  return [error, ...(error.causes ?? []).toReversed()]
}
