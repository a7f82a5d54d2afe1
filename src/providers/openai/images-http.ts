import type { AdapterOptions } from '../../adapter/adapter-options.ts'
import type { ImageOperation } from '../../data/image-request.ts'
import { EngineError } from '../../errors/engine-error.ts'
import type { HttpCall } from '../../http/http-call.ts'
import type { ImagesSettings } from './images-options.ts'
import { parseFailure } from './parse-failure.ts'

/** A call of the images API without its body. */
export type ImageHttpCall = Omit<HttpCall, 'body'> & { readonly requestId: string }

/**
 * Where and how an operation is sent.
 *
 * The call's key goes before the adapter's own. The API itself is not called without one: `EngineError` `missing_key`.
 */
export function imageHttpCall(
  settings: ImagesSettings,
  operation: ImageOperation,
  ownKey: string | undefined,
  { apiKey, ...options }: AdapterOptions & { readonly requestId: string },
): ImageHttpCall {
  const { provider, baseUrl, headers, fetch } = settings
  const { requestId, signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  const key = [apiKey, ownKey].find((candidate) => candidate !== undefined && candidate !== '')
  if (key === undefined && settings.keyRequired) {
    const message = `no key for ${provider}: pass apiKey, or set one`
    throw new EngineError('missing_key', message, { provider, requestId })
  }
  const edit = operation === 'edit'
  return {
    provider,
    url: `${baseUrl}/images/${edit ? 'edits' : 'generations'}`,
    headers: {
      // The platform writes the type of a form, with its boundary.
      ...(edit ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...headers,
    },
    parseFailure: (status, body, answered) => {
      const failure = parseFailure(provider, status, body, answered)
      const blocked = failure.metadata?.['code'] === 'moderation_blocked'
      return blocked ? { ...failure, reason: 'content_filter' } : failure
    },
    fetch,
    requestId,
    signal,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}
