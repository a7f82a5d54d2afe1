import { unlessStopped } from '../core/base/abort.ts'
import { startTimer, type CancelTimer } from '../core/base/clock.ts'
import type { ChatAdapter, RateLimit, RateLimits } from '../core/contracts/adapter.ts'
import { AdapterError, causeData, isAllmError } from '../core/errors/errors.ts'
import {
  assertValid,
  join,
  optionsOf,
  positiveInteger,
  timeoutMs,
  within,
  type Check,
} from '../core/schema/checks.ts'
import { chatAdapter } from '../core/schema/options.ts'
import type { CauseData } from '../core/types/error-data.ts'
import type { ModelRequest } from '../core/types/request.ts'
import type { Usage } from '../core/types/response.ts'
import { around, batchesOf, factsOf, unsent, type ModelBatch, type WrappedCall } from './around.ts'

/** The options of `limit`. What is absent is not limited. */
export interface LimitOptions {
  /** How many calls may be under way at the same time. */
  readonly concurrency?: number | undefined
  /** How many calls may begin within any 60 seconds. */
  readonly requestsPerMinute?: number | undefined
  /**
   * How many tokens may be used within any 60 seconds. Before a call its tokens are estimated, by the length of the request and by `maxTokens`; the usage of
   * its answer then replaces the estimate. A request that is larger than the limit waits until it is alone.
   */
  readonly tokensPerMinute?: number | undefined
  /**
   * How long a call may wait, in milliseconds. A call that would have to wait longer, as far as is known, or has waited so long, fails with `rate_limited` and
   * is not sent. By default a call waits for a place as long as it takes, or as long as the `requestTimeoutMs` that its caller has set; but for what the
   * provider asks at most 30 seconds, which is also the longest wait of an engine's retries.
   */
  readonly maxWaitMs?: number | undefined
}

/**
 * Holds calls back until the provider may be called again: first come, first served, by the clock of the calls.
 *
 * What the provider says counts too, where it is stricter: calls wait as long as the `Retry-After` of a refusal asks, and until the reset of a limit
 * of which nothing remains (`x-ratelimit-…`, `anthropic-ratelimit-…`). A call that waits can be stopped, and then counts for nothing.
 * `requestTimeoutMs` counts from the moment when the call has its place. When the provider asks to wait longer than `maxWaitMs`, calls fail at once with `rate_limited` and
 * `retryAfterMs`, so that a fallback can ask another one. A place is free again as soon as its stream has ended, failed, or was stopped or left.
 */
export function limit(adapter: ChatAdapter, options: LimitOptions = {}): ChatAdapter {
  assertValid(
    'invalid_options',
    join(within('adapter', chatAdapter(adapter)), limitOptions(options)),
  )
  const limiter: Limiter = {
    adapter,
    options,
    queue: [],
    running: 0,
    log: [],
    known: { requests: undefined, tokens: undefined },
    blockedUntil: 0,
    cancelTimer: undefined,
  }
  return around(factsOf(adapter), (call) => limitedCall(limiter, call))
}

const limitOptions: Check = /* @__PURE__ */ optionsOf({
  concurrency: positiveInteger,
  requestsPerMinute: positiveInteger,
  tokensPerMinute: positiveInteger,
  maxWaitMs: timeoutMs,
} satisfies Readonly<Record<keyof LimitOptions, Check>>)

interface Limiter {
  readonly adapter: ChatAdapter
  readonly options: LimitOptions
  /** The calls that wait, in the order in which they came. */
  readonly queue: Waiting[]
  running: number
  /** The calls of the last minute, the oldest first. */
  readonly log: Entry[]
  /** What the provider said last, less what was used since. */
  readonly known: Record<'requests' | 'tokens', Known | undefined>
  /** The end of the last `Retry-After`. */
  blockedUntil: number
  cancelTimer: CancelTimer | undefined
}

interface Waiting {
  readonly call: WrappedCall
  /** The estimate is made when it is needed. */
  readonly tokens: () => number
  /** What it counts, once it was let in. */
  entry: Entry | undefined
  enter: ((entry: Entry) => void) | undefined
  refuse: ((error: AdapterError) => void) | undefined
}

/** What was used at a moment. */
interface Entry {
  readonly at: number
  readonly requests: number
  tokens: number
}

