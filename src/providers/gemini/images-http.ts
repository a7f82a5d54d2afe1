import type { AdapterOptions } from '../../contracts/adapter.ts'
import type { HttpCall } from '../../http/call.ts'
import { callKey } from './call-key.ts'
import { methodUrl } from './method-url.ts'
import { parseFailure } from './parse-failure.ts'
import type { Settings } from './settings.ts'

/** A call without its body. */
export type ImageHttpCall = Omit<HttpCall, 'body'> & { readonly requestId: string }

/** Where and how a request is sent. A model or a key that is missing is refused here. */
export function imageHttpCall(
  settings: Settings,
  model: string | undefined,
  options: AdapterOptions & { readonly requestId: string },
): ImageHttpCall {
  const { provider, headers, fetch } = settings
  const { apiKey, requestId, signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  const url = methodUrl(settings, model, 'generateContent')
  const key = callKey(settings, apiKey)
  return {
    provider,
    url,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'x-goog-api-key': key }),
      ...headers,
    },
    parseFailure: (status, body, answered) =>
      parseFailure(provider, { status, body, headers: answered }),
    fetch,
    requestId,
    signal,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}
