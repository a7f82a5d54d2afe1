import { startTimer, systemClock } from '../core/clock.ts'
import { isAllmError } from '../errors/errors.ts'
import { nextTurn } from '../testing/virtual-clock.ts'

/** What a case found: what it expected, what it got, and the sentence of the contract that it goes by. */
export interface Finding {
  /** Completes "expected …". */
  readonly expected: string
  readonly received: unknown
  /** The promise that is broken. */
  readonly contract: ContractName
  /** What usually is the reason. */
  readonly hint?: string | undefined
}

/** An implementation broke its contract. The message has all that is needed to find out where. */
export class ConformanceFailure extends Error {
  override readonly name = 'ConformanceFailure'
  readonly expected: string
  readonly received: unknown
  /** The promise that is broken, in words. */
  readonly contract: string

  constructor(finding: Finding) {
    super(message(finding))
    this.expected = finding.expected
    this.received = finding.received
    this.contract = contract[finding.contract]
  }
}

/** Fails the case unless the condition holds. */
export function demand(holds: boolean, finding: Finding): asserts holds {
  if (!holds) throw new ConformanceFailure(finding)
}

function message({ expected, received, contract: promise, hint }: Finding): string {
  const lines = [
    `expected ${expected}`,
    `received: ${show(received)}`,
    `contract: ${contract[promise]}`,
  ]
  if (hint !== undefined) lines.push(`hint: ${hint}`)
  return lines.join('\n  ')
}

/** The longest text that a message quotes. */
const longest = 400

/** A value in a line of a message. Never throws, never long. */
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
    // JSON has nothing for a symbol.
    return JSON.stringify(value) ?? Object.prototype.toString.call(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}

/** What is waited for, and for how long. */
export interface Wait {
  readonly ms: number
  /** Completes "expected …". */
  readonly expected: string
  readonly contract: ContractName
}

/** The promise, or a failure when it takes too long. So a case that hangs says what it waited for. */
export async function within<T>(promise: PromiseLike<T>, wait: Wait): Promise<T> {
  let cancel: (() => void) | undefined
  const tooLong = new Promise<never>((_, reject) => {
    cancel = startTimer(systemClock, wait.ms, () => reject(timeUp(wait, undefined)))
  })
  try {
    return await Promise.race([promise, tooLong])
  } finally {
    cancel?.()
  }
}

/** Looks at a value until it is as wanted, or fails when that takes too long. */
export async function until<T>(
  look: () => T,
  wanted: (value: T) => boolean,
  wait: Wait,
): Promise<void> {
  const deadline = systemClock.now() + wait.ms
  for (;;) {
    const value = look()
    if (wanted(value)) return
    if (systemClock.now() > deadline) throw timeUp(wait, value)
    await nextTurn()
  }
}

