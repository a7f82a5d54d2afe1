import { systemClock, type Clock } from '../core/base/clock.ts'
import type { ChatAdapter } from '../core/contracts/adapter.ts'
import {
  AdapterError,
  causeData,
  isAllmError,
  type AdapterErrorReason,
  type StreamErrorReason,
} from '../core/errors/errors.ts'
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
import { assertNever, defined } from '../core/types/guards.ts'
import {
  around,
  batchesOf,
  factsOf,
  isOver,
  isUnsent,
  tell,
  type AdapterFacts,
  type ModelBatch,
  type WrappedCall,
} from './around.ts'

/**
 * The state of a circuit breaker: `closed`, calls pass; `open`, calls fail at once; `half_open`, one call is let through to see whether the
 * provider is there again.
 */
export type BreakerState = 'closed' | 'open' | 'half_open'

/** An adapter behind a circuit breaker. */
export interface CircuitBreaker extends ChatAdapter {
  /** The state, by the clock of the last call. */
  readonly state: BreakerState
}

/** The options of `circuitBreaker`. */
export interface CircuitBreakerOptions {
  /** So many failures within `windowMs` open it (5). */
  readonly failures?: number | undefined
  /** How long a failure counts, in milliseconds (60 000). */
  readonly windowMs?: number | undefined
  /** How long it stays open, in milliseconds (30 000). */
  readonly coolDownMs?: number | undefined
}

/**
 * Stops calling a provider that fails.
 *
 * A failure is one of the provider: `provider_unavailable`, `rate_limited`, `timeout`, `network_error`, `malformed_response`, and an answer that breaks
 * off. A request that is wrong, a refused key, a call that its caller stopped and one that a `limit` inside has not sent are none. While the breaker is open, calls fail with
 * `provider_unavailable`, and `retryAfterMs` says when it will be half open. Then one call is let through: its first event
 * closes the breaker, its failure opens it again, and others are told to come back after another `coolDownMs`. A call that waits in a `limit` inside is
 * judged again when it has its place. Changes of the state are told to telemetry as `breaker`.
 */
export function circuitBreaker(
  adapter: ChatAdapter,
  options: CircuitBreakerOptions = {},
): CircuitBreaker {
  assertValid(
    'invalid_options',
    join(within('adapter', chatAdapter(adapter)), breakerOptions(options)),
  )
  const { failures = 5, windowMs = 60_000, coolDownMs = 30_000 } = options
  const breaker: Breaker = {
    adapter,
    facts: factsOf(adapter),
    limits: { failures, windowMs, coolDownMs },
    state: 'closed',
    period: {},
    failedAt: [],
    lastFailure: undefined,
    opensUntil: 0,
    probe: undefined,
    clock: systemClock,
  }
  return {
    ...around(breaker.facts, (call) => guardedCall(breaker, call)),
    get state() {
      return isCool(breaker, breaker.clock) ? 'half_open' : breaker.state
    },
  }
}

const breakerOptions: Check = /* @__PURE__ */ optionsOf({
  failures: positiveInteger,
  windowMs: timeoutMs,
  coolDownMs: timeoutMs,
} satisfies Readonly<Record<keyof CircuitBreakerOptions, Check>>)

interface Breaker {
  readonly adapter: ChatAdapter
  readonly facts: AdapterFacts
  readonly limits: Required<Readonly<Record<keyof CircuitBreakerOptions, number>>>
  state: BreakerState
  /** The time since the last change of the state. What a call of an earlier period comes to says nothing about this one. */
  period: object
  /** The failures that count, the oldest first. */
  failedAt: readonly number[]
  lastFailure: CauseData | undefined
  opensUntil: number
  /** The call that was let through while half open. */
  probe: WrappedCall | undefined
  /** The clock of the last call. */
  clock: Clock
}

async function* guardedCall(breaker: Breaker, call: WrappedCall): AsyncGenerator<ModelBatch, void> {
  const { adapter } = breaker
  let period = admit(breaker, call)
  /** Why the call was not sent after it had waited in a limit. */
  let refusal: unknown
  const options = askedAgain(call, () => {
    try {
      period = admit(breaker, call)
    } catch (error) {
      refusal = error
      throw error
    }
  })
  let isOpen = true
  try {
    for await (const batch of batchesOf(adapter, call.request, options)) {
      const last = batch.at(-1)
      if (last?.type === 'error') failed(breaker, call, period, last.error)
      else period = answered(breaker, call, period)
      isOpen = !isOver(batch)
      yield batch
    }
    if (isOpen) failed(breaker, call, period, truncated)
  } catch (error) {
    const isProviders = isOpen && error !== refusal
    if (isProviders && isAllmError(error)) failed(breaker, call, period, causeData(error))
    throw error
  } finally {
    if (breaker.probe === call) breaker.probe = undefined
  }
}

