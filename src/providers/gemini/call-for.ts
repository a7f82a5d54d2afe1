import type { AdapterOptions } from '../../contracts/adapter.ts'
import type { HttpCall } from '../../http/call.ts'
import { callKey } from './call-key.ts'
import { loadImages } from './load-images.ts'
import { methodUrl, type Method } from './method-url.ts'
import { parseFailure } from './parse-failure.ts'
import { renderRequest } from './render-request.ts'
import type { Settings } from './settings.ts'
import { bodySplitter } from './split-body.ts'
import type { ModelRequest } from '../../types/request.ts'

/** Makes the HTTP call of a request. What is wrong with it is told before a key is looked for; the key is in a header only. */
export async function callFor(
  settings: Settings,
  request: ModelRequest,
  options: AdapterOptions,
  method: Method,
): Promise<HttpCall> {
  const { provider, headers, fetch } = settings
  const url = methodUrl(settings, request.model, method)
  const body = renderRequest(await loadImages(request, provider), settings)
  const key = callKey(settings, options.apiKey)
  const { requestId, signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  return {
    provider,
    requestId,
    url,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'x-goog-api-key': key }),
      ...headers,
    },
    body: JSON.stringify(body),
    parseFailure: (status, text, answered) =>
      parseFailure(provider, { status, body: text, headers: answered }),
    splitter: () => bodySplitter({ provider, requestId }),
    fetch,
    signal,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}
