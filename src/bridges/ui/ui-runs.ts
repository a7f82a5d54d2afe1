import { warnOnce } from '../../core/base/warning.ts'
import { isAllmError, ValidationError } from '../../core/errors/errors.ts'
import { verdictOf, type Permission } from '../../core/schema/authorize.ts'
import {
  anyFunction,
  assertValid,
  brief,
  optionsOf,
  refusal,
  type Check,
} from '../../core/schema/checks.ts'
import { assertPrintableId } from '../../core/schema/session-id.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { assertNever } from '../../core/types/guards.ts'
import type { JsonValue } from '../../core/types/json.ts'
import { messageText, type Message } from '../../core/types/message.ts'
import type { Session, SessionCommand } from '../../core/types/session.ts'
import type {
  Authorized,
  RunAction,
  RunInfo,
  Runs,
  SendOptions,
  Sent,
} from '../../durable/runs/contract.ts'
import { problemOf, refused as refusing } from '../../durable/runs/handler.ts'
import type { LogEntry } from '../../durable/stores/run-store.ts'
import { waits } from '../../engine/calls/pending.ts'
import { openQuestion, person } from '../../engine/calls/settle.ts'
import { applyCommand } from '../../engine/session/commands.ts'
import { createSession } from '../../engine/session/create.ts'
import { isComplete, toolParts, type FromUiOptions } from './from-ui-messages.ts'
import { isCut, knownTurn, pastOf, turnsOf, type Turn } from './to-ui-messages.ts'
import { pageCommands, settledTicket, waitsOf, type LostCommand } from './ui-commands.ts'
import {
  assertPageOptions,
  callsIn,
  freeId,
  uiResponse,
  type Beginning,
  type UiResponseOptions,
} from './ui-stream.ts'
import type { UiMessageInput } from './ui-types.ts'

/** Who decides what a page may do. */
export interface PageAuthority {
  /**
   * Decides what a post may do, before anything of it is done: `messages` for the user's words and answers to questions, `approvals` and `tools` with
   * the id of the call for each decision and each result, `resume` for a run that is to go on after a failure or a stop. `true` or an object allows; its
   * `by` is the author of what the page decides or answers, and never comes from the page. A `Response` refuses and is sent; everything else refuses with
   * status 403. One refusal refuses the whole post.
   *
   * Without it the page may send messages and go on with its run. Decisions and results are refused.
   */
  readonly authorize?:
    | ((action: PageAction, callId?: string) => Permission<Author> | Promise<Permission<Author>>)
    | undefined
}

/** What an allowed post brings along. */
type Author = Pick<Authorized, 'by'>

/** What a post of a page can do to a session. */
export type PageAction = Extract<RunAction, 'messages' | 'approvals' | 'tools' | 'resume'>

/** The options of `sendUiMessages`. */
export interface SendUiOptions
  extends
    Omit<UiResponseOptions, 'originalMessages' | 'past' | 'messageId'>,
    PageAuthority,
    FromUiOptions,
    Pick<SendOptions, 'context' | 'metadata'> {
  /** The `trigger` that the page posted. With `regenerate-message` an answer that is complete is refused (409), and not sent again. */
  readonly trigger?: string | undefined
  /** The `messageId` that the page posted: the answer that it goes on with, which need not be the last one. */
  readonly messageId?: string | undefined
}

/** The options of `resumeUiMessages`. */
export interface ResumeUiOptions extends Omit<UiResponseOptions, 'originalMessages' | 'past'> {}

/**
 * Answers `POST /api/chat` of `useChat`: gives what is new in the messages to a session, and streams what comes of it. The run goes on when the page
 * leaves. Who may use the id is the caller's to decide; what the page may do besides sending messages, `authorize` decides.
 *
 * The session has the history, so only what it waits for is taken: see `uiCommands`. A message, a decision or a result counts once, however often the
 * page sends it: the page then gets the answer that there is, and for a message a run that failed or was stopped is resumed. What is refused has the status and the words of
 * `runs.handler`: 403 if the page may not decide about a call or give its result, and then nothing of the post counts; 409 if an answer is being written, if
 * what the page decided or answered is not open any more, or if it wants another answer to a message that has one (runs do not go back); 400 if nothing is new. Rejects with any other failure.
 */
