import { AdapterError } from '../errors/adapter-error.ts'
import { readBounded } from './read-bounded.ts'
import type { HttpCall } from './http-call.ts'
import { transportFailure } from './transport-failure.ts'

/** The most that is read of a refusal's body. */
const maxFailureBytes = 64 * 1024

/**
 * Sends a call and gives back a successful answer, its body unread.
 *
 * Any other status is an `AdapterError` made by the call's `parseFailure`. Redirects are not followed: a key must not
 * travel to where it was not meant to go.
 */
export async function post(call: HttpCall, signal: AbortSignal): Promise<Response> {
  const send = call.fetch ?? globalThis.fetch
  let response: Response
  try {
    response = await send(call.url, {
      method: 'POST',
      headers: { ...call.headers },
      ...(call.body === undefined ? {} : { body: call.body }),
      redirect: 'manual',
      signal,
    })
  } catch (error) {
    throw transportFailure(error, call, signal)
  }
  if (response.status >= 200 && response.status < 300) return response
  throw await refusal(response, call, signal)
}

async function refusal(
  response: Response,
  call: HttpCall,
  signal: AbortSignal,
): Promise<AdapterError> {
  const { status, headers } = response
  const facts = { provider: call.provider, requestId: call.requestId }
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel()
    const message = `${call.provider} answered with a redirect, which is not followed; correct baseUrl`
    return new AdapterError('invalid_request', message, { ...facts, status })
  }
  let body: string
  try {
    body = await readBounded(response, maxFailureBytes)
  } catch (error) {
    if (signal.aborted) throw transportFailure(error, call, signal)
    body = ''
  }
  const { reason, message, ...rest } = call.parseFailure(status, body, headers)
  return new AdapterError(reason, message, { ...facts, status, ...rest })
}
