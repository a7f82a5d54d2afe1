import { canonicalJson } from '../../core/base/digest.ts'
import { SessionError } from '../../core/errors/errors.ts'
import { answeredCall, ownContent } from '../../core/messages/tool-messages.ts'
import { json } from '../../core/schema/checks.ts'
import type { PendingCall, PendingKind } from '../../core/types/call.ts'
import { isObject } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import { messageText, type Message, type ToolCall } from '../../core/types/message.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import { askedUnderWay, pendingCalls } from '../../engine/calls/pending.ts'
import { agentsOf, savedAt, sessionCall } from '../../engine/calls/places.ts'
import { openWait, settledBefore } from '../../engine/calls/settle.ts'
import {
  acceptedBy,
  approvalOf,
  checkedMessages,
  isSettled,
  textIn,
  toolParts,
  wordsOf,
  written,
  type CheckedMessage,
  type Decision,
  type FromUiOptions,
  type UiToolPart,
} from './from-ui-messages.ts'
import type { UiMessageInput } from './ui-types.ts'

/**
 * What the messages of a page ask of a session, as commands: the last message if it is the user's, decisions about the calls that wait for
 * approval, results of the calls that the page runs, and answers to questions.
 *
 * Only what the session waits for is taken, so a page cannot invent calls, results or approvals. A decision or an answer has the ticket that the
 * page was given with what it shows. If that is not open any more, it throws a `SessionError`: `stale_ticket` if something else waits now, or
 * `already_decided` or `already_answered` if somebody has settled it in another way. The user's words answer the question that the page shows, and
 * otherwise none (`answers`). Everything else in the messages is ignored: the session has the history.
 */
export function uiCommands(
  messages: readonly UiMessageInput[],
  session: Session | undefined,
  options: FromUiOptions = {},
): readonly SessionCommand[] {
  const { commands, lost } = pageCommands(messages, session, options)
  const [first] = lost
  if (first !== undefined) throw first.error
  return commands
}

/** What a page settled, and is not open any more. */
export interface LostCommand {
  /** The command that it would be. */
  readonly command: SessionCommand
  readonly error: SessionError
}

/** What a page asks of a session. */
export interface PageCommands {
  readonly commands: readonly SessionCommand[]
  /** If there is one, nothing of the post may be given. */
  readonly lost: readonly LostCommand[]
}

/** What the messages of a page ask of a session: the commands, and what is refused. So its author can be asked for before. */
export function pageCommands(
  messages: readonly UiMessageInput[],
  session: Session | undefined,
  options: FromUiOptions = {},
): PageCommands {
  const accepts = acceptedBy(options)
  const page = checkedMessages(messages)
  const waits = session === undefined ? [] : waitsOf(session)
  const { settled, lost } = session === undefined ? nothingSettled : settledIn(page, session, waits)
  const commands = [...settled.values()].filter(({ type }) => type !== 'send')
  const questions = waits.filter(({ kind }) => kind === 'question')
  const last = page.at(-1)
  const words: Words[] = []
  if (last?.role === 'user') {
    const content = wordsOf(last, `messages[${page.length - 1}]`, accepts)
    words.push({ type: 'send', content, answers: questionShown(page, questions) })
  }
  // Questions are answered in their order. Those behind one that is still open wait.
  for (const { call, ticket } of questions) {
    const answer = settled.get(call.id) ?? (words[0]?.answers === ticket ? words.pop() : undefined)
    if (answer === undefined) break
    commands.push(answer)
  }
  return { commands: [...commands, ...words], lost }
}

type Words = Extract<SessionCommand, { type: 'send' }>

/** What a session waits for, and what its run under way has asked for until now. */
export function waitsOf(session: Session): readonly PendingCall[] {
  const under = session.status === 'idle' ? askedUnderWay(session) : []
  const waits = [...pendingCalls(session), ...under]
  return [...new Map(waits.map((wait) => [wait.ticket, wait])).values()]
}

/** A call in a message of a page, and what the page was given with it. */
interface PageCallPart extends UiToolPart {
  /** The tickets of its question and, in AI SDK 5, of its approval. */
  readonly tickets: {
    readonly question?: string | undefined
    readonly approval?: string | undefined
  }
}

/** What a page settled. */
interface Settled {
  /** By the id of the call. */
  readonly settled: ReadonlyMap<string, SessionCommand>
  readonly lost: readonly LostCommand[]
}

const nothingSettled: Settled = { settled: new Map(), lost: [] }