/** A limit of the provider. */
interface Known {
  remaining: number
  readonly resetAt: number
}

const windowMs = 60_000

async function* limitedCall(limiter: Limiter, call: WrappedCall): AsyncGenerator<ModelBatch, void> {
  const { clock, request, options } = call
  const entry = await turnOf(limiter, call)
  const spent: Spent = { begun: false, usage: undefined }
  const onRateLimit = (limits: RateLimits): void => {
    noteLimits(limiter, limits, clock.now())
    options.onRateLimit?.(limits)
  }
  try {
    for await (const batch of batchesOf(limiter.adapter, request, { ...options, onRateLimit })) {
      for (const event of batch) {
        if (event.type === 'error') noteFailure(limiter, call, event.error)
        else if ('usage' in event) spent.usage = { ...spent.usage, ...event.usage }
      }
      spent.begun ||= batch.some(({ type }) => type !== 'error')
      yield batch
    }
  } catch (error) {
    if (isAllmError(error)) {
      noteFailure(limiter, call, causeData(error))
      // Nothing was sent.
      if (error.kind === 'validation' || error.kind === 'engine') forget(limiter, entry)
    }
    throw error
  } finally {
    limiter.running--
    settle(limiter, entry, spent, clock.now())
    admitNext(limiter)
  }
}

/** What an answer has used. */
interface Spent {
  begun: boolean
  usage: Usage | undefined
}

/** Waits until the call may begin. Stopped or refused while it waits, it leaves the queue and counts for nothing. */
async function turnOf(limiter: Limiter, call: WrappedCall): Promise<Entry> {
  const { clock, options } = call
  let estimate: number | undefined
  const waiting: Waiting = {
    call,
    tokens: () => (estimate ??= estimatedTokens(call.request)),
    entry: undefined,
    enter: undefined,
    refuse: undefined,
  }
  const turn = new Promise<Entry>((resolve, reject) => {
    waiting.enter = resolve
    waiting.refuse = reject
  })
  limiter.queue.push(waiting)
  admitNext(limiter)
  // Most calls need not wait.
  const leaveQueue = waiting.entry === undefined ? options.queue?.enter() : undefined
  const ms = waiting.entry === undefined ? longestWaitOf(limiter, call) : Infinity
  const cancel =
    ms > longestTimerMs ? undefined : startTimer(clock, ms, () => endWait(limiter, waiting))
  try {
    const entry = await unlessStopped(turn, options.signal)
    leaveQueue?.()
    return entry
  } catch (error) {
    if (waiting.entry === undefined) leave(limiter, waiting)
    else {
      // It was let in at the same moment.
      limiter.running--
      forget(limiter, waiting.entry)
    }
    admitNext(limiter)
    throw error
  } finally {
    cancel?.()
  }
}

/** How long a call may wait for a place: `maxWaitMs`, or else the time limit that its caller has set. */
function longestWaitOf({ options: { maxWaitMs } }: Limiter, { options }: WrappedCall): number {
  const { queue, requestTimeoutMs } = options
  return maxWaitMs ?? (queue === undefined ? requestTimeoutMs : queue.timeoutMs) ?? Infinity
}

/** A call has waited as long as it may. */
function endWait(limiter: Limiter, waiting: Waiting): void {
  if (waiting.entry !== undefined) return
  const { provider, clock, start, options } = waiting.call
  const now = clock.now()
  if (limiter.options.maxWaitMs !== undefined) {
    refuse(limiter, waiting, waitOf(limiter, waiting, now))
    return
  }
  leave(limiter, waiting)
  const message = `${provider} was not called: the call waited ${now - start} ms for a place in its limit, as long as its requestTimeoutMs allows; maxWaitMs of the limit can allow more`
  const details = { provider, requestId: options.requestId, metadata: unsent }
  waiting.refuse?.(new AdapterError('timeout', message, details))
}

