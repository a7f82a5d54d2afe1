import { failureOf } from '../../core/answer/fold-answer.ts'
import { systemClock } from '../../core/base/clock.ts'
import { retry, type RetryPlan } from '../../core/base/retry.ts'
import type { AdapterOptions, ChatAdapter } from '../../core/contracts/adapter.ts'
import { AdapterError, isAllmError, ValidationError } from '../../core/errors/errors.ts'
import {
  assertValid,
  fine,
  isPlainObject,
  must,
  optionsOf,
  positiveInteger,
  type Check,
} from '../../core/schema/checks.ts'
import type { ModelRequest } from '../../core/types/request.ts'
import type { ModelResponse, Usage } from '../../core/types/response.ts'
import { collectBatches } from '../../engine/model-call/read-stream.ts'
import { retryPlan } from '../../engine/model-call/retry-policy.ts'
import { isFlat, usageCheck, validateScript } from './check-script.ts'
import { compileScript, stoppedBy } from './interpret.ts'
import { playStream, type BegunCall, type ScriptStream } from './play.ts'
import {
  createScriptCursor,
  toScript,
  type Script,
  type ScriptCursor,
  type ScriptFunction,
  type ScriptInput,
  type ScriptOptions,
} from './script.ts'

/**
 * Makes an adapter that answers from scripts: the same script gives the same events, every time.
 *
 * Scripts and options are checked here, and the scripts are copied. A call after the last script fails with
 * `no_scripted_response`. The position in the scripts belongs to this fake, unless a cursor is given.
 */
export function fake(options: FakeOptions = {}): Fake {
  validateScript(options)
  assertValid('invalid_options', checkOptions(options))
  const state = fakeState(options)
  return {
    provider,
    get calls() {
      return state.log.list()
    },
    get openStreams() {
      return state.openStreams
    },
    get remaining() {
      return remainingScripts(state)
    },
    stream: (request, callOptions = {}) =>
      streamCall({ fake: state, method: 'stream', request, options: callOptions }),
    generate: (request, callOptions = {}) =>
      generateCall({ fake: state, method: 'generate', request, options: callOptions }),
    // A fourth of the characters of what is sent: the same request has the same count. No script is taken.
    countTokens: ({ messages, tools, responseFormat }) =>
      Promise.resolve({
        inputTokens: Math.ceil(JSON.stringify([messages, tools, responseFormat]).length / 4),
      }),
    assertDone() {
      const remaining = remainingScripts(state)
      if (remaining === 0) return
      const scripts = remaining === 1 ? '1 script was' : `${remaining} scripts were`
      const { count: calls } = state.log
      const problem = `${scripts} not played: ${leftOver(state).join('; ')}. The fake was called ${calls === 1 ? 'once' : `${calls} times`}`
      throw new ValidationError('invalid_script', [{ path: '', problem }])
    },
  }
}

/** A chat adapter that plays scripts. It needs no model and no key. */
export interface Fake extends ChatAdapter {
  readonly provider: 'fake'
  /** The calls so far, in order, as frozen plain data without key, signal and clock. */
  readonly calls: readonly RecordedCall<ModelRequest>[]
  /** The number of streams that were started and have not ended. */
  readonly openStreams: number
  /** The number of scripts that were not played. */
  readonly remaining: number
  stream(request: ModelRequest, options?: AdapterOptions): ScriptStream
  generate(request: ModelRequest, options?: AdapterOptions): Promise<ModelResponse>
  /** Throws a `ValidationError` if there are scripts that were not played. */
  assertDone(): void
}

/** Options of `fake`. All of them are checked when the fake is made. */
export interface FakeOptions extends ScriptOptions {
  /** The usage of every answer. It replaces `usage` entries. */
  readonly usage?: Usage | undefined
  /** Called for every call before its script is read. The options come without `apiKey`. */
  readonly record?: ((request: ModelRequest, options: AdapterOptions) => void) | undefined
  /** Called once for every stream that was started, when it ends: read to its end, left, failed or aborted. */
  readonly cleanupObserver?: (() => void) | undefined
  /**
   * The calls before this one fail with `timeout` and take no script. Through an engine and in `generate` they fail before
   * their first event, so they are retried by the policy; `stream` called directly emits the failure as its last event.
   */
  readonly retryUntilCall?: number | undefined
}

const provider = 'fake'

const callback: Check = must('a function', (value) => typeof value === 'function')

/** `validateScript` has checked it. */
const checkedBefore: Check = () => fine

const checkOptions: Check = optionsOf({
  script: checkedBefore,
  scripts: checkedBefore,
  streamScript: checkedBefore,
  scriptCursor: checkedBefore,
  usage: usageCheck,
  record: callback,
  cleanupObserver: callback,
  retryUntilCall: positiveInteger,
} satisfies Readonly<Record<keyof FakeOptions, Check>>)

