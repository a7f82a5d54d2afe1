import { deniedReason, ownContent } from '../make/tool-messages.ts'
import { isMark } from '../run/inner-runs.ts'
import { isUsersOwn } from '../run/view-event.ts'
import { assertValid, optionsOf } from '../schema/checks.ts'
import { waitingEvents, waits } from '../session/inner.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined, isObject, parseJson } from '../types/guards.ts'
import { answersOf, messageParts, type Message, type ToolCall } from '../types/message.ts'
import type { Session } from '../types/session.ts'
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
  UiFile,
  UiMessage,
  UiMessageChunk,
  UiMessageInput,
  UiMessagePart,
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
  const { include = shownByDefault } = options
  const reasons = include.includes('tool_results') ? reasonsOf(conversation) : new Map()
  const messages: UiMessage<Version>[] = []
  const turns = turnsOf(conversation)
  for (const turn of turns) {
    const { id, answerId, said } = turn
    if (said !== undefined) messages.push({ id, role: 'user', parts: wordsOf(said) })
    const chunks: UiMessageChunk[] = []
    const fold = chunkFold({ ...options, restStep, pending: pendingIn(conversation, turn) }, chunks)
    for (const event of answerEvents(conversation, turn)) fold.add(event)
    if (chunks.length === 0) continue
    if (!isUnderWay(conversation) || turn !== turns.at(-1)) fold.end()
    messages.push({ id: answerId, role: 'assistant', parts: pageParts(chunks, reasons) })
  }
  return messages
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

/** Why calls were denied, by their ids. Chunks do not tell it: the page that denied them knows. */
function reasonsOf(conversation: Conversation): ReadonlyMap<string, string> {
  return new Map(
    messagesOf(conversation).flatMap((message): [string, string][] => {
      const { metadata, toolCallId: id = metadata?.['lateResultOf'] } = message
      const reason = metadata?.['denied'] === true ? deniedReason(message) : undefined
      return reason === undefined || typeof id !== 'string' ? [] : [[id, reason]]
    }),
  )
}

/** The parts that a page makes of chunks. */
function pageParts(
  chunks: readonly UiMessageChunk[],
  reasons: ReadonlyMap<string, string>,
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
      case 'tool-output-available':
        set(chunk.toolCallId, { state: 'output-available', output: chunk.output })
        break
      case 'tool-output-denied': {
        const { toolCallId: id } = chunk
        const approval = defined<object>({ id, approved: false, reason: reasons.get(id) })
        set(id, { state: 'output-denied', approval })
        break
      }
      case 'tool-output-error':
        set(chunk.toolCallId, { state: 'output-error', errorText: chunk.errorText })
        break
      case 'source-url':
      case 'source-document':
      case 'file':
      case 'data-question':
      case 'data-approval':
        parts.push(chunk)
        break
      default:
      // Nothing else is made of a saved answer, or is a part.
    }
  }
  return parts as UiMessagePart[] // The members are those of the parts.
}

/** What is shown of a conversation: a session, or messages alone. */
export type Conversation = Session | readonly Message[]

/** The user's words and the answer to them. An answer is everything up to the next words: it may have many steps and runs. */
export interface Turn {
  /** The id of the user's words. It is the same for as long as they are there. */
  readonly id: string
  readonly answerId: string
  /** The user's words; absent if the conversation begins with an answer. */
  readonly said?: Message
  /** The messages of the assistant. */
  readonly answers: readonly Message[]
}

