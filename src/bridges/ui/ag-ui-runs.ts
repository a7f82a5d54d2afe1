import { answeredCall, isUsersOwn } from '../../core/messages/tool-messages.ts'
import { describe, refusal } from '../../core/schema/checks.ts'
import { assertPrintableId } from '../../core/schema/session-id.ts'
import type { PendingCall } from '../../core/types/call.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import { messageParts, messageText } from '../../core/types/message.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import type { Runs, SendOptions } from '../../durable/runs/contract.ts'
import { sessionCall } from '../../engine/calls/places.ts'
import { showsOf, toolEnd, type ViewOptions } from '../../engine/model-call/view-event.ts'
import {
  agUiEvents,
  assertAgUiOptions,
  assertIds,
  type AgUiIds,
  type AgUiResponseOptions,
} from './ag-ui.ts'
import { shownByDefault } from './to-chunks.ts'
import { isCut, pastOf, resultContent, turnsOf } from './to-ui-messages.ts'
import {
  pageCommands,
  refusedTicket,
  settledTicket,
  waitsOf,
  type LostCommand,
} from './ui-commands.ts'
import {
  askedFor,
  assertAuthority,
  assertNoneLost,
  begun,
  comingOf,
  followed,
  giveNew,
  goneOn,
  authorsOf,
  refused,
  withAuthors,
  type PageAuthority,
} from './ui-runs.ts'
import { pacedResponse, sseChecks } from './ui-stream.ts'
import type { UiAnswerMetadata, UiMessageInput } from './ui-types.ts'

/** What an AG-UI client posts: its `RunAgentInput`. Nothing about it is trusted but the ids, which the caller checks. */
export interface AgUiInput extends AgUiIds {
  readonly messages: readonly object[]
  /** What was decided about interrupts. */
  readonly resume?: readonly object[] | undefined
}

/** The options of `sendAgUi`. */
export interface SendAgUiOptions
  extends AgUiResponseOptions, PageAuthority, Pick<SendOptions, 'context' | 'metadata'> {}

/**
 * Answers the post of an AG-UI client: gives what is new in it to a session, and streams what comes of it. The run goes on when the client leaves. Who may use the id is
 * the caller's to decide; what the client may do besides sending messages, `authorize` decides.
 *
 * All decisions and answers in `resume` are taken, the results that the client has for calls that it runs, and the last message if it is the user's. Only what the session
 * waits for counts, once. With words that the session has, the response is the answer that there is. With nothing new it is the same after a `MESSAGES_SNAPSHOT` of the conversation
 * before it; so a client without messages gets all of them. A run that failed or was stopped goes on, unless the client has no messages. What is refused has the status and the words of
 * `runs.handler`.
 */
export async function sendAgUi(
  runs: Runs,
  id: string,
  input: AgUiInput,
  options: SendAgUiOptions = {},
): Promise<Response> {
  return answered(runs, id, input, options).catch(refused)
}

async function answered(
  runs: Runs,
  id: string,
  input: AgUiInput,
  options: SendAgUiOptions,
): Promise<Response> {
  const { context, metadata, authorize, ...page } = options
  assertAgUiOptions(page, sseChecks())
  assertAuthority({ authorize })
  assertPrintableId(id)
  assertIds(input)
  const before = await runs.get(id)
  const session = before?.session
  const { messages, unknown } = uiMessages(input, session)
  const { commands, lost: closed } = pageCommands(messages, session)
  const lost = [...unknown, ...closed]
  // A client that has something of the conversation asks for its run. Any other only looks at it.
  const goesOn =
    commands.length + lost.length === 0 &&
    listOf(input.messages).length > 0 &&
    before?.running === false &&
    isCut(before.session)
  const asked = goesOn ? [['resume'] as const] : [...commands, ...lost].map(askedFor)
  const verdict = await authorsOf(asked, { authorize }, page)
  if (verdict instanceof Response) return verdict
  assertNoneLost(lost)
  const words = messages.at(-1)?.id
  const signed = withAuthors(commands, verdict)
  const given = await giveNew(runs, before, signed, { id, words, context, metadata })
  const { sent, repeats } = given
  if (repeats !== undefined) {
    return (await goneOn(runs, id, repeats, false)) ?? repeated(runs, id, input, page)
  }
  if (sent === undefined) {
    if (goesOn) await runs.resume(id)
    return repeated(runs, id, input, page)
  }
  const missed = answersOf(commands, session)
  const coming = comingOf(runs, id, commands, {
    after: sent.lastEventId,
    isQueued: before?.running === true,
  })
  const beginning = { session, ...coming, ...(missed.length > 0 && { missed }) }
  return pacedResponse(agUiEvents(coming.events, input, page, beginning), page)
}

