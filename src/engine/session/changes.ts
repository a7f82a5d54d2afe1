import { randomId } from '../../core/base/ids.ts'
import type { Approval } from '../../core/contracts/options.ts'
import { outcomeBrand, type ContentOutcome, type ResultPart } from '../../core/contracts/tool.ts'
import { SessionError, ValidationError } from '../../core/errors/errors.ts'
import {
  submitOptions,
  toolResult,
  user,
  type SubmitOptions,
} from '../../core/messages/messages.ts'
import { content, noAnswer } from '../../core/messages/outcomes.ts'
import {
  answeredCall,
  answeredMessage,
  approvedContent,
  deniedMessage,
  expiredReason,
  interruptedMessage,
  isMark,
  isNotYet,
  isUsersOwn,
  lateResultOf,
  notRunMessage,
  notYetMessage,
  reportedMessage,
  resultState,
  toLateMessage,
  unansweredMessage,
} from '../../core/messages/tool-messages.ts'
import {
  assertValid,
  describe,
  fine,
  flag,
  json,
  jsonObject,
  must,
  oneOf,
  optionsOf,
  refusal,
  refuse,
  someText,
  text,
  unknownKeys,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import {
  isRunResult,
  maxInnerDepth,
  runResultProblem,
  validateSession,
} from '../../core/schema/validate-session.ts'
import { content as contentIssues, resultParts } from '../../core/schema/validate.ts'
import type { CallApproval, CallQuestion, PendingCall } from '../../core/types/call.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { assertNever, defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import {
  callOf,
  answersOf,
  appendMessages,
  toMessages,
  type Message,
  type MessagesInput,
  type Part,
  type Thread,
  type ToolCall,
} from '../../core/types/message.ts'
import { addUsage } from '../../core/types/response.ts'
import type { PendingApproval } from '../../core/types/results.ts'
import {
  sessionVersion,
  type RunProgress,
  type SavedCall,
  type Session,
  type SessionCommand,
  type SessionStatus,
} from '../../core/types/session.ts'
import { hasLeft, isDecided, toApproval, wasStarted } from '../calls/decided.ts'
import { goneCall, keptCall, mapCalls, withoutInner } from '../calls/kept.ts'
import {
  pendingCalls,
  pendingKinds,
  questionsOf,
  waits,
  waitingStatus,
  withLists,
} from '../calls/pending.ts'
import { innerPlace, savedCall } from '../calls/places.ts'
import {
  assertSettleOptions,
  expiry,
  openQuestion,
  openWait,
  settleChecks,
  settledBefore,
  settlementOf,
  wasSettled,
  withCall,
  withSettled,
  type GivenSettlement,
  type SettleOptions,
  type Settlement,
} from '../calls/settle.ts'
import type { ThreadInput } from '../chat/prepare.ts'
import { goesOn } from '../model-call/restore.ts'
import { untoldUsage } from './inner.ts'
import { cleared, restingRun, toldLate } from './reduce.ts'

/** The options of a new session. A thread or messages, not both. */
export interface SessionOptions {
  /** Random unless given. */
  readonly id?: string | undefined
  readonly thread?: Thread | undefined
  /** A text is one user message. */
  readonly messages?: MessagesInput | undefined
  /** Passed to tool handlers, merged over the engine's. */
  readonly context?: JsonObject | undefined
  /** Yours. A run never changes it. */
  readonly metadata?: JsonObject | undefined
}

const keys = ['id', 'thread', 'messages', 'context', 'metadata'] as const

/** Makes an idle session. It is plain data, and no operation changes it. */
export function createSession(options: SessionOptions = {}): Session {
  assertValid('invalid_options', unknownKeys(options, keys, ''))
  const { id, thread, messages, context, metadata } = options
  if (thread !== undefined && messages !== undefined) {
    throw new ValidationError('invalid_options', [
      { path: 'messages', problem: 'cannot be combined with thread' },
    ])
  }
  const session = defined<Session>({
    version: sessionVersion,
    id: id ?? randomId('session'),
    status: 'idle',
    thread: thread ?? { messages: toMessages(messages ?? []), metadata: {} },
    pendingToolCalls: [],
    pendingApprovals: [],
    context: context ?? {},
    metadata: metadata ?? {},
  })
  assertValid('invalid_session', validateSession(session))
  return session
}

/** What a session starts from: its first messages (a text is one user message), a thread, or an existing session. */
export type SessionInput = Session | ThreadInput

/** The session that a new run starts from. A session keeps its id. */
export function started(input: SessionInput, id?: string): Session {
  if (typeof input === 'string') return createSession({ id, messages: input })
  if (typeof input !== 'object' || input === null) {
    const problem = `must be a text, messages, a thread or a session, not ${describe(input)}`
    throw new ValidationError('invalid_session', [{ path: '', problem }])
  }
  if (isRunResult(input)) {
    throw new ValidationError('invalid_session', [{ path: '', problem: runResultProblem }])
  }
  if (!isSession(input)) {
    return createSession('messages' in input ? { id, thread: input } : { id, messages: input })
  }
  if (id !== undefined && id !== input.id) {
    const problem = `must be absent or ${describe(input.id)}, the id of the session`
    throw new ValidationError('invalid_options', [{ path: 'id', problem }])
  }
  return cleared(checked(input, 'start'), input.calls)
}