/** Ends the wait of a call with an error. `ms` is how long it would still have to wait, if that is known. */
function refuse(limiter: Limiter, waiting: Waiting, ms: number): void {
  const { provider, clock, start, options } = waiting.call
  const { maxWaitMs = longestHoldMs } = limiter.options
  const waited = clock.now() - start
  const more = ms < Infinity ? ms : undefined
  const why = [
    `the call waited ${waited} ms for a place`,
    ...(more === undefined ? [] : [`and would have to wait for ${more} ms more`]),
  ].join(' ')
  const message = `${provider} was not called: ${why}; maxWaitMs of its limit is ${maxWaitMs}`
  const details = {
    provider,
    requestId: options.requestId,
    retryAfterMs: more,
    metadata: unsent,
  }
  leave(limiter, waiting)
  waiting.refuse?.(new AdapterError('rate_limited', message, details))
}

function leave({ queue }: Limiter, waiting: Waiting): void {
  const at = queue.indexOf(waiting)
  if (at !== -1) queue.splice(at, 1)
}

/** How long calls wait for what the provider asks, unless the options say it. */
const longestHoldMs = 30_000

/** Lets in the calls whose turn has come. When the first one has to wait for a time, there is one timer for it. */
function admitNext(limiter: Limiter): void {
  limiter.cancelTimer?.()
  limiter.cancelTimer = undefined
  const { queue } = limiter
  refuseHeld(limiter)
  for (let [first] = queue; first !== undefined; [first] = queue) {
    const { clock, options, start } = first.call
    const now = clock.now()
    if (options.signal.aborted) {
      queue.shift()
      continue
    }
    // A place that is free only now comes too late.
    if (now - start >= longestWaitOf(limiter, first.call)) {
      endWait(limiter, first)
      continue
    }
    const ms = waitOf(limiter, first, now)
    if (isTooLong(limiter, first, ms)) {
      refuse(limiter, first, ms)
      continue
    }
    if (ms > 0) {
      const again = (): void => admitNext(limiter)
      if (ms < Infinity)
        limiter.cancelTimer = startTimer(clock, Math.min(ms, longestTimerMs), again)
      return
    }
    queue.shift()
    first.entry = enterNow(limiter, first)
    first.enter?.(first.entry)
  }
}

/** What the provider asks holds for every call that waits. */
function refuseHeld(limiter: Limiter): void {
  const [first] = limiter.queue
  const ms = first === undefined ? 0 : heldFor(limiter, first.call.clock.now())
  if (ms <= 0) return
  const late = limiter.queue.filter((waiting) => ms > mostOf(limiter, waiting))
  for (const waiting of late) refuse(limiter, waiting, ms)
}

/** How long the provider asks every call to wait. */
function heldFor({ blockedUntil, known }: Limiter, now: number): number {
  return Math.max(blockedUntil - now, waitForReset(known.requests, 1, now))
}

/** How long a call may still wait for what the provider asks. */
function mostOf({ options: { maxWaitMs } }: Limiter, { call }: Waiting): number {
  return maxWaitMs === undefined ? longestHoldMs : call.start + maxWaitMs - call.clock.now()
}

/** Whether the first call of the queue would wait longer than it may. Nobody knows how long another call takes. */
function isTooLong(limiter: Limiter, waiting: Waiting, ms: number): boolean {
  const { known, options } = limiter
  if (ms === Infinity) return false
  const isOwn = options.maxWaitMs !== undefined
  const now = waiting.call.clock.now()
  const held = isOwn ? ms : waitForReset(known.tokens, known.tokens ? waiting.tokens() : 0, now)
  return held > mostOf(limiter, waiting)
}

/** A longer timer would fire at once. */
const longestTimerMs = 2_147_483_647

/** Counts a call that begins now. */
function enterNow(limiter: Limiter, { call, tokens }: Waiting): Entry {
  const { known, options } = limiter
  const counts = options.tokensPerMinute !== undefined || known.tokens !== undefined
  const entry: Entry = { at: call.clock.now(), requests: 1, tokens: counts ? tokens() : 0 }
  limiter.running++
  limiter.log.push(entry)
  if (known.requests !== undefined) known.requests.remaining--
  if (known.tokens !== undefined) known.tokens.remaining -= entry.tokens
  return entry
}

