import { startTimer, systemClock, type CancelTimer, type Clock } from '../core/clock.ts'
import { errorToJSON } from '../errors/error-json.ts'
import { eventHeaders } from '../run/run-stream.ts'
import {
  anyFunction,
  assertValid,
  fine,
  must,
  optionsOf,
  timeoutMs,
  type Check,
} from '../schema/checks.ts'
import type { LogEntry } from '../stores/run-store.ts'
import type { StreamEvent } from '../types/events.ts'
import { defined, isObject } from '../types/guards.ts'
import type { Session } from '../types/session.ts'
import { toolParts } from './from-ui-messages.ts'
import { chunkFold, pageChecks, pageSettings, type PageOptions } from './to-chunks.ts'
import { answerEvents, answerId, callsOf, knownTurn, turnsOf } from './to-ui-messages.ts'
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
   * The session that the events follow. The answer that it has so far is sent first, for a page that comes back, without what the message that goes
   * on has of it; `events` go on from there, such as `runs.follow(id, { after: lastEventId })`.
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

const streamChecks: Readonly<Record<keyof UiStreamOptions, Check>> = {
  ...pageChecks,
  originalMessages: must('a list of UI messages', Array.isArray),
  session: must('a session', isObject),
  messageId: must('a string or a function', (value) => /string|function/.test(typeof value)),
  messageMetadata: anyFunction,
  onError: anyFunction,
}

/** The checks of a response's options. The values of the platform are left to the platform. */
export const sseChecks: Readonly<Record<keyof SseOptions, Check>> = {
  status: () => fine,
  statusText: () => fine,
  headers: () => fine,
  heartbeatMs: timeoutMs,
  clock: must('a clock', isObject),
}

const streamOptions = optionsOf(streamChecks)
const responseOptions = optionsOf({ ...streamChecks, ...sseChecks })

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
  assertValid('invalid_options', streamOptions(options))
  // The fold makes the chunks of this version.
  return pulled(uiChunks(events, options)) as ReadableStream<UiMessageChunk<Version>>
}

/** `toUiMessageStream` as a response of server-sent events, which `DefaultChatTransport` reads. A failure is told in it, with status 200. */
export function toUiMessageResponse(events: RunEvents, options: UiResponseOptions = {}): Response {
  assertValid('invalid_options', responseOptions(options))
  const headers = new Headers(options.headers)
  headers.set('x-vercel-ai-ui-message-stream', 'v1')
  return sseResponse(uiChunks(events, options), { ...options, headers }, 'data: [DONE]\n\n')
}

/** Something that comes in pieces. */
export interface Pieces<Piece> {
  /** The next pieces, at least one; `undefined` at the end. It does not reject. */
  next(): Promise<readonly Piece[] | undefined>
  /** Ends it early. */
  leave(): Promise<unknown>
}

