import { isAllmError, type AdapterErrorReason } from '../../core/errors/errors.ts'
import { keysOf } from '../../core/types/guards.ts'
import type { Script } from '../fakes/script.ts'
import type { ChatCapability } from './cases.ts'
import { demand, show } from './demands.ts'
import { runId, usualStatuses, type ChatHarness, type Outcome } from './harness.ts'

/** A failure before the first event. */
interface Refusal {
  readonly reason: AdapterErrorReason
  readonly capability?: ChatCapability
}

/** The failure of each reason. */
const byReason: Readonly<
  Record<Exclude<AdapterErrorReason, 'no_scripted_response'>, Omit<Refusal, 'reason'>>
> = {
  authentication_failed: {},
  rate_limited: {},
  invalid_request: {},
  provider_unavailable: {},
  timeout: {},
  unknown: {},
  network_error: {},
  malformed_response: {},
  context_length_exceeded: { capability: 'detailed_errors' },
  content_filter: { capability: 'detailed_errors' },
  unsupported_feature: { capability: 'unsupported_feature' },
}

/** Every failure before the first event. */
export const refusals: readonly Refusal[] = keysOf(byReason).map((reason) =>
  Object.assign({ reason }, byReason[reason]),
)

/** The script of a refusal. Failures without a status are failures of the transport. */
export function scriptOf({ reason }: Refusal): Script {
  const status = usualStatuses[reason]
  return [['preflight_error', reason, status === undefined ? {} : { status }]]
}

/** The status with which a provider refuses for a reason. */
export function statusOf({ reason }: Refusal, { statuses }: ChatHarness): number | undefined {
  return statuses?.[reason] ?? usualStatuses[reason]
}

/**
 * Demands that a call rejected with an adapter error of a reason and, where there was one, a status. Without the capability
 * `statuses` an error may have no status, but none that is wrong.
 */
export function demandRefusal(outcome: Outcome, refusal: Refusal, harness: ChatHarness): void {
  const { failure, given } = outcome
  const { reason } = refusal
  const thrown = failure?.thrown
  const expected = `a rejection with AdapterError ${reason}`
  const isAdapterError = isAllmError(thrown) && thrown.kind === 'adapter'
  demand(isAdapterError && thrown.reason === reason, {
    problem: isAdapterError ? `${reason} was reported as ${thrown.reason}` : wayOfFailing(outcome),
    expected,
    received: failure === undefined ? given : thrown,
    contract: 'preflight',
  })
  const { status } = thrown.toJSON()
  const wanted = statusOf(refusal, harness)
  const mayLack =
    harness.capabilities?.includes('statuses') !== true && harness.statuses === undefined
  demand(wanted === undefined || status === wanted || (status === undefined && mayLack), {
    problem: `${reason} was reported with status ${show(status)}`,
    expected: `${expected} and status ${show(wanted)}`,
    received: thrown.toJSON(),
    contract: 'errorFacts',
  })
}

/** In which wrong way a call failed that should have thrown an `AdapterError`. */
export function wayOfFailing({ failure, given }: Outcome): string {
  if (failure !== undefined) {
    const { thrown } = failure
    const name = thrown instanceof Error ? thrown.name : 'something that is not an error'
    return `${name} was thrown where an AdapterError belongs`
  }
  return given.includes('error (')
    ? 'the failure was yielded as an event: before the first content it has to be thrown'
    : 'a call that the provider refused did not fail'
}

/** Demands that an error has its provider and its run. */
export function demandOrigin({ failure, given }: Outcome, provider: string): void {
  const thrown = failure?.thrown
  const error = isAllmError(thrown) ? thrown.toJSON() : undefined
  demand(error?.provider === provider && error.requestId === runId, {
    expected: `an error with provider ${show(provider)} and requestId ${show(runId)}`,
    received: error ?? (failure === undefined ? given : thrown),
    contract: 'errorFacts',
  })
}

/** Demands that an error has the time to wait. */
export function demandRetryAfter({ failure, given }: Outcome, retryAfterMs: number): void {
  const thrown = failure?.thrown
  const error = isAllmError(thrown) ? thrown.toJSON() : undefined
  demand(error?.retryAfterMs === retryAfterMs, {
    expected: `an error with retryAfterMs ${retryAfterMs}`,
    received: error ?? (failure === undefined ? given : thrown),
    contract: 'errorFacts',
    hint: 'providers send it in a header (seconds, milliseconds or a date) or in the body',
  })
}

/** Demands that a failed call was sent once: the engine has the only retry loop. */
export function demandOneRequest(sent: number): void {
  demand(sent === 1, {
    problem: `${sent} requests were sent for one call`,
    expected: 'one request',
    received: `${sent} requests`,
    contract: 'noRetries',
  })
}

/** Demands that a call rejected with `cancelled`. A string describes a call that did not reject. */
export function demandCancelled(outcome: { readonly thrown: unknown } | string): void {
  const thrown = typeof outcome === 'string' ? undefined : outcome.thrown
  demand(isAllmError(thrown) && thrown.reason === 'cancelled', {
    expected: 'a rejection with StreamError cancelled',
    received: typeof outcome === 'string' ? outcome : thrown,
    contract: 'cancelled',
    hint: 'fetch throws a DOMException for an aborted signal; convert it to a StreamError',
  })
}

/** A key without a known format, which cannot be recognized by its look. */
export const plainKey = 'conformance-0123456789-hush'

/** A key in a known format, as a provider might quote it. */
export const echoedKey = 'sk-conformance0123456789abcdef'