/** What a message of the user answers, and who wrote it. */
export interface ReplyTo {
  /** The call whose question the message answers. If that call asks nothing, the reply is refused. */
  readonly toolCallId?: string | undefined
  /**
   * The ticket of the question that the message answers (`Session.pending`); if it is not open, the reply is refused. `null` makes it a user
   * message, whatever is open. Without it, it answers the first open question, unless the session is idle.
   */
  readonly answers?: string | null | undefined
  /** Who answers: a text of at most 256 characters, which the record of the call keeps. */
  readonly by?: string | undefined
}

const replyTo = optionsOf({
  toolCallId: someText,
  answers: (value) => (value === null ? fine : someText(value)),
  by: settleChecks.by,
} satisfies Readonly<Record<keyof ReplyTo, Check>>)

/** What only a command says of a message: when it was given, and that its sender did not name the question. */
interface GivenReply {
  readonly at?: number | undefined
  readonly implied?: boolean | undefined
}

/**
 * The session with a message of the user: the answer to a question, or a user message. With a user message, calls that still wait are
 * answered as not yet there, and go on waiting; so do open questions.
 */
export function replied(
  session: Session,
  text: string | readonly Part[],
  to: ReplyTo = {},
  given: GivenReply = {},
): Session {
  assertValid('invalid_options', replyTo(to))
  checked(session, 'reply')
  const question = askedQuestion(session, to, given)
  const message = user(text)
  const { content } = message
  assertValid('invalid_message', within('content', reasoningIssues(content)))
  if (question !== undefined) {
    return answered(
      session,
      question.call.id,
      content,
      settlementOf(question, { by: to.by, at: given.at }),
    )
  }
  if (content.length === 0) {
    const goOn = '; Session.resume goes on without new words'
    const hint = legalOperations(session).includes('resume') ? goOn : ''
    throw refusal('invalid_message', 'content', `is empty${hint}`)
  }
  return said(session, [message])
}

/** The question that a message answers, if it answers one. */
function askedQuestion(
  session: Session,
  { toolCallId, answers }: ReplyTo,
  { implied }: GivenReply,
): PendingCall | undefined {
  if (answers === null) return undefined
  const open = pendingCalls(session).filter(({ kind }) => kind === 'question')
  // A run that was cut, and a session that was rewound, do not wait for their questions: only a message that names one answers it.
  const isListed = session.status !== 'idle' && questionsOf(session).length > 0
  const first = isListed ? open[0] : undefined
  if (answers !== undefined) {
    const asked = open.find(({ ticket }) => ticket === answers)
    return asked ?? (implied === true ? undefined : openQuestion(session, answers))
  }
  if (toolCallId === undefined) return first
  const asked = open.find(({ call }) => call.id === toolCallId)
  if (asked !== undefined) return asked
  const ids = open.map(({ call }) => call.id)
  const now = ids.length === 0 ? 'no question is open' : `open are those of ${ids.join(', ')}`
  throw new SessionError(
    'unknown_tool_call_id',
    `the reply answers the question of ${toolCallId}, but ${now}`,
    { metadata: { toolCallId, open: ids } },
  )
}

/**
 * The session with the answer to a question of one of its calls, or of a call of an agent inside. It is the result of the call that asked,
 * or is kept for the handler if that asked to be called again.
 */
function answered(
  session: Session,
  toolCallId: string,
  content: Message['content'],
  settlement: Settlement,
): Session {
  const inside = inAgent(session, toolCallId, (inner, id) =>
    answered(inner, id, content, settlement),
  )
  if (inside !== undefined) {
    return settlement.by === expiry ? inside : noted(inside, toolCallId, content)
  }
  const { question, told } = savedCall(session, toolCallId) ?? {}
  const { text = '', options } = question ?? {}
  const { by, at } = settlement
  const kept = defined<CallQuestion>({ text, options, answer: content, by, at })
  const isExpired = by === expiry
  if (options?.['resume'] === true) {
    const next = relisted(
      withSettled(session, toolCallId, settlement, { ...noWait, question: kept }),
    )
    return isExpired ? next : noted(next, toolCallId, content)
  }
  const isLate = told === 'placeholder'
  const next = relisted(
    withSettled(session, toolCallId, settlement, {
      ...noWait,
      question: kept,
      state: 'done',
      told: isLate ? 'placeholder' : 'result',
    }),
  )
  const { words, images } = forToolResult(content)
  const toMessage = isExpired ? unansweredMessage : answeredMessage
  const answer = toMessage(toolCallId, text, words)
  const added = images.length === 0 ? [] : [user(images)]
  const call = isLate ? callOf(session.thread, toolCallId) : undefined
  if (call !== undefined) return withLate(next, [toLateMessage(call, answer), ...added])
  return withLate({ ...next, thread: withAnswers(session.thread, [answer]) }, added)
}

/** What a call has no more when it does not wait any more. */
const noWait = { reason: undefined, since: undefined, expiresAt: undefined, halt: undefined }

