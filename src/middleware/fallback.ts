import { linkedAbort, onAbort, unlessStopped } from '../core/base/abort.ts'
import { keyFor } from '../core/base/keys.ts'
import { retry, type RetryPlan } from '../core/base/retry.ts'
import { withoutPartial } from '../core/base/telemetry.ts'
import { idleTimer } from '../core/base/timers.ts'
import type { AdapterOptions, CallQueue, ChatAdapter } from '../core/contracts/adapter.ts'
import type { RetryOption } from '../core/contracts/options.ts'
import { errorFromJSON } from '../core/errors/error-json.ts'
import {
  adapterErrorReasons,
  causeData,
  engineErrorReasons,
  isAllmError,
  StreamError,
  streamErrorReasons,
  timedOutCall,
  type AdapterErrorReason,
  type AnyAllmError,
  type EngineErrorReason,
  type StreamErrorReason,
} from '../core/errors/errors.ts'
import { sharesReasoning } from '../core/messages/provider-options.ts'
import {
  assertValid,
  describe,
  fine,
  flag,
  join,
  listOf,
  nearest,
  oneOf,
  optionsOf,
  refuse,
  someText,
  within,
  type Check,
} from '../core/schema/checks.ts'
import { chatAdapter, retryOption } from '../core/schema/options.ts'
import type { ModelEvent } from '../core/types/events.ts'
import { assertNever, defined, isObject } from '../core/types/guards.ts'
import type { JsonObject } from '../core/types/json.ts'
import type { Message, Part } from '../core/types/message.ts'
import type { ModelRequest } from '../core/types/request.ts'
import type { Usage } from '../core/types/response.ts'
import { hookFailure } from '../engine/model-call/context.ts'
import { retryPlan } from '../engine/model-call/retry-policy.ts'
import {
  around,
  batchesOf,
  failureOf,
  isOver,
  tell,
  type AdapterFacts,
  type ModelBatch,
  type WrappedCall,
} from './around.ts'

/** One adapter of a fallback, and the model that it is asked for, whatever the request names. */
export interface FallbackEntry {
  readonly adapter: ChatAdapter
  readonly model?: string | undefined
}

/** A reason that another adapter may not have. A cancelled call is never handed on. */
export type FallbackReason =
  | AdapterErrorReason
  | Exclude<StreamErrorReason, 'cancelled'>
  | EngineErrorReason

/** The options of `fallback`. */
export interface FallbackOptions {
  /**
   * The failures after which the next adapter is asked: their reasons, or a function that decides. By default those that say something about
   * the provider and nothing about the request: `rate_limited`, `provider_unavailable`, `timeout`, `network_error`,
   * `authentication_failed`, `malformed_response`, `truncated`.
   */
  readonly on?: readonly FallbackReason[] | ((error: AnyAllmError) => boolean) | undefined
  /**
   * Go on with the next adapter also when an answer breaks off (false). Its answer begins with a second `message_started`, which replaces all that
   * came since the first: results, sessions and views hold the second answer alone. A consumer that shows deltas as they come has to
   * clear them there.
   */
  readonly afterFirstEvent?: boolean | undefined
  /**
   * Retries each adapter by this policy before the next one is asked (not at all). Whatever an engine retries is the whole fallback, from its
   * first adapter on.
   */
  readonly retryEach?: RetryOption | undefined
}

/**
 * Asks the first adapter, and the next one when it fails before its first event.
 *
 * `provider` of events, errors and responses is always that of the adapter which answered. If others had failed before it, `metadata.fallback` of the
 * response lists them, and an error has them as `causes`. The last error is the one that is thrown.
 *
 * Each adapter has its own key, found as an engine finds it. `apiKey` and `headers` of a call go to adapters of the first one's
 * provider and server only. Reasoning and provider items go to the provider that they came from. `requestTimeoutMs` and
 * `streamTimeoutMs` count for each adapter.
 */
