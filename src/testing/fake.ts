import {
  plainCopy,
  createScriptCursor,
  type ScriptOptions,
  type Script,
  type ScriptCursor,
} from './script.ts'
import type { AdapterOptions, ChatAdapter } from '../contracts/adapter.ts'
import { linkedAbort, type LinkedAbort } from '../core/abort.ts'
import { systemClock } from '../core/clock.ts'
import { retry, type RetryPlan } from '../core/retry.ts'
import {
  AdapterError,
  isAllmError,
  StreamError,
  ValidationError,
  type AllmError,
} from '../errors/errors.ts'
import { collectBatches } from '../run/collect.ts'
import { failureOf } from '../run/collector.ts'
import { retryPlan } from '../run/retry-policy.ts'
import { assertValid, count, fine, must, optionsOf, type Check } from '../schema/checks.ts'
import { isFlat, usageCheck, validateScript } from './check-script.ts'
import {
  renderSection,
  scriptCompiler,
  scriptedFailure,
  sectionsFor,
  stoppedBy,
  type CallFacts,
  type CompiledScript,
} from './interpret.ts'
import type { ModelEvent } from '../types/events.ts'
import { defined } from '../types/guards.ts'
import type { Message } from '../types/message.ts'
import type { ModelRequest } from '../types/request.ts'
import type { ModelResponse, Usage } from '../types/response.ts'

/**
 * Makes an adapter that answers from scripts: the same script gives the same events, every time.
 *
 * Scripts and options are checked here and prepared once, so that a call costs microseconds. A call beyond the last script
 * fails with `no_scripted_response` and says so; the place in the scripts is the fake's own, unless a cursor is given.
 */
export function fake(options: FakeOptions = {}): Fake {
  validateScript(options)
  checkFakeOptions(options)
  const state = fakeState(options)
  return {
    provider: fakeProvider,
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
      playCall({ fake: state, method: 'stream', request, options: callOptions }),
    generate: (request, callOptions = {}) =>
      generateCall({ fake: state, method: 'generate', request, options: callOptions }),
    assertDone() {
      const remaining = remainingScripts(state)
      if (remaining > 0) throw notDone(remaining, state.log.count)
    },
  }
}

function notDone(remaining: number, calls: number): ValidationError {
  const scripts = remaining === 1 ? '1 script was' : `${remaining} scripts were`
  const problem = `${scripts} not played; the fake was called ${calls === 1 ? 'once' : `${calls} times`}`
  return new ValidationError('invalid_script', [{ path: '', problem }])
}

/** A chat adapter that plays scripts. It needs no model and no key. */
export interface Fake extends ChatAdapter {
  readonly provider: 'fake'
  /** The calls that arrived, in order, as frozen plain data: no key, no signal, no clock. */
  readonly calls: readonly RecordedCall<ModelRequest>[]
  /** How many streams were begun and are not over. */
  readonly openStreams: number
  /** How many scripts were not played. */
  readonly remaining: number
  stream(request: ModelRequest, options?: AdapterOptions): FakeStream
  generate(request: ModelRequest, options?: AdapterOptions): Promise<ModelResponse>
  /** Throws a `ValidationError` when scripts are left. */
  assertDone(): void
}

/** What a fake is made of. Everything is checked when it is made. */
export interface FakeOptions extends ScriptOptions {
  /** The usage of every answer; it takes the place of `usage` entries. */
  readonly usage?: Usage | undefined
  /** Is told of every call before its script is read. The options come without `apiKey`. */
  readonly record?: ((request: ModelRequest, options: AdapterOptions) => void) | undefined
  /** Is told once for every stream that was begun, when it is over: read to its end, left, failed or aborted. */
  readonly cleanupObserver?: (() => void) | undefined
  /**
   * The first n−1 calls fail with `timeout` and use up no script. `generate` is tried again by the default policy; `stream`
   * gives the failure as its last event.
   */
  readonly retryUntilCall?: number | undefined
}