/** The session whose lists and status say what its calls wait for now. One whose run was cut, stopped or failed can still be resumed. */
function relisted(session: Session): Session {
  const next = withLists(session)
  return waits(session) ? { ...next, status: waitingStatus(next) ?? 'idle' } : next
}

/**
 * The session whose last answer knows what the user said to a question of its calls. Such words are for a handler or an agent, and are not a
 * message, but a page shows them. Words about a call of an earlier answer are not noted: they would be shown in the wrong place.
 */
function noted(session: Session, toolCallId: string, content: Message['content']): Session {
  const { thread } = session
  const at = thread.messages.findLastIndex(({ role }) => role === 'assistant' || role === 'user')
  const message = thread.messages[at]
  const isOf = ({ id }: ToolCall): boolean => id === toolCallId || toolCallId.startsWith(`${id}/`)
  if (message?.toolCalls?.some(isOf) !== true) return session
  const answers = [...answersOf(message), { toolCallId, content }]
  const metadata = { ...message.metadata, answers: answers as unknown as JsonValue } // Parts are JSON.
  const messages = thread.messages.with(at, { ...message, metadata })
  return { ...session, thread: { ...thread, messages } }
}

/** Reasoning is the model's own. An item of a provider may be the user's answer to that provider. */
function reasoningIssues(content: Message['content']): readonly Issue[] {
  if (typeof content === 'string') return []
  const at = content.findIndex(({ type }) => type === 'reasoning')
  return at === -1 ? [] : [{ path: `[${at}].type`, problem: 'must not be reasoning' }]
}

/**
 * The session in which something was settled inside the agent that has a call; `undefined` if no agent has it. When that agent waits for
 * nothing more, the next run enters it again.
 */
function inAgent(
  session: Session,
  toolCallId: string,
  settle: (inner: Session, id: string) => Session,
): Session | undefined {
  const place = innerPlace(session, toolCallId)
  if (place === undefined) return undefined
  const inner = settle(place.session, place.id)
  return relisted(withCall(session, place.callId, { inner }))
}

/** The words of a reply, which every provider takes as the result of a tool, and its other parts. */
function forToolResult(content: Message['content']): {
  readonly words: Message['content']
  readonly images: readonly Part[]
} {
  if (typeof content === 'string') return { words: content, images: [] }
  const words = content.filter(({ type }) => type === 'text')
  const images = content.filter(({ type }) => type !== 'text')
  return { words: words.length === 0 ? 'The answer follows.' : words, images }
}

/**
 * The session with messages after its thread. Calls that have no result are left behind as `leftBehind` says: the model reads something
 * about each, and what waits or was decided goes on.
 */
function said(session: Session, added: readonly Message[]): Session {
  const { run, thread, calls = {} } = session
  const isUnderWay = run !== undefined && run.phase !== 'between'
  const open = isUnderWay ? lastCalls(thread) : []
  const told = new Map(thread.messages.slice(-open.length - 1).map((one) => [one.toolCallId, one]))
  const left = new Map(Object.entries(calls))
  const answers: Message[] = []
  for (const call of open) {
    const { message, saved } = leftBehind(call, savedCall(session, call.id), told.get(call.id))
    if (message !== undefined) answers.push(message)
    const kept = saved && keptCall(saved)
    if (kept === undefined) left.delete(call.id)
    else left.set(call.id, kept)
  }
  // An agent that was stopped in the middle is over: its tools must not act before the model has read the new words.
  const stopped: Message[] = []
  for (const [id, saved] of left) {
    if (saved.told === 'result') {
      const noted = keptCall(atRest(saved))
      if (noted === undefined) left.delete(id)
      else left.set(id, noted)
    }
    if (saved.told !== 'placeholder') continue
    const call = isStopped(saved) ? callOf(thread, id) : undefined
    if (call === undefined) left.set(id, atRest(saved))
    else {
      left.set(id, interruptedCall(saved))
      stopped.push(toLateMessage(call, interruptedMessage(id, 'interrupted')))
    }
  }
  const late = run?.late ?? []
  const next = cleared(session, toldLate(Object.fromEntries(left), [...late, ...stopped]))
  const answered = withAnswers(thread, answers)
  return {
    ...next,
    status: 'idle',
    thread: appendMessages(answered, ...late, ...stopped, ...added),
  }
}

/** What the model reads of a call when the user says something else, and what is kept of the call. */
interface LeftBehind {
  readonly message?: Message
  readonly saved?: SavedCall
}

/**
 * A call that is left behind: what was denied is told now. What was approved, answered or has returned is told later, and what waits goes on
 * waiting. What was started, and agents that were under way, are reported as interrupted; what was not started does not run.
 */
