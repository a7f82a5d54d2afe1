import { paced, type Clock } from '../../core/base/clock.ts'
import {
  anyClock,
  anyFunction,
  assertValid,
  must,
  optionsOf,
  refusal,
  timeoutMs,
  type Check,
} from '../../core/schema/checks.ts'
import type { StreamEvent } from '../../core/types/events.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { Session } from '../../core/types/session.ts'
import type { LogEntry } from '../../durable/stores/run-store.ts'
import { over, responseChecks, sseResponse, webStream } from '../../engine/model-call/run-stream.ts'
import { isSettled, lastStep, toolParts } from './from-ui-messages.ts'
import {
  chunkFold,
  endMetadata,
  pageChecks,
  restStep,
  type ChunkOptions,
  type PageCall,
  type PageOptions,
  type Write,
} from './to-chunks.ts'
import { turnsOf, type UiPast } from './to-ui-messages.ts'
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
   * What `uiPast(session)` returned, for a page that comes back: the answer that the session has so far is sent first, and `events` go on from
   * there, such as `runs.follow(id, { after: lastEventId })`. Not with a message that goes on: `sendUiMessages` sends what such a message lacks.
   */
  readonly past?: UiPast | undefined
  /** The id of the message, or a function that is called when the first event has come. By default it is that of `toUiMessages`, if the session is known. */
  readonly messageId?: string | (() => MaybeId | Promise<MaybeId>) | undefined
  /** Metadata of the message, asked for after every event. By default `{ agent }` when an engine with a name answers, and at the end `{ haltedReason, usage, finishReason }`, the last only if the answer did not end by itself. */
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

/** The checks of what all streams for `useChat` take. */
function streamChecks(): Checks<Omit<UiStreamOptions, keyof BeginningOptions>> {
  return {
    ...pageChecks(),
    messageId: must('a string or a function', (value) => /string|function/.test(typeof value)),
    messageMetadata: anyFunction,
    onError: anyFunction,
  }
}

function beginningChecks(): Checks<BeginningOptions> {
  return {
    originalMessages: must('a list', Array.isArray),
    past: must('what uiPast(session) gave', (value) => isObject(value) && 'missed' in value),
  }
}

type BeginningOptions = Pick<UiStreamOptions, 'originalMessages' | 'past'>

/** A check for each option. */
export type Checks<Options> = Readonly<Record<keyof Options, Check>>

/** The checks of a response's options. */
export function sseChecks(): Checks<SseOptions> {
  return { ...responseChecks, heartbeatMs: timeoutMs, clock: anyClock }
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
  assertValid('invalid_options', optionsOf({ ...streamChecks(), ...beginningChecks() })(options))
  const chunks = pageChunks(options, beginningOf(events, options))
  // The fold makes the chunks of this version.
  return webStream(chunks, asTheyAre) as ReadableStream<UiMessageChunk<Version>>
}

/** `toUiMessageStream` as a response of server-sent events, which `DefaultChatTransport` reads. A failure is told in it, with status 200. */
export function toUiMessageResponse(events: RunEvents, options: UiResponseOptions = {}): Response {
  assertPageOptions(options, beginningChecks())
  return uiResponse(options, beginningOf(events, options))
}

/** Refuses unknown options of a response, and values of the wrong kind. */
export function assertPageOptions(
  options: UiResponseOptions,
  more?: Checks<BeginningOptions>,
): void {
  assertValid('invalid_options', optionsOf({ ...streamChecks(), ...sseChecks(), ...more })(options))
}

/** A response that begins in its own way. */
export function uiResponse(options: UiResponseOptions, beginning: Beginning): Response {
  const chunks = pageChunks(options, beginning)
  const response = pacedResponse(chunks, options, 'data: [DONE]\n\n')
  response.headers.set('x-vercel-ai-ui-message-stream', 'v1')
  return response
}

const asTheyAre = <Item>(items: readonly Item[]): readonly Item[] => items

/** The events, and what is known before them. */
export interface Beginning extends Pick<
  ChunkOptions,
  'known' | 'elsewhere' | 'hasReason' | 'session' | 'pending'
> {
  readonly events: RunEvents
  /** The id of the message, or what gives it. */
  readonly id?: UiStreamOptions['messageId']
  /** What a page that comes back has missed. It is sent without waiting for an event. */
  readonly missed?: readonly StreamEvent[] | undefined
  /** Whether an entry of a log is told. */
  readonly keeps?: ((entry: StreamEvent | LogEntry) => boolean) | undefined
  /** Ends the source at once when its reader leaves. */
  readonly stop?: AbortController | undefined
}

