import { givenAnswer, isUsersOwn, lateResultOf } from '../../core/messages/tool-messages.ts'
import { assertValid, optionsOf } from '../../core/schema/checks.ts'
import type { CallApproval, CallQuestion } from '../../core/types/call.ts'
import { defined } from '../../core/types/guards.ts'
import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import type { Image, MediaFile } from '../../core/types/media.ts'
import { messageText, type Message, type Role } from '../../core/types/message.ts'
import type { HaltedReason } from '../../core/types/results.ts'
import type { Session, SessionStatus } from '../../core/types/session.ts'
import { pendingCalls } from '../calls/pending.ts'
import { savedCall } from '../calls/places.ts'
import { ownRecords } from '../calls/records.ts'
import { expiry } from '../calls/settle.ts'
import { restore } from '../model-call/restore.ts'
import {
  messageTime,
  showsOf,
  toolEnd,
  viewApproval,
  viewCall,
  viewChecks,
  viewError,
  viewMessage,
  viewQuestion,
  viewWaiting,
  type Shows,
  type ViewApproval,
  type ViewError,
  type ViewOptions,
  type ViewSource,
  type ViewToolCall,
  type ViewToolEnd,
  type ViewWaiting,
} from '../model-call/view-event.ts'

/**
 * A session as a browser sees it. The events of its runs, as `toViewEvent` gives them, can be folded into it: `applyViewEvent` of
 * `allm-ts/client` does.
 */
export interface SessionView {
  readonly status: SessionStatus
  /** The messages of the user and of the assistant, in order. */
  readonly messages: readonly ShownMessage[]
  /** The tool calls of these messages, in order. */
  readonly tools: readonly ShownTool[]
  /** The question that the user's next words answer. */
  readonly pendingQuestion?: ShownQuestion
  /** The calls that are not run until they are approved, with their arguments. */
  readonly pendingApprovals: readonly ViewApproval[]
  /** The calls that somebody else has to answer. */
  readonly pendingToolCalls: readonly ViewWaiting[]
  /** Why the run was stopped, when the status is `halted`. */
  readonly haltedReason?: HaltedReason
  /** What failed, when the status is `error`. */
  readonly error?: ViewError
  /** With `metadata`. */
  readonly metadata?: JsonObject
  /** Where the answer under way goes. Only the fold of events reads it. */
  readonly cursor?: ViewCursor
}

/** A message of a session as a browser sees it. */
export interface ShownMessage {
  /** The same for as long as the message is there. */
  readonly id: string
  /** The place of the message in the thread, as `Session.rewind` takes it. Messages that are not shown count too. */
  readonly index: number
  /** `system` and `tool` (a late result) only when they are included. */
  readonly role: Role
  readonly text: string
  readonly images?: readonly Image[]
  readonly files?: readonly MediaFile[]
  readonly sources?: readonly ViewSource[]
  /** With `reasoning`. */
  readonly reasoning?: string
  /** When it was written, in milliseconds since 1970. Absent if nobody noted it: runs do, and `Session` functions do not. */
  readonly at?: number
  /** The answer is being written, or was broken off. */
  readonly partial?: true
  /**
   * Why the answer ended, if it did not end by itself: it was cut at the length limit (`length`) or filtered (`content_filter`), for
   * example. One of which nothing was left has no text.
   */
  readonly finishReason?: Message['finishReason']
  /** The name of the engine that gave the answer, if it has one. */
  readonly agent?: string
  /** With `metadata`. */
  readonly metadata?: JsonObject
}

/** A tool call of a session as a browser sees it. Without `ok` it has not ended: it runs, or somebody has to settle it. */
export interface ShownTool extends ViewToolCall, Partial<ViewToolEnd> {
  /** The message of the assistant that made the call. */
  readonly messageId: string
  /** What its handler reported last. It is in no session, so it is there only for those who follow the run. */
  readonly progress?: JsonValue
  /** With `tool_results`: what the model read. */
  readonly content?: Message['content']
  /** The last question that the call asked, and its answer once there is one. With `by`: who answered; that it expired (`expiry`) always. */
  readonly question?: CallQuestion
  /**
   * What somebody decided about the call. With `by`: who; that it expired (`expiry`) always. With `tool_results`: why it was denied; with
   * `tool_arguments`: which arguments, if they are not those of the model.
   */
  readonly approval?: CallApproval
}