function leftBehind(
  { id }: ToolCall,
  saved: SavedCall | undefined,
  told: Message | undefined,
): LeftBehind {
  const later = (): LeftBehind => ({
    message: notYetMessage(id),
    saved: { ...atRest(saved ?? {}), told: 'placeholder' },
  })
  const { state = 'proposed' } = saved ?? {}
  if (saved === undefined || state === 'proposed') {
    const isTold = told !== undefined && !isMark(told)
    return defined<LeftBehind>({ message: isTold ? undefined : notRunMessage(id), saved })
  }
  if (saved.told === 'result') return { saved: atRest(saved) }
  if (hasLeft(saved)) return later()
  switch (state) {
    case 'denied': {
      const message = deniedMessage(id, saved.approval?.reason ?? '')
      return { message, saved: { ...saved, told: 'result' } }
    }
    case 'approved':
    case 'awaiting_approval':
    case 'asking':
    case 'awaiting_result':
      return later()
    case 'running': {
      if (saved.inner === undefined ? isDecided(saved) : !isStopped(saved)) return later()
      const message = reportedMessage(interruptedMessage(id, 'interrupted'))
      return { message, saved: interruptedCall(saved) }
    }
    case 'done':
    case 'failed':
    case 'interrupted':
      return { saved: { ...saved, told: 'result' } }
    default:
      return assertNever(state)
  }
}

/** A call that halts nothing any more. The agent inside of it rests. */
function atRest({ halt: _halt, ...saved }: SavedCall): SavedCall {
  return saved.inner === undefined ? saved : { ...saved, rests: true }
}

/** Whether the agent inside a call was stopped in the middle of its run. */
function isStopped(saved: SavedCall): boolean {
  return wasStarted(saved) && saved.inner?.status === 'idle'
}

/** A call that was started and will have no result. */
function interruptedCall(saved: SavedCall): SavedCall {
  return { ...withoutInner(saved), state: 'interrupted', told: 'result' }
}

/** The session after `Session.approve`: the call runs when the session is resumed, with other arguments if they are given. */
export function approved(
  session: Session,
  toolCallId: string,
  options: ApproveOptions = {},
): Session {
  assertValid('invalid_options', approveOptions(options))
  const { arguments: args, ...given } = options
  return decided(session, toolCallId, args === undefined ? true : { arguments: args }, given)
}

/** The options of `Session.approve`. */
export interface ApproveOptions extends SettleOptions {
  /** What the tool gets instead of what the model wrote. It is checked like any other arguments. */
  readonly arguments?: JsonObject | undefined
}

const approveOptions = optionsOf({
  arguments: jsonObject,
  ...settleChecks,
} satisfies Readonly<Record<keyof ApproveOptions, Check>>)

/** The session after `Session.deny`: the call does not run, and the model is told why when the session goes on. */
export function deniedCall(
  session: Session,
  toolCallId: string,
  reason: string = '',
  options: SettleOptions = {},
): Session {
  assertValid('invalid_options', within('reason', text(reason)))
  assertSettleOptions(options)
  return decided(session, toolCallId, { deny: reason }, options)
}

function decided(
  session: Session,
  toolCallId: string,
  approval: Approval,
  given: GivenSettlement,
): Session {
  assertValid('invalid_options', within('toolCallId', someText(toolCallId)))
  assertValid('invalid_session', validateSession(session))
  const open = openWait(session, 'approval', toolCallId, given)
  if (open === undefined && wasSettled(session, 'approval', toolCallId)) {
    throw settledBefore(session, 'approval', toolCallId)
  }
  assertLegal(session, approval !== true && 'deny' in approval ? 'deny' : 'approve')
  if (open === undefined)
    throw unknownCall('wait for approval', toolCallId, session.pendingApprovals)
  return withApproval(session, toolCallId, approval, settlementOf(open, given))
}

/** The session with a decision about a call of its own, or of an agent inside. It replaces an earlier one. */
function withApproval(
  given: Session,
  toolCallId: string,
  approval: Approval,
  settlement: Settlement,
): Session {
  const inside = inAgent(given, toolCallId, (inner, id) =>
    withApproval(inner, id, approval, settlement),
  )
  if (inside !== undefined) return inside
  const { told } = savedCall(given, toolCallId) ?? {}
  const call = callOf(given.thread, toolCallId)
  if (call === undefined) throw unknownCall('wait for approval', toolCallId, [])
  const { by, at } = settlement
  const kept = defined<CallApproval>({ ...toApproval(approval, call), by, at })
  const { decision, reason = '' } = kept
  const change = { ...noWait, state: decision, approval: kept }
  const next = relisted(withSettled(given, toolCallId, settlement, change))
  if (told !== 'placeholder' || decision === 'approved') return next
  return withLate(next, [toLateMessage(call, deniedMessage(toolCallId, reason))])
}

function withRun(
  session: Session,
  changes: { readonly [Key in keyof RunProgress]?: RunProgress[Key] | undefined },
): Session {
  const run = { ...(session.run ?? restingRun('auto')), ...changes }
  return { ...session, run: defined<RunProgress>(run) }
}

/** Adds messages to the thread, or keeps them until every call at its end has its answer. */
function withLate(session: Session, messages: readonly Message[]): Session {
  if (messages.length === 0) return session
  const { run, thread } = session
  const phase = run?.phase
  // The placeholder of an open question is replaced by its answer, so nothing may follow it yet.
  const isAsked = questionsOf(session).some(({ toolCallId }) => {
    const own = innerPlace(session, toolCallId)?.callId ?? toolCallId
    return savedCall(session, own)?.told !== 'placeholder'
  })
  const isOpen = isAsked || goesOn(session) || phase === 'model' || phase === 'tools'
  const waiting = run?.late ?? []
  if (isOpen || waiting.length > 0) return withRun(session, { late: [...waiting, ...messages] })
  const calls = toldLate(session.calls, messages)
  return defined<Session>({ ...session, calls, thread: appendMessages(thread, ...messages) })
}

