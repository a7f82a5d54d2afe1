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
import { content } from '../../core/messages/outcomes.ts'
import {
  answeredMessage,
  approvedContent,
  deniedMessage,
  isNotYet,
  interruptedMessage,
  notRunMessage,
  notYetMessage,
  reportedMessage,
  toLateMessage,
  isMark,
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
import type { PendingApproval, ToolHalt } from '../../core/types/results.ts'
import {
  sessionVersion,
  type CallDecision,
  type RunProgress,
  type Session,
  type SessionCommand,
  type SessionStatus,
} from '../../core/types/session.ts'
import { pendingCalls } from '../calls/pending.ts'
import {
  cutApprovals,
  cutQuestions,
  innerPlace,
  questionsOf,
  unfulfilled,
} from '../calls/places.ts'
import {
  assertSettleOptions,
  notesAfter,
  openQuestion,
  openWait,
  settleChecks,
  settledBefore,
  settlementOf,
  wasSettled,
  withSettled,
  type GivenSettlement,
  type SettleOptions,
  type Settlement,
} from '../calls/settle.ts'
import { toDecision, type ThreadInput } from '../chat/prepare.ts'
import { goesOn } from '../model-call/restore.ts'
import {
  pickInner,
  untoldUsage,
  waits,
  withInnerPending,
  withQuestions,
  type InnerSessions,
} from './inner.ts'
import { cleared, restingRun, waitingStatus } from './reduce.ts'

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
  return cleared(checked(input, 'start'))
}

