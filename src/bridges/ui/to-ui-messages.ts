import {
  answeredCall,
  deniedReason,
  expiredReason,
  givenAnswer,
  isMark,
  isUsersOwn,
  ownContent,
} from '../../core/messages/tool-messages.ts'
import { assertValid, optionsOf } from '../../core/schema/checks.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined, isObject, parseJson } from '../../core/types/guards.ts'
import {
  answersOf,
  messageParts,
  messageText,
  type Message,
  type ToolCall,
} from '../../core/types/message.ts'
import { sessionVersion, type Session } from '../../core/types/session.ts'
import { waits } from '../../engine/calls/pending.ts'
import { savedCall } from '../../engine/calls/places.ts'
import { ownRecords } from '../../engine/calls/records.ts'
import { expiry } from '../../engine/calls/settle.ts'
import { waitingEvents } from '../../engine/session/inner.ts'
import { toolParts } from './from-ui-messages.ts'
import {
  chunkFold,
  pageChecks,
  restStep,
  shownByDefault,
  uiFile,
  type PageOptions,
} from './to-chunks.ts'
import type {
  AiSdkVersion,
  UiAnswerMetadata,
  UiFile,
  UiMessage,
  UiMessageChunk,
  UiMessageInput,
  UiMessagePart,
  UiQuestion,
} from './ui-types.ts'

/**
 * A conversation as the messages of `useChat`, for a page that is opened: `useChat({ messages: toUiMessages(session) })`. What is pending is in them.
 *
 * An answer that is being written is there as far as it has come. The stream of a page that comes back gives it the same id, so it is
 * replaced there. `include` says what is shown, as of `toUiMessageStream`.
 */
export function toUiMessages<Version extends AiSdkVersion = 6>(
  conversation: Conversation,
  options: PageOptions<Version> = {},
): UiMessage<Version>[] {
  assertValid('invalid_options', optionsOf(pageChecks())(options))
  const session = sessionOf(conversation)
  const { include = shownByDefault } = options
  const showsReasons = include.includes('tool_results')
  const denied = options.version === 5 ? new Map() : deniedIn(session, showsReasons)
  const approved = options.version === 5 ? new Map() : approvedIn(session)
  const messages: UiMessage<Version>[] = []
  const turns = turnsOf(session)
  const answered = answeredIn(session)
  const answers = new Map(
    answered.map(({ toolCallId, answer, expired }) => {
      return [toolCallId, defined<Pick<UiQuestion, 'answer' | 'expired'>>({ answer, expired })]
    }),
  )
  const known = resultsIn(session, answered)
  for (const turn of turns) {
    const { id, answerId, said } = turn
    if (said) messages.push({ id, role: 'user', parts: wordsOf(said) })
    const chunks: UiMessageChunk[] = []
    const { missed, pending } = answerOf(session, turn, known)
    const page = { ...options, restStep, pending, answers, tellsAnswer: true }
    const fold = chunkFold(page, (chunk) => chunks.push(chunk))
    missed.forEach(fold.add)
    if (chunks.length === 0) continue
    if (session.status !== 'idle' || turn !== turns.at(-1)) fold.end()
    messages.push({
      id: answerId,
      role: 'assistant',
      ...pageMetadata(chunks),
      parts: pageParts(chunks, denied, approved),
    })
  }
  return messages
}

/** What is shown of a conversation: a session, or messages alone. */
export type Conversation = Session | readonly Message[]

/** Messages alone are a session that is complete. */
function sessionOf(conversation: Conversation): Session {
  if ('status' in conversation) return conversation
  const thread = { messages: conversation, metadata: {} }
  const pending = { pendingToolCalls: [], pendingApprovals: [] }
  return {
    version: sessionVersion,
    id: '',
    status: 'completed',
    thread,
    ...pending,
    context: {},
    metadata: {},
  }
}

function wordsOf(message: Message): UiMessagePart[] {
  return messageParts(message).flatMap((part): UiMessagePart[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }]
    const data = part.type === 'image' ? part.image : part.type === 'file' ? part.file : undefined
    if (data === undefined) return []
    const filename = 'name' in data ? data.name : undefined
    const files = uiFile(data, part.type === 'image' ? 'image/*' : undefined)
    return files.map((file) => defined<UiFile>({ ...file, filename }))
  })
}

/** What somebody, or a policy, has decided about a call. Chunks do not tell it: the page that decided knows. */
type GivenApproval =
  | { readonly id: string; readonly approved: true }
  | { readonly id: string; readonly approved: false; readonly reason?: string }