/** The calls at the end of a thread, with or without their results. */
function lastCalls({ messages }: Thread): readonly ToolCall[] {
  return messages.findLast(({ role }) => role !== 'tool')?.toolCalls ?? []
}

/** The calls at the end of a thread that have no message. */
function openCalls(thread: Thread): readonly ToolCall[] {
  const { messages } = thread
  const at = messages.findLastIndex(({ role }) => role !== 'tool')
  const known = new Set(messages.slice(at + 1).map(({ toolCallId }) => toolCallId))
  return lastCalls(thread).filter(({ id }) => !known.has(id))
}

function isSession(input: Session | Thread | readonly Message[]): input is Session {
  return 'status' in input
}

/**
 * The session with messages added; a text is a user message. A completed session can then be resumed. Calls that wait must be settled
 * first; those that were settled and have not run yet become late. Without messages the session is returned as it is.
 */
export function appended(session: Session, ...messages: readonly (Message | string)[]): Session {
  checked(session, 'append')
  if (messages.length === 0) return session
  const next = said(
    session,
    messages.flatMap((added) => (typeof added === 'string' ? toMessages(added) : added)),
  )
  assertValid('invalid_session', validateSession(next))
  return next
}

/**
 * The session as it was before a message: it and everything after it are removed. Add another message, or resume to ask the model again.
 *
 * A call that the kept thread says has no result yet keeps what came of it: it stays pending, stays approved, or its result follows at
 * the end of the thread. Other calls wait no longer. An index between a call and its results throws. An index at the end removes
 * nothing, and everything that is pending stays so; a completed session can then be resumed.
 */
export function rewound(session: Session, messageIndex: number): Session {
  checked(session, 'rewind')
  const { run } = session
  const { messages } = session.thread
  if (!Number.isInteger(messageIndex) || messageIndex < 0 || messageIndex > messages.length) {
    throw badIndex(`must be a whole number from 0 to ${messages.length}`)
  }
  if (messageIndex === messages.length) {
    return session.status === 'completed' ? { ...session, status: 'idle' } : session
  }
  const kept = { ...session.thread, messages: messages.slice(0, messageIndex) }
  if (openCalls(kept).length > 0) {
    const answer = kept.messages.findLastIndex(({ role }) => role === 'assistant')
    throw badIndex(`separates the calls of message ${answer} from their results; use ${answer}`)
  }
  const removed = messages.slice(messageIndex)
  const { told, untold } = lateIn(kept, [...removed, ...(run?.late ?? [])])
  const ids = new Set(kept.messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id)))
  const calls = mapCalls(session.calls, (saved, id) => {
    if (untold.has(id)) return atRest(saved)
    return ids.has(id) ? keptCall({ ...saved, told: 'result' }) : goneCall(saved)
  })
  const next = cleared(session, calls)
  return { ...next, status: 'idle', thread: appendMessages(kept, ...told) }
}

/**
 * What comes later of the calls that a thread says have no result yet: the messages with their results, and the calls that have none in
 * those messages either. An id that a later call has again says nothing about the earlier one.
 */
function lateIn(
  { messages }: Thread,
  later: readonly Message[],
): { readonly told: readonly Message[]; readonly untold: ReadonlySet<string> } {
  const untold = new Set<string>()
  for (const message of messages) {
    const id = answeredCall(message)
    if (id === undefined) continue
    if (isNotYet(message)) untold.add(id)
    else untold.delete(id)
  }
  const known = new Set(untold)
  const told = later.filter((message) => {
    for (const { id } of message.toolCalls ?? []) known.delete(id)
    const id = lateResultOf(message)
    return id !== undefined && known.delete(id) && untold.delete(id)
  })
  for (const id of untold) if (!known.has(id)) untold.delete(id)
  return { told, untold }
}

function badIndex(problem: string): ValidationError {
  return new ValidationError('invalid_options', [{ path: 'messageIndex', problem }])
}

/** The session after a command. A command that is not legal now throws, and nothing changes. */
export function applyCommand(session: Session, command: SessionCommand): Session {
  assertValid('invalid_options', within('command', commandIssues(command)))
  switch (command.type) {
    case 'send': {
      // A command may have come from outside: it has the user's words and media, never an item for a provider.
      if (Array.isArray(command.content)) {
        assertValid('invalid_message', within('content', resultParts(command.content)))
      }
      const { content, toolCallId, answers, by, implied, context, metadata, at } = command
      assertTime(at)
      const words = replied(session, content, { toolCallId, answers, by }, { at, implied })
      const next = at === undefined ? words : withTime(words, session, at)
      assertValid('invalid_options', within('context', jsonObject(context ?? {})))
      assertValid('invalid_options', within('metadata', jsonObject(metadata ?? {})))
      return {
        ...next,
        context: { ...next.context, ...context },
        metadata: { ...next.metadata, ...metadata },
      }
    }
    case 'approve': {
      const { toolCallId, arguments: args, ticket, by, at } = command
      assertValid('invalid_options', approveOptions(defined({ arguments: args, ticket, by })))
      assertTime(at)
      const approval = args === undefined ? true : { arguments: args }
      return decided(session, toolCallId, approval, { ticket, by, at })
    }
    case 'deny': {
      const { toolCallId, reason = '', ticket, by, at } = command
      assertValid('invalid_options', within('reason', text(reason)))
      assertSettleOptions({ ticket, by })
      assertTime(at)
      return decided(session, toolCallId, { deny: reason }, { ticket, by, at })
    }
    case 'submitToolResult': {
      const { toolCallId, parts, isError, ticket, by } = command
      assertValid('invalid_options', within('parts', flag(parts ?? false)))
      const result = parts === true ? toContent(command.content) : asData(command.content)
      return submitToolResult(session, toolCallId, result, { isError, ticket, by })
    }
    case 'resume':
      return checked(session, 'resume')
    default:
      return assertNever(command)
  }
}