export function fallback(
  adapters: readonly (ChatAdapter | FallbackEntry)[],
  options: FallbackOptions = {},
): ChatAdapter {
  assertValid(
    'invalid_options',
    join(within('adapters', entries(adapters)), fallbackOptions(options)),
  )
  const members = adapters.map(toMember)
  const facts = factsOfAll(members)
  return around(facts, (call) => askInTurn({ members, facts, ...options }, call))
}

const entry: Check = (value) =>
  isObject(value) && 'stream' in value
    ? chatAdapter(value)
    : namedEntry(isObject(value) ? { adapter: null, ...value } : value)

const namedEntry: Check = /* @__PURE__ */ optionsOf({
  adapter: chatAdapter,
  model: someText,
} satisfies Readonly<Record<keyof FallbackEntry, Check>>)

const entries: Check = (value) =>
  Array.isArray(value) && value.length === 0
    ? refuse('a list of at least one adapter', value)
    : listOf(entry)(value)

/** Each once: adapters and streams share some. */
const reasons: readonly string[] = [
  ...new Set<string>([
    ...adapterErrorReasons,
    ...streamErrorReasons.filter((reason) => reason !== 'cancelled'),
    ...engineErrorReasons,
  ]),
]

const knownReason: Check = (value) => {
  const known = oneOf(reasons)(value)
  const near = known === fine || typeof value !== 'string' ? undefined : nearest(value, reasons)
  if (near === undefined) return known
  const problem = `must be a reason, not ${describe(value)}; did you mean ${near}?`
  return [{ path: '', problem }]
}

const fallbackOptions: Check = /* @__PURE__ */ optionsOf({
  on: (value) => {
    if (typeof value === 'function') return []
    return Array.isArray(value)
      ? listOf(knownReason)(value)
      : refuse('a list of reasons or a function', value)
  },
  afterFirstEvent: flag,
  retryEach: retryOption,
} satisfies Readonly<Record<keyof FallbackOptions, Check>>)

/** An adapter of a fallback. */
interface Member {
  readonly adapter: ChatAdapter
  /** The model that it is always asked for. */
  readonly model: string | undefined
  /** The providers behind it. */
  readonly providers: readonly string[]
}

function toMember(given: ChatAdapter | FallbackEntry): Member {
  const { adapter, model } = 'stream' in given ? { adapter: given, model: undefined } : given
  return { adapter, model, providers: adapter.providers ?? [adapter.provider] }
}

function factsOfAll(members: readonly Member[]): AdapterFacts {
  const [first] = members
  const { adapter } = first ?? {}
  const listed = adapter?.listModels?.bind(adapter)
  const counted = adapter?.countTokens?.bind(adapter)
  const firstOptions = async (options: AdapterOptions = {}): Promise<AdapterOptions> => {
    const own = adapter && credentialsOf(members, adapter, options)
    return { ...options, ...own, apiKey: await own?.apiKey }
  }
  return defined<AdapterFacts>({
    provider: adapter?.provider ?? '',
    providers: [...new Set(members.flatMap(({ providers }) => providers))],
    model: first?.model ?? adapter?.model,
    needsModel: members.some(
      ({ adapter: { needsModel, model: own }, model }) =>
        needsModel === true && (model ?? own) === undefined,
    ),
    // Each member has its own.
    key: undefined,
    server: undefined,
    // A question that is not a model call is asked of the first one alone.
    wire: adapter?.wire,
    listModels: listed && (async (options?: AdapterOptions) => listed(await firstOptions(options))),
    countTokens:
      counted &&
      (async (request: ModelRequest, options?: AdapterOptions) =>
        counted(request, await firstOptions(options))),
    identity: () => ({
      fallback: members.map(({ adapter: { provider, model: own, identity }, model }) =>
        defined<JsonObject>({ provider, model: model ?? own, identity: identity?.() }),
      ),
    }),
  } satisfies Readonly<Record<keyof AdapterFacts, unknown>>)
}

interface Fallback extends FallbackOptions {
  readonly members: readonly Member[]
  readonly facts: AdapterFacts
}

