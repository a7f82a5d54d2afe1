import type { AdapterOptions, ChatAdapter } from '../../contracts/adapter.ts'
import { postForJson } from '../../http/post.ts'
import { streamSse } from '../../http/stream-http.ts'
import { openCall } from './open-call.ts'
import { settle, type GeminiOptions, type Settings } from './settings.ts'
import { collectEventsSync } from '../../run/collect.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { ModelRequest } from '../../types/request.ts'
import type { ModelResponse } from '../../types/response.ts'

/**
 * A chat adapter for Gemini's `generateContent`.
 *
 * It serves the Gemini API, Vertex AI (with its `baseUrl` and, in `headers`, its token) and everything that speaks like
 * them. Nothing is sent before the stream is read. Messages it made carry Gemini's thought signatures, which go back on the
 * parts that they came with; reasoning of other providers is not sent.
 */
export function gemini(options: GeminiOptions = {}): ChatAdapter {
  const settings = settle(options)
  const { provider, key } = settings
  return {
    provider,
    needsModel: true,
    key,
    stream(request, callOptions = {}) {
      const { call, decoder } = openCall(settings, request, callOptions, 'streamGenerateContent')
      return streamSse(call, decoder)
    },
    generate: (request, callOptions = {}) => generate(settings, request, callOptions),
  }
}

/** The whole answer makes the events of a streamed one, and they are folded. */
async function generate(
  settings: Settings,
  request: ModelRequest,
  options: AdapterOptions,
): Promise<ModelResponse> {
  const { call, decoder } = openCall(settings, request, options, 'generateContent')
  const { value } = await postForJson(await call())
  const events: ModelEvent[] = []
  decoder.decodeWhole(value, events)
  return collectEventsSync(events)
}
