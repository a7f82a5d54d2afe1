import type { AdapterOptions } from '../../contracts/adapter.ts'
import { randomId } from '../../core/ids.ts'
import type { HttpCall } from '../../http/call.ts'
import { secretFilter } from '../../http/secrets.ts'
import { callFor } from './call-for.ts'
import { answerDecoder, type AnswerDecoder } from './decoder.ts'
import type { Method } from './method-url.ts'
import type { Settings } from './settings.ts'
import type { CallFacts } from './wire-error.ts'
import type { ModelRequest } from '../../types/request.ts'

/** A call that is not made yet, and what will read its answer. */
export interface OpenCall {
  /** Renders the request. Nothing has happened before. */
  readonly call: () => Promise<HttpCall>
  readonly decoder: AnswerDecoder
}

/** Ties a call and its decoder together. The key that the call finds is taken out of errors that echo it. */
export function openCall(
  settings: Settings,
  request: ModelRequest,
  given: AdapterOptions,
  method: Method,
): OpenCall {
  const requestId = given.requestId ?? (given.newId ?? randomId)('request')
  const { provider } = settings
  let hide: ((text: string) => string) | undefined
  const facts: CallFacts = { provider, requestId, hideKey: (text) => hide?.(text) ?? text }
  const { includeRawChunks, newId } = given
  return {
    decoder: answerDecoder({ ...facts, history: request.messages, includeRawChunks, newId }),
    call: async () => {
      const call = await callFor(settings, request, { ...given, requestId }, method)
      hide = secretFilter(call.headers)
      return call
    },
  }
}
