import type { AdapterErrorReason } from '../../errors/errors.ts'
import type { HttpFailure } from '../../http/call.ts'
import { retryAfterMs } from '../../http/failure.ts'
import { defined, isObject } from '../../types/guards.ts'
import type { JsonObject } from '../../types/json.ts'
import type { WireError } from './wire.ts'

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

/** Reads a refusal. The status decides, then the error's type, and for some errors the message. */
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

/** Reads an error that came inside an answer. The error's type decides. */
export function parseStreamError(
  error: WireError | undefined,
): Pick<HttpFailure, 'reason' | 'message'> {
  return parseError(error, undefined, 'the provider reported an error')
}

/** The error of an answer: an object, or with some proxies only its message. */
export function readError(value: unknown): WireError | undefined {
  if (typeof value === 'string') return { message: value }
  return isObject(value) ? value : undefined
}

/** The facts of an error that are kept in its metadata. */
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
  return { reason: byMessage(message, reason), message }
}

/** Some failures differ only in their message. */
function byMessage(message: string, reason: AdapterErrorReason): AdapterErrorReason {
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

/** The members of a refusal's body. A body that is not a JSON object, such as a proxy's page, has none. */
function parseBody(body: string): Refusal {
  try {
    const value: unknown = JSON.parse(body)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