export async function sendUiMessages(
  runs: Runs,
  id: string,
  messages: readonly UiMessageInput[],
  options: SendUiOptions = {},
): Promise<Response> {
  return answered(runs, id, messages, options).catch(refused)
}

/** The response to what is refused. Rejects with any other failure. */
export function refused(error: unknown): Response {
  const isInvalid = error instanceof ValidationError && error.reason === 'invalid_message'
  const { status, message } = isInvalid ? { status: 400, message: error.message } : problemOf(error)
  if (status === 500) throw error
  return new Response(message, { status })
}

async function answered(
  runs: Runs,
  id: string,
  messages: readonly UiMessageInput[],
  options: SendUiOptions,
): Promise<Response> {
  const { accept, context, metadata, trigger, messageId, authorize, ...page } = options
  assertPageOptions(page)
  assertAuthority({ authorize })
  assertPrintableId(id)
  const before = await runs.get(id)
  const { commands, lost } = pageCommands(messages, before?.session, { accept })
  const goesOn = continued(messages, messageId)
  if (commands.length + lost.length === 0)
    return repeated(runs, id, { known: goesOn, messages }, page)
  const verdict = await authorsOf([...commands, ...lost].map(askedFor), { authorize }, page)
  if (verdict instanceof Response) return verdict
  assertNoneLost(lost)
  const last = messages.at(-1)
  const signed = withAuthors(commands, verdict)
  const given = await giveNew(runs, before, signed, { id, words: last?.id, context, metadata })
  const { sent, repeats } = given
  if (repeats !== undefined) {
    const wantsAnother = trigger === 'regenerate-message'
    return (await goneOn(runs, id, repeats, wantsAnother)) ?? resumeUiMessages(runs, id, page)
  }
  const coming = comingOf(runs, id, commands, {
    after: sent?.lastEventId ?? 0,
    isQueued: before?.running === true,
  })
  const session = before?.session
  if (goesOn === undefined) {
    const answerId = freeId(() => answerIdOf(runs, id), messages)
    return uiResponse(page, { ...coming, id: answerId, ...callsIn(messages, undefined), session })
  }
  // A page that does not say with which message it goes on may do so with one that has a call which it settled.
  const has = new Set(toolParts(goesOn).map((part) => part.id))
  const isSure = messageId !== undefined || commands.every((one) => has.has(callIdOf(one) ?? ''))
  const known = callsIn(messages, isSure ? goesOn : undefined)
  return uiResponse(page, { ...coming, id: isSure ? goesOn.id : undefined, ...known, session })
}

/** Refuses a wrong `authorize`. */
export function assertAuthority(authority: PageAuthority): void {
  assertValid('invalid_options', optionsOf({ authorize: anyFunction })(authority))
}

/** What `authorize` is asked. */
type Asked = readonly [action: PageAction, callId?: string]

/** What a command of a page is asked as. The output of a call that asks is the user's words. */
function askedBy(command: SessionCommand): Asked {
  switch (command.type) {
    case 'send':
      return ['messages']
    case 'approve':
    case 'deny':
      return ['approvals', command.toolCallId]
    case 'submitToolResult':
      return ['tools', command.toolCallId]
    case 'resume':
      return ['resume']
    default:
      return assertNever(command)
  }
}

/** What `authorize` is asked about something in a post, also if it is refused afterwards: only who may settle it is told that it is settled. */
export function askedFor(one: SessionCommand | LostCommand): Asked {
  return askedBy('error' in one ? one.command : one)
}

/** Throws if a post settles something that is not open any more. */
export function assertNoneLost([first]: readonly LostCommand[]): void {
  if (first !== undefined) throw first.error
}