/** What the options say. */
function beginningOf(
  events: RunEvents,
  { originalMessages: others = [], past, messageId }: UiStreamOptions,
): Beginning {
  const last = others.at(-1)
  const known = last?.role === 'assistant' ? last : undefined
  if (known && past) {
    const problem = 'needs sendUiMessages to go on'
    throw refusal('invalid_options', 'past', problem)
  }
  const session = sessionOf(events)
  const present = past ?? (session && { id: turnsOf(session).at(-1)?.answerId, session })
  const given = messageId ?? known?.id ?? present?.id
  const id = known ? given : freeId(given, others)
  return { events, ...present, ...callsIn(others, known), id }
}

/** Gives an id, unless another message has it: a page that has this message, and begins another one, would replace it. */
export function freeId(
  id: Beginning['id'],
  others: readonly UiMessageInput[],
): () => Promise<MaybeId> {
  return async () => {
    const given = typeof id === 'function' ? await id() : id
    return others.some((message) => message.id === given) ? undefined : given
  }
}

/** What a page has: the calls of the message that goes on, and of others, and whether that message says why an answer ended. */
export function callsIn(
  messages: readonly UiMessageInput[],
  goesOn: UiMessageInput | undefined,
): Pick<Beginning, 'known' | 'elsewhere' | 'hasReason'> {
  const known = new Map<string, PageCall>()
  const elsewhere = new Map<string, boolean>()
  for (const message of messages) {
    const last = lastStep(message)
    for (const { id, name, part } of toolParts(message)) {
      if (message !== goesOn) elsewhere.set(id, !isSettled(part))
      else {
        known.set(id, {
          name,
          dynamic: part.type === 'dynamic-tool',
          step: last.includes(part) ? 0 : undefined,
          isReady: true,
          approval: isObject(part['approval']),
          isSettled: isSettled(part),
        })
      }
    }
  }
  const metadata = goesOn?.metadata
  const hasReason = isObject(metadata) && typeof metadata['finishReason'] === 'string'
  return { known, elsewhere, hasReason }
}

/** The session that a stream of the library has, the user's words included. */
export function sessionOf(events: RunEvents): Session | undefined {
  return (events as { session?: Session }).session
}

/** The chunks of events for a page of `useChat`. */
function pageChunks(options: UiStreamOptions, beginning: Beginning): Shown<UiMessageChunk> {
  const { messageMetadata = endMetadata(options) } = options
  const tellsAnswer = options.messageMetadata === undefined
  const page = { ...options, restStep, messageMetadata, tellsAnswer }
  return shown(page, beginning, (chunk) => [chunk])
}

/** What a reader is sent, at least one thing at a time. It does not reject. */
type Shown<Item> = AsyncIterator<readonly Item[], void>

/** What `show` makes of the chunks of events. */
export function shown<Item>(
  options: ChunkOptions,
  { events, id, missed, keeps, stop, ...page }: Beginning,
  show: (chunk: UiMessageChunk) => readonly Item[],
): Shown<Item> {
  const items: Item[] = []
  const write: Write = (chunk) => void items.push(...show(chunk))
  const fold = chunkFold({ ...options, ...page }, write)
  const iterator = events[Symbol.asyncIterator]()
  let isStarted = false
  const begin = (messageId?: string): void => {
    isStarted = true
    write(defined<UiMessageChunk>({ type: 'start', messageId }))
  }
  /** The beginning of the message, and what a page that comes back has missed. */
  const start = async (): Promise<void> => {
    if (isStarted) return
    begin(typeof id === 'function' ? await id() : id)
    missed?.forEach(fold.add)
  }
  const leave = async (): Promise<IteratorResult<never, void>> => {
    stop?.abort()
    await iterator.return?.()
    return over
  }
  return {
    async next() {
      if (fold.isOver) return over
      try {
        if (missed) await start()
        while (items.length === 0) {
          const step = await iterator.next()
          if (!step.done && (keeps?.(step.value) === false || 'command' in step.value)) continue
          await start()
          if (step.done) fold.end()
          else fold.add(eventOf(step.value))
        }
      } catch (error) {
        if (!isStarted) begin()
        fold.fail(error)
      }
      // Nothing more belongs to this message.
      if (fold.isOver) leave().catch(() => undefined)
      return { done: false, value: items.splice(0) }
    },
    return: leave,
  }
}

/** The event of an entry of a log, or an event itself. Commands are none, and left out before. */
function eventOf(item: StreamEvent | LogEntry): StreamEvent {
  return 'event' in item ? item.event : (item as StreamEvent)
}

/** A response of server-sent events, with signs of life and `ending` at its end. */
export function pacedResponse(
  items: Shown<object>,
  options: SseOptions,
  ending?: string,
): Response {
  return sseResponse(paced(items, options.clock, options.heartbeatMs), sseText, options, ending)
}

function sseText(some: readonly object[] | undefined): string {
  return some?.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('') ?? ':\n\n'
}
