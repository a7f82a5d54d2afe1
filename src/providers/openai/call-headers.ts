import { EngineError } from '../../errors/errors.ts'
import { secretFilter } from '../../http/secrets.ts'
import type { OpenAiSettings } from './openai-options.ts'

/** What the headers of a call depend on. */
export interface HeaderContext {
  /** The key of the call; it goes before the adapter's own. */
  readonly apiKey: string | undefined
  readonly stream: boolean
  readonly requestId: string
}

/** The headers of a call, and what takes their key out of a text. */
export interface CallHeaders {
  readonly headers: Readonly<Record<string, string>>
  readonly clean: (text: string) => string
}

/** The headers of a call. A missing key is an `EngineError` where the server is OpenAI itself. */
export function callHeaders(
  settings: OpenAiSettings,
  { apiKey, stream, requestId }: HeaderContext,
): CallHeaders {
  const { provider, official } = settings
  const key = apiKey === undefined || apiKey === '' ? settings.ownKey() : apiKey
  if (key === undefined && official && settings.headers['authorization'] === undefined) {
    const message = `no key for ${provider}: neither the call nor the adapter has one`
    throw new EngineError('missing_key', message, { provider, requestId })
  }
  const headers = {
    'content-type': 'application/json',
    accept: stream ? 'text/event-stream' : 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...settings.headers,
  }
  return { headers, clean: secretFilter(headers) }
}
