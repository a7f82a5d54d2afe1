import { reasonOfStatus, type AdapterErrorReason } from '../../core/errors/errors.ts'
import { defined, isObject } from '../../core/types/guards.ts'
import type { JsonObject } from '../../core/types/json.ts'
import type { HttpFailure, Refusal } from '../http/call.ts'
import { asText } from '../shared/read-json.ts'
import type { WireError } from './wire.ts'

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
export function parseFailure({ status, json, headers }: Refusal): HttpFailure {
  const { request_id, ...refused }: RefusalBody = isObject(json) ? json : {}
  const error = readError(refused.error ?? refused.message ?? refused.detail)
  const reason = reasonOfStatus(status)
  const retry = headers.get('x-should-retry')
  return defined<HttpFailure>({
    ...parseError(error, reason === 'unknown' ? undefined : reason),
    retryable: retry === 'true' || retry === 'false' ? retry === 'true' : undefined,
    metadata: errorFacts(error, headers.get('request-id') ?? request_id),
  })
}

/** Reads an error that came inside an answer. The error's type decides. */
export function parseStreamError(error: WireError | undefined): {
  readonly reason: AdapterErrorReason
  readonly message: string
} {
  const { reason, message = 'the provider reported an error' } = parseError(error, undefined)
  return { reason, message }
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
): { readonly reason: AdapterErrorReason; readonly message: string | undefined } {
  const message = asText(error?.message)
  const reason = known ?? byType.get(error?.type ?? '') ?? 'unknown'
  return { reason: byMessage(message ?? '', reason), message }
}

/** Some failures differ only in their message. */
function byMessage(message: string, reason: AdapterErrorReason): AdapterErrorReason {
  if (reason !== 'invalid_request' && reason !== 'provider_unavailable') return reason
  // As with the status 402: the account cannot pay.
  if (/credit balance is too low/i.test(message)) return 'authentication_failed'
  if (/content filtering policy/i.test(message)) return 'content_filter'
  const isTooLong = /prompt is too long|context (?:window|length|limit|size)/i.test(message)
  return reason === 'invalid_request' && isTooLong ? 'context_length_exceeded' : reason
}

/** The members of a refusal's body. A body that is not a JSON object, such as a proxy's page, has none. */
interface RefusalBody {
  readonly error?: unknown
  readonly message?: unknown
  readonly detail?: unknown
  readonly request_id?: string | null
}