/** Refuses options that a fake does not have, by name, and values of the wrong kind. */
function checkFakeOptions(options: unknown): void {
  assertValid('invalid_options', check(options))
}

const callback: Check = must('a function', (value) => typeof value === 'function')

/** `validateScript` has looked at it. */
const checkedBefore: Check = () => fine

const check: Check = optionsOf({
  script: checkedBefore,
  scripts: checkedBefore,
  streamScript: checkedBefore,
  scriptCursor: checkedBefore,
  usage: usageCheck,
  record: callback,
  cleanupObserver: callback,
  retryUntilCall: count,
})

/** The name of the fakes' provider. */
const fakeProvider = 'fake'

/** The two ways to call a fake. */
type FakeMethod = 'generate' | 'stream'

/** Scripts and the place in them. */
interface ScriptList {
  readonly scripts: readonly CompiledScript[]
  readonly cursor: ScriptCursor
}

/** All that a fake holds. */
interface FakeState {
  readonly forGenerate: ScriptList
  readonly forStream: ScriptList
  readonly log: CallLog<ModelRequest>
  readonly record: FakeOptions['record']
  readonly cleanupObserver: FakeOptions['cleanupObserver']
  /** The calls before this one play `transient` and take no script. */
  readonly firstGoodCall: number
  /** A time-out: thrown where the call is tried again, else the last event. */
  readonly transient: (method: FakeMethod) => CompiledScript
  openStreams: number
  /** How the last call failed, if it failed before its first event and may be tried again. */
  lastFailure: AdapterError | undefined
}

/** The state of a new fake. The options were checked. */
function fakeState(options: FakeOptions): FakeState {
  const { script, scripts, streamScript, scriptCursor, usage, retryUntilCall = 1 } = options
  const compile = scriptCompiler({ provider: fakeProvider, usage })
  const list = (calls: readonly Script[]): ScriptList => ({
    scripts: calls.map(compile),
    cursor: scriptCursor ?? createScriptCursor(),
  })
  const shared = script === undefined ? scripts : [script]
  const own = streamScript === undefined ? undefined : streamCalls(streamScript)
  const forGenerate = list(shared ?? own ?? [])
  const timeout = {
    message: `a scripted time-out: this fake answers from call ${retryUntilCall} on`,
  }
  const timeouts: Readonly<Record<FakeMethod, Script>> = {
    generate: [['preflight_error', 'timeout', timeout]],
    stream: [['error_event', 'timeout', timeout]],
  }
  return {
    forGenerate,
    forStream: shared === undefined || own === undefined ? forGenerate : list(own),
    log: callLog(keepRequests()),
    record: options.record,
    cleanupObserver: options.cleanupObserver,
    firstGoodCall: retryUntilCall,
    transient: (method) => compile(timeouts[method]),
    openStreams: 0,
    lastFailure: undefined,
  }
}

/** The scripts that a method plays. */
function listFor(fake: FakeState, method: FakeMethod): ScriptList {
  return method === 'generate' ? fake.forGenerate : fake.forStream
}

/** How many scripts were not played. */
function remainingScripts({ forGenerate, forStream }: FakeState): number {
  const remaining = left(forGenerate)
  return forStream === forGenerate ? remaining : remaining + left(forStream)
}

/** How many scripts of a list were not played. */
function left({ scripts, cursor }: ScriptList): number {
  return Math.max(0, scripts.length - cursor.index)
}

function streamCalls(streamScript: Script | readonly Script[]): readonly Script[] {
  // isFlat tells a list of entries from a list of calls.
  return isFlat(streamScript) ? [streamScript as Script] : (streamScript as readonly Script[])
}

/** One call of a fake. */
interface FakeInput {
  readonly fake: FakeState
  readonly method: FakeMethod
  readonly request: ModelRequest
  readonly options: AdapterOptions
}

/** A call that has begun: its script, and its own facts. */
interface BegunCall {
  readonly script: CompiledScript
  readonly facts: CallFacts
}

