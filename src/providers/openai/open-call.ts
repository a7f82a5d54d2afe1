import type { AdapterOptions } from '../../contracts/adapter.ts'
import type { CallSource, SseDecoder } from '../../http/stream-http.ts'
import { decoderOptions } from './call-notes.ts'
import { chatDecoder } from './chat/chat-decoder.ts'
import type { OpenAiSettings } from './openai-options.ts'
import { prepareCall } from './prepare-call.ts'
import { endpointFor } from './render-request.ts'
import { responsesDecoder } from './responses/responses-decoder.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { ModelRequest } from '../../types/request.ts'

/** A call that is ready to be made, and what reads its answer. */
export interface OpenCall {
  readonly source: CallSource
  readonly decoder: SseDecoder<ModelEvent>
}

/** Brings a request and its endpoint's decoder together. Nothing is checked or sent before `source` is called. */
export function openCall(
  settings: OpenAiSettings,
  request: ModelRequest,
  options: AdapterOptions,
  stream: boolean,
): OpenCall {
  const { provider } = settings
  const endpoint = endpointFor(settings.api, request.model)
  const decoding = decoderOptions(provider, options)
  const { notes } = decoding
  const context = { provider, endpoint, stream, sessionId: options.sessionId }
  return {
    source: () => prepareCall(settings, request, { ...options, context, notes }),
    decoder: endpoint === 'chat' ? chatDecoder(decoding) : responsesDecoder(decoding),
  }
}
