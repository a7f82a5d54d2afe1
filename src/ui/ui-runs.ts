import { ValidationError } from '../errors/errors.ts'
import type { Runs, SendOptions, Sent } from '../runs/contract.ts'
import { problemOf } from '../runs/handler.ts'
import { refusal } from '../schema/checks.ts'
import type { LogEntry } from '../stores/run-store.ts'
import { assertNever } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { SessionCommand } from '../types/session.ts'
import { uiCommands, type FromUiOptions } from './from-ui-messages.ts'
import { answerId, turnsOf } from './to-ui-messages.ts'
import { toUiMessageResponse, type RunEvents, type UiResponseOptions } from './ui-stream.ts'
import type { UiMessageInput } from './ui-types.ts'

/** The options of `sendUiMessages`. */
export interface SendUiOptions
  extends
    Omit<UiResponseOptions, 'originalMessages' | 'session'>,
    FromUiOptions,
    Pick<SendOptions, 'context' | 'metadata'> {}

/** The options of `resumeUiMessages`. */
export interface ResumeUiOptions extends Omit<UiResponseOptions, 'originalMessages' | 'session'> {}

/**
 * Answers `POST /api/chat` of `useChat`: gives what is new in the messages to a session, and streams what comes of it. The run goes on when the page
 * leaves. Who may use the id is the caller's to decide.
 *
 * The session has the history, so only what it waits for is taken: see `uiCommands`. A message is sent once, however often the page sends it:
 * the page then gets the answer that there is, and a run that failed or was stopped is resumed. What is refused has the status and the words of
 * `runs.handler`: 409 if an answer is being written, 400 if nothing is new. Rejects with any other failure.
 */
export async function sendUiMessages(
  runs: Runs,
  id: string,
  messages: readonly UiMessageInput[],
  options: SendUiOptions = {},
): Promise<Response> {
  try {
    return await answered(runs, id, messages, options)
  } catch (error) {
    const isInvalid = error instanceof ValidationError && error.reason === 'invalid_message'
    const { status, message } = isInvalid
      ? { status: 400, message: error.message }
      : problemOf(error)
    if (status === 500) throw error
    return new Response(message, { status })
  }
}

async function answered(
  runs: Runs,
  id: string,
  messages: readonly UiMessageInput[],
  options: SendUiOptions,
): Promise<Response> {
  const { accept, context, metadata, ...page } = options
  const before = await runs.get(id)
  const commands = uiCommands(messages, before?.session, { accept })
  let sent: Sent | undefined
  for (const command of commands) {
    const idempotencyKey = keyOf(command, messages)
    const next = await give(runs, id, command, { context, metadata, idempotencyKey })
    sent ??= next
  }
  if (sent?.duplicate === true) {
    const { session, running } = (await runs.get(id)) ?? {}
    const isCut = session?.status === 'error' || session?.status === 'halted'
    if (isCut && running === false) await runs.resume(id)
    return resumeUiMessages(runs, id, page)
  }
  if (sent === undefined && before?.running !== true) {
    const problem = `has nothing that session ${id} waits for: end it with a message of the user, or settle a pending call`
    throw refusal('invalid_message', 'messages', problem)
  }
  const after = sent?.lastEventId ?? before?.lastEventId ?? 0
  const queued = before?.running === true ? commands[0]?.type : undefined
  const { messageId = () => answerIdOf(runs, id) } = page
  const goesOn = messages.at(-1)?.role === 'assistant'
  return toUiMessageResponse(followed(runs, id, after, queued), {
    ...page,
    originalMessages: messages,
    messageId: goesOn ? page.messageId : messageId,
  })
}

/**
 * Answers `GET /api/chat/:id/stream` of `useChat`, with which a page comes back (`resume: true`, or `resumeStream`): sends the last answer from its
 * beginning, and goes on with the run if there is one. The answer has the id of `toUiMessages`, so the page replaces what it has of it. Without an
 * answer the status is 204.
 */
export async function resumeUiMessages(
  runs: Runs,
  id: string,
  options: ResumeUiOptions = {},
): Promise<Response> {
  let info = await runs.get(id)
  // A command that waits decides which answer is the last one: its first event tells.
  if (info?.running === true && (info.session.status !== 'idle' || info.version === 0)) {
    for await (const _ of runs.follow(id, { after: info.lastEventId })) break
    info = await runs.get(id)
  }
  if (info === undefined) return new Response(null, { status: 204 })
  const { session, running, lastEventId } = info
  const hasAnswer = (turnsOf(session).at(-1)?.answers.length ?? 0) > 0
  if (!running && !hasAnswer && session.error === undefined) {
    return new Response(null, { status: 204 })
  }
  return toUiMessageResponse(followed(runs, id, lastEventId), { ...options, session })
}

async function answerIdOf(runs: Runs, id: string): Promise<string | undefined> {
  const { session } = (await runs.get(id)) ?? {}
  const turn = session && turnsOf(session).at(-1)
  return turn && answerId(turn)
}

/** The user's words have one effect, however often the page sends them. */
function keyOf(command: SessionCommand, messages: readonly UiMessageInput[]): string | undefined {
  // A page may send anything.
  const id: unknown = messages.at(-1)?.id
  if (command.type !== 'send' || command.toolCallId !== undefined) return undefined
  return typeof id === 'string' && id !== '' && id.length <= 256 ? `ui-${id}` : undefined
}

function give(
  runs: Runs,
  id: string,
  command: SessionCommand,
  options: SendOptions,
): Promise<Sent> {
  switch (command.type) {
    case 'send':
      return runs.send(id, command.content, options)
    case 'approve':
      return runs.approve(id, command.toolCallId)
    case 'deny':
      return runs.deny(id, command.toolCallId, command.reason)
    case 'submitToolResult': {
      const { toolCallId, content, isError } = command
      // The page gives values, and no parts.
      return runs.submitToolResult(id, toolCallId, content as JsonValue, { isError })
    }
    case 'resume':
      return runs.resume(id)
    default:
      return assertNever(command)
  }
}

/**
 * The entries after a number. Unlike those of `runs.follow` they end at once when their reader leaves. While a command is queued, what comes before it
 * belongs to others.
 */
function followed(
  runs: Runs,
  id: string,
  after: number,
  queued?: SessionCommand['type'],
): RunEvents {
  const stop = new AbortController()
  const log = runs.follow(id, { after, commands: true, signal: stop.signal })
  const entries = log[Symbol.asyncIterator]()
  let isOurs = queued === undefined
  const next = async (): Promise<IteratorResult<LogEntry, void>> => {
    for (;;) {
      const step = await entries.next()
      if (step.done === true || isOurs) return step
      isOurs = 'command' in step.value && step.value.command.type === queued
    }
  }
  const leave = async (): Promise<IteratorResult<LogEntry, void>> => {
    stop.abort()
    await entries.return?.()
    return { done: true, value: undefined }
  }
  return { [Symbol.asyncIterator]: () => ({ next, return: leave }) }
}
