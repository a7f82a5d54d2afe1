import { startTimer, systemClock } from '../../core/base/clock.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { nextTurn } from '../fakes/virtual-clock.ts'
import { unwatched } from './watch.ts'

/** A broken promise: what a case expected, what it received, and the sentence of the contract. */
export interface Finding {
  /** What is wrong, in one line: "2 requests were sent for one call". Without it the message begins with what was expected. */
  readonly problem?: string | undefined
  /** Completes "expected …". */
  readonly expected: string
  readonly received: unknown
  /** The promise that is broken. */
  readonly contract: ContractName
  /** The usual reason. */
  readonly hint?: string | undefined
  /** Holds for every stream, whichever case reads it. */
  readonly everywhere?: boolean | undefined
}

/** An implementation broke its contract. The message says what was expected and received, and which promise was broken. */
export class ConformanceFailure extends Error {
  override readonly name = 'ConformanceFailure'
  readonly expected: string
  readonly received: unknown
  /** The promise that is broken, in words. */
  readonly contract: string
  /** The promise holds for every stream, so other cases fail by the same defect. */
  readonly everywhere: boolean

  constructor(finding: Finding) {
    super(message(finding))
    this.everywhere = finding.everywhere === true
    this.expected = finding.expected
    this.received = finding.received
    this.contract = contract[finding.contract]
  }
}

/** Fails the case unless the condition holds. */
export function demand(holds: boolean, finding: Finding): asserts holds {
  if (!holds) throw new ConformanceFailure(finding)
}

function message({ problem, expected, received, contract: promise, hint }: Finding): string {
  const lines = [
    ...(problem === undefined ? [] : [problem]),
    `expected ${expected}`,
    `received: ${show(received)}`,
    `contract: ${contract[promise]}`,
  ]
  if (hint !== undefined) lines.push(`hint: ${hint}`)
  return lines.join('\n  ')
}

/** The longest text that a message quotes. */
const longest = 400

/** A value as one short line of a message. Never throws. */
export function show(value: unknown): string {
  const text = textOf(value)
  return text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text
}

function textOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return value === '' ? 'an empty text' : value
  if (isAllmError(value)) return `${value.name} ${value.reason}: ${value.message}`
  if (value instanceof Error) return `${value.name}: ${value.message}`
  if (typeof value === 'function') return `a function ${value.name}`
  try {
    // JSON.stringify returns undefined for a symbol.
    return JSON.stringify(value) ?? Object.prototype.toString.call(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/**
 * How long a case waits in real time, unless the harness sets `patienceMs`. It detects what hangs and measures nothing,
 * so it is long enough for the busiest machine.
 */
export const defaultPatienceMs = 30_000

/** The least number of event-loop turns of a wait. The wall clock alone is not enough, because it also runs while the process is suspended. */
const leastTurns = 1000

/** What a case waits for, and for how long. */
export interface Wait {
  readonly ms: number
  readonly problem?: string
  readonly everywhere?: boolean
  /** Completes "expected …". */
  readonly expected: string
  readonly contract: ContractName
  readonly hint?: string
}

/** The promise, or a failure when it takes too long, so that a case that hangs says what it waited for. */
export async function within<T>(promise: PromiseLike<T>, wait: Wait): Promise<T> {
  let cancel: (() => void) | undefined
  const tooLong = new Promise<never>((_, reject) => {
    const giveUp = async (): Promise<void> => {
      await turns(leastTurns)
      reject(timeUp(wait, undefined))
    }
    cancel = unwatched(() => startTimer(systemClock, wait.ms, () => void giveUp()))
  })
  try {
    return await Promise.race([promise, tooLong])
  } finally {
    cancel?.()
  }
}

/** Reads a value after each turn of the event loop until it is as wanted. Fails when that takes too long. */
export async function until<T>(
  look: () => T,
  wanted: (value: T) => boolean,
  wait: Wait,
): Promise<void> {
  const deadline = systemClock.now() + wait.ms
  for (let turn = 0; ; turn++) {
    const value = look()
    if (wanted(value)) return
    if (turn >= leastTurns && systemClock.now() > deadline) throw timeUp(wait, value)
    await nextTurn()
  }
}

/** Waits for some turns of the event loop, so that everything that is ready runs. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

function timeUp({ ms, ...wait }: Wait, received: unknown): ConformanceFailure {
  return new ConformanceFailure({
    ...wait,
    expected: `${wait.expected} within ${ms} ms`,
    received: received === undefined ? `nothing within ${ms} ms` : received,
  })
}

/** The promises of the contracts, as failures quote them. */
export const contract = {
  lazy: '`stream` sends nothing; the first `next()` does.',
  batches:
    'Each item of a stream is a list of at least one event: the events of one read. The simplest adapter yields `[event]`.',
  started:
    '`message_started` comes first. It has the `requestId` of the options (or a new one) and the `provider` of the adapter.',
  oneEnd:
    '`message_completed` or `error` comes last, exactly one of them. Nothing follows it, and the iteration ends.',
  events:
    'An adapter emits only events of `ModelEvent`, and `raw_chunk` only with `includeRawChunks`.',
  plainData:
    'Events and responses are plain data: they survive JSON unchanged, without class instances, dates and `undefined` members.',
  text: '`text_delta` events add up to the text; `text_completed` holds all of its block; `message_completed` has the same text.',
  finish:
    '`finishReason` is stop, length, tool_calls, content_filter, error or other; any other reason of the provider is other.',
  preflight:
    'A failure before the first event makes the first `next()` reject with an `AdapterError`; nothing is yielded.',
  midStream:
    "A failure after the first event is the last event, `{type: 'error', error}`: an `AdapterError` if the provider reported it, a `StreamError` if the transport broke. Iteration then ends normally.",
  truncated:
    "A body that ends without the provider's own end marker is `StreamError` truncated, never a success.",
  malformed: 'An event that cannot be read ends the stream as `StreamError` malformed_event.',
  errorFacts:
    'An error has the `reason`, the `provider`, the `requestId` of the run, the HTTP `status`, and `retryAfterMs` when the provider reports it.',
  limit: 'An answer of more than `maxResponseBytes` ends with `StreamError` too_large.',
  hopes:
    '`retryable` follows from the reason, unless the provider says otherwise; `retryAfterMs` is there only if the provider asked for a wait. The engine retries by them.',
  words: 'The message of an error is what the provider said, in its own words.',
  resourceSafe:
    '`return()` and `options.signal` close the connection; the other side sees it within 500 ms.',
  cancelled:
    '`options.signal` stops a call: before the first event it rejects, later the last event is an error; the reason is cancelled.',
  timeouts:
    '`requestTimeoutMs` limits the wait for the first content, `streamTimeoutMs` every silence after it (whatever arrives ends one), both by `options.clock`; beyond them it is an `AdapterError` timeout. No timer keeps running.',
  firstContent:
    'The first event comes with the first content (text, reasoning, a call, an image or the end); `message_started` travels with it.',
  activity:
    '`options.onActivity` is called for everything that the provider sends, also for what makes no event.',
  noRetries: 'An adapter never retries: the engine has the only retry loop.',
  tools:
    '`tool_call_completed` has the id, the name and the decoded arguments of a call. Every call of an answer has an id of its own. Calls keep the order in which they first appeared, in the message too.',
  rawArguments:
    '`rawArguments` is the text that the model wrote. If it is not a JSON object of finite numbers and at most 500 levels, `arguments` is `{}`.',
  pieces:
    '`tool_call_delta` events of a call add up to its `rawArguments`; `tool_call_started` comes before them, `tool_call_completed` after.',
  reasoning:
    '`reasoning_delta` events add up to `reasoning_completed`. In the message it is a part of type reasoning with the provider’s name, never text.',
  echo: 'Data that a provider needs back is in `opaque`, and is sent back to that provider with the message. No other provider gets it or the reasoning.',
  usage:
    '`inputTokens` includes cached reads and writes, `outputTokens` includes reasoning; a count that was not reported is absent.',
  conversation: 'Every message of the request, its model and its tools are sent.',
  sentOnce: 'One call sends one request, and everything in it once.',
  messages:
    'Messages are sent in their order, with the role of their author, part by part, as they were written.',
  blank:
    'An answer without content and calls, such as one that was filtered, is left out: providers refuse it.',
  toolsSent: 'A tool is sent with its name, its whole description and its whole schema.',
  callsSent:
    'A call goes back to the model with its id, its name and its arguments; a result with the id of its call.',
  settings:
    'A setting of the request is sent as it is given, or it is named in `warnings`, or the call is refused. A setting that the request does not have is not sent.',
  private:
    '`metadata`, `sources`, `agent` and `finishReason` of messages and the options of other providers are never sent. A call sends nothing of another call.',
  ownOptions:
    'The `providerOptions` of the provider are sent, wherever they are: of the request, a message, a part or a tool. Those of other providers never are.',
  mediaSent: 'Images and files of a message are sent whole, in their place among its parts.',
  callHeaders: 'The headers of a call are sent, over those of the adapter.',
  callKey: 'The key of a call is used before the key of the adapter.',
  redirects: 'A redirect is not followed: the key must not reach another host. It is a refusal.',
  live: 'Events are emitted as their content arrives, not when the answer has ended.',
  foldsToMessage: '`message_completed.message` is what the events before it add up to.',
  quiet: 'An adapter writes nothing to the console.',
  noLeftovers: 'When a stream is over, no timer, no connection and no listener of it is left.',
  rawFinish: '`rawFinishReason` is the word of the provider, unchanged.',
  endMarker:
    'The answer is over when the provider says so, also when the connection stays open after it.',
  isolated: 'An adapter keeps nothing of a call: calls do not mix, and the request is not changed.',
  options: 'Everything in `AdapterOptions` is optional.',
  keys: 'A key is never in an event, an error or a recorded request. A key that a provider echoes is removed.',
  rejections: 'A stream that is not read, or is left early, causes no unhandled rejection.',
  generate:
    'The result of `generate` equals the fold of `stream`, and it rejects where the stream would throw or end in `error`.',
  images: 'An image that a model makes is an `image_completed` event, with its bytes as base64.',
  harness:
    'A harness declares existing capabilities, provides what it declares (`requests()`, `openConnections()`, …), and plays the given script.',
  imageOperations:
    '`supportedOperations()` lists the operations of the adapter; any other operation is refused with unsupported_operation and `metadata.operation` before anything is sent.',
  imageResponse:
    'An image response has the images, the `requestId`, the `provider`, the metadata of the request, and in `usage.images` their number.',
  imageFailure: 'Every failure of an image call rejects with an `ImageAdapterError`.',
  moderationResponse:
    'A moderation response has a result for each text, in their order, or one for all parts together; `flagged` is true if any of them is. It has the `requestId`, the `provider` and the metadata of the request.',
  moderationVerdict:
    'A verdict that the provider did not give is `malformed_response`, never "not flagged".',
  moderationLimit:
    'A request of more texts than `maxTexts`, or more images than `maxImages`, fails with invalid_request before anything is sent.',
  modelFailure: 'Every failure of a call rejects with an `AdapterError`.',
  embeddingResponse:
    'An embedding response has a vector for each text, in their order, all of one length and of finite numbers, and the `requestId`, the `provider`, the usage, the warnings and the metadata of the request. Anything else that the provider sends is malformed_response.',
  embeddingLimits:
    '`limits` are positive integers. A request without a text, or with more than `limits.maxTexts`, is refused with invalid_request before anything is sent.',
  rerankResponse:
    'A rerank response has a result for each document, or for the best `topN`, sorted by score, the best first, and the `requestId`, the `provider`, the usage, the warnings and the metadata of the request. Anything else that the provider sends is malformed_response.',
  speechResponse:
    '`speech_started` has the type of the audio, the `requestId`, the `provider` and the metadata of the request; all bytes together are the file that was made.',
  speechEvents:
    '`speech_started` comes first, then `audio_delta` events with at least one byte each, then `speech_completed`, exactly one.',
  speechWhole: 'An answer that breaks off throws; it never ends with `speech_completed`.',
  speechFailure: 'Every failure of a speech call throws from `next()`, as an `AdapterError`.',
  transcriptionResponse:
    'A transcription response has the text as the provider wrote it, the `requestId`, the `provider` and the metadata of the request, and the language and the duration if they are told.',
  transcriptionTimes: 'Times are in seconds, each with the text that the provider wrote.',
  transcriptionLimit:
    'A file that is larger than `maxBytes` fails with invalid_request, and the limit in the message, before any I/O.',
  executor:
    'An executor runs the handler of a tool once, with the given arguments and options, and passes on the result of the handler: its value, its outcome, or its error.',
  encoder:
    'An encoder returns a string for every JSON value: equal strings for equal values, different strings for different values. It does not change the value.',
  storeLoad:
    '`load` returns the session that was saved last, deep-equal, or `undefined`. A stored session cannot be changed from outside. An unreadable session is `SessionError` unreadable.',
  storeVersion:
    '`save` returns the new version. With `ifVersion`, a save over another version is refused with `SessionError` stale and changes nothing.',
  storeAtomic: 'An interrupted save leaves the old session or the new one, never a mixture.',
  storeTime: '`load` and `list` tell when a session was saved, in milliseconds since 1970.',
  storeDelete:
    '`delete` removes a session, also an unreadable one. Deleting a session that does not exist succeeds, and one that is saved again starts at version 1.',
  storeList:
    '`list` returns one row `{id, status, version, updatedAt}` for each session, ordered by id. `prefix`, `status`, `limit` and `after` select from them.',
  storeUnavailable:
    'A failure of the storage is `SessionError` unavailable, with the error of the storage as `cause`.',
  storeIds:
    'An id has 1 to 512 characters, no NUL and no half of a surrogate pair; any other is refused with a `ValidationError`.',
  storeText: 'Every text survives as it is: 64 KB, quotes, emoji, NUL, halves of surrogate pairs.',
  runTime: 'Time is that of the store, never that of the process that asks.',
  runLease:
    'A session has one owner at a time. Each lease has a token larger than every earlier one of that id, also after a delete. A lease that expired and that nobody took can still be used.',
  runFence:
    'What is refused changes nothing: a write whose token is not the newest fails with `SessionError` lease_lost (`renew` and `release` give `false`), a stale or busy one likewise.',
  runSave:
    '`save` stores the session, its version, its events, what it took from the inbox and its first snapshot in one atomic step.',
  runLog:
    'The log has the events of a session, numbered 1, 2, 3 … without gaps, and the commands that were taken, numbered by themselves, each after the events that were there when it was applied. `append` with `after` refuses with `SessionError` stale when the log does not end there.',
  runSnapshot:
    '`readSnapshot` returns the newest session that was saved with `first` and has no event later than `at` folded in.',
  runInbox:
    'The inbox has the commands that were given and are not applied yet, in order. `save` with `taken` removes the first ones and moves them to the log.',
  runKey:
    '`push` returns `false`, and changes nothing, if the same command came before with the same key. Another command with that key is refused with `SessionError` key_reused; `context`, `metadata` and `at` of a command make no other one.',
  runIfIdle: 'With `ifIdle` a running session refuses a command with `SessionError` busy.',
  runSlot:
    'Of several commands with one slot `push` stores the first; the others change nothing and get `{taken: false, command, at}` of it, unless a repeated key (`false`) or a busy session comes before. A slot is free again in the save that logs its command as refused, and otherwise kept as long as the session.',
  runPending:
    '`pending` returns the calls of `Session.pending` of all saved sessions, with `sessionId`, `metadata` and `since`: the time of the save that has the call first. The oldest `since` comes first, then session ids and tickets decide. `save` replaces the rows of its session in its own atomic step; `next` of a page is `after` of the next one.',
  runDue:
    'A session is due when there is something to do and nobody does it: a command, a wake-up whose time has come, or a lease that expired. `release` looks at the inbox in the same write.',
  runSleep:
    '`release` with `wakeInMs` makes a session due after that time. Commands and stops wake it earlier; an owner that comes earlier is told what is left.',
  runClaim:
    '`claim` takes the lease of the session that is due for the longest time, or returns `undefined`. Two callers never get the same.',
  runStop:
    '`requestStop` asks the owner of a running session to stop, until the lease is given back. A session that sleeps is due at once. Nothing happens at rest.',
  runLook:
    '`look` and `list` tell whether a session runs (a command, a wake-up or a lease), who owns it, and how far its log is.',
  runDelete: '`delete` removes a session with all that belongs to it, except that tokens go on.',
  runPrune:
    '`prune` removes keys and whole runs that are older than `keepMs`, never an event that is not folded into the stored session, and returns how many sessions had something to remove.',
  runWatch:
    '`watch` calls the listener soon after a change, until it is ended. With `notifies` it hears of other processes too.',
  runShared: 'All handles on one storage see the same.',
} as const

/** One of the promises. */
export type ContractName = keyof typeof contract
