import { heartbeat, systemClock, type Clock } from '../core/clock.ts'
import { errorToJSON } from '../errors/error-json.ts'
import { eventHeaders, webStream } from '../run/run-stream.ts'
import {
  anyFunction,
  assertValid,
  fine,
  must,
  optionsOf,
  refusal,
  timeoutMs,
  type Check,
} from '../schema/checks.ts'
import type { LogEntry } from '../stores/run-store.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined, isObject } from '../types/guards.ts'
import type { Session } from '../types/session.ts'
import { toolParts } from './from-ui-messages.ts'
import {
  chunkFold,
  pageChecks,
  pageSettings,
  type ChunkSettings,
  type PageOptions,
} from './to-chunks.ts'
import {
  answerEvents,
  answerId,
  callsOf,
  turnsOf,
  type KnownTurn,
  type Turn,
} from './to-ui-messages.ts'
import type { AiSdkVersion, UiMessageChunk, UiMessageInput } from './ui-types.ts'

/** The events of a run: a stream of the library, or the entries of `runs.follow`. */
export type RunEvents = AsyncIterable<StreamEvent | LogEntry>

/** The options of `toUiMessageStream`. */
export interface UiStreamOptions<
  Version extends AiSdkVersion = AiSdkVersion,
> extends PageOptions<Version> {
  /**
   * The messages that the page sent. If the last one is the assistant's, the stream goes on with it: after an approval, or with a result that the
   * page gave.
   */
  readonly originalMessages?: readonly UiMessageInput[] | undefined
  /**
   * The session that the events follow. The answer that it has so far is sent first, for a page that comes back; `events` go on from there,
   * such as `runs.follow(id, { after: lastEventId })`. Not with a message that goes on: `sendUiMessages` sends what such a message lacks.
   */
  readonly session?: Session | undefined
  /** The id of the message, or a function that is called when the first event has come. By default it is that of `toUiMessages`, if the session is known. */
  readonly messageId?: string | (() => MaybeId | Promise<MaybeId>) | undefined
  /** Metadata of the message, asked for after every event. By default the last event gives `{ haltedReason, usage }`. */
  readonly messageMetadata?: ((event: StreamEvent) => unknown) | undefined
  /** Told about every failure, and must not throw. The page gets the text that it returns, or else the reason of the failure (with `errors` its message). */
  readonly onError?: ((error: unknown) => unknown) | undefined
}

type MaybeId = string | undefined

/** The options of a response. */
export interface SseOptions extends ResponseInit {
  /** How often something is sent on a quiet stream, so that proxies keep it open (15 000). */
  readonly heartbeatMs?: number | undefined
  /** The source of time for `heartbeatMs`. */
  readonly clock?: Clock | undefined
}

/** The options of `toUiMessageResponse`. */
export interface UiResponseOptions extends UiStreamOptions, SseOptions {}

/** The checks of a stream's options. */
function streamChecks(): Readonly<Record<keyof UiStreamOptions, Check>> {
  return {
    ...pageChecks(),
    originalMessages: must('a list of UI messages', Array.isArray),
    session: must('a session', isObject),
    messageId: must('a string or a function', (value) => /string|function/.test(typeof value)),
    messageMetadata: anyFunction,
    onError: anyFunction,
  }
}

/** The checks of a response's options. The values of the platform are left to the platform. */
export function sseChecks(): Readonly<Record<keyof SseOptions, Check>> {
  return {
    status: () => fine,
    statusText: () => fine,
    headers: () => fine,
    heartbeatMs: timeoutMs,
    clock: must('a clock', isObject),
  }
}

/**
 * A run as a UI message stream, which `useChat` of the AI SDK reads: texts, reasoning, calls with their arguments and results, approvals,
 * questions, sources and files, the end or the failure. The events come from a stream of the library or from `runs.follow`.
 *
 * `include` says what is shown beside texts, questions, approvals and the names and outcomes of tools: `reasoning`, `tool_arguments`,
 * `tool_results` and `usage` unless it is given. Lazy. Cancelling it cancels a run of this process; a run that is followed goes on.
 */
export function toUiMessageStream<Version extends AiSdkVersion = 6>(
  events: RunEvents,
  options: UiStreamOptions<Version> = {},
): ReadableStream<UiMessageChunk<Version>> {
  assertValid('invalid_options', optionsOf(streamChecks())(options))
  const chunks = uiChunks(events, options, beginningOf(events, options))
  // The fold makes the chunks of this version.
  return webStream(chunks, asTheyAre) as ReadableStream<UiMessageChunk<Version>>
}

/** `toUiMessageStream` as a response of server-sent events, which `DefaultChatTransport` reads. A failure is told in it, with status 200. */
export function toUiMessageResponse(events: RunEvents, options: UiResponseOptions = {}): Response {
  return uiResponse(events, options)
}

/** `toUiMessageResponse`, also for a page that has a part of the session's answer in the message that goes on. */
export function uiResponse(
  events: RunEvents,
  options: UiResponseOptions,
  has?: KnownTurn,
): Response {
  assertValid('invalid_options', optionsOf({ ...streamChecks(), ...sseChecks() })(options))
  const headers = new Headers(options.headers)
  headers.set('x-vercel-ai-ui-message-stream', 'v1')
  const chunks = uiChunks(events, options, beginningOf(events, options, has))
  return sseResponse(chunks, asTheyAre, { ...options, headers }, 'data: [DONE]\n\n')
}

const asTheyAre = (chunks: readonly UiMessageChunk[]): readonly UiMessageChunk[] => chunks

/** What is known before the events. */
export interface Beginning extends Pick<ChunkSettings, 'known' | 'earlier'> {
  /** Gives the id of the message. */
  id?(): MaybeId | Promise<MaybeId>
  /** What a page that comes back has missed. It is sent without waiting for an event. */
  readonly missed?: Iterable<StreamEvent> | undefined
}