async function* askInTurn(fallback: Fallback, call: WrappedCall): AsyncGenerator<ModelBatch, void> {
  const failures: Failure[] = []
  // A caller that stops the call gets an error of its own, and does not wait for this one.
  const unlink = onAbort(call.options.signal, () => {
    const reason: unknown = call.options.signal.reason
    if (!isAllmError(reason) || reason.causes.length > 0) return
    Object.assign(reason, { causes: causesOf(failures) })
  })
  try {
    yield* askEach(fallback, call, failures)
  } finally {
    unlink()
  }
}

async function* askEach(
  fallback: Fallback,
  call: WrappedCall,
  failures: Failure[],
): AsyncGenerator<ModelBatch, void> {
  const { members, afterFirstEvent = false } = fallback
  let begun = false
  let over = false
  for (const [at, member] of members.entries()) {
    const next = members[at + 1]
    let provider = member.adapter.provider
    let { model } = requestFor(fallback, at, call.request)
    let usage: Usage | undefined
    let opened: Opened | undefined
    try {
      opened = await openMember(fallback, at, call)
      for (let batch = opened.first; batch !== undefined; batch = await nextOf(opened.rest)) {
        const { before, error } = splitError(batch)
        const [start] = before
        if (start?.type === 'message_started') ({ provider, model = model, usage } = start)
        // An answer that has begun is billed, whatever is known about it.
        if (before.some(isContent)) usage ??= {}
        if (before.length > 0) {
          begun = true
          over = error === undefined && isOver(before)
          yield failures.length === 0
            ? before
            : before.map((event) => marked(event, provider, failures))
        }
        if (error !== undefined) throw error
      }
      return
    } catch (thrown) {
      // The answer is complete.
      if (over) return
      const { requestId, signal } = call.options
      const error = failureOf(thrown, { provider, requestId, signal })
      const isOpen = !begun || afterFirstEvent
      const isStopped = signal.aborted || error.reason === 'cancelled'
      if (next === undefined || !isOpen || isStopped || !isSwitch(fallback, error)) {
        throw withCauses(error, failures)
      }
      failures.push(defined<Failure>({ error, model, usage }))
      tellSwitch(call, member.adapter.provider, next, error)
    } finally {
      await opened?.rest.return()
    }
  }
}

/** An adapter that failed, and what it had used by then: nothing is known of an answer that had begun and has an empty usage. */
interface Failure {
  readonly error: AnyAllmError
  readonly model?: string
  readonly usage?: Usage
}

/** Whether the next adapter is asked after this failure. */
function isSwitch({ on = defaultReasons }: Fallback, error: AnyAllmError): boolean {
  if (typeof on !== 'function') return on.some((reason) => reason === error.reason)
  try {
    return on(error)
  } catch (thrown) {
    throw hookFailure('on', thrown)
  }
}

const defaultReasons: readonly FallbackReason[] = [
  'rate_limited',
  'provider_unavailable',
  'timeout',
  'network_error',
  'authentication_failed',
  'malformed_response',
  'truncated',
]

/** The events of a batch, and the error that ends it. */
function splitError(batch: ModelBatch): {
  readonly before: ModelBatch
  readonly error?: AnyAllmError
} {
  const last = batch.at(-1)
  return last?.type === 'error'
    ? { before: batch.slice(0, -1), error: errorFromJSON(last.error) }
    : { before: batch }
}

async function nextOf(rest: AsyncGenerator<ModelBatch, void>): Promise<ModelBatch | undefined> {
  const step = await rest.next()
  return step.done === true ? undefined : step.value
}

/** The end of an answer says who gave it, and who had failed before. */
function marked(event: ModelEvent, provider: string, failures: readonly Failure[]): ModelEvent {
  if (event.type !== 'message_completed') return event
  const inner = event.metadata?.['fallback']
  // The JSON of an error is plain data.
  const failed = failures.flatMap(({ error, model, usage }) => [
    ...error.causes.map(causeData),
    defined({ ...causeData(error), model, usage }),
  ]) as unknown as JsonObject[]
  // An adapter of this fallback may be a fallback itself.
  const more = isObject(inner) && Array.isArray(inner['failed']) ? inner['failed'] : []
  const told = { provider, failed: [...failed, ...(more as readonly JsonObject[])] }
  return { ...event, metadata: { ...event.metadata, fallback: told } }
}