/** A question to the user as a browser sees it. */
export interface ShownQuestion {
  /** The call that asks. */
  readonly toolCallId: string
  readonly question: string
  /** Choices, or anything else that its handler passed on. */
  readonly options: JsonObject
  /** What the answer names (`answers`). */
  readonly ticket?: string
  /** When it is answered by `noAnswer` if nobody has answered, by the clock of the engine. Absent if it waits without a limit. */
  readonly expiresAt?: number
}

/** Where the answer under way goes. */
export interface ViewCursor {
  /** Its place in the thread. What is there already is part of it, or is replaced by it. */
  readonly next: number
  /** Where its last block of text begins; -1 if that is not known. Absent when no block is open. */
  readonly block?: number
  /** The name of the engine that writes it. */
  readonly agent?: string
}

const viewOptions = optionsOf(viewChecks)

/**
 * What a browser may see of a session: the texts, images, files and sources of user and assistant, what is pending, and the names and
 * outcomes of tools. No system text, no tool arguments (except of calls that await approval) or results, no reasoning, no
 * metadata, and of an error only its reason, unless `include` names them.
 */
export function toView(session: Session, options: ViewOptions = {}): SessionView {
  assertValid('invalid_options', viewOptions(options))
  const shows = showsOf(options)
  const isUnderWay = session.status === 'idle'
  const next = isUnderWay ? restore(session).thread.messages.length : Infinity
  const { messages, tools } = shownThread(session, next, shows)
  const { pendingQuestion: question, pendingToolCallId: toolCallId, error } = session
  const isOpen = question !== undefined && toolCallId !== undefined
  const waits = new Map(pendingCalls(session).map((wait) => [wait.call.id, wait]))
  const isPartial = messages.at(-1)?.partial === true && (messages.at(-1)?.index ?? 0) >= next
  return defined<SessionView>({
    status: session.status,
    messages,
    tools,
    pendingQuestion: isOpen
      ? defined<ShownQuestion>({
          toolCallId,
          question,
          options: viewQuestion(session.pendingQuestionOptions ?? {}),
          ticket: waits.get(toolCallId)?.ticket,
          expiresAt: waits.get(toolCallId)?.expiresAt,
        })
      : undefined,
    pendingApprovals: session.pendingApprovals.map((call) =>
      viewApproval(call, waits.get(call.id), options),
    ),
    pendingToolCalls: session.pendingToolCalls.map((call) =>
      viewWaiting(call, waits.get(call.id)?.ticket, shows),
    ),
    haltedReason: session.haltedReason,
    error: error && viewError(error, shows),
    metadata: shows('metadata') ? session.metadata : undefined,
    cursor: isUnderWay
      ? defined<ViewCursor>({
          next,
          block: isPartial ? -1 : undefined,
          agent: session.run?.agent,
        })
      : undefined,
  })
}

/** The messages of a thread that are shown, and its tool calls. `next` is the place of the answer under way. */
function shownThread(
  session: Session,
  next: number,
  shows: Shows,
): Pick<SessionView, 'messages' | 'tools'> {
  const { thread, run, status } = session
  const records = ownRecords(session)
  const messages: ShownMessage[] = []
  const tools: ShownTool[] = []
  /** The place in `tools` of the last call with an id. */
  const places = new Map<string | undefined, number>()
  let answeredAt = 0
  // A question of a run that was stopped or failed is not asked until the run goes on.
  const isCut = status === 'halted' || status === 'error'
  const end = (id: string | undefined, message: Message): void => {
    const at = places.get(id)
    const open = at === undefined ? undefined : tools[at]
    if (at === undefined || open === undefined) return
    const hasResult = !standsIn(message) && !isAsked(message)
    const content = hasResult && shows('tool_results') ? message.content : undefined
    const marks = isAsked(message) ? cut : message.metadata
    tools[at] = defined<ShownTool>({ ...open, ...toolEnd(marks), content })
  }
  thread.messages.forEach((message, index) => {
    const { role, toolCallId, toolCalls = [], metadata = {} } = message
    const shown = shownMessage(message, index, shows)
    if (shown !== undefined) messages.push(shown)
    if (role === 'assistant') answeredAt = index
    for (const call of toolCalls) {
      places.set(call.id, tools.length)
      const { question, approval } = records[tools.length] ?? {}
      tools.push(
        defined<ShownTool>({
          ...viewCall(call, shows),
          messageId: messageId(index),
          question: question && shownQuestion(question, shows),
          // What a policy decided is in no command, so that a page which follows the run does not know more.
          approval:
            approval !== undefined && approval === savedCall(session, call.id)?.approval
              ? shownApproval(approval, shows)
              : undefined,
        }),
      )
    }
    // A call that was started or waits has no result yet, whatever the model would read now.
    const isOpen =
      metadata['pending'] ||
      (isAsked(message) && !isCut) ||
      (answeredAt >= next && standsIn(message))
    if (role === 'tool' && !isOpen) end(toolCallId, message)
    end(lateResultOf(message), message)
  })
  for (const message of run?.late ?? []) end(lateResultOf(message), message)
  return { messages, tools }
}