/**
 * The session in which is settled what nobody has settled until `now`, by the clock of the engine: calls are denied, and questions are
 * answered by `noAnswer`, each by `expiry`. `Session.reply`, `resume` and `step` do this first; so do runs, when the time has come.
 */
export function expired(session: Session, now: number): Session {
  assertValid('invalid_options', within('now', time(now)))
  if (!hasLimits(session)) return session
  assertValid('invalid_session', validateSession(session))
  // Of a session with more than one answer can have, the next run settles the others.
  const due = pendingCalls(session).filter((pending) => isExpired(pending, now))
  return due.slice(0, 512).reduce((next, one) => settledByExpiry(next, one, now), session)
}

/** What applying `expiryOf` gives, for something that is known to wait: what else waits is not looked for each time. */
function settledByExpiry(
  session: Session,
  { kind, ticket, call }: PendingCall,
  at: number,
): Session {
  const settlement = { ticket, by: expiry, at }
  if (kind === 'question') {
    return withTime(answered(session, call.id, noAnswer, settlement), session, at)
  }
  return withApproval(session, call.id, { deny: expiredReason }, settlement)
}

/** Whether nobody has settled in time what a call waits for. */
export function isExpired({ expiresAt }: PendingCall, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now
}

/** The command that settles what nobody has settled in time. */
export function expiryOf({ kind, ticket, call }: PendingCall, at: number): SessionCommand {
  const by = expiry
  if (kind === 'question') return { type: 'send', content: noAnswer, answers: ticket, by, at }
  return { type: 'deny', toolCallId: call.id, reason: expiredReason, ticket, by, at }
}

/** Whether a command settles what nobody has settled in time. */
export function isExpiry(command: SessionCommand): boolean {
  return command.type !== 'resume' && command.by === expiry
}

/** Whether a call of a session, which was not checked yet, waits for a limited time. One that is too deep to be legal is to be checked. */
function hasLimits(session: unknown, depth: number = 0): boolean {
  if (depth > maxInnerDepth) return true
  const { calls } = isObject(session) ? session : {}
  return Object.values(isObject(calls) ? calls : {}).some(
    (call) => isObject(call) && ('expiresAt' in call || hasLimits(call['inner'], depth + 1)),
  )
}

const time: Check = must('a number of milliseconds', Number.isFinite)

function assertTime(at: number | undefined): void {
  if (at !== undefined) assertValid('invalid_options', within('at', time(at)))
}

/** The session in which the user's words that an earlier one does not have are marked with their time. */
function withTime(session: Session, { thread: { messages: known } }: Session, at: number): Session {
  const before = new Set(known)
  const messages = session.thread.messages.map((message) => {
    const { metadata = {} } = message
    const isOwn = isUsersOwn(message) || metadata['answeredByUser'] === true
    return isOwn && !before.has(message) ? { ...message, metadata: { ...metadata, at } } : message
  })
  return { ...session, thread: { ...session.thread, messages } }
}

/** The keys of each command. */
const commandKeys: {
  readonly [C in SessionCommand as C['type']]: Readonly<Record<keyof C, true>>
} = {
  send: {
    type: true,
    content: true,
    toolCallId: true,
    answers: true,
    implied: true,
    by: true,
    context: true,
    metadata: true,
    at: true,
  },
  approve: {
    type: true,
    toolCallId: true,
    arguments: true,
    ticket: true,
    implied: true,
    by: true,
    at: true,
  },
  deny: {
    type: true,
    toolCallId: true,
    reason: true,
    ticket: true,
    implied: true,
    by: true,
    at: true,
  },
  submitToolResult: {
    type: true,
    toolCallId: true,
    content: true,
    parts: true,
    isError: true,
    ticket: true,
    implied: true,
    by: true,
    at: true,
  },
  resume: { type: true },
}

/** The problems of a command: its type, and keys that it does not have. Its values are checked where they are used. */
const commandIssues: Check = (value) => {
  if (!isObject(value)) return refuse('a command, such as { type: "resume" }', value)
  const { type } = value
  const known = new Map(Object.entries(commandKeys)).get(String(type))
  return known === undefined
    ? within('type', oneOf(Object.keys(commandKeys))(type))
    : unknownKeys(value, Object.keys(known))
}