/** The two ways to call a fake. */
type FakeMethod = 'generate' | 'stream'

/** Scripts and the position in them. */
interface ScriptList {
  readonly scripts: readonly Script[]
  readonly cursor: ScriptCursor
  /** Makes the script of each call instead. */
  readonly make: ScriptFunction | undefined
}

interface FakeState {
  readonly options: FakeOptions
  /** The same list for both methods, unless `streamScript` is given beside `script` or `scripts`. */
  readonly lists: Readonly<Record<FakeMethod, ScriptList>>
  readonly log: CallLog<ModelRequest>
  openStreams: number
  /** The failure of the last call, if it came before the first event and may be retried. */
  lastFailure: AdapterError | undefined
}

function fakeState(options: FakeOptions): FakeState {
  const { script, streamScript, scriptCursor } = options
  const dynamic = typeof script === 'function' ? script : undefined
  const { scripts = script === undefined || typeof script === 'function' ? undefined : [script] } =
    options
  const list = (calls: readonly ScriptInput[], make?: ScriptFunction): ScriptList => ({
    scripts: plainCopy(calls.map(toScript)),
    cursor: scriptCursor ?? createScriptCursor(),
    make,
  })
  const own = streamScript === undefined ? undefined : streamCalls(streamScript)
  const generate = list(scripts ?? own ?? [], dynamic)
  const both = scripts === undefined && dynamic === undefined
  const stream = both || own === undefined ? generate : list(own)
  return {
    options: { ...options, usage: plainCopy(options.usage) },
    lists: { generate, stream },
    log: callLog(),
    openStreams: 0,
    lastFailure: undefined,
  }
}

function streamCalls(streamScript: ScriptInput | readonly ScriptInput[]): readonly ScriptInput[] {
  // isFlat tells a list of entries from a list of calls.
  return isFlat(streamScript) ? [streamScript as Script] : (streamScript as readonly ScriptInput[])
}

function remainingScripts({ lists }: FakeState): number {
  return [...new Set([lists.generate, lists.stream])].reduce((sum, list) => sum + left(list), 0)
}

function left({ scripts, cursor }: ScriptList): number {
  return Math.max(0, scripts.length - cursor.index)
}

/** The scripts that were not played, each in a few words. */
function leftOver({ lists }: FakeState): readonly string[] {
  return [...new Set([lists.generate, lists.stream])].flatMap(({ scripts, cursor }) =>
    scripts.slice(cursor.index, cursor.index + 5).map((script, index) => {
      const text = JSON.stringify(script)
      return `script ${cursor.index + index + 1} is ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`
    }),
  )
}

/** One call of a fake. */
interface FakeCall {
  readonly fake: FakeState
  readonly method: FakeMethod
  readonly request: ModelRequest
  readonly options: AdapterOptions
}

/**
 * Folds the stream of one call into its response. Rejects if the stream throws or ends in `error`.
 *
 * A retryable failure before the first event is retried by the library's default policy, as long as there is a script for
 * another call.
 */
async function generateCall(call: FakeCall): Promise<ModelResponse> {
  const { fake, options } = call
  const { signal } = options
  try {
    return await retry(
      () => retryPlanFor(call),
      () => foldCall(call),
    )
  } catch (error) {
    // The wait between two attempts rejects with the reason that the caller gave to `abort`.
    if (signal?.aborted !== true || isAllmError(error)) throw error
    const requestId = options.requestId ?? `fake-request-${fake.log.count}`
    throw stoppedBy(signal, { provider, requestId }, 0)
  }
}

function retryPlanFor({ fake, options }: FakeCall): RetryPlan {
  const { clock = systemClock, signal } = options
  const plan = retryPlan('default', { clock, signal })
  const classify: RetryPlan['classify'] = (error) => {
    // An error after the first event holds the response so far.
    const preflight = isAllmError(error) && error.partial === undefined
    const another = isTransient(fake) || left(fake.lists.generate) > 0
    return preflight && another ? plan.classify(error) : { transient: false }
  }
  return { ...plan, classify }
}

/** One attempt of `generate`. */
async function foldCall(call: FakeCall): Promise<ModelResponse> {
  const response = await collectBatches(streamCall(call))
  if (response.error !== undefined) throw failureOf(response.error, response)
  return response
}

/** The stream of one call. */
function streamCall(call: FakeCall): ScriptStream {
  const { fake, request, options } = call
  return playStream({
    provider,
    request,
    options,
    begin() {
      fake.openStreams++
      return beginCall(call)
    },
    end() {
      fake.openStreams--
      fake.options.cleanupObserver?.()
    },
  })
}