/** What a message of the user answers, and who wrote it. */
export interface ReplyTo {
  /** The call whose question the message answers. If that call asks nothing, the reply is refused. */
  readonly toolCallId?: string | undefined
  /**
   * The ticket of the question that the message answers (`Session.pending`); if it is not open, the reply is refused. `null` makes it a user
   * message, whatever is open. Without it, it answers the first open question.
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
  // A question of a run that was cut is asked again when the run goes on: only who names it answers it.
  const first = questionsOf(session).length > 0 ? open[0] : undefined
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

/** The session with the answer to a question of one of its calls, or of a call of an agent inside. */
function answered(
  session: Session,
  toolCallId: string,
  content: Message['content'],
  settlement: Settlement,
): Session {
  const inside = inAgent(session, toolCallId, (inner, id) =>
    answered(inner, id, content, settlement),
  )
  if (inside !== undefined) return noted(inside, toolCallId, content)
  const questions = [...questionsOf(session), ...cutQuestions(session)]
  const question = questions.find((asked) => asked.toolCallId === toolCallId)
  if (question === undefined) return session
  const { question: text = '', options } = question
  const { by, at } = settlement
  const kept = withSettled(session, toolCallId, settlement, {
    question: defined<CallQuestion>({ text, options, answer: content, by, at }),
  })
  const next = withAnswer(kept, question, content)
  // Otherwise the answer is the result of the call.
  return options?.['resume'] === true ? noted(next, toolCallId, content) : next
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
 * The session with the answer to one of its questions. It is the result of the call that asked, or is kept for the handler if that asked
 * to be called again.
 */
function withAnswer(session: Session, asking: ToolHalt, content: Message['content']): Session {
  const { toolCallId, question = '', options } = asking
  const { halts = [], decisions = [], started = [] } = session.run ?? {}
  const isOf = ({ call }: CallDecision): boolean => call.id === toolCallId
  const known = decisions.find((decision) => decision.late === true && isOf(decision))?.call
  const late = isLate(session.thread, toolCallId)
    ? (known ?? askedCall(session.thread, toolCallId))
    : known
  const others = decisions.filter((decision) => !isOf(decision))
  const rest = withRun(session, {
    halts: halts.filter((halt) => halt.toolCallId !== toolCallId),
    // Its handler has returned, with the question.
    started: started.filter((id) => id !== toolCallId),
    decisions: others.length === 0 ? undefined : others,
  })
  const asked = withQuestions(
    rest,
    questionsOf(rest).filter((other) => other.toolCallId !== toolCallId),
  )
  if (options?.['resume'] === true) {
    const call = late ?? askedCall(session.thread, toolCallId)
    const decision = call && defined<CallDecision>({ call, answer: content, late: late && true })
    return awaiting(decision === undefined ? asked : withDecision(asked, decision))
  }
  const { words, images } = forToolResult(content)
  const answer = answeredMessage(toolCallId, question, words)
  const added = images.length === 0 ? [] : [user(images)]
  if (late !== undefined) return awaiting(withLate(asked, [toLateMessage(late, answer), ...added]))
  const thread = withAnswers(session.thread, [answer])
  return awaiting(withLate({ ...asked, thread }, added))
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
  const { callId } = place
  const inner = settle(place.session, place.id)
  const next = withRun(session, { inner: { ...session.run?.inner, [callId]: inner } })
  const call = isLate(session.thread, callId) ? askedCall(session.thread, callId) : undefined
  const goesOn = waits(inner) || call === undefined
  return awaiting(withInnerPending(goesOn ? next : withDecision(next, { call, late: true })))
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
 * The session with messages after its thread. The calls at its end that have no result are settled as far as that is known: what was
 * denied is told now; what was approved, answered, asked or run becomes late; what still waits is answered as not yet there. Of the
 * others, those that were started are reported as interrupted, and the rest did not run. So are agents that were under way.
 */
function said(session: Session, added: readonly Message[]): Session {
  const { run } = session
  const late = (run?.decisions ?? []).filter((decision) => decision.late === true)
  const questions = questionsOf(session)
  const isOpen = (id: string): boolean => questions.some(({ toolCallId }) => toolCallId === id)
  // A call whose question is open does not run before that is answered. Its placeholder keeps the arguments that were approved.
  const asking = late.filter(({ call }) => isOpen(call.id))
  const thread = asking.reduce(withApproved, session.thread)
  // An agent that was stopped in the middle is over: its tools must not act before the model has read the new words.
  const isStopped = ({ id }: ToolCall): boolean =>
    run?.started.includes(id) === true && agentOf(run.inner, id)?.status === 'idle'
  const decisions = late.filter(({ call }) => !isStopped(call) && !isOpen(call.id))
  const stopped = late.flatMap(({ call }) =>
    isStopped(call) ? toLateMessage(call, interruptedMessage(call.id, 'interrupted')) : [],
  )
  const answers: Message[] = []
  const agents = new Set(decisions.map(({ call }) => call.id))
  for (const call of run === undefined || run.phase === 'between' ? [] : lastCalls(thread)) {
    const { id } = call
    const told = thread.messages.findLast(({ toolCallId }) => toolCallId === id)
    const decision = run?.decisions?.find((decided) => decided.call.id === id)
    const isAsked = run?.halts.some(({ reason, toolCallId }) => {
      return reason === 'ask_user' && toolCallId === id
    })
    const hasResult = told !== undefined && !isMark(told) && told.metadata?.['askUser'] !== true
    if (hasResult) continue
    const agent = agentOf(run?.inner, id)
    if (isStopped(call)) {
      answers.push(reportedMessage(told ?? interruptedMessage(id, 'interrupted')))
    } else if (agent !== undefined) {
      agents.add(id)
      answers.push(notYetFor(call, decision))
      // One that waits is entered again when somebody has settled what it waits for.
      const own = decision?.call ?? call
      if (!waits(session) || !waits(agent)) decisions.push({ call: own, late: true })
    } else if (decision?.deny !== undefined) answers.push(deniedMessage(id, decision.deny))
    else if (isOpen(id)) answers.push(notYetFor(call, { call: askedCall(thread, id) ?? call }))
    else if (decision !== undefined || isAsked || isIn(run?.results, id)) {
      answers.push(notYetMessage(id))
      const own = decision ?? { call: askedCall(thread, id) ?? call }
      decisions.push({ ...own, late: true })
    } else if (told === undefined) answers.push(notYetMessage(id))
    else if (isMark(told)) {
      answers.push(run?.started.includes(id) ? reportedMessage(told) : notRunMessage(id))
    }
  }
  const over = new Set(stopped.map(({ metadata }) => metadata?.['lateResultOf']))
  const isTold = (id: string): boolean => !over.has(id) && (agents.has(id) || isLate(thread, id))
  const next: Session = {
    ...cleared(session, pickInner(run?.inner, isTold)),
    status: 'idle',
    thread: appendMessages(
      withAnswers(thread, answers),
      ...(run?.late ?? []),
      ...stopped,
      ...added,
    ),
  }
  const open = questions.filter(({ toolCallId }) => {
    const place = innerPlace(session, toolCallId)
    return place === undefined || isTold(place.callId)
  })
  return withLateCalls(withQuestions(next, open), run, decisions)
}

/** The thread whose placeholder for the result of a call has the arguments that were approved. */
function withApproved(thread: Thread, { call }: CallDecision): Thread {
  const written = callOf(thread, call.id)
  const at = thread.messages.findLastIndex(({ toolCallId }) => toolCallId === call.id)
  const message = thread.messages[at]
  if (written === undefined || message === undefined || !isNotYet(message)) return thread
  return { ...thread, messages: thread.messages.with(at, notYetFor(written, { call })) }
}

/** The session of the agent inside a call. */
function agentOf(inner: InnerSessions | undefined, id: string): Session | undefined {
  return Object.hasOwn(inner ?? {}, id) ? inner?.[id] : undefined
}

/** The answer to the call of an agent whose result comes later. It keeps the arguments that were approved, if they are others. */
function notYetFor(
  { id, arguments: written }: ToolCall,
  decision: CallDecision | undefined,
): Message {
  const message = notYetMessage(id)
  const args = decision?.call.arguments
  if (args === undefined || JSON.stringify(args) === JSON.stringify(written)) return message
  return { ...message, metadata: { ...message.metadata, approvedArguments: args } }
}

/** The session with calls whose results will be told late, and with what the run knows about them. */
function withLateCalls(
  session: Session,
  run: RunProgress | undefined,
  decisions: readonly CallDecision[],
): Session {
  if (run === undefined || decisions.length === 0) return session
  const ids = new Set(decisions.map(({ call }) => call.id))
  const results = run.results?.filter(({ toolCallId }) => ids.has(toolCallId))
  const starts = run.starts?.filter(({ toolCallId }) => ids.has(toolCallId))
  return {
    ...session,
    run: defined<RunProgress>({
      ...restingRun(run.mode),
      usage: session.run?.usage,
      inner: session.run?.inner,
      started: run.started.filter((id) => ids.has(id)),
      starts: starts?.length === 0 ? undefined : starts,
      halts: run.halts.filter(({ reason, toolCallId }) => {
        return reason === 'ask_user' && ids.has(toolCallId)
      }),
      results: results?.length === 0 ? undefined : results,
      decisions,
    }),
  }
}

function isIn(list: readonly { readonly toolCallId: string }[] = [], id: string): boolean {
  return list.some(({ toolCallId }) => toolCallId === id)
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
  const session = withSettled(given, toolCallId, settlement, {
    approval: keptApproval(given, toolCallId, approval, settlement),
  })
  const pending = session.pendingApprovals.find(({ id }) => id === toolCallId)
  const known = pending ?? callOf(session.thread, toolCallId)
  if (known === undefined) throw unknownCall('wait for approval', toolCallId, [])
  const { reason: _reason, ...call }: PendingApproval = known
  const pendingApprovals = session.pendingApprovals.filter(({ id }) => id !== toolCallId)
  const rest: Session = { ...undecided(session, toolCallId), pendingApprovals }
  const decision = toDecision(call, approval)
  if (!isLate(session.thread, toolCallId)) return awaiting(withDecision(rest, decision))
  if (decision.deny === undefined) return awaiting(withDecision(rest, { ...decision, late: true }))
  return awaiting(withLate(rest, [toLateMessage(call, deniedMessage(toolCallId, decision.deny))]))
}

/** A decision as the record of its call keeps it. */
function keptApproval(
  { thread }: Session,
  toolCallId: string,
  approval: Approval,
  { by, at }: Settlement,
): CallApproval {
  const reason = approval !== true && 'deny' in approval ? approval.deny : undefined
  const args = approval !== true && 'arguments' in approval ? approval.arguments : undefined
  const written = callOf(thread, toolCallId)?.arguments
  return defined<CallApproval>({
    decision: reason === undefined ? 'approved' : 'denied',
    by,
    at,
    reason: reason || undefined,
    arguments: JSON.stringify(args) === JSON.stringify(written) ? undefined : args,
  })
}

/** A session that waits, in the status that its lists give. One whose run was cut, stopped or failed can still be resumed. */
export function awaiting(session: Session): Session {
  if (!waits(session)) return session
  return { ...session, status: waitingStatus(session) ?? 'idle' }
}

function withRun(
  session: Session,
  changes: { readonly [Key in keyof RunProgress]?: RunProgress[Key] | undefined },
): Session {
  const run = { ...(session.run ?? restingRun('auto')), ...changes }
  return { ...session, run: defined<RunProgress>(run) }
}

/** The session with a decision about a call, in place of an earlier one. */
function withDecision(session: Session, decision: CallDecision): Session {
  const others = undecided(session, decision.call.id).run?.decisions ?? []
  return withRun(session, { decisions: [...others, decision] })
}

/** The session without what was decided about a call. */
function undecided(session: Session, toolCallId: string): Session {
  const { decisions } = session.run ?? {}
  if (!decisions?.some(({ call }) => call.id === toolCallId)) return session
  const others = decisions.filter(({ call }) => call.id !== toolCallId)
  return withRun(session, { decisions: others.length === 0 ? undefined : others })
}

/** Adds messages to the thread, or keeps them until every call at its end has its answer. */
function withLate(session: Session, messages: readonly Message[]): Session {
  if (messages.length === 0) return session
  const { run, thread } = session
  const phase = run?.phase
  // The placeholder of an open question is replaced by its answer, so nothing may follow it yet.
  const isAsked = questionsOf(session).some(
    ({ toolCallId }) => !isLate(thread, innerPlace(session, toolCallId)?.callId ?? toolCallId),
  )
  const isOpen = isAsked || goesOn(session) || phase === 'model' || phase === 'tools'
  const waiting = run?.late ?? []
  if (!isOpen && waiting.length === 0) {
    return { ...session, thread: appendMessages(thread, ...messages) }
  }
  return withRun(session, { late: [...waiting, ...messages] })
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

/** The call that asked, with the arguments that were approved. */
function askedCall(thread: Thread, toolCallId: string): ToolCall | undefined {
  const call = callOf(thread, toolCallId)
  const placeholder = thread.messages.findLast((message) => message.toolCallId === toolCallId)
  const args = placeholder?.metadata?.['approvedArguments']
  return call === undefined || !isObject(args) ? call : toDecision(call, { arguments: args }).call
}

/** Whether the model was told that a call has no result yet. */
function isLate({ messages }: Thread, toolCallId: string): boolean {
  const last = messages.findLast((message) => message.toolCallId === toolCallId)
  return last !== undefined && isNotYet(last)
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
  const waits = ({ id }: Pick<ToolCall, 'id'>): boolean =>
    untold.has(innerPlace(session, id)?.callId ?? id)
  const agents = pickInner(run?.inner, (id) => untold.has(id))
  const next: Session = {
    ...cleared(session, agents),
    status: 'idle',
    thread: appendMessages(kept, ...told),
    pendingToolCalls: session.pendingToolCalls.filter(waits),
    pendingApprovals: session.pendingApprovals.filter(waits),
    ...defined<Pick<Session, 'calls'>>({
      calls: notesAfter(session.calls, (id) => callOf(kept, id) !== undefined),
    }),
  }
  const decisions = run?.decisions?.filter(({ call, late }) => late === true && waits(call)) ?? []
  const halts = [...(run?.halts ?? []), ...questionsOf(session)]
  const open = questionsOf(session).filter(
    ({ toolCallId: id }) => waits({ id }) && !decisions.some(({ call }) => call.id === id),
  )
  return withLateCalls(withQuestions(next, open), run && { ...run, halts }, decisions)
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
    const id = message.toolCallId ?? message.metadata?.['lateResultOf']
    if (typeof id !== 'string') continue
    if (isNotYet(message)) untold.add(id)
    else untold.delete(id)
  }
  const known = new Set(untold)
  const told = later.filter(({ toolCalls = [], metadata }) => {
    for (const { id } of toolCalls) known.delete(id)
    const id = metadata?.['lateResultOf']
    return typeof id === 'string' && known.delete(id) && untold.delete(id)
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

const time: Check = must('a number of milliseconds', Number.isFinite)

function assertTime(at: number | undefined): void {
  if (at !== undefined) assertValid('invalid_options', within('at', time(at)))
}

/** The session in which the user's words that an earlier one does not have are marked with their time. */
function withTime(session: Session, { thread: { messages: known } }: Session, at: number): Session {
  const before = new Set(known)
  const messages = session.thread.messages.map((message) => {
    const { role, metadata = {} } = message
    const isOwn =
      role === 'user' ? metadata['lateResultOf'] === undefined : metadata['answeredByUser']
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

/** The operations that are legal now, by the names of their functions. Streaming twins are legal with them. */
export function legalOperations(session: Session): readonly Operation[] {
  const { status, thread, pendingApprovals, pendingToolCalls } = session
  const isEmpty = thread.messages.length === 0
  return [
    ...byStatus[status].filter((name) => {
      return name === 'start' ? !isUnsettled(session) : !isEmpty || !asks.has(name)
    }),
    ...(pendingApprovals.length + cutApprovals(session).length > 0 ||
    unfulfilled(session) !== undefined
      ? (['approve', 'deny'] as const)
      : []),
    ...(pendingToolCalls.length > 0 ? (['submitToolResult'] as const) : []),
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
function isUnsettled({ run, thread }: Session): boolean {
  if (openCalls(thread).length > 0) return true
  if (run === undefined) return false
  const { phase, halts, results, decisions, late, inner } = run
  const isCut = phase === 'model' || phase === 'tools' || halts.length > 0
  return isCut || [results, decisions, late, inner].some((list) => list !== undefined)
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
    session = withSettled(session, id, settlement)
    const message = asApproved(
      toolResult(id, meant(result.content), { isError: result.isError }),
      call,
      callOf(session.thread, id),
    )
    if (isLate(session.thread, id)) late.push(toLateMessage(call, message))
    else inTime.push(message)
  }
  const thread = withAnswers(session.thread, inTime)
  const ids = [...inTime, ...late].map(({ toolCallId, metadata }) => {
    return toolCallId ?? metadata?.['lateResultOf']
  })
  const next = { ...withoutAgents(session, ids), thread, pendingToolCalls: [...pending.values()] }
  return inside.reduce(
    (settled, { id, result, settlement }) =>
      inAgent(settled, id, (inner, own) => submitted(inner, [{ id: own, result, settlement }])) ??
      settled,
    awaiting(withLate(next, late)),
  )
}

/** The session without the agents inside calls that somebody else has answered. What they used is kept. */
function withoutAgents(session: Session, ids: readonly unknown[]): Session {
  const { run } = session
  if (run?.inner === undefined) return session
  const inner = pickInner(run.inner, (id) => !ids.includes(id))
  const left = Object.entries(run.inner).filter(([id]) => ids.includes(id))
  const usage = left.reduce(
    (sum, [, { run: own }]) => addUsage(sum, untoldUsage(own)),
    run.usage ?? {},
  )
  return left.length === 0 ? session : withRun(session, { inner, usage })
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