/** Returns a session in which `operation` is legal now, and throws otherwise. */
export function checked(session: Session, operation: Operation): Session {
  assertValid('invalid_session', validateSession(session))
  assertLegal(session, operation)
  return session
}

/** The operations on a session, by the names of their functions. */
export type Operation =
  | 'start'
  | 'reply'
  | 'resume'
  | 'step'
  | 'approve'
  | 'deny'
  | 'submitToolResult'
  | 'append'
  | 'rewind'

/** The operations that are legal in each status, besides those that settle something pending. */
const byStatus: Readonly<Record<SessionStatus, readonly Operation[]>> = {
  idle: ['start', 'reply', 'resume', 'step', 'append', 'rewind'],
  awaiting_user: ['reply', 'rewind'],
  awaiting_approval: ['reply', 'rewind'],
  awaiting_tools: ['reply', 'rewind'],
  completed: ['start', 'reply', 'step', 'append', 'rewind'],
  halted: ['reply', 'resume', 'step', 'append', 'rewind'],
  error: ['reply', 'resume', 'step', 'append', 'rewind'],
}

/** The operations that ask the model about the thread as it is. An empty one asks nothing. */
const asks: ReadonlySet<Operation> = new Set<Operation>(['resume', 'step'])

/**
 * The operations that are legal now, by the names of their functions. Streaming twins are legal with them. What has expired counts as open
 * until it is settled (`Session.expire`).
 */
export function legalOperations(session: Session): readonly Operation[] {
  const { status, thread } = session
  const isEmpty = thread.messages.length === 0
  const kinds = pendingKinds(session)
  return [
    ...byStatus[status].filter((name) => {
      return name === 'start' ? !isUnsettled(session) : !isEmpty || !asks.has(name)
    }),
    ...(kinds.has('approval') ? (['approve', 'deny'] as const) : []),
    ...(kinds.has('result') ? (['submitToolResult'] as const) : []),
  ]
}

/** The calls of manual tools that wait for their results. */
export function pendingToolCalls(session: Session): readonly ToolCall[] {
  return session.pendingToolCalls
}

/** The calls that wait for somebody's decision. */
export function pendingApprovals(session: Session): readonly PendingApproval[] {
  return session.pendingApprovals
}

/** Whether a run that starts anew would lose something: part of an answer, a result, a question, a decision. */
function isUnsettled({ run, thread, calls = {} }: Session): boolean {
  if (openCalls(thread).length > 0) return true
  if (Object.values(calls).some(isUnsettledCall)) return true
  return run?.phase === 'model' || run?.phase === 'tools' || run?.late !== undefined
}

function isUnsettledCall({ state, told, halt }: SavedCall): boolean {
  return halt !== undefined || (state !== undefined && told !== 'result')
}

/** Throws if the session does not allow an operation. The message says what is legal now. */
function assertLegal(session: Session, operation: Operation): void {
  const legal = legalOperations(session)
  if (legal.includes(operation)) return
  const { status } = session
  const reason = status === 'error' ? 'session_in_error_state' : 'illegal_status'
  const known = asks.has(operation) ? 'its thread has no message' : 'its last run is not settled'
  const state = byStatus[status].includes(operation) ? known : `the session is ${status}`
  throw new SessionError(
    reason,
    `Session.${operation} is not legal while ${state}; legal now: ${legal.map((name) => `Session.${name}`).join(', ')}`,
    { metadata: { status, operation, legal } },
  )
}

/** The parts of a command's result. */
function toContent(parts: unknown): ContentOutcome {
  assertValid('invalid_message', within('content', resultParts(parts)))
  return content(parts as readonly ResultPart[]) // They were just checked.
}