/** How long the first call of the queue has to wait; infinite until another one ends. */
function waitOf(limiter: Limiter, { tokens }: Waiting, now: number): number {
  const { options, running, known, blockedUntil } = limiter
  const { concurrency = Infinity, requestsPerMinute, tokensPerMinute } = options
  if (running >= concurrency) return Infinity
  const { log } = limiter
  const past = log.findLastIndex(({ at }) => now - at >= windowMs)
  log.splice(0, past + 1)
  const waits = [
    blockedUntil - now,
    waitForReset(known.requests, 1, now),
    known.tokens === undefined ? 0 : waitForReset(known.tokens, tokens(), now),
  ]
  if (requestsPerMinute !== undefined) {
    waits.push(roomAt(log, 'requests', requestsPerMinute - 1) - now)
  }
  if (tokensPerMinute !== undefined) {
    waits.push(roomAt(log, 'tokens', tokensPerMinute - tokens()) - now)
  }
  return Math.max(0, ...waits)
}

/** How long until so much of a provider's limit is there that the call fits. What was said counts until the reset. */
function waitForReset(known: Known | undefined, needed: number, now: number): number {
  if (known === undefined || known.remaining >= needed) return 0
  return known.resetAt - now
}

/** When so many entries have left the window that no more than `most` are left, or none at all. */
function roomAt(log: readonly Entry[], what: 'requests' | 'tokens', most: number): number {
  let used = log.reduce((sum, entry) => sum + entry[what], 0)
  let until = 0
  for (const entry of log) {
    if (used === 0 || used <= most) break
    used -= entry[what]
    until = entry.at + windowMs
  }
  return until
}

/** Replaces the estimate of a call by what it has used. What it used beyond the estimate counts from now on. */
function settle(limiter: Limiter, entry: Entry, { begun, usage }: Spent, now: number): void {
  const used = begun ? usedTokens(usage) : 0
  if (used === undefined || limiter.options.tokensPerMinute === undefined) return
  const more = used - entry.tokens
  entry.tokens = Math.min(entry.tokens, used)
  if (more > 0) limiter.log.push({ at: now, requests: 0, tokens: more })
}

function usedTokens({ totalTokens, inputTokens, outputTokens }: Usage = {}): number | undefined {
  if (totalTokens !== undefined) return totalTokens
  if (inputTokens === undefined && outputTokens === undefined) return undefined
  return (inputTokens ?? 0) + (outputTokens ?? 0)
}

function forget({ log }: Limiter, entry: Entry): void {
  const at = log.indexOf(entry)
  if (at !== -1) log.splice(at, 1)
}

/** A refusal of the provider that asks to wait holds back all calls. */
function noteFailure(limiter: Limiter, { clock }: WrappedCall, error: CauseData): void {
  const { reason, status, retryAfterMs } = error
  const isAnswer = reason === 'rate_limited' || status !== undefined
  if (retryAfterMs === undefined || !isAnswer || !isOne(limiter)) return
  limiter.blockedUntil = Math.max(limiter.blockedUntil, clock.now() + retryAfterMs)
}

/** Whether there is one provider behind the adapter. What one of several says holds for that one. */
function isOne({ adapter: { providers = [] } }: Limiter): boolean {
  return providers.length < 2
}

function noteLimits(limiter: Limiter, limits: RateLimits, now: number): void {
  if (!isOne(limiter)) return
  const { known } = limiter
  const { requests, tokens, inputTokens, outputTokens } = limits
  known.requests = knownOf(requests, now) ?? known.requests
  const [tightest] = [tokens, inputTokens, outputTokens]
    .flatMap((one) => knownOf(one, now) ?? [])
    .toSorted((a, b) => a.remaining - b.remaining)
  known.tokens = tightest ?? known.tokens
}

function knownOf(said: RateLimit | undefined, now: number): Known | undefined {
  const { remaining, resetMs } = said ?? {}
  if (remaining === undefined || resetMs === undefined) return undefined
  return { remaining, resetAt: now + resetMs }
}

/** How many bytes of text make a token, more or less, in any language. */
const bytesPerToken = 4

/** What an image or a file may cost. */
const tokensPerMedium = 1000

/** The tokens that a call may use: those of its request, and the longest answer that it allows, if it says so. */
function estimatedTokens({ messages, tools, responseFormat, maxTokens = 0 }: ModelRequest): number {
  let media = 0
  const text = JSON.stringify([messages, tools, responseFormat], (name, value: unknown) => {
    if (name !== 'base64') return value
    media++
    return undefined
  })
  const { length } = new TextEncoder().encode(text)
  return Math.ceil(length / bytesPerToken) + media * tokensPerMedium + maxTokens
}