function shownQuestion({ by, options, ...question }: CallQuestion, shows: Shows): CallQuestion {
  return defined<CallQuestion>({
    ...question,
    options: options && viewQuestion(options),
    by: shownAuthor(by, shows),
  })
}

/** Who has settled something. That nobody did in time is shown to everybody: it names no person. */
export function shownAuthor(by: string | undefined, shows: Shows): string | undefined {
  return by === expiry || shows('by') ? by : undefined
}

function shownApproval(
  { by, reason, arguments: args, ...approval }: CallApproval,
  shows: Shows,
): CallApproval {
  return defined<CallApproval>({
    ...approval,
    // It was written for the model, which reads it in the result.
    reason: shows('tool_results') ? reason : undefined,
    by: shownAuthor(by, shows),
    arguments: shows('tool_arguments') ? args : undefined,
  })
}

/** The marks of a call that has no result. */
const cut: JsonObject = { interrupted: true }

/** Whether a message stands for a result that never came, or may still come: also one of a call of an answer that was cut. */
function standsIn({ role, metadata = {} }: Message): boolean {
  return role === 'tool' && metadata['interrupted'] === true && metadata['reported'] !== true
}

/** Whether a message stands for the user's answer to a question. */
function isAsked({ metadata }: Message): boolean {
  return metadata?.['askUser'] === true
}

/** A message as it is shown, or `undefined` if it is not. */
function shownMessage(message: Message, index: number, shows: Shows): ShownMessage | undefined {
  const { role, metadata = {}, toolCallId, toolCalls } = message
  const isAnswer = role === 'tool' && metadata['answeredByUser'] === true
  const isLate = lateResultOf(message) !== undefined
  if (role === 'tool' && !isAnswer) return undefined
  if (isLate && !shows('late_results')) return undefined
  const isOwn = isUsersOwn(message) || isAnswer || isLate
  if (role !== 'assistant' && !isOwn && !shows('system')) return undefined
  const given = isAnswer ? { ...message, content: givenAnswer(message) } : message
  const { content, sources, finishReason, agent, metadata: own } = viewMessage(given, shows)
  const parts = typeof content === 'string' ? [] : content
  const images = parts.flatMap((part) => (part.type === 'image' ? part.image : []))
  const files = parts.flatMap((part) => (part.type === 'file' ? part.file : []))
  const thoughts = parts.flatMap((part) => (part.type === 'reasoning' ? part.text : []))
  const shown = defined<ShownMessage>({
    // The place of an answer to a question changes when other calls of its step get their results.
    id: isAnswer ? `answer-${toolCallId}` : messageId(index),
    index,
    role: isAnswer ? 'user' : isLate ? 'tool' : role === 'user' && !isOwn ? 'system' : role,
    text: messageText({ role, content }),
    images: images.length === 0 ? undefined : images,
    files: files.length === 0 ? undefined : files,
    sources,
    reasoning: thoughts.length === 0 ? undefined : thoughts.join(''),
    at: messageTime(message),
    partial: metadata['partial'] === true ? true : undefined,
    finishReason,
    agent,
    metadata: own,
  })
  if (role !== 'assistant' || toolCalls !== undefined || finishReason !== undefined) return shown
  const hasContent = shown.text !== '' || images.length + files.length + thoughts.length > 0
  return hasContent ? shown : undefined
}

function messageId(index: number): string {
  return `m${index}`
}