/** The result of a command as text: a list in it that looks like parts is data. */
function asData(value: unknown): string {
  assertValid('invalid_message', within('content', json(value)))
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/**
 * The result of a tool: a text as it is, parts made by `content(parts)`, any other JSON value encoded.
 *
 * A plain list of text parts and of media with their bytes counts as parts too. One that names an address, a file of a provider or
 * an item is refused: say `content(parts)` if it is meant.
 */
export type ToolResultContent = JsonValue | ContentOutcome | readonly Part[]

/** The result of a call that the caller had to answer. The call's id may have either name. */
export type ToolResultInput = (
  | { readonly toolCallId: string; readonly content: ToolResultContent }
  | { readonly id: string; readonly content: ToolResultContent }
) &
  SubmitOptions &
  SettleOptions

/**
 * Answers one pending call. When nothing is pending any more, the session is idle; then call `resume`.
 *
 * If the conversation went on meanwhile, the result is told to the model in a message of its own (`metadata.lateResultOf`).
 */
export function submitToolResult(
  session: Session,
  toolCallId: string,
  content: ToolResultContent,
  { ticket, by, ...options }: SubmitOptions & SettleOptions = {},
): Session {
  assertValid('invalid_options', submitOptions(options))
  return submitToolResults(session, [{ toolCallId, content, ticket, by, ...options }])
}

/** Answers several pending calls. A call that is not pending, or is answered twice, throws, and nothing changes. */
export function submitToolResults(session: Session, results: readonly ToolResultInput[]): Session {
  if (results.length === 0) return session
  const given = results.map((result) => {
    const id = 'toolCallId' in result ? result.toolCallId : result.id
    const { ticket, by } = result
    assertValid('invalid_options', within('toolCallId', someText(id)))
    assertSettleOptions({ ticket, by })
    if (ticket !== undefined) openWait(session, 'result', id, { ticket })
    return { id, result }
  })
  checked(session, 'submitToolResult')
  const waiting = pendingCalls(session).filter(({ kind }) => kind === 'result')
  const tickets = new Map(waiting.map(({ call, ticket }) => [call.id, ticket]))
  return submitted(
    session,
    given.map(({ id, result }) => {
      const { by } = result
      return { id, result, settlement: settlementOf({ ticket: tickets.get(id) ?? '' }, { by }) }
    }),
  )
}

/** A result that was handed in, and how the call keeps that. */
interface Submitted {
  readonly id: string
  readonly result: ToolResultInput
  readonly settlement: Settlement
}

function submitted(given: Session, results: readonly Submitted[]): Session {
  let session = given
  const pending = new Map(session.pendingToolCalls.map((call) => [call.id, call]))
  const inTime: Message[] = []
  const late: Message[] = []
  const inside: Submitted[] = []
  for (const one of results) {
    const { id, result, settlement } = one
    const call = pending.get(id)
    if (call === undefined) throw unknownCall('are pending', id, session.pendingToolCalls)
    pending.delete(id)
    if (innerPlace(session, id) !== undefined) {
      inside.push(one)
      continue
    }
    const { told } = savedCall(session, id) ?? {}
    const isLate = told === 'placeholder'
    const message = asApproved(
      toolResult(id, meant(result.content), { isError: result.isError }),
      call,
      callOf(session.thread, id),
    )
    if (isLate) late.push(toLateMessage(call, message))
    else inTime.push(message)
    session = withSettled(withoutAgent(session, id), id, settlement, {
      ...noWait,
      state: resultState(message),
      told: isLate ? 'placeholder' : 'result',
    })
  }
  const next = relisted({ ...session, thread: withAnswers(session.thread, inTime) })
  return inside.reduce(
    (settled, { id, result, settlement }) =>
      inAgent(settled, id, (inner, own) => submitted(inner, [{ id: own, result, settlement }])) ??
      settled,
    withLate(next, late),
  )
}

/** The session without the agent inside a call that somebody else has answered. What it used is kept. */
function withoutAgent(session: Session, id: string): Session {
  const saved = savedCall(session, id)
  if (saved?.inner === undefined) return session
  const usage = addUsage(session.run?.usage ?? {}, untoldUsage(saved.inner))
  return withRun({ ...session, calls: { ...session.calls, [id]: withoutInner(saved) } }, { usage })
}

/** A result, which says so if its call was approved with other arguments than the model wrote. */
function asApproved(message: Message, { arguments: args }: ToolCall, written?: ToolCall): Message {
  if (written === undefined || JSON.stringify(written.arguments) === JSON.stringify(args)) {
    return message
  }
  const metadata = { ...message.metadata, approvedArguments: args }
  return { ...message, content: approvedContent(args, message.content), metadata }
}

/** The parts that `content` made, or a value that is data. A list that looks like parts is taken as parts only if it cannot do harm. */
function meant(value: ToolResultContent): JsonValue | readonly Part[] {
  if (isContent(value)) return value.parts
  if (isPartList(value) && !value.every(isInline)) {
    const problem =
      'looks like parts that name an address, a file, an item or options of a provider; pass content(parts) if that is meant, and JSON.stringify(value) if it is data'
    throw refusal('invalid_message', 'content', problem)
  }
  return value
}

function isContent(value: ToolResultContent): value is ContentOutcome {
  return isObject(value) && outcomeBrand in value
}

function isPartList(value: ToolResultContent): value is readonly Part[] {
  return Array.isArray(value) && contentIssues(value).length === 0
}

/** Whether a part is a text or has its bytes, and no option of a provider. */
function isInline(part: Part): boolean {
  if (part.providerOptions !== undefined) return false
  if (part.type === 'image') return part.image.type === 'base64'
  return part.type === 'file' ? part.file.type === 'base64' : part.type === 'text'
}

function unknownCall(what: string, toolCallId: string, pending: readonly ToolCall[]): SessionError {
  const ids = pending.map(({ id }) => id)
  return new SessionError(
    'unknown_tool_call_id',
    `${toolCallId} is not a call that can be settled, or was settled twice; those that ${what}: ${ids.join(', ')}`,
    { metadata: { toolCallId, pending: ids } },
  )
}

/** The thread with answers to calls of its last answer, in the order of the calls. A placeholder is replaced. */
function withAnswers(thread: Thread, answers: readonly Message[]): Thread {
  const { messages } = thread
  const at = messages.findLastIndex(({ role }) => role !== 'tool')
  const byCall = new Map(
    [...messages.slice(at + 1), ...answers].map((message) => [message.toolCallId, message]),
  )
  const ordered = (messages[at]?.toolCalls ?? []).flatMap(({ id }) => byCall.get(id) ?? [])
  return { ...thread, messages: [...messages.slice(0, at + 1), ...ordered] }
}