/** Begins a call: it is recorded, then its script is taken. Throws what fails before the first event. */
function beginCall(input: FakeInput): BegunCall {
  const { fake, method, request, options } = input
  fake.log.add(request, options)
  fake.record?.(request, withoutKey(options))
  const { count } = fake.log
  const requestId = options.requestId ?? options.newId?.('request') ?? `fake-request-${count}`
  const facts: CallFacts = { requestId, provider: fakeProvider, model: request.model }
  if (options.signal?.aborted === true) {
    throw stoppedBy(options.signal, facts, 0)
  }
  const script = count < fake.firstGoodCall ? fake.transient(method) : takeScript(input, requestId)
  if (script.preflight !== undefined) throw preflightFailure(fake, script.preflight, facts)
  fake.lastFailure = undefined
  return { script, facts }
}

function takeScript({ fake, method }: FakeInput, requestId: string): CompiledScript {
  const { scripts, cursor } = listFor(fake, method)
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
    { provider: fakeProvider, requestId, cause: lastFailure },
  )
}

function preflightFailure(
  fake: FakeState,
  entry: NonNullable<CompiledScript['preflight']>,
  facts: CallFacts,
): Error {
  const failure = scriptedFailure(entry, facts)
  fake.lastFailure = failure instanceof AdapterError && failure.retryable ? failure : undefined
  return failure
}

type Step = Promise<IteratorResult<readonly ModelEvent[], undefined>>

/** An adapter's stream that can also be read by hand. */
export interface FakeStream extends AsyncIterable<readonly ModelEvent[]> {
  next(): Step
  /** Leaves the stream: a wait that is under way ends at once. */
  return(): Step
  [Symbol.asyncIterator](): FakeStream
}

/**
 * Plays a call. Nothing happens before the first `next()`.
 *
 * A script without waits is one batch, handed out without a generator; one with waits is played by `playSections`.
 */
function playCall(input: FakeInput): FakeStream {
  // Object.create has no type. Methods of its own would cost a stream twenty times as much as it costs otherwise.
  const play = Object.create(methods) as Play
  play.input = input
  play.status = 'new'
  play.slow = undefined
  return play
}

interface Play extends FakeStream {
  input: FakeInput
  status: 'new' | 'open' | 'over'
  /** Set when the script waits; it then does everything. */
  slow: SlowPlay | undefined
}

const methods: FakeStream & ThisType<Play> = {
  next() {
    if (this.status === 'new') return begin(this)
    if (this.slow !== undefined) return this.slow.batches.next()
    if (this.status === 'open') end(this)
    return over
  },
  return() {
    if (this.slow !== undefined) return this.slow.leave()
    if (this.status === 'open') end(this)
    this.status = 'over'
    return over
  },
  [Symbol.asyncIterator]() {
    return this
  },
}

const over: Promise<IteratorResult<never, undefined>> = Promise.resolve(
  Object.freeze({ done: true, value: undefined }),
)

function begin(play: Play): Step {
  const { input } = play
  play.status = 'open'
  input.fake.openStreams++
  const call = attempt(input)
  if ('failure' in call) {
    end(play)
    return Promise.reject(call.failure)
  }
  const batch = onlyBatch(input, call)
  if (batch !== undefined) return Promise.resolve({ done: false, value: batch })
  play.slow = playSections(input.options, call, () => end(play))
  return play.slow.batches.next()
}

function end(play: Play): void {
  const { fake } = play.input
  play.status = 'over'
  fake.openStreams--
  fake.cleanupObserver?.()
}

function attempt(input: FakeInput): BegunCall | { readonly failure: Error } {
  try {
    return beginCall(input)
  } catch (error) {
    return { failure: error instanceof Error ? error : new Error(String(error), { cause: error }) }
  }
}

function onlyBatch(
  { options }: FakeInput,
  { script, facts }: BegunCall,
): readonly ModelEvent[] | undefined {
  const sections = sectionsFor(script, options)
  if (sections.length > 1 || sections[0]?.delayMs !== 0) return undefined
  return renderSection(script, sections, 0, facts)
}