/** The calls that were denied, and why, as far as that is shown. */
function deniedIn(session: Session, showsReasons: boolean): Map<unknown, GivenApproval> {
  return new Map(
    session.thread.messages.flatMap((message): [string, GivenApproval][] => {
      const toolCallId = answeredCall(message)
      if (toolCallId === undefined || message.metadata?.['denied'] !== true) return []
      const given = deniedReason(message)
      // What a person wrote was for the model.
      const reason = showsReasons || given === expiredReason ? given : undefined
      const id = approvalId(session, toolCallId)
      return [[toolCallId, defined<GivenApproval>({ id, approved: false, reason })]]
    }),
  )
}

/** The calls that somebody approved. */
function approvedIn(session: Session): Map<string, GivenApproval> {
  return new Map(
    Object.entries(session.calls ?? {}).flatMap(([id, { approval }]) =>
      approval?.decision === 'approved'
        ? [[id, { id: approvalId(session, id), approved: true }]]
        : [],
    ),
  )
}

/** The id that an approval had in the page: its ticket, the first one that the call has settled. Questions come only after it. */
function approvalId(session: Session, toolCallId: string): string {
  const [id = toolCallId] = savedCall(session, toolCallId)?.settled ?? []
  return id
}

/** A question that the user has answered, as the event that asked it. */
interface AnsweredQuestion extends Extract<StreamEvent, { type: 'ask_user_requested' }> {
  readonly answer: string
  readonly expired: true | undefined
}

/** The questions of a session that were answered: of each call the last one. Those inside an agent are gone with it. */
function answeredIn(session: Session): readonly AnsweredQuestion[] {
  return ownRecords(session).flatMap(({ id: toolCallId, name: toolName, question }) => {
    const { text = '', options = {}, answer: content, by } = question ?? {}
    if (content === undefined) return []
    const answer = messageText({ role: 'user', content })
    return [
      {
        type: 'ask_user_requested',
        toolCallId,
        toolName,
        question: text,
        options,
        answer,
        expired: by === expiry ? true : undefined,
      } as const,
    ]
  })
}

/** The metadata that a page makes of chunks. */
function pageMetadata(chunks: readonly UiMessageChunk[]): Pick<UiMessage, 'metadata'> {
  const merged: UiAnswerMetadata = {}
  for (const chunk of chunks) {
    if ('messageMetadata' in chunk) Object.assign(merged, chunk.messageMetadata)
  }
  const { agent, finishReason } = merged
  const metadata = defined<UiAnswerMetadata>({ agent, finishReason: finishReason ?? undefined })
  return Object.keys(metadata).length === 0 ? {} : { metadata }
}

/** The parts that a page makes of chunks. */
function pageParts(
  chunks: readonly UiMessageChunk[],
  denied: ReadonlyMap<unknown, GivenApproval>,
  approved: ReadonlyMap<string, GivenApproval>,
): UiMessagePart[] {
  const parts: object[] = []
  /** The blocks and calls, by id. */
  const known = new Map<string, { text?: string }>()
  const set = (id: string, members: object): void => {
    const part = known.get(id)
    if (part !== undefined) Object.assign(part, members)
    else {
      known.set(id, members)
      parts.push(members)
    }
  }
  for (const chunk of chunks) {
    switch (chunk.type) {
      case 'start-step':
        parts.push({ type: 'step-start' })
        break
      case 'text-delta':
      case 'reasoning-delta': {
        const text = `${known.get(chunk.id)?.text ?? ''}${chunk.delta}`
        set(chunk.id, { type: chunk.type.slice(0, -6), text, state: 'streaming' })
        break
      }
      case 'text-end':
      case 'reasoning-end':
        set(chunk.id, { state: 'done' })
        break
      case 'tool-input-start':
      case 'tool-input-available': {
        const { toolCallId, toolName, dynamic } = chunk
        const isWhole = 'input' in chunk
        // A call is shown again in another step.
        if (!isWhole) known.delete(toolCallId)
        set(toolCallId, {
          ...(dynamic ? { type: 'dynamic-tool', toolName } : { type: `tool-${toolName}` }),
          toolCallId,
          state: isWhole ? 'input-available' : 'input-streaming',
          input: isWhole ? chunk.input : undefined,
        })
        break
      }
      case 'tool-input-delta':
        set(chunk.toolCallId, { input: parseJson(chunk.inputTextDelta) })
        break
      case 'tool-approval-request': {
        const { toolCallId: id, approvalId } = chunk
        set(id, { state: 'approval-requested', approval: { id: approvalId } })
        break
      }
      case 'tool-output-available': {
        const { toolCallId: id, output } = chunk
        set(id, defined<object>({ state: 'output-available', output, approval: approved.get(id) }))
        break
      }
      case 'tool-output-error': {
        const { toolCallId: id, errorText } = chunk
        set(
          id,
          denied.has(id)
            ? { state: 'output-denied', approval: denied.get(id) }
            : defined<object>({ state: 'output-error', errorText, approval: approved.get(id) }),
        )
        break
      }
      case 'source-url':
      case 'source-document':
      case 'file':
      case 'data-question':
        parts.push(chunk)
        break
      case 'data-approval':
        set(`${chunk.type}-${chunk.id}`, chunk)
        break
      default:
      // Nothing else is made of a saved answer, or is a part.
    }
  }
  return parts as UiMessagePart[] // The members are those of the parts.
}