/** The author of each thing that a post asks for, or the refusal of a post of which something is not allowed. */
export async function authorsOf(
  asked: readonly Asked[],
  { authorize }: PageAuthority,
  { onError = warnOfMistake }: Pick<UiResponseOptions, 'onError'>,
): Promise<readonly (string | undefined)[] | Response> {
  const authors: (string | undefined)[] = []
  for (const [action, callId] of asked) {
    const isDecision = action === 'approvals' || action === 'tools'
    const what = isDecision ? `${action} of call ${brief(callId ?? '')}` : action
    if (authorize === undefined) {
      if (!isDecision) {
        authors.push(undefined)
        continue
      }
      const words = `${what} are not taken from a page unless the server allows them: pass authorize(action, callId) to it`
      throw refusing(403, 'forbidden', words)
    }
    const verdict = verdictOf<Author>(await authorize(action, callId), authorMembers)
    if (verdict.allowed !== undefined) {
      authors.push(verdict.allowed.by)
      continue
    }
    if (verdict.response !== undefined) return verdict.response
    if (verdict.mistake !== undefined) onError(verdict.mistake)
    throw refusing(403, 'forbidden', `authorize did not allow ${what}`)
  }
  return authors
}

const authorMembers = { by: person } satisfies Record<keyof Author, Check>

/** Commands with the authors that `authorize` named. */
export function withAuthors(
  commands: readonly SessionCommand[],
  authors: readonly (string | undefined)[],
): SessionCommand[] {
  return commands.map((command, at) => {
    const by = authors[at]
    return by === undefined || command.type === 'resume' ? command : { ...command, by }
  })
}

const warnOfMistake = /* @__PURE__ */ warnOnce('a post of a page was refused')

/** The answer that a page goes on with, if it does not begin another one. */
function continued(
  messages: readonly UiMessageInput[],
  messageId: string | undefined,
): UiMessageInput | undefined {
  const last = messages.at(-1)
  const named = messages.findLast(({ id, role }) => id === messageId && role === 'assistant')
  return named ?? (last?.role === 'assistant' ? last : undefined)
}

/** What came of the first command; `repeats` are the user's words if the session has them already. */
interface Given {
  readonly sent: Sent | undefined
  readonly repeats?: string | undefined
}

/** Gives the commands of a post to a session, without words that it has. `words` is the id of their message, which makes them count once. */
export async function giveNew(
  runs: Runs,
  before: RunInfo | undefined,
  commands: SessionCommand[],
  {
    id,
    words: wordsId,
    ...options
  }: SendOptions & { readonly id: string; readonly words: unknown },
): Promise<Given> {
  const said = commands.findIndex(isWords)
  const words = wordsOf(commands[said])
  // A page that was opened has the words under the ids of `toUiMessages`. Others under such an id are an edit, which is refused.
  const isSaid = ({ id: turn, said: text }: Turn): boolean => turn === wordsId && text !== undefined
  const isKnown =
    said >= 0 &&
    before !== undefined &&
    (turnsOf(before.session).some(isSaid) || isAnswered(before.session, commands, said))
  if (isKnown) commands.splice(said, 1)
  assertForms(before?.session ?? createSession({ id }), commands)
  const given = giveAll(runs, id, commands, { ...options, idempotencyKey: keyOf(wordsId) })
  const sent = await given.catch(asEdit)
  return { sent, repeats: (sent?.duplicate ?? isKnown) ? words : undefined }
}

/**
 * Whether the user's words were taken before as the answer to the question that they are for. If somebody has given another answer, it throws: then nothing of a
 * post is taken.
 */
function isAnswered(session: Session, commands: readonly SessionCommand[], said: number): boolean {
  const words = commands[said]
  if (words?.type !== 'send' || typeof words.answers !== 'string') return false
  if (waitsOf(session).some(({ ticket }) => ticket === words.answers)) return false
  const settled = settledTicket(session, words.answers)
  if (settled?.answer !== undefined && wordsOf(words) === textOf(settled.answer)) return true
  // Words that are sent again, and were about something that the session does not remember, are known by their key.
  if (settled?.answer !== undefined || commands.length > 1) openQuestion(session, words.answers)
  return false
}

/** Throws if one of the commands can never be applied, so that none of a post is given if another one is wrong. */
function assertForms(session: Session, commands: readonly SessionCommand[]): void {
  for (const command of commands) {
    try {
      applyCommand(session, command)
    } catch (error) {
      // What is not possible now may be after the command before it.
      if (isAllmError(error) && error.kind === 'validation') throw error
    }
  }
}

/** Other words under the id of a message that was sent are an edit: they have no effect, as the same words have none. */
function asEdit(error: unknown): Sent {
  if (isAllmError(error) && error.reason === 'key_reused')
    return { lastEventId: 0, duplicate: true }
  throw error
}

