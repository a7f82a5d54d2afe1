import type { RunInfo, Runs, SendOptions } from '../runs/contract.ts'
import { questionsOf, waitingEvents, waits } from '../session/inner.ts'
import type { StreamEvent } from '../types/events.ts'
import { isObject } from '../types/guards.ts'
import type { Session, SessionCommand } from '../types/session.ts'
import { agUiResponse, assertAgUiOptions, type AgUiIds, type AgUiResponseOptions } from './ag-ui.ts'
import { uiCommands } from './from-ui-messages.ts'
import { comingOf, giveAll, isWords, keyOf, refused } from './ui-runs.ts'
import { sseChecks } from './ui-stream.ts'
import type { UiMessageInput } from './ui-types.ts'

/** What an AG-UI client posts: its `RunAgentInput`. Nothing about it is trusted but the ids, which the caller checks. */
export interface AgUiInput extends AgUiIds {
  readonly messages: readonly object[]
  /** What was decided about interrupts. */
  readonly resume?: readonly object[] | undefined
}

/** The options of `sendAgUi`. */
export interface SendAgUiOptions
  extends AgUiResponseOptions, Pick<SendOptions, 'context' | 'metadata'> {}

/**
 * Answers the post of an AG-UI client: gives what is new in it to a session, and streams what comes of it. The run goes on when the client leaves. Who may use the id is
 * the caller's to decide.
 *
 * All decisions and answers in `resume` are taken, the results that the client has for calls that it runs, and the last message if it is the user's. Only what the session
 * waits for counts, once. With nothing new, the response says what the run waits for, or follows it. What is refused has the status and the words of `runs.handler`.
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
  const { context, metadata, ...page } = options
  assertAgUiOptions(page, sseChecks())
  const before = await runs.get(id)
  const session = before?.session
  const messages = uiMessages(input, session)
  const commands = uiCommands(messages, session)
  const idempotencyKey = keyOf(messages.at(-1)?.id)
  const sent = await giveAll(runs, id, commands, { context, metadata, idempotencyKey })
  const isNew = sent !== undefined && !sent.duplicate
  const missed = isNew ? answersOf(commands, session) : openIn(await runs.get(id))
  const coming = comingOf(runs, id, commands, {
    after: (sent ?? before)?.lastEventId ?? 0,
    isQueued: before?.running === true && sent !== undefined,
  })
  const beginning = { session, ...coming, ...(missed.length > 0 && { missed }) }
  return agUiResponse(coming.events, input, page, beginning)
}

/** What a client says, as a page of `useChat` says it: an answer with calls that it settled, and the user's words. */
function uiMessages(
  { messages, resume }: AgUiInput,
  session: Session | undefined,
): readonly UiMessageInput[] {
  const approvals = new Set(session?.pendingApprovals.map(({ id }) => id))
  const parts: UiMessageInput['parts'][number][] = []
  const settle = (toolCallId: unknown, members: object): void => {
    parts.push({ type: 'tool-call', toolCallId, ...members })
  }
  for (const entry of listOf(resume)) {
    const { interruptId: id, status, payload } = entry
    const isGiven = status !== 'cancelled'
    if (approvals.has(String(id))) {
      const { approved = false, reason } = isObject(payload) ? payload : {}
      const approval = { approved: isGiven && approved === true, reason }
      settle(id, { state: 'approval-responded', approval })
    } else if (isGiven) settle(id, { state: 'output-available', output: payload })
    else settle(id, { state: 'output-error', errorText: 'cancelled' })
  }
  const given = listOf(messages)
  for (const { role, toolCallId: id, content, error } of given) {
    if (role !== 'tool') continue
    if (error === undefined) settle(id, { state: 'output-available', output: content })
    else settle(id, { state: 'output-error', errorText: error })
  }
  const settled = { id: '', role: 'assistant', parts }
  const last = given.at(-1)
  if (last?.['role'] !== 'user') return [settled]
  const { id, content } = last
  const words = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
  const texts = words.flatMap(({ type, text }) => (type === 'text' ? { type, text } : []))
  return [settled, { id: String(id), role: 'user', parts: texts }]
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
  const asked = session ? questionsOf(session) : []
  return commands.flatMap((command): StreamEvent[] => {
    if (command.type !== 'send') return []
    const question = isWords(command)
      ? asked[0]
      : asked.find(({ toolCallId }) => toolCallId === command.toolCallId)
    // A handler that is called again, and an agent, have their own results.
    if (question === undefined || question.options?.['resume'] === true) return []
    const { toolCallId: id } = question
    return id.includes('/') ? [] : [{ type: 'tool_result_encoded', id, content: command.content }]
  })
}

/** What a run that rests waits for. */
function openIn(info: RunInfo | undefined): readonly StreamEvent[] {
  return info !== undefined && waits(info.session) ? waitingEvents(info.session) : []
}
