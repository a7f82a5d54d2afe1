import { reasonOf, startTimer, systemClock } from '../../core/base/clock.ts'
import { AdapterError, reasonOfStatus } from '../../core/errors/errors.ts'
import { parseJson } from '../../core/types/guards.ts'
import { attributed } from './answer.ts'
import { guardCall, type HttpCall } from './call.ts'
import { beginning, messageIn, transportFailure } from './failure.ts'
import { rateLimitsOf } from './rate-limits.ts'
import { firstWait, retryAfterMs } from './retry-after.ts'
import { secretsOf, type Secrets } from './secrets.ts'

/** How much of an error response's body is read, and for how long: a body that does not end must not hide the status. */
const maxFailureBytes = 64 * 1024
const maxFailureMs = 1000

/**
 * Sends a call and returns a successful response, its body unread.
 *
 * Any other status throws an `AdapterError`, read by the call's `parseFailure` if it has one. Redirects are not followed, because the key
 * must not reach another host.
 */
export async function post(call: HttpCall, signal: AbortSignal): Promise<Response> {
  const headers = legalHeaders(call)
  const send = call.fetch ?? globalThis.fetch
  if (signal.aborted) throw transportFailure(signal.reason, call, signal)
  let response: Response
  try {
    const given = call.json === undefined ? call.body : JSON.stringify(call.json)
    const body = given === undefined ? {} : { body: given }
    const init = { method: 'POST', headers, ...body, redirect: 'manual', signal } as const
    response = await unlessAborted(send(call.url, init), signal)
  } catch (error) {
    throw transportFailure(error, call, signal)
  }
  if (call.onRateLimit !== undefined) {
    const limits = rateLimitsOf(response.headers, (call.clock ?? systemClock).now())
    if (limits !== undefined) call.onRateLimit(limits)
  }
  if (response.status < 200 || response.status >= 300) throw await refusal(response, call)
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
  const headers: Record<string, string> = { ...call.headers }
  let hasType = call.json === undefined
  for (const name in headers) {
    if (!headerName.test(name) || !headerValue.test(`${headers[name]}`)) {
      const message = `the header ${name} has characters that a header cannot contain`
      throw new AdapterError('invalid_request', message)
    }
    hasType ||= name.length === 12 && name.toLowerCase() === 'content-type'
  }
  if (!hasType) headers['content-type'] = 'application/json'
  return headers
}

const headerName = /^[\w!#$%&'*+.^`|~-]+$/

/** The characters that `fetch` takes: those of Latin-1 without zero, and ends of lines around the value only, which it drops. */
// oxlint-disable-next-line no-control-regex -- It is about them.
const headerValue = /^[\t\n\r ]*[\x01-\x09\x0b\x0c\x0e-\xff]*[\t\n\r ]*$/

async function refusal(response: Response, call: HttpCall): Promise<AdapterError> {
  const { status, headers } = response
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    await response.body?.cancel()
    const message = `${call.provider} answered with a redirect: correct baseUrl`
    return new AdapterError('invalid_request', message, { status })
  }
  const body = await failureText(response, call)
  const now = (call.clock ?? systemClock).now()
  const secrets = secretsOf(call)
  const known = secrets.bodyFilter()(body, true)
  const json = parseJson(known)
  const read = call.parseFailure?.({ status, body: known, json, headers, now }) ?? {}
  const { reason = reasonOfStatus(status), message = messageIn(json), ...rest } = read
  const text = message ?? `${call.provider} answered ${status}${beginning(known, secrets)}`
  const wait = firstWait(retryAfterMs(headers, now), rest.retryAfterMs)
  return new AdapterError(reason, text, { status, ...rest, retryAfterMs: wait })
}

/** The text of a response that is not an answer: what comes of it in time. One that breaks off is not quoted. */
export async function failureText(response: Response, call: HttpCall): Promise<string> {
  try {
    return (await readBounded(response, maxFailureBytes, call)).text
  } catch (error) {
    // A timeout of the call comes too late: the status is known.
    if (call.signal?.aborted === true) throw transportFailure(error, call, call.signal)
    return ''
  }
}

/** The error for a success that is a page, or nothing. It names the beginning of the page's text. */
export async function foreignPage(response: Response, call: HttpCall): Promise<AdapterError> {
  const { status, headers, body } = response
  const found = body === null ? 'no body' : headers.get('content-type')
  const start = beginning(await failureText(response, call), secretsOf(call))
  const message = `${call.provider} answered ${status} with ${found} instead of a stream${start}`
  return new AdapterError('malformed_response', message, { status })
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
  const secrets = secretsOf(call)
  let reading = false
  try {
    const response = await post(call, guard.signal)
    reading = true
    const text = secrets.bodyFilter()(await wholeText(response, call), true)
    guard.release()
    return {
      value: parse(text, call, response.status, secrets),
      status: response.status,
      headers: response.headers,
    }
  } catch (error) {
    const failure = transportFailure(error, call, guard.signal, reading)
    guard.close()
    throw secrets.cleanError(attributed(failure, call))
  }
}

/** The error of the platform quotes a piece of the text, which may be a piece of a key. It is not kept. */
function parse(text: string, call: HttpCall, status: number, secrets: Secrets): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const message = `${call.provider} answered ${status} with a body that is not JSON${beginning(text, secrets)}`
    throw new AdapterError('malformed_response', message, { status })
  }
}

/** The longest body that is read as one document, such as images as base64. A string of JavaScript can hold about as much. */
// 384 MiB, as one number: bundlers drop an unused constant, and keep a product.
const maxDocumentBytes = 402_653_184

/** The text of a body. One that is too long is not an answer; it is not read to its end. */
async function wholeText(response: Response, call: HttpCall): Promise<string> {
  const { provider, maxResponseBytes = maxDocumentBytes } = call
  const { text, isWhole } = await readBounded(response, maxResponseBytes)
  if (isWhole) return text
  const { status } = response
  const message = `${provider} answered ${status} with more than ${maxResponseBytes} bytes`
  throw new AdapterError('malformed_response', message, { status })
}

/** The text of a body, cut at `maxBytes`, and at the time of a refusal. The rest is not read, and the connection is closed. */
async function readBounded(
  response: Response,
  maxBytes: number,
  refused?: HttpCall,
): Promise<BoundedText> {
  const reader = response.body?.getReader()
  if (reader === undefined) return { text: '', isWhole: true }
  const close = (): Promise<void> => reader.cancel().catch(() => undefined)
  // A cancelled reader is at its end.
  const stop = refused && startTimer(refused.clock ?? systemClock, maxFailureMs, () => void close())
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  try {
    while (size <= maxBytes) {
      const { done, value } = await reader.read()
      if (done) return { text: text + decoder.decode(), isWhole: true }
      text += decoder.decode(value.subarray(0, maxBytes - size), { stream: true })
      size += value.byteLength
    }
    return { text, isWhole: false }
  } finally {
    stop?.()
    await close()
  }
}

interface BoundedText {
  readonly text: string
  readonly isWhole: boolean
}
