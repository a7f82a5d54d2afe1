import type { SseDecoder } from '../../../http/sse.ts'
import type { DecoderOptions } from '../call-notes.ts'
import { messageDraft, noteHead, reportedError, type MessageDraft } from '../message-draft.ts'
import { complete, passRaw } from '../message-events.ts'
import { responseEnd } from './finish-reason.ts'
import { itemReader, type ItemReader } from './item-reader.ts'
import { asObject, asText, chunkObject } from '../wire-value.ts'
import type { ModelEvent } from '../../../types/events.ts'
import type { JsonObject } from '../../../types/json.ts'

/**
 * Decodes the Responses API: the events of a stream, or a whole response as if its last event were the only one.
 *
 * `response.completed` and `response.incomplete` end it; `response.failed`, `response.cancelled` and `error` are thrown.
 * Events that are not known are passed over; unknown items are kept in the metadata.
 */
export function responsesDecoder({ notes, rawChunks }: DecoderOptions): SseDecoder<ModelEvent> {
  const draft = messageDraft(notes)
  const answer: Answer = { draft, items: itemReader(draft) }
  return {
    get done() {
      return draft.done
    },
    push(data, event, out) {
      if (data === '' || data === '[DONE]') return
      const value = chunkObject(JSON.parse(data))
      if (rawChunks) passRaw(draft, value, out)
      takeEvent(answer, value['type'] ?? event, value, out)
    },
    end: () => undefined,
    failure: (error) => ({ type: 'error', error }),
  }
}

interface Answer {
  readonly draft: MessageDraft
  readonly items: ItemReader
}

function takeEvent(answer: Answer, type: unknown, event: JsonObject, out: ModelEvent[]): void {
  const { draft, items } = answer
  switch (type) {
    case 'response.output_text.delta':
      items.textDelta(event, false, out)
      return
    case 'response.refusal.delta':
      items.textDelta(event, true, out)
      return
    case 'response.function_call_arguments.delta':
      items.argumentsDelta(event, out)
      return
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_summary.delta':
    case 'response.reasoning_text.delta':
      items.reasoningDelta(event, out)
      return
    case 'response.output_text.done':
      items.textDone(event, false, out)
      return
    case 'response.refusal.done':
      items.textDone(event, true, out)
      return
    case 'response.function_call_arguments.done':
      items.argumentsDone(event, out)
      return
    case 'response.output_item.added':
      items.added(event, out)
      return
    case 'response.output_item.done':
      items.done(event, out)
      return
    case 'error':
    case 'response.error':
      throw reportedError(draft, event)
    default:
      takeResponse(answer, type, event, out)
  }
}

/** The events that carry the response itself; a whole answer is nothing but the response. */
function takeResponse(answer: Answer, type: unknown, event: JsonObject, out: ModelEvent[]): void {
  if (event['object'] === 'response' || Array.isArray(event['output'])) {
    finish(answer, event, out)
    return
  }
  const { draft } = answer
  const response = asObject(event['response'])
  if (response === undefined) {
    if (event['error']) throw reportedError(draft, event)
    return
  }
  noteHead(draft, response)
  if (type === 'response.failed') throw failedResponse(draft, response)
  if (endings.has(type)) finish(answer, response, out)
}

function finish({ draft, items }: Answer, response: JsonObject, out: ModelEvent[]): void {
  noteHead(draft, response)
  const status = response['status']
  if (status === 'failed' || status === 'cancelled') throw failedResponse(draft, response)
  draft.usage = asObject(response['usage'])
  items.end(response['output'], out)
  noteEnd(draft, response)
  complete(draft, responseEnd(response, draft.calls.length > 0), out)
}

const endings: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.cancelled',
  'response.done',
])

function failedResponse(draft: MessageDraft, response: JsonObject): Error {
  const error = response['error'] ?? { message: `the response is ${asText(response['status'])}` }
  return reportedError(draft, { error })
}

/** Keeps what a response says beyond its output. */
function noteEnd(draft: MessageDraft, response: JsonObject): void {
  for (const name of ['incomplete_details', 'service_tier']) {
    const value = response[name]
    if (value !== undefined && value !== null) draft.metadata[name] = value
  }
}
