import { reasonOf } from '../core/clock.ts'
import { AdapterError } from '../errors/errors.ts'
import { guardCall, type HttpCall } from './call.ts'
import { transportFailure } from './failure.ts'
import { withoutSecrets } from './secrets.ts'

/** How much of an error response's body is read. */
const maxFailureBytes = 64 * 1024

/**
 * Sends a call and returns a successful response, its body unread.
 *
 * Any other status throws the `AdapterError` of the call's `parseFailure`. Redirects are not followed, because the key
 * must not reach another host.
 */
export async function post(call: HttpCall, signal: AbortSignal): Promise<Response> {
  const headers = legalHeaders(call)
  const send = call.fetch ?? globalThis.fetch
  if (signal.aborted) throw transportFailure(signal.reason, call, signal)
  let response: Response
  try {
    const body = call.body === undefined ? {} : { body: call.body }
    const init = { method: 'POST', headers, ...body, redirect: 'manual', signal } as const
    response = await unlessAborted(send(call.url, init), signal)
  } catch (error) {
    throw transportFailure(error, call, signal)
  }
  if (response.status < 200 || response.status >= 300) throw await refusal(response, call, signal)
  call.onResponse?.(response)
  return response
}

/** The response, or the signal's reason: an injected `fetch` may ignore its signal. */
function unlessAborted(sending: Promise<Response>, signal: AbortSignal): Promise<Response> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      reject(reasonOf(signal))
      sending.then((late) => late.body?.cancel()).catch(() => undefined)
    }
    signal.addEventListener('abort', stop, { once: true })
    sending.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** The headers, checked here because the platform's own error quotes the value, which may be the key. */
function legalHeaders(call: HttpCall): Record<string, string> {
  const headers = { ...call.headers }
  const probe = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    try {
      probe.set(name, value)
    } catch {
      const message = `the header ${name} for ${call.provider} has characters that a header cannot contain`
      const { provider, requestId } = call
      throw new AdapterError('invalid_request', message, { provider, requestId })
    }
  }
  return headers
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
    const message = `${call.provider} answered with a redirect, which is not followed: correct baseUrl`
    return new AdapterError('invalid_request', message, { ...facts, status })
  }
  let body: string
  try {
    body = await readBounded(response, maxFailureBytes)
  } catch (error) {
    if (signal.aborted) throw transportFailure(error, call, signal)
    body = ''
  }
  const failure = withoutSecrets(call.parseFailure(status, body, headers), call.headers)
  const { reason, message, ...rest } = failure
  return new AdapterError(reason, message, { ...facts, status, ...rest })
}

/** A whole JSON response. */
export interface JsonAnswer {
  readonly value: unknown
  readonly status: number
  readonly headers: Headers
}

/** Sends a call and reads the whole response as JSON. A body that is not JSON is `malformed_response`. */
export async function postForJson(call: HttpCall): Promise<JsonAnswer> {
  const guard = guardCall(call)
  try {
    const response = await post(call, guard.signal)
    const text = await response.text()
    return {
      value: parse(text, call, response.status),
      status: response.status,
      headers: response.headers,
    }
  } catch (error) {
    throw transportFailure(error, call, guard.signal)
  } finally {
    guard.close()
  }
}

function parse(text: string, call: HttpCall, status: number): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    const { provider, requestId } = call
    const message = `${provider} answered ${status} with a body that is not JSON: ${text.slice(0, 120)}`
    throw new AdapterError('malformed_response', message, { provider, requestId, status, cause })
  }
}

/** The text of a body, cut at `maxBytes`. The rest is not read, and the connection is closed. */
async function readBounded(response: Response, maxBytes: number): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  try {
    while (size < maxBytes) {
      const { done, value } = await reader.read()
      if (done) return text + decoder.decode()
      text += decoder.decode(value.subarray(0, maxBytes - size), { stream: true })
      size += value.byteLength
    }
    return text
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