/** Records a call and takes its script. Throws the failures that come before the first event. */
function beginCall(call: FakeCall): BegunCall {
  const { fake, request, options } = call
  fake.log.add({ ...request, messages: [...request.messages] }, options)
  fake.options.record?.(request, withoutKey(options))
  const requestId =
    options.requestId ?? options.newId?.('request') ?? `fake-request-${fake.log.count}`
  if (options.signal?.aborted === true) throw stoppedBy(options.signal, { provider, requestId }, 0)
  const { preflight, sections } = compileScript(takeScript(call, requestId), {
    provider,
    requestId,
    model: request.model,
    usage: fake.options.usage,
    includeRawChunks: options.includeRawChunks,
  })
  fake.lastFailure =
    preflight instanceof AdapterError && preflight.retryable ? preflight : undefined
  if (preflight !== undefined) throw preflight
  return { requestId, sections }
}

/** Whether the last call is one of those that `retryUntilCall` lets fail. */
function isTransient({ log, options }: FakeState): boolean {
  return log.count < (options.retryUntilCall ?? 1)
}

function takeScript({ fake, method, request, options }: FakeCall, requestId: string): Script {
  if (isTransient(fake)) {
    const message = `a scripted time-out: this fake answers from call ${fake.options.retryUntilCall} on`
    // Only an engine passes newId. Its policy retries what fails before the first event.
    const early = method === 'generate' || options.newId !== undefined
    return [[early ? 'preflight_error' : 'error_event', 'timeout', { message }]]
  }
  const { scripts, cursor, make } = fake.lists[method]
  if (make !== undefined) {
    const script = make(request, { call: fake.log.count })
    validateScript({ script })
    return toScript(script)
  }
  const script = scripts[cursor.index]
  if (script === undefined) throw exhausted(fake, scripts.length, requestId)
  cursor.advance()
  return script
}

function exhausted(fake: FakeState, scriptCount: number, requestId: string): AdapterError {
  const { lastFailure } = fake
  const scripts = scriptCount === 1 ? '1 script' : `${scriptCount} scripts`
  const retried =
    lastFailure === undefined
      ? ''
      : `; the call before failed with ${lastFailure.reason}, so this may be a retry: script its answer too, or turn retries off`
  return new AdapterError(
    'no_scripted_response',
    `no scripted response for call ${fake.log.count}: the fake has ${scripts}${retried}`,
    { provider, requestId, cause: lastFailure },
  )
}

/** The options of a call that are data: no key, no signal, no clock. */
export type RecordedOptions = Pick<
  AdapterOptions,
  'requestId' | 'requestTimeoutMs' | 'streamTimeoutMs' | 'includeRawChunks' | 'sessionId'
>

/** A recorded call of a fake: frozen plain data. */
export interface RecordedCall<Request> {
  readonly request: Request
  readonly options: RecordedOptions
}

/** The record of a fake's calls. */
interface CallLog<Request> {
  readonly count: number
  add(request: Request, options: AdapterOptions): void
  /** Every call so far, deeply frozen. Calls are copied when they are first listed. */
  list(): readonly RecordedCall<Request>[]
}

/** Makes an empty log. */
export function callLog<Request>(): CallLog<Request> {
  const calls: RecordedCall<Request>[] = []
  const copies: RecordedCall<Request>[] = []
  return {
    get count() {
      return calls.length
    },
    add(request, { requestId, requestTimeoutMs, streamTimeoutMs, includeRawChunks, sessionId }) {
      const options = { requestId, requestTimeoutMs, streamTimeoutMs, includeRawChunks, sessionId }
      calls.push({ request, options })
    },
    list() {
      for (const call of calls.slice(copies.length)) copies.push(plainCopy(call))
      return Object.freeze([...copies])
    },
  }
}

/** The options without the API key and the headers, for observers. */
export function withoutKey(options: AdapterOptions): AdapterOptions {
  const { apiKey: _key, headers: _headers, ...rest } = options
  return rest
}

/**
 * A deep, frozen copy of plain data, so that later changes on either side do not show on the other.
 *
 * Functions and `undefined` are dropped, and class instances are kept as they are. An object that occurs twice is copied once.
 */
export function plainCopy<T>(value: T): T {
  const known = new Map<object, unknown>()
  const copy = (original: unknown): unknown => {
    if (!Array.isArray(original) && !isPlainObject(original)) return original
    if (!known.has(original)) known.set(original, Object.freeze(copyMembers(original)))
    return known.get(original)
  }
  const copyMembers = (original: object): object => {
    if (Array.isArray(original)) return original.map(copy)
    const members = Object.entries(original)
    const data = members.filter(
      ([, member]) => member !== undefined && typeof member !== 'function',
    )
    return Object.fromEntries(data.map(([key, member]) => [key, copy(member)]))
  }
  // The copy has the members of the original, except those that are not data.
  return copy(value) as T
}
