import type { AdapterOptions } from '../../adapter/adapter-options.ts'
import type { ModelRequest } from '../../data/model-request.ts'
import type { HttpCall } from '../../http/http-call.ts'
import { identifyCall } from './call-facts.ts'
import { answerDecoder, type AnswerDecoder } from './decoder.ts'
import { loadImages } from './load-images.ts'
import { renderRequest } from './render-request.ts'
import type { Settings } from './settings.ts'
import { methodUrl, wireCall, type Method } from './wire-call.ts'
import type { CallFacts } from './wire-error.ts'

/** A call that is ready to be sent, and what reads its answer. */
export interface PreparedCall {
  readonly call: HttpCall
  readonly decoder: AnswerDecoder
  readonly facts: CallFacts
}

/** Renders a request. What is wrong with it is told before a key is looked for. */
export async function prepareCall(
  settings: Settings,
  request: ModelRequest,
  options: AdapterOptions,
  method: Method,
): Promise<PreparedCall> {
  const url = methodUrl(settings, request.model, method)
  const body = renderRequest(await loadImages(request, settings.provider), settings)
  const identified = identifyCall(settings, options)
  const { facts } = identified
  const { includeRawChunks, newId } = options
  return {
    call: wireCall(url, body, { ...identified, settings, options }),
    decoder: answerDecoder({ ...facts, history: request.messages, includeRawChunks, newId }),
    facts,
  }
}