/**
 * Answers a post with nothing new: with the last answer from its beginning. Unless the client ends with the words before it, a
 * snapshot of what is before it replaces what the client has.
 */
async function repeated(
  runs: Runs,
  id: string,
  input: AgUiInput,
  page: AgUiResponseOptions,
): Promise<Response> {
  const info = await begun(runs, id)
  const past = info && pastOf(info.session)
  const following = followed(runs, id, info?.lastEventId ?? 0)
  const given = listOf(input.messages)
  const endsWithWords = given.at(-1)?.['role'] === 'user'
  const history = info && !endsWithWords ? historyOf(info.session, page) : undefined
  // A client keeps the reasoning that it has, unless a snapshot has some. The answer goes on with this one.
  if (given.some(isThought) && !history?.some(isThought)) {
    history?.push({ id: `${input.runId}-reasoning-1`, role: 'reasoning', content: '' })
  }
  const ids = { ...input, messages: history ?? input.messages }
  const events = agUiEvents(following.events, ids, page, { ...following, ...past })
  let isTold = history === undefined
  const next: typeof events.next = async () => {
    const step = await events.next()
    if (isTold || step.done) return step
    isTold = true
    const [started = [], ...rest] = step.value
    const snapshot = { type: 'MESSAGES_SNAPSHOT', messages: history }
    return { done: false, value: [started, snapshot, ...rest].flat() }
  }
  return pacedResponse({ ...events, next }, page)
}

function isThought({ role }: { readonly role?: unknown }): boolean {
  return role === 'reasoning'
}

/** A message that a client is given. */
interface ShownMessage {
  readonly id: string
  readonly role: string
  readonly content: string
  readonly toolCallId?: unknown
  readonly toolCalls?: readonly object[]
  /** The name of the engine that answered. */
  readonly name?: string
  readonly metadata?: UiAnswerMetadata
}

/** The conversation before its last answer: texts, reasoning, calls and their results. */
function historyOf(session: Session, { include = shownByDefault }: ViewOptions): ShownMessage[] {
  const { messages } = session.thread
  const shows = showsOf({ include })
  const [first] = turnsOf(session).at(-1)?.answers ?? []
  const history = first === undefined ? messages : messages.slice(0, messages.indexOf(first))
  return history.flatMap((message, index): ShownMessage | ShownMessage[] => {
    const { role, toolCalls = [], metadata = {} } = message
    const toolCallId = answeredCall(message)
    const id = `m${index}`
    if (isUsersOwn(message)) return { id, role, content: messageText(message) }
    if (role === 'assistant') {
      const calls = toolCalls.map(({ id: callId, name, arguments: args }) => {
        const text = JSON.stringify(shows('tool_arguments') ? args : {})
        return { id: callId, type: 'function', function: { name, arguments: text } }
      })
      const known = calls.length > 0 ? calls : undefined
      const { agent, finishReason } = message
      const answer = defined<ShownMessage>({
        id,
        role,
        name: agent,
        content: messageText(message),
        toolCalls: known,
        metadata: finishReason && { finishReason },
      })
      const thoughts = messageParts(message).flatMap((part) =>
        part.type === 'reasoning' && shows('reasoning') ? part.text : [],
      )
      const thought = { id: `${id}-reasoning`, role: 'reasoning', content: thoughts.join('') }
      return thought.content ? [thought, answer] : answer
    }
    if (toolCallId === undefined || metadata['askUser'] || metadata['pending']) return []
    const { ok, denied } = toolEnd(metadata)
    const error = denied ? 'the call was denied' : 'the tool failed'
    const safe = JSON.stringify(ok ? null : { error })
    const whole = messageText({ role: 'tool', content: resultContent(message) })
    const content = shows(ok ? 'tool_results' : 'errors') ? whole : safe
    return { id, role: 'tool', toolCallId, content }
  })
}

