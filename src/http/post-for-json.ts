import { AdapterError } from '../errors/errors.ts'
import { guardCall } from './guarded-call.ts'
import type { HttpCall } from './http-call.ts'
import { post } from './post.ts'
import { transportFailure } from './transport-failure.ts'

/** A whole JSON answer. */
export interface JsonAnswer {
  readonly value: unknown
  readonly status: number
  readonly headers: Headers
}

/** Sends a call and reads its whole answer as JSON. What is not JSON is `malformed_response`. */
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