type Batches = AsyncGenerator<readonly ModelEvent[], undefined>

/** A call that waits now and then. */
interface SlowPlay {
  readonly batches: Batches
  /** Ends a wait that is under way, and the call with it. */
  leave(): ReturnType<Batches['return']>
}

/** Plays a script with waits, one batch between two of them. `onEnd` is called once, however it ends. */
function playSections(options: AdapterOptions, call: BegunCall, onEnd: () => void): SlowPlay {
  const abort = linkedAbort(options.signal)
  const batches = play({ options, call, abort, onEnd })
  return {
    batches,
    leave() {
      abort.abort(leaving)
      return batches.return(undefined)
    },
  }
}

interface SectionPlay {
  readonly options: AdapterOptions
  readonly call: BegunCall
  readonly abort: LinkedAbort
  readonly onEnd: () => void
}

/** Why a wait ends when nobody wants to hear more. */
const leaving = new Error('the consumer left')

async function* play(playing: SectionPlay): Batches {
  const { options, call, abort, onEnd } = playing
  const { script, facts } = call
  const sections = sectionsFor(script, options)
  let sent = 0
  try {
    for (const [index, { delayMs }] of sections.entries()) {
      if (index > 0 || delayMs > 0) await pause(playing, delayMs, sent)
      if (abort.signal.aborted) throw stoppedBy(abort.signal, facts, sent)
      const batch = renderSection(script, sections, index, facts)
      sent += batch.length
      yield batch
    }
  } catch (error) {
    if (abort.signal.reason === leaving) return
    const failure = abort.signal.aborted ? stoppedBy(abort.signal, facts, sent) : asOurs(error)
    if (sent === 0) throw failure
    yield [{ type: 'error', error: failure.toJSON() }]
  } finally {
    abort.unlink()
    onEnd()
  }
}

/** Waits as long as the script says, or as long as the caller puts up with silence; then it is a time-out. */
async function pause(
  { options, call, abort }: SectionPlay,
  delayMs: number,
  sent: number,
): Promise<void> {
  const { clock = systemClock, requestTimeoutMs, streamTimeoutMs } = options
  const limitMs = sent === 0 ? (requestTimeoutMs ?? streamTimeoutMs) : streamTimeoutMs
  const tooLong = limitMs !== undefined && delayMs > limitMs
  await clock.sleep(tooLong ? limitMs : delayMs, abort.signal)
  if (!tooLong) return
  const { provider, requestId } = call.facts
  const message = `${provider} was silent for ${limitMs} ms`
  throw new AdapterError('timeout', message, { provider, requestId })
}

function asOurs(error: unknown): AllmError {
  return isAllmError(error) ? error : new StreamError('unknown', String(error), { cause: error })
}

/**
 * Folds one call's stream into its response. Rejects where the stream throws or ends in `error`.
 *
 * What fails before the first event and may go away by itself is tried again by the library's default policy, as long as there
 * is a script for one more call.
 */
function generateCall(input: FakeInput): Promise<ModelResponse> {
  const response = retry(
    () => planFor(input),
    () => foldCall(input),
  )
  const { fake, options } = input
  const { signal } = options
  if (signal === undefined) return response
  return response.catch((error) => {
    // The wait between two attempts rejects with whatever the caller gave to `abort`.
    if (!signal.aborted || isAllmError(error)) throw error
    const requestId = options.requestId ?? `fake-request-${fake.log.count}`
    throw stoppedBy(signal, { provider: fakeProvider, requestId }, 0)
  })
}

function planFor({ fake, options }: FakeInput): RetryPlan {
  const { clock = systemClock, signal } = options
  const plan = retryPlan('default', { clock, signal })
  const judge: RetryPlan['judge'] = (error) => {
    // An error that came after the first event holds what came before it.
    const preflight = isAllmError(error) && error.partial === undefined
    const another = fake.log.count < fake.firstGoodCall || left(fake.forGenerate) > 0
    return preflight && another ? plan.judge(error) : { transient: false }
  }
  return { ...plan, judge }
}

