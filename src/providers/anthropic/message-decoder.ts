import { AdapterError } from '../../errors/errors.ts'
import type { SseDecoder } from '../../http/stream-http.ts'
import { growBlock, startBlock, stopBlock } from './decode-block.ts'
import { completeMessage, growMessage, startMessage } from './decode-message.ts'
import { decoderState, type DecodedCall, type DecoderState, type Out } from './decoder-state.ts'
import { errorFacts, parseStreamError, readError } from './parse-failure.ts'
import { eventsOfMessage } from './whole-message.ts'
import type { WireEvent } from './wire.ts'
import type { ModelEvent } from '../../types/events.ts'
import type { JsonValue } from '../../types/json.ts'

/** Decodes the events of one answer, from text or as they are. */
export interface MessageDecoder extends SseDecoder<ModelEvent> {
  /** Decodes one event. An error among them throws. */
  take(event: WireEvent, out: Out): void
}

/**
 * Makes the decoder of one answer.
 *
 * Each delta costs one `JSON.parse` and one small object. Events of unknown types are passed over, blocks of unknown types
 * are kept in the message, so that they can be echoed.
 */
export function messageDecoder(call: DecodedCall): MessageDecoder {
  const state = decoderState(call)
  return {
    get done() {
      return state.done
    },
    push(data, name, out) {
      // Some proxies end the stream as another provider does, or send events without data.
      if (data === '[DONE]' || data === '') return
      // Whatever the server sent: every member is looked at with care.
      const event = JSON.parse(data) as WireEvent | null
      if (typeof event !== 'object' || event === null) return
      const type = event.type ?? name ?? (event.error ? 'error' : undefined)
      if (type === 'message') takeWhole(state, event, out)
      else takeEvent(state, event, type, out)
    },
    take: (event, out) => takeEvent(state, event, event.type, out),
    end: () => undefined,
    failure: (error) => ({ type: 'error', error }),
  }
}

/** Some servers answer a streaming call with the whole message. */
function takeWhole(state: DecoderState, message: WireEvent, out: Out): void {
  for (const event of eventsOfMessage(message) ?? []) takeEvent(state, event, event.type, out)
}

function takeEvent(
  state: DecoderState,
  event: WireEvent,
  type: string | undefined,
  out: Out,
): void {
  if (state.call.includeRawChunks) keepRaw(state, event, out)
  switch (type ?? '') {
    case 'content_block_delta':
      begin(state, out)
      growBlock(state, event, out)
      return
    case 'content_block_start':
      begin(state, out)
      startBlock(state, event, out)
      return
    case 'content_block_stop':
      stopBlock(state, event, out)
      return
    case 'message_start':
      startMessage(state, event.message ?? {}, out)
      return
    case 'message_delta':
      begin(state, out)
      growMessage(state, event)
      return
    case 'message_stop':
      begin(state, out)
      completeMessage(state, out)
      return
    case 'error':
      throw streamError(state, event)
    default:
  }
}

/** The message has begun, also when the server did not say so. */
function begin(state: DecoderState, out: Out): void {
  if (!state.started) startMessage(state, {}, out)
}

/** What came is shown before what it means, save that the message's beginning is always first. */
function keepRaw(state: DecoderState, event: WireEvent, out: Out): void {
  // An event was made by JSON.parse.
  const chunk = event as JsonValue
  if (state.started) out.push({ type: 'raw_chunk', chunk })
  else state.early.push(chunk)
}

function streamError({ call }: DecoderState, event: WireEvent): AdapterError {
  const { provider, requestId } = call
  const { request_id } = event
  const error = readError(event.error ?? event.message)
  const { reason, message } = parseStreamError(error)
  const metadata = errorFacts(error, call.providerRequestId ?? request_id)
  return new AdapterError(reason, call.clean(message), { provider, requestId, metadata })
}
