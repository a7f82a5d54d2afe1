import type { AdapterOptions } from '../../contracts/adapter.ts'
import type { HttpCall } from '../../http/call.ts'
import { callHeaders } from './call-headers.ts'
import type { OpenAiSettings } from './openai-options.ts'
import { parseFailure } from './parse-failure.ts'
import type { ImageOperation } from '../../types/media.ts'

/** A call of the images API without its body. */
export type ImageHttpCall = Omit<HttpCall, 'body'> & { readonly requestId: string }

/** Where and how an operation is sent. A key that is needed and missing is refused here. */
export function imageHttpCall(
  settings: OpenAiSettings,
  operation: ImageOperation,
  { apiKey, ...options }: AdapterOptions & { readonly requestId: string },
): ImageHttpCall {
  const { provider, baseUrl, fetch } = settings
  const { requestId, signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  const { headers } = callHeaders(settings, { apiKey, stream: false, requestId })
  // The platform writes the type of a form itself, with its boundary.
  const { 'content-type': _type, ...formHeaders } = headers
  const edit = operation === 'edit'
  return {
    provider,
    url: addressOf(baseUrl, edit ? '/images/edits' : '/images/generations'),
    headers: edit ? formHeaders : headers,
    parseFailure: (status, body, answered) => parseFailure(provider, status, body, answered),
    fetch,
    requestId,
    signal,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}

function addressOf(baseUrl: string, path: string): string {
  const address = new URL(baseUrl)
  address.pathname = address.pathname.replace(/\/+$/, '') + path
  return address.href
}