/** The user's words and the answer to them. An answer is everything up to the next words: it may have many steps and runs. */
export interface Turn {
  /** The id of the user's words. It is the same for as long as they are there. */
  readonly id: string
  readonly answerId: string
  /** The user's words; absent if the conversation begins with an answer. */
  readonly said?: Message | undefined
  /** The messages of the assistant. */
  readonly answers: readonly Message[]
}

/** The turns of a session. The answer to a question is the user's words, too. */
export function turnsOf({ thread }: Session): readonly Turn[] {
  const turns: (Turn & { readonly answers: Message[] })[] = []
  const begin = (id: string, said?: Message): void => {
    turns.push({ id, answerId: `${id}-answer`, said, answers: [] })
  }
  thread.messages.forEach((message, index) => {
    const { role, toolCallId, metadata } = message
    const isAnswer = role === 'tool' && metadata?.['answeredByUser'] === true
    const id = isAnswer ? `answer-${toolCallId}` : `m${index}`
    if (isAnswer) begin(id, { ...message, content: givenAnswer(message) })
    else if (isUsersOwn(message)) begin(id, message)
    if (role !== 'assistant') return
    if (turns.length === 0) begin('m')
    turns.at(-1)?.answers.push(message)
    answersOf(message).forEach(({ toolCallId: asking, content }, count) => {
      begin(`answer-${asking}-${count}`, { role: 'user', content })
    })
  })
  return turns
}

/** What a page has of an answer. */
export interface KnownTurn {
  readonly turn: Turn
  /** How many messages of the assistant it has. */
  readonly count: number
  /** The page has not got all of it: later messages, or what came of a decision. */
  readonly lacks: boolean
}

/** The turn that a message of the assistant in a page belongs to, by its calls; `undefined` if there is none. */
export function knownTurn(session: Session, message: UiMessageInput): KnownTurn | undefined {
  if (message.role !== 'assistant') return undefined
  const tools = toolParts(message)
  const ids = new Set(tools.map(({ id }) => id))
  const isKnown = ({ toolCalls = [] }: Message): boolean => toolCalls.some(({ id }) => ids.has(id))
  const turn = turnsOf(session).findLast(({ answers }) => answers.some(isKnown))
  if (turn === undefined) return undefined
  const types = message.parts.map((part) => (isObject(part) ? part.type : ''))
  const lastCall = types.findLastIndex((type) => /^(tool-|dynamic-tool$)/.test(type))
  // An answer that was written again has two steps in the page.
  const later = types.filter(
    (type, at) => at > lastCall && type === 'step-start' && types[at - 1] !== 'data-restart',
  )
  const count = turn.answers.findLastIndex(isKnown) + 1 + later.length
  const isDecided = tools.some(({ part }) => part['state'] === 'approval-responded')
  return { turn, count, lacks: isDecided || count < turn.answers.length }
}

/** An answer as a session has it. */
export interface SavedAnswer {
  /** The events that give the answer as it is now. The run may go on where they end. */
  readonly missed: StreamEvent[]
  /** The calls that the page has to run. */
  readonly pending: ToolCall[]
}

/** What a session has of all calls. It is read once for all turns. */
interface SessionResults {
  /** The last message about each call, by the id of the call. */
  readonly results: ReadonlyMap<unknown, Message>
  /** The questions that are told again, by the id of the call. */
  readonly answered: ReadonlyMap<string, StreamEvent>
  readonly isWaiting: boolean
  /** What the session waits for, also inside of agents. */
  readonly asked: ReturnType<typeof waitingEvents>
  readonly lastAnswer: Message | undefined
}

function resultsIn(session: Session, answered: readonly AnsweredQuestion[] = []): SessionResults {
  const { messages } = session.thread
  const isWaiting = waits(session)
  return {
    results: new Map(messages.map((message) => [answeredCall(message), message])),
    answered: new Map(answered.map((event) => [event.toolCallId, event])),
    isWaiting,
    asked: isWaiting || session.status === 'idle' ? waitingEvents(session) : [],
    lastAnswer: messages.findLast(({ role }) => role === 'assistant'),
  }
}