/** What a client says. */
interface ClientMessages {
  readonly messages: readonly UiMessageInput[]
  /** The interrupts that the session does not know. */
  readonly unknown: readonly LostCommand[]
}

/** What a client says, as a page of `useChat` says it: an answer with calls that it settled, and the user's words. */
function uiMessages({ messages, resume }: AgUiInput, session: Session | undefined): ClientMessages {
  const unknown: LostCommand[] = []
  const waits = session === undefined ? [] : waitsOf(session)
  const parts: UiMessageInput['parts'][number][] = []
  const settle = (toolCallId: unknown, members: object): void => {
    parts.push({ type: 'tool-call', toolCallId, ...members })
  }
  const given = listOf(messages)
  for (const { role, toolCallId: id, content, error } of given) {
    if (role !== 'tool') continue
    if (error === undefined) settle(id, { state: 'output-available', output: content })
    else settle(id, { state: 'output-error', errorText: error })
  }
  for (const { interruptId: ticket, status, payload } of listOf(resume)) {
    if (typeof ticket !== 'string' || session === undefined) continue
    const about = interrupted(session, waits, ticket)
    if ('error' in about) {
      unknown.push(about)
      continue
    }
    const { id, isApproval } = about
    const isGiven = status !== 'cancelled'
    if (isApproval) {
      const { approved, reason } = isObject(payload) ? payload : {}
      if (isGiven && typeof approved !== 'boolean') {
        const problem = `must be { approved: true } or { approved: false }, not ${describe(payload)}`
        throw refusal('invalid_message', `the payload for ${id}`, problem)
      }
      const approval = { id: ticket, approved: isGiven && approved === true, reason }
      settle(id, { state: 'approval-responded', approval })
      continue
    }
    parts.push({ type: 'data-question', id, data: { toolCallId: id, ticket } })
    if (isGiven) settle(id, { state: 'output-available', output: payload })
    else settle(id, { state: 'output-error', errorText: 'cancelled' })
  }
  const settled = { id: '', role: 'assistant', parts }
  const last = given.at(-1)
  if (last?.['role'] !== 'user') return { messages: [settled], unknown }
  const { id, content } = last
  const words = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
  const texts = words.flatMap(({ type, text }) => (type === 'text' ? { type, text } : []))
  // Words without an id are new each time.
  const said = { id: typeof id === 'string' ? id : '', role: 'user', parts: texts }
  return { messages: [settled, said], unknown }
}

/** The call that an interrupt is about: its id is the ticket of what the call waits for, or has waited for. */
function interrupted(
  session: Session,
  waits: readonly PendingCall[],
  ticket: string,
): { readonly id: string; readonly isApproval: boolean } | LostCommand {
  const open = waits.find((one) => one.ticket === ticket || one.call.id === ticket)
  if (open !== undefined) return { id: open.call.id, isApproval: open.kind === 'approval' }
  const settled = settledTicket(session, ticket)
  if (settled !== undefined) return { id: settled.toolCallId, isApproval: settled.isApproval }
  // Without a ticket, a call that waits for nothing is history.
  if (sessionCall(session, ticket) !== undefined) return { id: ticket, isApproval: false }
  const error = refusedTicket(session, 'approval', ticket, ticket)
  return { command: { type: 'approve', toolCallId: ticket, ticket }, error }
}

/** The objects of a list that a client sent. */
function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** The results of the calls that asked, for which there is no event: the answers to their questions. */
function answersOf(
  commands: readonly SessionCommand[],
  session: Session | undefined,
): readonly StreamEvent[] {
  const asked = session ? waitsOf(session) : []
  return commands.flatMap((command): StreamEvent[] => {
    if (command.type !== 'send') return []
    const wait = asked.find(({ ticket }) => ticket === command.answers)
    // A handler that is called again, and an agent, have their own results.
    if (wait === undefined || wait.question?.options?.['resume'] === true) return []
    const { id } = wait.call
    return id.includes('/') ? [] : [{ type: 'tool_result_encoded', id, content: command.content }]
  })
}
