import { isAllmError, type AdapterErrorReason } from '../errors/errors.ts'
import type { Script } from '../testing/script.ts'
import { keysOf } from '../types/guards.ts'
import type { JsonObject } from '../types/json.ts'
import type { ChatCapability } from './cases.ts'
import { demand, show } from './demands.ts'
import { runId, type Outcome } from './harness.ts'

/** A failure before the first event. */
interface Refusal {
  readonly reason: AdapterErrorReason
  readonly details: JsonObject
  readonly capability?: ChatCapability
}

/** The failure of each reason. Those without a status are failures of the transport. */
const byReason: Readonly<
  Record<Exclude<AdapterErrorReason, 'no_scripted_response'>, Omit<Refusal, 'reason'>>
> = {
  authentication_failed: { details: { status: 401 } },
  rate_limited: { details: { status: 429 } },
  invalid_request: { details: { status: 400 } },
  provider_unavailable: { details: { status: 503 } },
  timeout: { details: { status: 408 } },
  unknown: { details: { status: 418 } },
  network_error: { details: {} },
  malformed_response: { details: {} },
  context_length_exceeded: { details: { status: 400 }, capability: 'detailed_errors' },
  content_filter: { details: { status: 400 }, capability: 'detailed_errors' },
  unsupported_feature: { details: { status: 400 }, capability: 'unsupported_feature' },
}

/** Every failure before the first event. */
export const refusals: readonly Refusal[] = keysOf(byReason).map((reason) =>
  Object.assign({ reason }, byReason[reason]),
)

/** The script of a refusal. */
export function scriptOf({ reason, details }: Refusal): Script {
  return [['preflight_error', reason, details]]
}

/** Demands that a call rejected with an adapter error of a reason and, where there was one, a status. */
export function demandRefusal({ failure, given }: Outcome, { reason, details }: Refusal): void {
  const thrown = failure?.thrown
  const expected = `a rejection with AdapterError ${reason}`
  const isAdapterError = isAllmError(thrown) && thrown.kind === 'adapter'
  demand(isAdapterError && thrown.reason === reason, {
    expected,
    received: failure === undefined ? given : thrown,
    contract: 'preflight',
  })
  const { status } = thrown.toJSON()
  demand(details['status'] === undefined || status === details['status'], {
    expected: `${expected} and status ${show(details['status'])}`,
    received: thrown.toJSON(),
    contract: 'errorFacts',
  })
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
