import type { AdapterOptions } from '../../adapter/adapter-options.ts'
import type { JsonObject } from '../../data/json.ts'
import { EngineError } from '../../errors/engine-error.ts'
import { StreamError } from '../../errors/stream-error.ts'
import type { HttpCall } from '../../http/http-call.ts'
import type { IdentifiedCall } from './call-facts.ts'
import { parseFailure } from './parse-failure.ts'
import type { Settings } from './settings.ts'
import { bodySplitter } from './split-body.ts'

/** The ways to ask for an answer: whole, or in pieces. */
export type Method = 'generateContent' | 'streamGenerateContent'

/**
 * The address of a model's method. A name with a slash (`tunedModels/…`) is a path of its own.
 *
 * A model that is not named is `missing_model`.
 */
export function methodUrl(settings: Settings, model: string | undefined, method: Method): string {
  const { provider, baseUrl } = settings
  if (model === undefined || model === '') {
    throw new EngineError('missing_model', `no model for ${provider}`, { provider })
  }
  const path = model.includes('/') ? model : `models/${model}`
  const query = method === 'streamGenerateContent' ? '?alt=sse' : ''
  return `${baseUrl}/${path.split('/').map(encodeURIComponent).join('/')}:${method}${query}`
}

/** The request to send. The key is in a header and nowhere else. */
export function wireCall(
  url: string,
  body: JsonObject,
  {
    settings,
    options,
    key,
    facts,
  }: IdentifiedCall & {
    readonly settings: Settings
    readonly options: AdapterOptions
  },
): HttpCall {
  const { provider, requestId, hideKey } = facts
  const { signal, requestTimeoutMs, streamTimeoutMs, clock } = options
  const cutOff = (): StreamError =>
    new StreamError('truncated', `the answer of ${provider} ended inside an event`, {
      provider,
      requestId,
    })
  return {
    provider,
    requestId,
    url,
    headers: {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'x-goog-api-key': key }),
      ...settings.headers,
    },
    body: JSON.stringify(body),
    parseFailure: (status, text, headers) =>
      parseFailure(provider, { status, body: hideKey(text), headers }),
    splitter: () => bodySplitter(cutOff),
    fetch: settings.fetch,
    signal,
    requestTimeoutMs,
    streamTimeoutMs,
    clock,
  }
}