function settledIn(
  page: readonly CheckedMessage[],
  session: Session,
  waits: readonly PendingCall[],
): Settled {
  const calls = new Map<string, PageCallPart[]>()
  for (const message of page) {
    if (message.role !== 'assistant') continue
    const questions = ticketsIn(message, 'data-question')
    const approvals = ticketsIn(message, 'data-approval')
    for (const tool of toolParts(message)) {
      const tickets = { question: questions.get(tool.id), approval: approvals.get(tool.id) }
      const parts = calls.get(tool.id) ?? []
      parts.push({ ...tool, tickets })
      calls.set(tool.id, parts)
    }
  }
  const settled = new Map<string, SessionCommand>()
  const lost: LostCommand[] = []
  for (const [id, parts] of calls) {
    const open = waits.find(({ call }) => call.id === id)
    // A call that is shown twice is settled once. A provider may give an id again: then the last one counts.
    const command = open && parts.map((part) => commandOf(part, open)).findLast(Boolean)
    const last = parts.at(-1)
    if (command !== undefined) settled.set(id, command)
    else if (last !== undefined) lost.push(...lostIn(last, session, open))
  }
  return { settled, lost }
}

/** The tickets in the data parts of a message, by the id of the call. Of parts about the same call the last one counts. */
function ticketsIn(
  { parts }: CheckedMessage,
  type: string,
): ReadonlyMap<unknown, string | undefined> {
  return new Map(
    parts.flatMap((part) => {
      if (part.type !== type) return []
      const data = isObject(part['data']) ? part['data'] : {}
      const { toolCallId = part['id'], ticket } = data
      const isTicket = typeof ticket === 'string' && ticket !== ''
      return [[toolCallId, isTicket ? ticket : undefined] as const]
    }),
  )
}

/** What a page decided, and the ticket of what it decided about. */
interface ShownDecision extends Decision {
  readonly ticket: string | undefined
}

/** A decision of a page, if the part of a call has one. That of AI SDK 5 is an output of a call whose approval the page shows. */
function decisionIn({ id, part, tickets }: PageCallPart): ShownDecision | undefined {
  if (part['state'] === 'output-denied') return undefined
  const decision = approvalOf(part)
  if (decision === undefined) return undefined
  if (part['state'] !== 'approval-responded') return { ...decision, ticket: tickets.approval }
  const { approval } = part
  const given = isObject(approval) ? approval['id'] : undefined
  // What had no ticket when it was shown has the id of its call.
  const hasTicket = typeof given === 'string' && given !== '' && given !== id
  return { ...decision, ticket: hasTicket ? given : undefined }
}

/** The output that a page has of a call; a failure is one too. */
function outputIn({ part }: UiToolPart): { readonly value: unknown } | undefined {
  const { state, output = null, errorText, preliminary } = part
  if (state === 'output-available' && preliminary !== true) return { value: output }
  return state === 'output-error' ? { value: textIn(errorText) } : undefined
}

/** The command that settles what a call waits for, if the page was shown it. */
function commandOf(shown: PageCallPart, open: PendingCall): SessionCommand | undefined {
  const { id: toolCallId, part, tickets } = shown
  const { kind, ticket } = open
  if (kind === 'approval') {
    const decision = decisionIn(shown)
    if (decision?.ticket !== ticket) return undefined
    const { approved, reason } = decision
    if (approved) return { type: 'approve', toolCallId, ticket }
    return { type: 'deny', toolCallId, reason, ticket }
  }
  const output = outputIn(shown)
  if (output === undefined) return undefined
  const isError = part['state'] === 'output-error'
  if (kind === 'question') {
    if (tickets.question !== ticket) return undefined
    const content = isError
      ? `The user dismissed the question: ${textIn(output.value)}`
      : written(output.value)
    return { type: 'send', content, toolCallId, answers: ticket }
  }
  if (!isOfCall(part['input'], open.call)) return undefined
  const content = output.value as JsonValue // It is checked where the command is applied.
  if (!isError) return { type: 'submitToolResult', toolCallId, content }
  return { type: 'submitToolResult', toolCallId, content, isError: true }
}

/** Whether the arguments that a page shows are those of a call. A page that is not shown any has none. */
function isOfCall(input: unknown, call: ToolCall): boolean {
  if (!isObject(input) || Object.keys(input).length === 0) return true
  if (json(input).length > 0) return false
  return canonicalJson(input as JsonValue) === canonicalJson(call.arguments) // Just checked.
}

/**
 * What a page settled that is not open any more. What was settled in the same way, and what the session does not know, is history.
 */