/** The turns of a conversation. The answer to a question is the user's words, too. */
export function turnsOf(conversation: Conversation): readonly Turn[] {
  const turns: (Turn & { readonly answers: Message[] })[] = []
  const begin = (id: string, said?: Message): void => {
    turns.push({ id, answerId: `${id}-answer`, ...(said && { said }), answers: [] })
  }
  messagesOf(conversation).forEach((message, index) => {
    const { role, toolCallId, metadata } = message
    const isAnswer = role === 'tool' && metadata?.['answeredByUser'] === true
    const id = isAnswer ? `answer-${toolCallId}` : `m${index}`
    if (isAnswer || isUsersOwn(message)) begin(id, message)
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
export function knownTurn(
  conversation: Conversation,
  message: UiMessageInput,
): KnownTurn | undefined {
  if (message.role !== 'assistant') return undefined
  const tools = toolParts(message)
  const ids = new Set(tools.map(({ id }) => id))
  const isKnown = ({ toolCalls = [] }: Message): boolean => toolCalls.some(({ id }) => ids.has(id))
  const turn = turnsOf(conversation).findLast(({ answers }) => answers.some(isKnown))
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

/** The calls of a conversation, and of the agents inside of them. */
export function callsOf(conversation: Conversation): readonly ToolCall[] {
  const inner = 'status' in conversation ? Object.entries(conversation.run?.inner ?? {}) : []
  return [
    ...messagesOf(conversation).flatMap(({ toolCalls = [] }) => toolCalls),
    ...inner.flatMap(([callId, session]) =>
      callsOf(session).map((call) => Object.assign({}, call, { id: `${callId}/${call.id}` })),
    ),
  ]
}

/** The calls of an answer that the page has to run. */
export function pendingIn(conversation: Conversation, { answers }: Turn): readonly ToolCall[] {
  const calls = answers.flatMap(({ toolCalls = [] }) => toolCalls)
  const pending = 'status' in conversation ? conversation.pendingToolCalls : []
  return pending.filter(({ id }) =>
    calls.some((call) => call.id === id || id.startsWith(`${call.id}/`)),
  )
}

/** Whether a run goes on with the conversation. */
function isUnderWay(conversation: Conversation): boolean {
  return 'status' in conversation && conversation.status === 'idle'
}

/** The events that give the answer to a turn as it is now. The run may go on where they end. Of the first `count` messages only the outcomes of calls are told. */
export function* answerEvents(
  conversation: Conversation,
  { answers }: Turn,
  count = 0,
): Generator<StreamEvent, void> {
  const messages = messagesOf(conversation)
  const results = new Map(
    messages.map((message) => [message.toolCallId ?? message.metadata?.['lateResultOf'], message]),
  )
  const session = 'status' in conversation ? conversation : undefined
  const goesOn = isUnderWay(conversation)
  const waiting = session && waits(session) ? session : undefined
  const asked = waiting ? waitingEvents(waiting) : []
  /** What came of a call, or what it or the agent in it waits for. One that runs, or that the page has to run, has nothing to tell. */
  const outcomeOf = ({ id: toolCallId }: ToolCall): readonly StreamEvent[] => {
    const isInside = (id: string): boolean => id.startsWith(`${toolCallId}/`)
    const own = asked.filter(({ toolCallId: id }) => id === toolCallId || isInside(id))
    const given = waiting?.pendingToolCalls.filter(({ id }) => isInside(id)) ?? []
    if (own.length + given.length > 0) {
      return [...own, ...given.map(startedEvent)]
    }
    const result = results.get(toolCallId)
    // A late result is one like any other in a conversation that is read again.
    const { lateResultOf: _late, ...marks } = result?.metadata ?? {}
    const isAsked = marks['askUser'] === true
    if (result === undefined || (isAsked && !isCut(session)) || (goesOn && isMark(result))) {
      return []
    }
    // A policy that denies is not told apart from a user.
    const metadata = { ...marks, asked: true, ...(isAsked && { interrupted: true }) }
    return [{ type: 'tool_result_encoded', id: toolCallId, content: ownContent(result), metadata }]
  }
  /** A call with the arguments with which it was approved. */
  const asRun = (call: ToolCall): ToolCall => {
    const args = results.get(call.id)?.metadata?.['approvedArguments']
    return isObject(args) ? { ...call, arguments: args } : call
  }
  for (const [index, answer] of answers.entries()) {
    const { metadata, ...message } = answer
    const { toolCalls = [] } = message
    const run = { ...message, ...(message.toolCalls && { toolCalls: toolCalls.map(asRun) }) }
    const isLast = answer === messages.findLast(({ role }) => role === 'assistant')
    const isOpen = goesOn && isLast && metadata?.['partial'] === true
    if (index >= count) {
      yield { type: 'message_started', requestId: '', provider: '' }
      const finishReason = toolCalls.length > 0 ? 'tool_calls' : 'stop'
      // Without its marks it is complete.
      yield { type: 'message_completed', message: isOpen ? answer : run, finishReason }
    }
    yield* toolCalls.flatMap(isOpen ? openCall : outcomeOf)
  }
}

/** A call that the page has to run. */
function startedEvent({ id, name, arguments: args }: ToolCall): StreamEvent {
  return { type: 'tool_execution_started', id, name, arguments: args }
}

/** A call that is being written. */
function openCall({ id, name, rawArguments = '' }: ToolCall): readonly StreamEvent[] {
  return [
    { type: 'tool_call_started', id, name },
    { type: 'tool_call_delta', id, argumentsDelta: rawArguments },
  ]
}

/** Whether the run was stopped or failed. What it asked is not asked until it goes on. */
function isCut(session: Session | undefined): boolean {
  return session?.status === 'halted' || session?.status === 'error'
}

function messagesOf(conversation: Conversation): readonly Message[] {
  return 'status' in conversation ? conversation.thread.messages : conversation
}