/** The chunks of events. */
export function uiChunks(events: RunEvents, options: UiStreamOptions): Pieces<UiMessageChunk> {
  const { originalMessages, messageMetadata, onError } = options
  // The stream of a session has it, the user's words included.
  const { session = (events as { session?: Session }).session } = options
  const last = originalMessages?.at(-1)
  const known = last?.role === 'assistant' ? last : undefined
  const settings = pageSettings(options)
  const { shows } = settings
  let thrown: unknown
  const fold = chunkFold({
    ...settings,
    known:
      known &&
      toolParts(known).map(({ id, name, part: { type, approval } }) => ({
        id,
        name,
        dynamic: type === 'dynamic-tool',
        approval: isObject(approval),
      })),
    earlier: session && callsOf(session),
    errorText: (error) => {
      const told = onError?.(thrown ?? error)
      return typeof told === 'string' ? told : settings.errorText(error)
    },
    metadata: (event) => {
      // What has thrown once is not asked about its own failure.
      if (thrown !== undefined) return undefined
      return messageMetadata === undefined
        ? endMetadata(event, shows('usage'))
        : messageMetadata(event)
    },
  })
  const has = known && session && knownTurn(session, known)
  const turn = has?.turn ?? (session && turnsOf(session).at(-1))
  const iterator = events[Symbol.asyncIterator]()
  let isStarted = false
  /** The beginning of the message, and what a page that comes back has missed. */
  const start = async (): Promise<readonly UiMessageChunk[]> => {
    if (isStarted) return []
    isStarted = true
    const { messageId = known?.id ?? (turn && answerId(turn)) } = options
    const id = typeof messageId === 'function' ? await messageId() : messageId
    // A page that has this message, and begins another one, would replace it.
    const isTaken = known === undefined && originalMessages?.some((message) => message.id === id)
    const first = defined<UiMessageChunk>({ type: 'start', messageId: isTaken ? undefined : id })
    if (options.session === undefined || turn === undefined) return [first]
    const missed = [...answerEvents(options.session, turn, has?.count)]
    const { error } = options.session
    if (error !== undefined) missed.push({ type: 'error', error })
    return [first, ...missed.flatMap((event) => fold.add(event))]
  }
  const read = async (): Promise<readonly UiMessageChunk[]> => {
    const step = await iterator.next()
    const item = step.done === true ? undefined : step.value
    if (item !== undefined && 'command' in item) return []
    const chunks = item === undefined ? fold.end() : fold.add('event' in item ? item.event : item)
    return [...(await start()), ...chunks]
  }
  const leave = async (): Promise<unknown> => iterator.return?.()
  return {
    async next() {
      if (fold.isOver) return undefined
      try {
        let chunks = options.session === undefined ? [] : await start()
        while (chunks.length === 0) chunks = await read()
        return chunks
      } catch (error) {
        thrown = error
        const first: UiMessageChunk[] = isStarted ? [] : [{ type: 'start' }]
        return [...first, ...fold.add({ type: 'error', error: errorToJSON(error) })]
      } finally {
        // Nothing more belongs to this message.
        if (fold.isOver) leave().catch(() => undefined)
      }
    },
    leave,
  }
}

/** What the end of a run tells about the message. */
function endMetadata(event: StreamEvent, hasUsage: boolean): unknown {
  if (event.type !== 'chat_completed') return undefined
  const { haltedReason, usage } = event.result
  return hasUsage ? { haltedReason, usage } : { haltedReason }
}

/** Pieces as a Web stream. Nothing is read ahead. */
export function pulled<Piece>(pieces: Pieces<Piece>): ReadableStream<Piece> {
  return new ReadableStream<Piece>(
    {
      async pull(controller) {
        const next = await pieces.next()
        if (next === undefined) return controller.close()
        for (const piece of next) controller.enqueue(piece)
      },
      async cancel() {
        await pieces.leave()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Pieces as a response of server-sent events, with `ending` at its end. */
export function sseResponse(pieces: Pieces<object>, options: SseOptions, ending = ''): Response {
  const { heartbeatMs = 15_000, clock = systemClock, status, statusText } = options
  const encoder = new TextEncoder()
  let pending: ReturnType<typeof pieces.next> | undefined
  let stopTimer: CancelTimer | undefined
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const send = (text: string): void => controller.enqueue(encoder.encode(text))
        pending ??= pieces.next()
        const silence = new Promise<'silence'>((resolve) => {
          stopTimer = startTimer(clock, heartbeatMs, () => resolve('silence'))
        })
        const next = await Promise.race([pending, silence])
        stopTimer?.()
        if (next === 'silence') return send(':\n\n')
        pending = undefined
        const text = next?.map((piece) => `data: ${JSON.stringify(piece)}\n\n`).join('') ?? ending
        if (text !== '') send(text)
        if (next === undefined) controller.close()
      },
      async cancel() {
        stopTimer?.()
        await pieces.leave()
      },
    },
    { highWaterMark: 0 },
  )
  const headers = eventHeaders(options.headers)
  return new Response(body, defined<ResponseInit>({ status, statusText, headers }))
}