function lostIn(
  shown: PageCallPart,
  session: Session,
  open: PendingCall | undefined,
): readonly LostCommand[] {
  const { id: toolCallId, part, tickets } = shown
  const decision = decisionIn(shown)
  const hasTicket = (tickets.question ?? decision?.ticket) !== undefined
  if (open === undefined && !hasTicket) return []
  if (sessionCall(session, toolCallId) === undefined) return []
  const saved = savedAt(session, toolCallId)
  const decided = saved?.approval?.decision
  const isKnown = (ticket: string | undefined): boolean =>
    ticket !== undefined && saved?.settled?.includes(ticket) === true
  if (decision !== undefined) {
    const { ticket = '', approved } = decision
    const isSame = decided === undefined || decided === (approved ? 'approved' : 'denied')
    const isResult = part['state'] !== 'approval-responded' && isResultOf(session, shown)
    const isShown = ticket !== '' || open?.kind === 'approval'
    if (!isShown || isResult || (isKnown(ticket) && isSame)) return []
    const command = { type: approved ? 'approve' : 'deny', toolCallId, ticket } as const
    return [{ command, error: refusedTicket(session, 'approval', toolCallId, ticket) }]
  }
  const output = outputIn(shown)
  if (output === undefined || part['state'] === 'output-error') return []
  // Of a result the arguments that the page shows are all that says what it is for.
  if (open?.kind === 'result' && !isOfCall(part['input'], open.call)) {
    const command = { type: 'submitToolResult', toolCallId, content: null } as const
    return [{ command, error: refusedTicket(session, 'result', toolCallId, '') }]
  }
  const ticket = tickets.question
  const command = { type: 'send', toolCallId, content: '' } as const
  if (open?.kind === 'question' && !isKnown(ticket)) {
    return [{ command, error: refusedTicket(session, 'question', toolCallId, ticket ?? '') }]
  }
  // An output of a call that has asked may be the result of its handler.
  const answer = saved?.question?.answer
  const isLast = saved?.settled?.at(-1) === ticket
  if (ticket === undefined || answer === undefined || !isLast || output.value === null) return []
  const isOwn = written(output.value) === messageText({ role: 'user', content: answer })
  const isPlain = saved?.question?.options?.['resume'] !== true
  if (isOwn || !isPlain || isResultOf(session, shown)) return []
  return [{ command, error: settledBefore(session, 'question', toolCallId) }]
}

/** The error about a ticket that is not open. */
export function refusedTicket(
  session: Session,
  kind: PendingKind,
  id: string,
  ticket: string,
): SessionError {
  try {
    openWait(session, kind, id, { ticket })
  } catch (error) {
    if (error instanceof SessionError) return error
    throw error
  }
  return settledBefore(session, kind, id)
}

/** Whether the output that a page shows is the result that the session has. */
function isResultOf({ thread }: Session, shown: UiToolPart): boolean {
  const output = outputIn(shown)
  if (output === undefined) return false
  return thread.messages.some((message) => {
    const content = messageText({ role: 'tool', content: ownContent(message) })
    return answeredCall(message) === shown.id && content === written(output.value)
  })
}

/**
 * The ticket of the question that the user's words answer: of those that the last answer of the page shows as open, the one that is asked
 * first. Without such a question it is `null`: the words are a user message.
 */
function questionShown(
  page: readonly CheckedMessage[],
  questions: readonly PendingCall[],
): string | null {
  const at = page.findLastIndex(({ role }) => role === 'assistant')
  const answer = page[at]
  if (answer === undefined) return null
  const outputs = new Set(
    toolParts(answer).flatMap(({ id, part }) => (isSettled(part) ? [id] : [])),
  )
  const tickets = [...ticketsIn(answer, 'data-question')].flatMap(([id, ticket]) =>
    typeof id === 'string' && !outputs.has(id) ? (ticket ?? []) : [],
  )
  const open = questions.filter(({ ticket }) => tickets.includes(ticket))
  const lost = tickets.find((ticket) => !open.some((one) => one.ticket === ticket))
  // Earlier words may have answered a question that the page still shows. Otherwise the words may be meant for any of them.
  const isFollowed = page.slice(at + 1, -1).some(({ role }) => role === 'user')
  return (isFollowed ? undefined : lost) ?? open[0]?.ticket ?? null
}

/** A call that has settled a wait with a ticket. */
export interface SettledTicket {
  readonly toolCallId: string
  /** What the user answered, if the ticket was that of its last question. */
  readonly answer?: Message['content'] | undefined
  readonly isApproval: boolean
}

/** What was settled by a ticket, in the session or in an agent that is under way in it; `undefined` if nothing was. */
export function settledTicket(session: Session, ticket: string): SettledTicket | undefined {
  for (const [toolCallId, { settled, question, approval }] of Object.entries(session.calls ?? {})) {
    if (settled?.includes(ticket) !== true) continue
    const answer = settled.at(-1) === ticket ? question?.answer : undefined
    return { toolCallId, answer, isApproval: approval !== undefined && answer === undefined }
  }
  for (const [callId, inner] of agentsOf(session)) {
    const found = settledTicket(inner, ticket)
    if (found !== undefined) return { ...found, toolCallId: `${callId}/${found.toolCallId}` }
  }
  return undefined
}
