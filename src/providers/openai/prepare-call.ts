import type { AdapterOptions } from '../../contracts/adapter.ts'
import type { HttpCall } from '../../http/call.ts'
import { sniffedBody } from '../../http/whole-body.ts'
import { callHeaders } from './call-headers.ts'
import type { CallNotes } from './call-notes.ts'
import type { OpenAiSettings } from './openai-options.ts'
import { parseFailure } from './parse-failure.ts'
import { renderRequest, type RenderContext } from './render-request.ts'
import type { ModelRequest } from '../../types/request.ts'
import { hasImages, resolveImages } from '../../vision/resolve-images.ts'

/** The options of a call, and what was settled for it. */
export interface PrepareOptions extends AdapterOptions {
  readonly context: RenderContext
  readonly notes: CallNotes
}

/** What OpenAI takes as an image. */
const imageLimits = {
  maxBytes: 20 * 1024 * 1024,
  mimeTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/gif'],
} as const

/**
 * Makes the call of a request: reads its images, renders it, and only then asks for the key.
 *
 * Throws what is wrong, before anything is sent: `ValidationError`, `EngineError`, or `AdapterError` for what OpenAI can
 * not express.
 */
export async function prepareCall(
  settings: OpenAiSettings,
  request: ModelRequest,
  { context, notes, apiKey, ...options }: PrepareOptions,
): Promise<HttpCall> {
  const { provider, stream } = context
  const { requestId } = notes
  const sendable = hasImages(request)
    ? await resolveImages(request, { provider, ...imageLimits })
    : request
  const { path, body, dropped } = renderRequest(sendable, context)
  const { headers, clean } = callHeaders(settings, { apiKey, stream, requestId })
  notes.dropped = dropped
  notes.clean = clean
  return {
    provider,
    requestId,
    url: addressOf(settings.baseUrl, path),
    headers,
    body: JSON.stringify(body),
    parseFailure: (status, text, answered) => parseFailure(provider, status, text, answered),
    splitter: sniffedBody,
    onResponse: (response) => {
      notes.providerRequestId = response.headers.get('x-request-id') ?? undefined
    },
    fetch: settings.fetch,
    signal: options.signal,
    clock: options.clock,
    requestTimeoutMs: options.requestTimeoutMs,
    streamTimeoutMs: options.streamTimeoutMs,
  }
}

function addressOf(baseUrl: string, path: string): string {
  const address = new URL(baseUrl)
  address.pathname = address.pathname.replace(/\/+$/, '') + path
  return address.href
}