/**
 * The refusal of words that the session has, if they cannot be answered any more: others have followed, or their answer is complete. A run that failed or
 * was stopped goes on.
 */
export async function goneOn(
  runs: Runs,
  id: string,
  words: string,
  wantsAnother: boolean,
): Promise<Response | undefined> {
  const { session, running } = (await runs.get(id)) ?? {}
  if (session === undefined || running === true) return undefined
  const { said } = turnsOf(session).at(-1) ?? {}
  const wasCut = isCut(session)
  if (said === undefined || messageText(said) !== words || (wantsAnother && !wasCut)) {
    const problem = waits(session)
      ? 'the answer waits for somebody, and a run does not go back: settle what it waits for, which resumeStream() shows again'
      : 'the message was sent before, and a run does not go back: it cannot be edited or answered again; send a new message'
    return new Response(problem, { status: 409 })
  }
  if (wasCut) await runs.resume(id)
  return undefined
}

/** Whether a command is what the user said, and not the output of a call that asks. */
function isWords(command: SessionCommand): boolean {
  return command.type === 'send' && command.toolCallId === undefined
}

/** The text of the user's words. */
function wordsOf(command: SessionCommand | undefined): string {
  return command?.type === 'send' ? textOf(command.content) : ''
}

function textOf(content: Message['content']): string {
  return messageText({ role: 'user', content })
}

/** The messages of a page, and the one that it goes on with. */
interface Posted {
  readonly known: UiMessageInput | undefined
  readonly messages: readonly UiMessageInput[]
}

/** Answers messages with nothing new, such as a decision that came before or that somebody else made: with what the page lacks of the answer. */
async function repeated(
  runs: Runs,
  id: string,
  { known, messages }: Posted,
  page: ResumeUiOptions,
): Promise<Response> {
  const info = await begun(runs, id)
  const has = info && known && knownTurn(info.session, known)
  if (info === undefined || known === undefined || has === undefined) {
    if (info?.running === true) return resumeUiMessages(runs, id, page)
    throw nothingNew()
  }
  const { session, running, lastEventId } = info
  const isLast = has.turn.id === turnsOf(session).at(-1)?.id
  // A page that sends by itself gets a step without calls, and does not send again. Any other would send for ever if it were answered with what it has.
  if (!(running && isLast) && !has.lacks && !isComplete(known)) throw nothingNew()
  const following = isLast ? followed(runs, id, lastEventId) : { events: noEvents() }
  const { messageId = known.id } = page
  const past = pastOf(session, has)
  return uiResponse(page, { ...following, ...past, ...callsIn(messages, known), id: messageId })
}

function nothingNew(): ValidationError {
  const problem = 'has nothing new: end it with a message of the user, or settle a pending call'
  return refusal('invalid_message', 'messages', problem)
}

async function* noEvents(): AsyncGenerator<LogEntry, void> {}

/**
 * Answers `GET /api/chat/:id/stream` of `useChat`, with which a page comes back (`resume: true`, or `resumeStream`): sends the last answer from its
 * beginning, and goes on with the run if there is one. The answer has the id of `toUiMessages`, so the page replaces what it has of it. Without an
 * answer the status is 204, and for an id that cannot be one 400.
 */
export async function resumeUiMessages(
  runs: Runs,
  id: string,
  options: ResumeUiOptions = {},
): Promise<Response> {
  assertPageOptions(options)
  return followedFrom(runs, id, options).catch(refused)
}

async function followedFrom(runs: Runs, id: string, options: ResumeUiOptions): Promise<Response> {
  assertPrintableId(id)
  const info = await begun(runs, id)
  const past = info && pastOf(info.session)
  if (!past || !(info.running || past.missed.length > 0)) return new Response(null, { status: 204 })
  const { messageId = past.id } = options
  return uiResponse(options, { ...followed(runs, id, info.lastEventId), ...past, id: messageId })
}

/** A session. If a command waits, its first event is waited for: it decides which answer is the last one. */
export async function begun(runs: Runs, id: string): Promise<RunInfo | undefined> {
  const info = await runs.get(id)
  const isWaiting = info?.session.status !== 'idle' || info.version === 0
  if (info?.running !== true || !isWaiting) return info
  for await (const _ of runs.follow(id, { after: info.lastEventId })) break
  return runs.get(id)
}

