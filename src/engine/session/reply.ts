import { SessionError } from '../../core/errors/errors.ts'
import { user } from '../../core/messages/messages.ts'
import {
  answeredMessage,
  toLateMessage,
  unansweredMessage,
} from '../../core/messages/tool-messages.ts'
import {
  assertValid,
  type Check,
  fine,
  optionsOf,
  refusal,
  someText,
  within,
} from '../../core/schema/checks.ts'
import type { CallQuestion, PendingCall } from '../../core/types/call.ts'
import type { Issue } from '../../core/types/error-data.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import {
  callOf,
  type Message,
  type Part,
  type ToolCall,
  answersOf,
} from '../../core/types/message.ts'
import type { Session } from '../../core/types/session.ts'
import { pendingCalls, questionsOf } from '../calls/pending.ts'
import { savedCall } from '../calls/places.ts'
import {
  expiry,
  openQuestion,
  settleChecks,
  type Settlement,
  settlementOf,
  withSettled,
} from '../calls/settle.ts'
import { checked, legalOperations } from './legal.ts'
import { said } from './say.ts'
import { inAgent, relisted, withAnswers, withLate, noWait } from './settling.ts'

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
export function answered(
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