/** One attempt at a call: the fold of its stream. Rejects where the stream throws or ends in `error`. */
async function foldCall(input: FakeInput): Promise<ModelResponse> {
  const response = await collectBatches(playCall(input))
  if (response.error !== undefined) throw failureOf(response.error, response)
  return response
}

/** The options of a call that are data: no key, no signal, no clock. */
export type RecordedOptions = Pick<
  AdapterOptions,
  'requestId' | 'requestTimeoutMs' | 'streamTimeoutMs' | 'includeRawChunks' | 'sessionId'
>

/** A call that a fake was asked for: frozen plain data. */
export interface RecordedCall<Request> {
  readonly request: Request
  readonly options: RecordedOptions
}

/** What a fake remembers of its calls. */
interface CallLog<Request> {
  readonly count: number
  add(request: Request, options: AdapterOptions): void
  /**
   * Every call so far, deeply frozen. It is made when it is asked for: what a request holds is readonly by contract, so nothing
   * deep is copied while calls are made, and what several calls share is copied once.
   */
  list(): readonly RecordedCall<Request>[]
}

/** How a request is kept: what is written down at the call, and how the request is made of it again. */
interface Keeping<Request, Held> {
  hold(request: Request): Held
  restore(held: Held): Request
}

/** An empty log. */
export function callLog<Request extends object, Held>(
  keeping: Keeping<Request, Held>,
): CallLog<Request> {
  const calls: { readonly held: Held; readonly options: RecordedOptions }[] = []
  const known = new WeakMap<object, unknown>()
  let listed: readonly RecordedCall<Request>[] = Object.freeze([])
  return {
    get count() {
      return calls.length
    },
    add(request, options) {
      calls.push({ held: keeping.hold(request), options: plainOptions(options) })
    },
    list() {
      if (listed.length === calls.length) return listed
      const added = calls.slice(listed.length).map(({ held, options }) =>
        Object.freeze({
          request: plainCopy(keeping.restore(held), known),
          options: Object.freeze(defined<RecordedOptions>(options)),
        }),
      )
      listed = Object.freeze([...listed, ...added])
      return listed
    },
  }
}

function plainOptions(options: AdapterOptions): RecordedOptions {
  const { requestId, requestTimeoutMs, streamTimeoutMs, includeRawChunks, sessionId } = options
  return { requestId, requestTimeoutMs, streamTimeoutMs, includeRawChunks, sessionId }
}

/** The options as an observer may see them. */
export function withoutKey(options: AdapterOptions): AdapterOptions {
  const { apiKey: _key, ...rest } = options
  return rest
}

/** A request, and its messages as they were at the call. */
interface HeldRequest {
  readonly request: ModelRequest
  readonly messages: HeldMessages
}

/** Keeps the requests of one fake: a copy of each, with the messages held apart. */
function keepRequests(): Keeping<ModelRequest, HeldRequest> {
  const holdMessages = messageChain()
  return {
    hold: (request) => {
      const messages = holdMessages(request.messages)
      return { request: { ...request, messages: messages.list }, messages }
    },
    restore: ({ request, messages }) => ({
      ...request,
      messages: messages.list.slice(0, messages.length),
    }),
  }
}

/** The first `length` messages of a list that may have grown since. */
interface HeldMessages {
  readonly list: readonly Message[]
  readonly length: number
}

/**
 * Keeps the messages of one call after the other. A call that goes on where the last one was shares its list, so a loop of many
 * steps holds its history once and not once a step.
 */
function messageChain(): (messages: readonly Message[]) => HeldMessages {
  let chain: Message[] = []
  return (messages) => {
    if (!agree(chain, messages)) chain = []
    for (let index = chain.length; index < messages.length; index++) {
      const message = messages[index]
      if (message !== undefined) chain.push(message)
    }
    return { list: chain, length: messages.length }
  }
}

/** Whether two lists are the same as far as both go. */
function agree(left: readonly Message[], right: readonly Message[]): boolean {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) if (left[index] !== right[index]) return false
  return true
}