/** What the page and the session say. */
function beginningOf(
  events: RunEvents,
  { originalMessages, session, messageId }: UiStreamOptions,
  has?: KnownTurn,
): Beginning {
  const last = originalMessages?.at(-1)
  const known = last?.role === 'assistant' ? last : undefined
  if (known && session && !has) {
    const problem = 'cannot be sent again into the last of originalMessages; use sendUiMessages'
    throw refusal('invalid_options', 'session', problem)
  }
  const current = session ?? sessionOf(events)
  const turn = has?.turn ?? (current && turnsOf(current).at(-1))
  return {
    known:
      known &&
      toolParts(known).map(({ id, name, part: { type, approval } }) => ({
        id,
        name,
        dynamic: type === 'dynamic-tool',
        approval: isObject(approval),
      })),
    earlier: current && callsOf(current),
    missed: session && missedOf(session, turn, has?.count),
    async id() {
      const { given = known?.id ?? (turn && answerId(turn)) } = { given: messageId }
      const id = typeof given === 'function' ? await given() : given
      // A page that has this message, and begins another one, would replace it.
      const isTaken = known === undefined && originalMessages?.some((message) => message.id === id)
      return isTaken ? undefined : id
    },
  }
}

/** The session that a stream of the library has, the user's words included. */
export function sessionOf(events: RunEvents): Session | undefined {
  return (events as { session?: Session }).session
}

function* missedOf(session: Session, turn?: Turn, count?: number): Generator<StreamEvent, void> {
  if (turn !== undefined) yield* answerEvents(session, turn, count)
  const { error } = session
  if (error !== undefined) yield { type: 'error', error }
}

/** The chunks of events, at least one at a time. It does not reject. */
export function uiChunks(
  events: RunEvents,
  options: Pick<UiStreamOptions, keyof PageOptions | 'messageMetadata' | 'onError'>,
  { id, missed, ...page }: Beginning,
): AsyncIterator<readonly UiMessageChunk[], void> {
  const { messageMetadata, onError } = options
  const settings = pageSettings(options)
  let thrown: unknown
  const fold = chunkFold({
    ...settings,
    ...page,
    errorText: (error) => {
      const told = onError?.(thrown ?? error)
      return typeof told === 'string' ? told : settings.errorText(error)
    },
    metadata: (event) => {
      // What has thrown once is not asked about its own failure.
      if (thrown !== undefined) return undefined
      return messageMetadata === undefined
        ? endMetadata(event, settings.shows('usage'))
        : messageMetadata(event)
    },
  })
  const iterator = events[Symbol.asyncIterator]()
  let chunks: UiMessageChunk[] = []
  let isStarted = false
  /** The beginning of the message, and what a page that comes back has missed. */
  const start = async (): Promise<void> => {
    if (isStarted) return
    isStarted = true
    chunks.push(defined<UiMessageChunk>({ type: 'start', messageId: await id?.() }))
    for (const event of missed ?? []) chunks.push(...fold.add(event))
  }
  const read = async (): Promise<void> => {
    if (missed !== undefined) await start()
    while (chunks.length === 0) {
      const step = await iterator.next()
      const item = step.done === true ? undefined : step.value
      if (item !== undefined && 'command' in item) continue
      await start()
      chunks.push(
        ...(item === undefined ? fold.end() : fold.add('event' in item ? item.event : item)),
      )
    }
  }
  const leave = async (): Promise<IteratorResult<never, void>> => {
    await iterator.return?.()
    return { done: true, value: undefined }
  }
  return {
    async next() {
      if (fold.isOver) return { done: true, value: undefined }
      chunks = []
      try {
        await read()
      } catch (error) {
        thrown = error
        if (!isStarted) chunks.push({ type: 'start' })
        chunks.push(...fold.add({ type: 'error', error: errorToJSON(error) }))
      }
      // Nothing more belongs to this message.
      if (fold.isOver) leave().catch(() => undefined)
      return { done: false, value: chunks }
    },
    return: leave,
  }
}

/** What the end of a run tells about the message. */
function endMetadata(event: StreamEvent, hasUsage: boolean): unknown {
  if (event.type !== 'chat_completed') return undefined
  const { haltedReason, usage } = event.result
  return hasUsage ? { haltedReason, usage } : { haltedReason }
}

/** What `show` makes of items as a response of server-sent events, with `ending` at its end. */
export function sseResponse<Item>(
  items: AsyncIterator<Item, void>,
  show: (item: Item) => readonly object[],
  { heartbeatMs = 15_000, clock = systemClock, status, statusText, headers: given }: SseOptions,
  ending = '',
): Response {
  const encoder = new TextEncoder()
  const beats = heartbeat(clock, heartbeatMs)
  let rest = ending
  let pending: ReturnType<typeof items.next> | undefined
  const texts: AsyncIterator<string, void> = {
    async next() {
      pending ??= items.next()
      if (await beats.before(pending)) return { done: false, value: ':\n\n' }
      const step = await pending
      pending = undefined
      if (step.done !== true) {
        const data = show(step.value).map((piece) => `data: ${JSON.stringify(piece)}\n\n`)
        return { done: false, value: data.join('') }
      }
      if (rest === '') return step
      rest = ''
      return { done: false, value: ending }
    },
    async return() {
      beats.end()
      await items.return?.()
      return { done: true, value: undefined }
    },
  }
  const body = webStream(texts, (text) => (text === '' ? [] : [encoder.encode(text)]))
  const headers = eventHeaders(given)
  return new Response(body, defined<ResponseInit>({ status, statusText, headers }))
}
