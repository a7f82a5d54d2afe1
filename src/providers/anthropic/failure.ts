import type { AdapterErrorReason } from '../../errors/errors.ts'
import type { HttpFailure } from '../../http/call.ts'
import { retryAfterMs } from '../../http/failure.ts'
import type { WireError } from './wire.ts'
import { defined } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'

const byStatus: ReadonlyMap<number, AdapterErrorReason> = new Map([
  [400, 'invalid_request'],
  [401, 'authentication_failed'],
  [402, 'authentication_failed'],
  [403, 'authentication_failed'],
  [404, 'invalid_request'],
  [408, 'timeout'],
  [409, 'invalid_request'],
  [413, 'invalid_request'],
  [422, 'invalid_request'],
  [429, 'rate_limited'],
])

const byType: ReadonlyMap<string, AdapterErrorReason> = new Map([
  ['invalid_request_error', 'invalid_request'],
  ['authentication_error', 'authentication_failed'],
  ['billing_error', 'authentication_failed'],
  ['permission_error', 'authentication_failed'],
  ['not_found_error', 'invalid_request'],
  ['conflict_error', 'invalid_request'],
  ['request_too_large', 'invalid_request'],
  ['rate_limit_error', 'rate_limited'],
  ['timeout_error', 'provider_unavailable'],
  ['api_error', 'provider_unavailable'],
  ['overloaded_error', 'provider_unavailable'],
])

/** Reads a refusal: the status decides, then the error's type, and for a bad request its words. */
export function parseFailure(status: number, body: string, headers: Headers): HttpFailure {
  const { request_id, ...refused } = parseBody(body)
  const error = readError(refused.error ?? refused.message ?? refused.detail)
  const reason = byStatus.get(status) ?? (status >= 500 ? 'provider_unavailable' : undefined)
  const retry = headers.get('x-should-retry')
  return defined<HttpFailure>({
    ...parseError(error, reason, `the provider answered ${status}`),
    retryAfterMs: retryAfterMs(headers),
    retryable: retry === 'true' || retry === 'false' ? retry === 'true' : undefined,
    metadata: errorFacts(error, headers.get('request-id') ?? request_id),
  })
}

/** Reads an error that came inside an answer. Its type decides. */
export function parseStreamError(
  error: WireError | undefined,
): Pick<HttpFailure, 'reason' | 'message'> {
  return parseError(error, undefined, 'the provider reported an error')
}

/** An error as it came: an object, or as some proxies write it, its message alone. */
export function readError(value: unknown): WireError | undefined {
  if (typeof value === 'string') return { message: value }
  return typeof value === 'object' && value !== null ? value : undefined
}

/** What the provider says about an error beside its message. */
export function errorFacts(
  error: WireError | undefined,
  providerRequestId: string | null | undefined,
): JsonObject {
  return defined<JsonObject>({
    type: error?.type ?? undefined,
    code: error?.details?.error_code ?? undefined,
    providerRequestId: providerRequestId ?? undefined,
  })
}

function parseError(
  error: WireError | undefined,
  known: AdapterErrorReason | undefined,
  fallback: string,
): Pick<HttpFailure, 'reason' | 'message'> {
  const message =
    typeof error?.message === 'string' && error.message !== '' ? error.message : fallback
  const reason = known ?? byType.get(error?.type ?? '') ?? 'unknown'
  return { reason: byWords(message, reason), message }
}

/** Some failures are told apart by their words alone. */
function byWords(message: string, reason: AdapterErrorReason): AdapterErrorReason {
  if (reason !== 'invalid_request' && reason !== 'provider_unavailable') return reason
  if (/content filtering policy/i.test(message)) return 'content_filter'
  const isTooLong = /prompt is too long|context (?:window|length|limit|size)/i.test(message)
  return reason === 'invalid_request' && isTooLong ? 'context_length_exceeded' : reason
}

interface Refusal {
  readonly error?: unknown
  readonly message?: unknown
  readonly detail?: unknown
  readonly request_id?: string | null
}

/** A body that is not JSON, as a proxy's, tells nothing. */
function parseBody(body: string): Refusal {
  try {
    const value: unknown = JSON.parse(body)
    // A refusal's body is an object with an error in it; whatever it is, its members are looked at with care.
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