/** Lets everything that is ready run, several times over. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

function timeUp({ ms, expected, contract }: Wait, received: unknown): ConformanceFailure {
  const what = received === undefined ? `nothing within ${ms} ms` : received
  return new ConformanceFailure({
    expected: `${expected} within ${ms} ms`,
    received: what,
    contract,
  })
}

/** The promises that the cases go by, as failures quote them. */
export const contract = {
  lazy: '`stream` sends nothing; the first `next()` does.',
  batches:
    'Each item of a stream is a list: all that one read gave, at least one event. The simplest adapter yields `[event]`.',
  started:
    '`message_started` comes first. It has the `requestId` of the options (or a new one) and the `provider` of the adapter.',
  oneEnd:
    '`message_completed` or `error` comes last, exactly one of them. Nothing follows it, and the iteration ends.',
  events:
    'An adapter says only what `ModelEvent` has; `raw_chunk` only when `includeRawChunks` asks for it.',
  plainData:
    'Events and responses are plain data: they survive JSON unchanged, without class instances, dates and `undefined` members.',
  text: '`text_delta` events add up to the text; `text_completed` holds all of its block; `message_completed` says the same.',
  finish:
    '`finishReason` is stop, length, tool_calls, content_filter, error or other; what the provider says beyond these is other.',
  preflight:
    'A failure before the first event makes the first `next()` reject with an `AdapterError`; nothing is yielded.',
  midStream:
    "A failure after the first event is the last event, `{type: 'error', error}`: an `AdapterError` if the provider reported it, a `StreamError` if the transport broke. Iteration then ends normally.",
  truncated:
    "A body that ends without the provider's own end marker is `StreamError` truncated, never a success.",
  malformed: 'An event that can not be read ends the stream as `StreamError` malformed_event.',
  errorFacts:
    'An error has the `reason`, the `provider`, the `requestId` of the run, the HTTP `status`, and `retryAfterMs` when the provider said how long to wait.',
  resourceSafe:
    '`return()` and `options.signal` close the connection; the other side sees it within 500 ms.',
  cancelled:
    '`options.signal` stops a call: before the first event it rejects, later the last event is an error; the reason is cancelled.',
  timeouts:
    '`requestTimeoutMs` limits the wait for the first event, `streamTimeoutMs` every silence after it, both by `options.clock`; beyond them it is an `AdapterError` timeout. No timer is left behind.',
  noRetries: 'An adapter never tries again: the engine has the one retry loop.',
  tools:
    '`tool_call_completed` has the id, the name and the decoded arguments of a call. Calls keep the order in which they were first seen, in the message too.',
  rawArguments:
    '`rawArguments` is what the model wrote; when that is no JSON object, `arguments` is `{}` and the text is kept.',
  pieces:
    '`tool_call_delta` events of a call add up to its `rawArguments`; `tool_call_started` comes before them, `tool_call_completed` after.',
  reasoning:
    '`reasoning_delta` events add up to `reasoning_completed`. In the message it is a part of type reasoning with the provider’s name, never text.',
  echo: 'What a provider wants echoed is in `opaque`, and goes back to that provider with the message. No other provider gets it, nor the thoughts.',
  usage:
    '`inputTokens` includes cached reads and writes, `outputTokens` includes reasoning; what was not reported is absent.',
  conversation: 'Every message of the request, its model and its tools are sent.',
  isolated: 'An adapter keeps nothing of a call: calls do not mix, and the request is not changed.',
  options: 'Everything in `AdapterOptions` is optional.',
  keys: 'A key is never in an event, an error or a recorded request. What a provider echoes of it is taken out.',
  rejections: 'A stream that nobody reads, or that is left, produces no unhandled rejection.',
  generate:
    'The result of `generate` equals the fold of `stream`, and it rejects where the stream would throw or end in `error`.',
  images: 'An image that a model makes is an `image_completed` event, with its bytes as base64.',
  harness:
    'A harness declares what exists, shows what it declares (`requests()`, `openConnections()`, …), and plays the script that it is given.',
  imageOperations:
    '`supportedOperations()` lists what the adapter offers; any other operation is refused with unsupported_operation and `metadata.operation` before anything is sent.',
  imageResponse:
    'An image response has the images, the `requestId`, the `provider`, the metadata of the request, and in `usage.images` their number.',
  imageFailure: 'Every failure of an image call rejects with an `ImageAdapterError`.',
  executor:
    'An executor runs the handler of a tool once, with the arguments and options that it is given, and gives what the handler gives: its value, its outcome, or its error.',
  encoder:
    'An encoder gives a string for every JSON value: the same for the same value, another for another, and the value is not changed.',
  storeLoad:
    '`load` gives what was saved last, deep-equal, or `undefined`; nobody can change what a store holds. What can not be read is `SessionError` unreadable.',
  storeVersion:
    '`save` gives the new version. With `ifVersion`, a save over anything newer is refused with `SessionError` stale and changes nothing.',
  storeAtomic: 'A save that is interrupted leaves the old session or the new one, never a mixture.',
} as const

/** One of the promises. */
export type ContractName = keyof typeof contract
