import type { AdapterErrorReason } from '../errors/errors.ts'
import type { RequestProblem } from './param-checks.ts'
import { refusedPlan, type PlanFailure } from './plan.ts'
import type { Provider } from './request.ts'
import type { WireAnswer, WireFormat } from './wire-format.ts'
import { renderPlan } from './wire.ts'
import type { JsonObject } from '../types/json.ts'

const formats: Readonly<Record<Provider, WireFormat>> = {
  openai: 'openai_chat',
  anthropic: 'anthropic',
  gemini: 'gemini',
}

/** A refusal in the provider's own shape. */
export function refuse(provider: Provider, failure: PlanFailure, requestId: string): WireAnswer {
  return renderPlan(formats[provider], refusedPlan(failure), {
    id: '',
    model: '',
    created: 0,
    requestId,
    stream: false,
    includeUsage: false,
    framing: 'sse',
  })
}

/** The refusal of a request that is wrong in itself. OpenAI also names the parameter and a code. */
export function refuseRequest(
  provider: Provider,
  { message, param, code }: RequestProblem,
  requestId: string,
): WireAnswer {
  const answer = refuse(provider, { reason: 'invalid_request', message, status: 400 }, requestId)
  if (provider !== 'openai') return answer
  const error = { message, type: 'invalid_request_error', param: param ?? null, code: code ?? null }
  return { ...answer, frames: [{ bytes: jsonBytes({ error }) }] }
}

/** The refusal of a request without a key. */
export function refuseWithoutKey(provider: Provider, requestId: string): WireAnswer {
  const message = {
    openai:
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
    anthropic: 'x-api-key header is required',
    gemini: 'Request is missing required authentication credential.',
  }[provider]
  return refuse(provider, { reason: 'authentication_failed', message, status: 401 }, requestId)
}

/** The refusal of an address that the provider does not have, or not for this method. */
export function refuseAddress(
  provider: Provider,
  status: 404 | 405,
  address: string,
  requestId: string,
): WireAnswer {
  const message =
    status === 404 ? `Invalid URL (${address})` : `Method not allowed for this URL (${address})`
  return refuse(provider, { reason: 'invalid_request', message, status }, requestId)
}

/** The refusal of a call beyond the last script, which says so by the name that our errors have for it. */
export function refuseExhausted(
  provider: Provider,
  scriptCount: number,
  requestId: string,
): WireAnswer {
  const scripts = scriptCount === 1 ? '1 script' : `${scriptCount} scripts`
  const message = `no_scripted_response: no scripted response is left; the server has ${scripts} and all were played`
  return refuse(provider, { reason: 'no_scripted_response', message }, requestId)
}

/** The refusal that an injected fault stands for. */
export function refuseByFault(
  provider: Provider,
  fault: { status: number; message?: string | undefined; retryAfterMs?: number | undefined },
  requestId: string,
): WireAnswer {
  const { status, message, retryAfterMs } = fault
  return refuse(
    provider,
    {
      reason: reasonOf(status),
      status,
      ...(message === undefined ? {} : { message }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
    requestId,
  )
}

function reasonOf(status: number): AdapterErrorReason {
  if (status === 401 || status === 403) return 'authentication_failed'
  if (status === 429) return 'rate_limited'
  return status >= 500 ? 'provider_unavailable' : 'invalid_request'
}

/** A JSON answer of ours: the lists of models. */
export function jsonAnswer(body: JsonObject): WireAnswer {
  const headers = { 'content-type': 'application/json' }
  return { status: 200, headers, frames: [{ bytes: jsonBytes(body) }], end: 'normal' }
}

function jsonBytes(body: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(body))
}