async function answerIdOf(runs: Runs, id: string): Promise<string | undefined> {
  const { session } = (await runs.get(id)) ?? {}
  return session && turnsOf(session).at(-1)?.answerId
}

/** The user's words have one effect, however often the page sends them: the key that the id of their message gives. */
function keyOf(id: unknown): string | undefined {
  // A page may send anything.
  return typeof id === 'string' && id !== '' && id.length <= 256 ? `ui-${id}` : undefined
}

/** Gives commands to a session, in order. The key is that of the user's words. Returns what came of the first one. */
async function giveAll(
  runs: Runs,
  id: string,
  commands: readonly SessionCommand[],
  { idempotencyKey, ...options }: SendOptions,
): Promise<Sent | undefined> {
  let first: Sent | undefined
  for (const command of commands) {
    // The user's words follow what comes of the decisions before them, and answers wait their turn.
    if (first !== undefined && command.type === 'send') await runs.wait(id)
    const key = isWords(command) ? idempotencyKey : undefined
    const sent = await give(runs, id, command, { ...options, idempotencyKey: key })
    first ??= sent
  }
  return first
}

/** What comes of the commands of a post. */
export function comingOf(
  runs: Runs,
  id: string,
  commands: readonly SessionCommand[],
  { after, isQueued }: { readonly after: number; readonly isQueued: boolean },
): Following {
  return { ...followed(runs, id, after), keeps: ofCommands(commands, isQueued) }
}

function give(
  runs: Runs,
  id: string,
  command: SessionCommand,
  options: SendOptions,
): Promise<Sent> {
  switch (command.type) {
    case 'send': {
      const { content, answers, by } = command
      return runs.send(id, content, { ...options, answers, by })
    }
    case 'approve': {
      const { toolCallId, ticket, by } = command
      return runs.approve(id, toolCallId, { ticket, by })
    }
    case 'deny': {
      const { toolCallId, reason, ticket, by } = command
      return runs.deny(id, toolCallId, reason, { ticket, by })
    }
    case 'submitToolResult': {
      const { toolCallId, content, isError, ticket, by } = command
      // The page gives values, and no parts.
      return runs.submitToolResult(id, toolCallId, content as JsonValue, { isError, ticket, by })
    }
    case 'resume':
      return runs.resume(id)
    default:
      return assertNever(command)
  }
}

/** The events of a run, and what is told of them. */
export type Following = Pick<Beginning, 'events' | 'keeps' | 'stop'>

/** The entries after a number. `runs.follow` ends at once when it is stopped, and not when its reader leaves. */
export function followed(runs: Runs, id: string, after: number): Following {
  const stop = new AbortController()
  return { events: runs.follow(id, { after, commands: true, signal: stop.signal }), stop }
}

/**
 * Keeps what comes of the commands of a post. While they are queued, because something ran before them, what comes before them belongs to
 * others. A rest between two of them is none: the page has settled what it waits for.
 */
function ofCommands(
  commands: readonly SessionCommand[],
  isQueued: boolean,
): (entry: StreamEvent | LogEntry) => boolean {
  const coming = [...commands]
  let isOurs = !isQueued
  return (entry) => {
    const isResting = coming.length === 0 || commands.length === 1
    const isKept = isOurs && (isResting || !isRest(entry))
    const [next] = coming
    if ('command' in entry && next !== undefined && isSame(entry.command, next)) {
      isOurs = true
      coming.shift()
    }
    return isKept
  }
}

/** Whether an entry is of a run that has come to rest, and not failed. */
function isRest(entry: StreamEvent | LogEntry): boolean {
  if (!('event' in entry)) return false
  const { event } = entry
  if (event.type === 'chat_completed') return event.result.error === undefined
  return event.type === 'approval_requested'
}

function isSame(one: SessionCommand, other: SessionCommand): boolean {
  return one.type === other.type && (one.type === 'send' || callIdOf(one) === callIdOf(other))
}

function callIdOf(command: SessionCommand): string | undefined {
  return 'toolCallId' in command ? command.toolCallId : undefined
}
