import { adapterErrorReasons, type AdapterErrorReason } from '../errors/errors.ts'
import { defined } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { PlanEnd, PlanFailure } from './plan.ts'

/** The facts of a failure, wherever they stand. */
export type FailureFacts = Partial<
  Record<'message' | 'status' | 'retryAfterMs' | 'requestId', JsonValue | undefined>
>

/** The failure of a reason and its facts. A reason that no adapter error has is `unknown`. */
export function failureOf(reason: string, facts: FailureFacts): PlanFailure {
  const { message, status, retryAfterMs, requestId } = facts
  return defined<PlanFailure>({
    reason: adapterErrorReasons.find((known) => known === reason) ?? 'unknown',
    message: typeof message === 'string' ? message : undefined,
    status: typeof status === 'number' ? status : undefined,
    retryAfterMs: typeof retryAfterMs === 'number' ? retryAfterMs : undefined,
    requestId: typeof requestId === 'string' ? requestId : undefined,
  })
}

/** The failure of a script's `error` term: a legal reason, or `unknown`. */
export function failureOfTerm(term: JsonValue): PlanFailure {
  const reason = adapterErrorReasons.find((known) => known === term)
  return { reason: reason ?? 'unknown' }
}

/** Failures of the transport are shown as what they are; no provider reports them. */
const breaks: Partial<Record<AdapterErrorReason, 'cut' | 'malformed' | 'stall'>> = {
  timeout: 'stall',
  network_error: 'cut',
  malformed_response: 'malformed',
}

/** The end of an answer that fails after its start. */
export function failedEnd(failure: PlanFailure): PlanEnd {
  const how = breaks[failure.reason]
  return how === undefined ? { type: 'failed', failure } : { type: 'broken', how }
}

/** The end of an answer whose transport breaks, by the reason of a stream error. */
export function brokenEnd(reason: string): PlanEnd {
  if (reason === 'malformed_event') return { type: 'broken', how: 'malformed' }
  return { type: 'broken', how: reason === 'timeout' ? 'stall' : 'cut' }
}