/** The options of a call that may wait in a limit inside. The provider may have failed meanwhile, so `admit` is called again before it is sent. */
function askedAgain({ options }: WrappedCall, admit: () => void): WrappedCall['options'] {
  const { queue, requestTimeoutMs } = options
  return {
    ...options,
    queue: {
      timeoutMs: queue === undefined ? requestTimeoutMs : queue.timeoutMs,
      enter() {
        const leave = queue?.enter()
        return () => {
          admit()
          leave?.()
        }
      },
    },
  }
}

const truncated: CauseData = {
  kind: 'stream',
  reason: 'truncated',
  message: 'the answer ended early',
}

/** Lets a call through, or throws. Returns the period that it belongs to. */
function admit(breaker: Breaker, call: WrappedCall): object {
  const { clock } = call
  breaker.clock = clock
  if (isCool(breaker, clock)) change(breaker, call, 'half_open')
  switch (breaker.state) {
    case 'closed':
      return breaker.period
    case 'half_open':
      if (breaker.probe !== undefined && breaker.probe !== call) {
        // If that call fails, the breaker is open for so long.
        throw refused(breaker, call, breaker.limits.coolDownMs)
      }
      breaker.probe = call
      return breaker.period
    case 'open':
      throw refused(breaker, call, breaker.opensUntil - clock.now())
    default:
      return assertNever(breaker.state)
  }
}

function isCool({ state, opensUntil }: Breaker, clock: Clock): boolean {
  return state === 'open' && clock.now() >= opensUntil
}

/** The provider has answered. That closes a breaker that was half open. */
function answered(breaker: Breaker, call: WrappedCall, period: object): object {
  if (breaker.probe !== call || breaker.period !== period) return period
  breaker.probe = undefined
  return change(breaker, call, 'closed')
}

/** The call has failed. That opens the breaker if it was the probe, or one failure too many. */
function failed(breaker: Breaker, call: WrappedCall, period: object, error: CauseData): void {
  if (breaker.period !== period) return
  // What waited in our own queue says nothing about the provider.
  if (isUnsent(error)) return
  if (!isFailure(error)) {
    // The provider has answered, though it has refused this request.
    if (error.status !== undefined) answered(breaker, call, period)
    return
  }
  const { failures, windowMs, coolDownMs } = breaker.limits
  const now = call.clock.now()
  breaker.lastFailure = error
  breaker.failedAt = [...breaker.failedAt.filter((at) => now - at < windowMs), now]
  if (breaker.probe !== call && breaker.failedAt.length < failures) return
  breaker.opensUntil = now + coolDownMs
  change(breaker, call, 'open')
}

/** The failures of a provider. What a caller did wrong or has stopped says nothing about it. */
function isFailure({ kind, reason }: CauseData): boolean {
  if (kind === 'adapter') return adapterFailures.some((one) => one === reason)
  return kind === 'stream' && streamFailures.some((one) => one === reason)
}

const adapterFailures: readonly AdapterErrorReason[] = [
  'provider_unavailable',
  'rate_limited',
  'timeout',
  'network_error',
  'malformed_response',
]

const streamFailures: readonly StreamErrorReason[] = ['truncated', 'timeout', 'malformed_event']

/** Changes the state and begins a new period. */
function change(breaker: Breaker, call: WrappedCall, to: BreakerState): object {
  const { state: from, facts, lastFailure } = breaker
  breaker.state = to
  breaker.period = {}
  breaker.probe = undefined
  breaker.failedAt = []
  const error = to === 'open' ? lastFailure : undefined
  tell(call, facts, { name: 'breaker', from, to, error })
  return breaker.period
}

/** The error of a call that is not let through. It tells nothing of the calls that failed but their last reason: they may be somebody else's. */
function refused(
  { state, facts: { provider }, limits, lastFailure }: Breaker,
  { options: { requestId } }: WrappedCall,
  retryAfterMs: number,
): AdapterError {
  const { failures, windowMs } = limits
  const why =
    state === 'half_open'
      ? 'is half open, and another call is trying the provider'
      : `is open after ${failures} failures within ${windowMs} ms; it lets a call through in ${retryAfterMs} ms`
  const message = `${provider} was not called: its circuit breaker ${why}`
  const metadata = defined({ breaker: state, lastReason: lastFailure?.reason })
  const details = { provider, requestId, retryAfterMs, metadata }
  return new AdapterError('provider_unavailable', message, details)
}