/** The answer to a turn. Of the first `count` messages only the outcomes of calls are told. */
function answerOf(
  session: Session,
  { answers }: Turn,
  { results, answered, isWaiting, asked, lastAnswer }: SessionResults,
  count = 0,
): SavedAnswer {
  const missed: StreamEvent[] = []
  const pending: ToolCall[] = []
  const isUnderWay = session.status === 'idle'
  /** What came of a call, or what it or the agent in it waits for. One that runs, or that the page has to run, has nothing to tell. */
  const tellOutcome = (call: ToolCall): void => {
    const isOf = (id: string): boolean => id === call.id || id.startsWith(`${call.id}/`)
    const own = asked.filter(({ toolCallId }) => isOf(toolCallId))
    const given = session.pendingToolCalls.filter(({ id }) => isOf(id))
    missed.push(...own)
    pending.push(...given)
    if (isWaiting && own.length + given.length > 0) return
    const result = results.get(call.id)
    // A late result is one like any other in a conversation that is read again.
    const { lateResultOf: _late, ...marks } = result?.metadata ?? {}
    const isAsked = marks['askUser'] === true
    // What a run that was stopped or failed asked is not asked until it goes on.
    const isOpen = isAsked ? !isCut(session) : isUnderWay && result && isMark(result)
    if (!result || isOpen) return
    const metadata = { ...marks, ...(isAsked && { interrupted: true }) }
    const content = resultContent(result)
    const question = answered.get(call.id)
    if (question !== undefined) missed.push(question)
    missed.push({ type: 'tool_result_encoded', id: call.id, content, metadata })
  }
  /** A call with the arguments with which it was approved. */
  const asRun = (call: ToolCall): ToolCall => {
    const args = results.get(call.id)?.metadata?.['approvedArguments']
    return isObject(args) ? { ...call, arguments: args } : call
  }
  answers.forEach((answer, index) => {
    const { toolCalls = [] } = answer
    const partial = isUnderWay && answer === lastAnswer && answer.metadata?.['partial'] === true
    const message = { ...answer, toolCalls: toolCalls.map(asRun), metadata: { partial } }
    const { agent, finishReason = toolCalls[0] ? 'tool_calls' : 'stop' } = answer
    if (index >= count) {
      if (agent !== undefined) missed.push(begunBy(agent))
      missed.push({ type: 'message_completed', message, finishReason })
    }
    if (!partial) toolCalls.forEach(tellOutcome)
  })
  return { missed, pending }
}

/** The result in a message of a call: of one that asked, what the user said. */
export function resultContent(message: Message): Message['content'] {
  const content = ownContent(message)
  return message.metadata?.['answeredByUser'] === true
    ? givenAnswer({ ...message, content })
    : content
}

/** The beginning of an answer, as far as a page is told of it. */
function begunBy(agent: string): StreamEvent {
  return { type: 'message_started', requestId: '', provider: '', agent }
}

/** Whether the run was stopped or failed. */
export function isCut({ status }: Pick<Session, 'status'>): boolean {
  return status === 'halted' || status === 'error'
}

/** What a page that comes back has missed. The option `past` of `toUiMessageStream` takes it. */
export interface UiPast extends SavedAnswer {
  /** The id that `toUiMessages` gives to the answer. */
  readonly id: string | undefined
  readonly session: Session
}

/**
 * The last answer of a session as it is now, for a stream that goes on with it: `toUiMessageStream(events, { past: uiPast(session) })`.
 * `resumeUiMessages` does so for runs.
 */
export function uiPast(session: Session): UiPast {
  return pastOf(session)
}

/** The last answer of a session, or what a page that has some of an answer lacks of it. */
export function pastOf(session: Session, has?: KnownTurn): UiPast {
  const { turn = turnsOf(session).at(-1), count } = has ?? {}
  const { error } = session
  const answer = turn
    ? answerOf(session, turn, resultsIn(session), count)
    : { missed: [], pending: [] }
  const { agent } = session.run ?? {}
  const last = session.thread.messages.findLast(({ role }) => role !== 'tool')
  const isWriting = session.status === 'idle' && agent !== undefined
  // The answer has begun and has no content yet: only its run knows who speaks.
  if (isWriting && last?.metadata?.['partial'] !== true) answer.missed.push(begunBy(agent))
  if (error) answer.missed.push({ type: 'error', error })
  return { id: turn?.answerId, session, ...answer }
}