/** The error with the failures before it. It is a new one: an adapter may throw the same error again. */
function withCauses(error: AnyAllmError, failures: readonly Failure[]): AnyAllmError {
  if (failures.length === 0) return error
  const { stack, cause } = error
  const before = causesOf(failures)
  const told = before.map(({ reason, ...failed }) => {
    const who = 'provider' in failed ? failed.provider : undefined
    return `${who ?? 'another adapter'} failed: ${reason}`
  })
  return Object.assign(errorFromJSON(error.toJSON()), {
    message: `${error.message}; before it ${told.join(', ')}`,
    stack,
    causes: [...before, ...error.causes],
    ...(cause === undefined ? {} : { cause }),
  })
}

/** The failures of a call, and those before them, in their order. */
function causesOf(failures: readonly Failure[]): readonly AnyAllmError[] {
  return failures.flatMap(({ error }) => [...error.causes, error] as readonly AnyAllmError[])
}

function tellSwitch(call: WrappedCall, from: string, next: Member, error: AnyAllmError): void {
  const { provider, model: own } = next.adapter
  const facts = { provider, model: next.model ?? own }
  tell(call, facts, { name: 'fallback', from, to: provider, error: causeData(error) })
}

/** An adapter that has begun to answer. */
interface Opened {
  readonly first: ModelBatch | undefined
  readonly rest: AsyncGenerator<ModelBatch, void>
}

/** Asks one adapter until its first batch has come, with retries if they are wanted. */
function openMember(fallback: Fallback, at: number, call: WrappedCall): Promise<Opened> {
  const { members, facts, retryEach = false } = fallback
  const { clock, options } = call
  const { provider, model } = members[at]?.adapter ?? facts
  const onRetry: RetryPlan['onRetry'] = (failure, attempt, delayMs) => {
    const error = withoutPartial(failure)
    tell(call, { provider, model }, { name: 'retry', attempt, delayMs, error })
  }
  return retry(
    () => retryPlan(retryEach, { clock, signal: options.signal, onRetry }),
    async () => {
      const rest = memberBatches(fallback, at, call)
      const first = await nextOf(rest)
      const { before, error } = splitError(first ?? [])
      // An error in the place of an answer: nothing was said yet.
      if (error === undefined || before.some(isContent)) return { first, rest }
      await rest.return()
      throw error
    },
  )
}

function isContent({ type }: ModelEvent): boolean {
  return type !== 'message_started' && type !== 'raw_chunk'
}

/**
 * The batches of one adapter, asked with its own key, its own model and its own part of the history.
 *
 * Its time limits are kept here, whatever it does; an adapter in front of several keeps them by itself.
 */
async function* memberBatches(
  fallback: Fallback,
  at: number,
  { request, options, clock }: WrappedCall,
): AsyncGenerator<ModelBatch, void> {
  const member = fallback.members[at]
  if (member === undefined) throw new RangeError(`there is no adapter ${at}`)
  const { adapter } = member
  const { requestId, requestTimeoutMs, streamTimeoutMs } = options
  const keepsTime = adapter.providers !== undefined
  const abort = linkedAbort(options.signal)
  const named = { provider: adapter.provider, requestId }
  let start = clock.now()
  let begun = false
  let isOpen = true
  const idle = idleTimer(clock, (ms) => {
    abort.abort(timedOutCall(named, begun ? ms : (requestTimeoutMs ?? ms), begun))
  })
  const wait = (): void => {
    if (keepsTime) return
    if (begun) idle.reset(streamTimeoutMs)
    else if (requestTimeoutMs !== undefined) idle.reset(start + requestTimeoutMs - clock.now())
  }
  const queue: CallQueue = {
    timeoutMs: options.queue === undefined ? requestTimeoutMs : options.queue.timeoutMs,
    enter() {
      idle.reset(undefined)
      return () => {
        start = clock.now()
        wait()
      }
    },
  }
  try {
    wait()
    const { signal } = abort
    const credentials = credentialsOf(fallback.members, adapter, options)
    const inner: AdapterOptions = {
      ...options,
      ...credentials,
      apiKey: await unlessStopped(Promise.resolve(credentials.apiKey), signal),
      requestTimeoutMs: keepsTime ? requestTimeoutMs : undefined,
      queue: keepsTime ? options.queue : queue,
      onActivity: () => {
        options.onActivity?.()
        if (begun) wait()
      },
    }
    const own = requestFor(fallback, at, request)
    for await (const batch of batchesOf(adapter, own, { ...inner, requestId, signal })) {
      idle.reset(undefined)
      begun ||= batch.some(isContent)
      isOpen = !isOver(batch)
      yield batch
      wait()
    }
    if (isOpen) {
      const message = `the answer of ${adapter.provider} ended early, without message_completed`
      throw new StreamError('truncated', message, named)
    }
  } catch (error) {
    throw failureOf(error, { ...named, signal: abort.signal })
  } finally {
    idle.stop()
    abort.unlink()
  }
}

