import type { AdapterOptions } from '../../contracts/adapter.ts'
import { EngineError } from '../../errors/errors.ts'
import type { HttpCall } from '../../http/call.ts'
import { secretFilter } from '../../http/secrets.ts'
import { sniffedBody } from '../../http/whole-body.ts'
import type { AnthropicSettings } from './anthropic-options.ts'
import type { DecodedCall } from './decoder-state.ts'
import { parseFailure } from './parse-failure.ts'

/** The options of a call, with the adapter's own key. */
export interface KeyedOptions extends AdapterOptions {
  readonly ownKey: string | undefined
}

/**
 * The HTTP call of a rendered body.
 *
 * The call's key goes before the adapter's own. The API itself is not called without one: `EngineError` `missing_key`.
 */
export function httpCall(
  settings: AnthropicSettings,
  body: string,
  { apiKey, ownKey, ...options }: KeyedOptions,
  answer: DecodedCall,
): HttpCall {
  const { provider, requestId } = answer
  const key = [apiKey, ownKey].find((candidate) => candidate !== undefined && candidate !== '')
  if (key === undefined && settings.keyRequired) {
    const message = `no key for ${provider}: pass apiKey, or set one`
    throw new EngineError('missing_key', message, { provider, requestId })
  }
  const headers = { ...(key === undefined ? {} : { 'x-api-key': key }), ...settings.headers }
  answer.clean = secretFilter(headers)
  const { signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  return {
    provider,
    url: settings.url,
    headers,
    body,
    parseFailure,
    splitter: sniffedBody,
    onResponse: (response) => {
      answer.providerRequestId = response.headers.get('request-id') ?? undefined
    },
    fetch: settings.fetch,
    signal,
    requestId,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}
