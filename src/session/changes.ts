import type { ThreadInput } from '../chat/prepare.ts'
import { randomId } from '../core/ids.ts'
import { SessionError, ValidationError } from '../errors/errors.ts'
import { toolResult, user } from '../make/messages.ts'
import { questionMessage } from '../make/tool-messages.ts'
import { assertValid, unknownKeys } from '../schema/checks.ts'
import { validateSession } from '../schema/validate-session.ts'
import { defined } from '../types/guards.ts'
import type { JsonObject, JsonValue } from '../types/json.ts'
import { appendMessages, type Message, type Part, type Thread } from '../types/message.ts'
import { sessionVersion, type Session, type SessionStatus } from '../types/session.ts'
import { cleared } from './reduce.ts'

/** The options of a new session. A thread or messages, not both. */
export interface SessionOptions {
  /** Random unless given. */
  readonly id?: string | undefined
  readonly thread?: Thread | undefined
  readonly messages?: readonly Message[] | undefined
  /** Passed to tool handlers, merged over the engine's. */
  readonly context?: JsonObject | undefined
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
    thread: thread ?? { messages: messages ?? [], metadata: {} },
    pendingToolCalls: [],
    context: context ?? {},
    metadata: metadata ?? {},
  })
  assertValid('invalid_session', validateSession(session))
  return session
}

/** What a session starts from: its first messages, a thread, or an existing session. */
export type SessionInput = Session | ThreadInput

/** The session that a new run starts from. */
export function started(input: SessionInput): Session {
  if (typeof input !== 'object' || input === null) {
    const problem = 'must be messages, a thread or a session'
    throw new ValidationError('invalid_session', [{ path: '', problem }])
  }
  if (isSession(input)) return cleared(checked(input, 'start'))
  return createSession('messages' in input ? { thread: input } : { messages: input })
}

/** The session with the user's message added. If a question is open, the message answers it and follows the question. */
export function replied(session: Session, text: string | readonly Part[]): Session {
  checked(session, 'reply')
  const { thread, pendingQuestion, pendingToolCallId } = session
  const added: Message[] = [user(text)]
  if (pendingQuestion !== undefined && pendingToolCallId !== undefined) {
    const question = questionMessage(pendingQuestion, pendingToolCallId)
    if (!endsWith(thread.messages, question)) added.unshift(question)
  }
  return { ...cleared(session), status: 'idle', thread: appendMessages(thread, ...added) }
}

function isSession(input: SessionInput): input is Session {
  return 'status' in input
}

function endsWith(messages: readonly Message[], question: Message): boolean {
  const { metadata } = messages.at(-1) ?? {}
  return (
    metadata?.['askUser'] === true && metadata['toolCallId'] === question.metadata?.['toolCallId']
  )
}

/** The session with messages added. A completed session can then be resumed. Open calls must be answered first. */
export function appended(session: Session, ...messages: readonly Message[]): Session {
  checked(session, 'append')
  const next: Session = {
    ...cleared(session),
    status: 'idle',
    thread: appendMessages(session.thread, ...messages),
  }
  assertValid('invalid_session', validateSession(next))
  return next
}

/** Returns a session in which `operation` is legal now, and throws otherwise. */
export function checked(session: Session, operation: Operation): Session {
  assertValid('invalid_session', validateSession(session))
  assertLegal(session, operation)
  return session
}

/** The operations on a session. */
type Operation = 'start' | 'reply' | 'resume' | 'step' | 'submit' | 'append'

/** The operations that are legal in each status. */
export const legalOperations: Readonly<Record<SessionStatus, readonly Operation[]>> = {
  idle: ['start', 'reply', 'resume', 'step', 'append'],
  awaiting_user: ['reply'],
  awaiting_tools: ['submit'],
  completed: ['start', 'reply', 'step', 'append'],
  error: ['reply', 'resume', 'step', 'append'],
}

const calls: Readonly<Record<Operation, string>> = {
  start: 'Session.start',
  reply: 'Session.reply',
  resume: 'Session.resume',
  step: 'Session.step',
  submit: 'Session.submitToolResult',
  append: 'Session.append',
}

/** Throws if the session's status does not allow an operation. The message says what is legal now. */
function assertLegal(session: Session, operation: Operation): void {
  const legal = legalOperations[session.status]
  if (legal.includes(operation)) return
  const reason = session.status === 'error' ? 'session_in_error_state' : 'illegal_status'
  throw new SessionError(
    reason,
    `${calls[operation]} is not legal while the session is ${session.status}; legal now: ${legal.map((name) => calls[name]).join(', ')}`,
    { metadata: { status: session.status, operation, legal } },
  )
}

/** The result of a tool: text or parts as they are, any other JSON value encoded. */
export type ToolResultContent = JsonValue | readonly Part[]

/** The result of a call that the caller had to answer. The call's id may have either name. */
export type ToolResultInput =
  | { readonly toolCallId: string; readonly content: ToolResultContent }
  | { readonly id: string; readonly content: ToolResultContent }

/** Answers one pending call. When none is left, the session is idle, or awaits the user if a question is open. Then call `resume`. */
export function submitToolResult(
  session: Session,
  toolCallId: string,
  content: ToolResultContent,
): Session {
  return submitToolResults(session, [{ toolCallId, content }])
}

/** Answers several pending calls. A call that is not pending, or is answered twice, throws, and nothing changes. */
export function submitToolResults(session: Session, results: readonly ToolResultInput[]): Session {
  if (results.length === 0) return session
  assertLegal(session, 'submit')
  const pending = new Set(session.pendingToolCalls.map(({ id }) => id))
  const answers = results.map((result) => {
    const id = 'toolCallId' in result ? result.toolCallId : result.id
    if (!pending.delete(id)) throw unknownCall(session, id)
    return toolResult(id, result.content)
  })
  const pendingToolCalls = session.pendingToolCalls.filter(({ id }) => pending.has(id))
  const messages = inCallOrder(session.thread.messages, answers)
  return defined<Session>({
    ...session,
    status: nextStatus(session, pendingToolCalls.length),
    thread: { ...session.thread, messages },
    pendingToolCalls,
  })
}

function nextStatus(session: Session, pending: number): Session['status'] {
  if (pending > 0) return 'awaiting_tools'
  return session.pendingQuestion === undefined ? 'idle' : 'awaiting_user'
}

function unknownCall(session: Session, toolCallId: string): SessionError {
  const ids = session.pendingToolCalls.map(({ id }) => id)
  return new SessionError(
    'unknown_tool_call_id',
    `${toolCallId} is not a pending tool call, or was answered twice; pending: ${ids.join(', ')}`,
    { metadata: { toolCallId, pending: ids } },
  )
}

/** Adds answers to the existing ones, in the order of the calls of the last assistant message. */
function inCallOrder(
  messages: readonly Message[],
  answers: readonly Message[],
): readonly Message[] {
  const at = messages.findLastIndex(({ role }) => role === 'assistant')
  const byCall = new Map(
    [...messages.slice(at + 1), ...answers].map((message) => [message.toolCallId, message]),
  )
  const ordered = (messages[at]?.toolCalls ?? []).flatMap(({ id }) => byCall.get(id) ?? [])
  return [...messages.slice(0, at + 1), ...ordered]
}