/** What an adapter may see of the keys and headers of a call: those of its own provider, at the address of the first adapter. */
function credentialsOf(
  [first]: readonly Member[],
  adapter: ChatAdapter,
  { apiKey, headers, keys }: AdapterOptions,
): {
  readonly apiKey: string | undefined | Promise<string | undefined>
  readonly headers: AdapterOptions['headers']
  readonly keys: AdapterOptions['keys']
} {
  const isOwn = first !== undefined && isSamePlace(adapter, first.adapter)
  const given = { apiKey: isOwn ? apiKey : undefined, keys }
  const own = isOwn ? headers : undefined
  return adapter.providers === undefined
    ? { apiKey: keyFor(adapter, given), headers: own, keys: undefined }
    : { ...given, headers: own }
}

/** Whether what was meant for one adapter may go to another: a name says nothing about who is behind an address. */
function isSamePlace(adapter: ChatAdapter, first: ChatAdapter): boolean {
  if (adapter === first) return true
  // An adapter in front of several has no address of its own.
  const isSingle = adapter.providers === undefined && first.providers === undefined
  return isSingle && adapter.provider === first.provider && adapter.server === first.server
}

/** The request as one adapter gets it. */
function requestFor({ members, facts }: Fallback, at: number, request: ModelRequest): ModelRequest {
  const { adapter, model: always, providers = [] } = members[at] ?? {}
  // The request names a model of the first adapter.
  const model = always ?? (at === 0 ? request.model : (adapter?.model ?? request.model))
  const isMixed = (facts.providers?.length ?? 1) > 1
  const messages = isMixed ? ownMessages(request.messages, providers) : request.messages
  if (model === request.model && messages === request.messages) return request
  return defined<ModelRequest>({ ...request, model, messages })
}

/** The messages without what only other providers understand. */
function ownMessages(
  messages: readonly Message[],
  providers: readonly string[],
): readonly Message[] {
  if (!messages.some((message) => foreignParts(message, providers).length > 0)) return messages
  return messages.flatMap((message) => {
    const foreign = new Set(foreignParts(message, providers))
    if (foreign.size === 0 || typeof message.content === 'string') return [message]
    const content = message.content.filter((part) => !foreign.has(part))
    // The data of the calls came from the same provider as the parts.
    const toolCalls = message.toolCalls?.map(({ opaque: _foreign, ...call }) => call)
    if (content.length === 0 && toolCalls === undefined) return []
    const kept = { ...message, content: content.length === 0 ? '' : content }
    return [toolCalls === undefined ? kept : { ...kept, toolCalls }]
  })
}

function foreignParts({ content }: Message, providers: readonly string[]): readonly Part[] {
  if (typeof content === 'string') return []
  return content.filter((part) => {
    switch (part.type) {
      case 'reasoning':
        return !providers.some((provider) => sharesReasoning(part.provider, provider))
      case 'provider_item':
        return !providers.includes(part.provider)
      case 'text':
      case 'image':
      case 'file':
        return false
      default:
        return assertNever(part)
    }
  })
}
